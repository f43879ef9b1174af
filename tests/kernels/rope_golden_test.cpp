// LD-13: which two elements a rotation turns, by numbers and not by another implementation: the half-split pairs
// (i, i + d/2) that Hugging Face checkpoints are stored for. Interleaved pairs (2i, 2i + 1) fail here.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

using test::ProgramBuilder;
using test::StepCase;
using test::StepResult;

constexpr int kDim = 8, kHeads = 3;
constexpr float kTheta = 10000.0f;

// Unit vector e_i of each head rotated at this position; row i is e_i. [kDim, kHeads * kDim]
std::vector<float> rotated_units(Backend& backend, std::int32_t position, int kv_heads) {
    ProgramBuilder builder(1);
    const int width = kv_heads * kDim;
    std::vector<float> units(static_cast<std::size_t>(kDim * width), 0.0f);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < kDim; ++i) {
        for (int head = 0; head < kv_heads; ++head) units[static_cast<std::size_t>(i * width + head * kDim + i)] = 1.0f;
        tokens.push_back(i);
    }
    const int value = builder.value("q", width);
    builder.embed(builder.tensor_of(kDim, width, ElementType::F32, units), value);
    builder.rope(OpId::RotateQuery, kNone, value, kv_heads, kDim, kTheta);
    builder.program.vocabulary = width;
    builder.program.logits_value = builder.value("logits", width, true);
    builder.select(value, builder.program.logits_value);
    const auto weights = backend.load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
    CompileOptions options;
    options.max_rows = options.max_logits_rows = kDim;
    const auto step = backend.compile(builder.program, weights.value(), options);
    StepCase rows = StepCase::causal(tokens, 0);
    for (std::int32_t& row : rows.positions) row = position;
    const StepResult result = test::run_step(backend, *step.value(), rows, {{0, kDim, {}}});
    EXPECT_TRUE(result.status.ok()) << result.status.error().text();
    EXPECT_EQ(result.damage, "");
    return result.logits;
}

void check(Backend& backend) {
    for (const int heads : {1, kHeads})
        for (const std::int32_t position : {0, 1, 3, 1000}) {
            const std::vector<float> out = rotated_units(backend, position, heads);
            ASSERT_EQ(out.size(), static_cast<std::size_t>(kDim * heads * kDim));
            for (int i = 0; i < kDim; ++i)
                for (int at = 0; at < heads * kDim; ++at) {
                    const int pair = i % (kDim / 2), element = at % kDim;
                    const double angle = position * std::pow(static_cast<double>(kTheta), -2.0 * pair / kDim);
                    double wanted = element == i ? std::cos(angle) : 0.0;
                    if (element % (kDim / 2) == pair && element != i)
                        wanted = i < kDim / 2 ? std::sin(angle) : -std::sin(angle);
                    EXPECT_NEAR(static_cast<double>(out[static_cast<std::size_t>(i * heads * kDim + at)]), wanted, 2e-6)
                        << "e" << i << " of " << heads << " heads at position " << position << ", element " << at;
                }
        }
}

TEST(RopeGolden, Reference) { check(*make_reference_backend()); }

class RopeGoldenCpu : public testing::TestWithParam<std::string> {};

TEST_P(RopeGoldenCpu, TurnsElementIAndIPlusHalf) {
    CpuBackendOptions options;
    options.threads = 1;
    options.instruction_set = GetParam();
    check(*std::move(make_cpu_backend(options).value()));
}

INSTANTIATE_TEST_SUITE_P(Kernels, RopeGoldenCpu, testing::ValuesIn(cpu_instruction_sets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace decodescope
