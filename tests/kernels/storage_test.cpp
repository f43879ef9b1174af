// Where a sequence lies, what lies beside it, and who looks on must not change a result by one bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/cpu/cpu_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

using test::CacheShape;
using test::Layout;
using test::ProgramBuilder;
using test::StepCase;
using test::StepResult;
using test::TestCache;
using test::TinyShape;

TinyShape tiny() {
    TinyShape shape;
    shape.heads = 6, shape.kv_heads = 3, shape.head_dim = 20, shape.hidden = 48;
    shape.type = ElementType::F16;
    return shape;
}

CacheShape cache_shape(Layout layout, std::uint64_t seed = 1, int capacity = 64) {
    const TinyShape shape = tiny();
    return {shape.layers, shape.kv_heads, shape.head_dim, capacity, ElementType::F16, ElementType::F16, layout, 4,
            seed};
}

// A backend with the tiny model compiled for up to 700 rows.
struct Machine {
    std::unique_ptr<Backend> backend;
    std::unique_ptr<CompiledStep> step;

    explicit Machine(int threads, const std::string& instruction_set = {}, int max_rows = 64) {
        CpuBackendOptions options;
        options.threads = threads;
        options.instruction_set = instruction_set;
        backend = std::move(make_cpu_backend(options).value());
        ProgramBuilder builder(21);
        TinyShape shape = tiny();
        test::build_tiny_model(shape, builder);
        auto weights = backend->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
        CompileOptions compile;
        compile.max_rows = compile.max_logits_rows = max_rows;
        step = std::move(backend->compile(builder.program, weights.value(), compile).value());
    }
};

std::vector<std::int32_t> tokens_from(std::uint64_t seed, int count) {
    test::Random random(seed);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(random.below(tiny().vocabulary));
    return tokens;
}

struct Trace {
    std::vector<float> logits;
    std::vector<std::vector<float>> attention;
};

// A prefill and then single tokens; the logits of all of them and the weights of the last step.
Trace play(Machine& machine, TestCache& cache, const std::vector<std::int32_t>& tokens, int prefill,
           bool capture = false) {
    Trace trace;
    const auto count = static_cast<int>(tokens.size());
    for (int first = 0; first < count;) {
        const int size = first == 0 ? prefill : 1;
        const StepCase rows = StepCase::causal({tokens.begin() + first, tokens.begin() + first + size}, first);
        const std::vector<KvView> views = cache.views(first + size);
        StepResult result = test::run_step(*machine.backend, *machine.step, rows, {{0, size, views}}, {capture, 0, {}});
        EXPECT_TRUE(result.status.ok()) << result.status.error().text();
        EXPECT_EQ(result.damage, "");
        trace.logits.insert(trace.logits.end(), result.logits.begin(), result.logits.end());
        trace.attention = std::move(result.attention);
        first += size;
    }
    return trace;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class Storage : public testing::TestWithParam<std::string> {};

// CC-18: every layout, and every order of the pages.
TEST_P(Storage, LayoutAndPageOrderDoNotChangeABit) {
    Machine machine(2, GetParam());
    const std::vector<std::int32_t> tokens = tokens_from(1, 45);
    const auto contiguous = TestCache::make(*machine.backend, cache_shape(Layout::Contiguous));
    const Trace expected = play(machine, *contiguous, tokens, 20);
    for (const float value : expected.logits) ASSERT_TRUE(std::isfinite(value));
    std::vector<CacheShape> shapes = {cache_shape(Layout::TokenMajor), cache_shape(Layout::Slab),
                                      cache_shape(Layout::Contiguous, 1, 50)};
    for (std::uint64_t seed = 1; seed <= 5; ++seed) shapes.push_back(cache_shape(Layout::Paged, seed, 200));
    for (const CacheShape& shape : shapes) {
        const auto cache = TestCache::make(*machine.backend, shape);
        EXPECT_TRUE(same_bits(play(machine, *cache, tokens, 20).logits, expected.logits))
            << static_cast<int>(shape.layout);
    }
}

TEST_P(Storage, CaptureDoesNotChangeABit) {
    Machine machine(2, GetParam(), 64);
    for (const int prefill : {1, 3, 30}) {
        const std::vector<std::int32_t> tokens = tokens_from(2, prefill + 3);
        const auto plain = TestCache::make(*machine.backend, cache_shape(Layout::Contiguous));
        const auto captured = TestCache::make(*machine.backend, cache_shape(Layout::Contiguous));
        const Trace with = play(machine, *captured, tokens, prefill, true);
        EXPECT_TRUE(same_bits(with.logits, play(machine, *plain, tokens, prefill).logits));
        const auto count = static_cast<double>(tokens.size());
        for (const std::vector<float>& layer : with.attention) {
            ASSERT_EQ(layer.size(), static_cast<std::size_t>(tiny().heads * count));
            double sum = 0;
            for (const float weight : layer) sum += static_cast<double>(weight);
            EXPECT_NEAR(sum, tiny().heads, 1e-4);
        }
    }
}

TEST_P(Storage, ThreadsDoNotChangeABitAndRunsRepeat) {
    const std::vector<std::int32_t> tokens = tokens_from(3, 33);
    std::vector<float> expected;
    for (const int threads : {1, 2, 3, 5}) {
        Machine machine(threads, GetParam());
        EXPECT_EQ(machine.backend->info().threads, threads);
        for (int run = 0; run < 3; ++run) {
            const auto cache = TestCache::make(*machine.backend, cache_shape(Layout::Paged));
            const Trace trace = play(machine, *cache, tokens, 25);
            if (expected.empty()) expected = trace.logits;
            EXPECT_TRUE(same_bits(trace.logits, expected)) << threads << " threads, run " << run;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Storage, testing::ValuesIn(cpu_instruction_sets()),
                         [](const auto& info) { return info.param; });

// CC-13 and PG-02: what lies in slots that hold nothing yet is never read, be it large or NaN.
TEST(StorageGarbage, UnwrittenSlotsDoNotMatter) {
    Machine machine(2);
    for (const Layout layout : {Layout::Contiguous, Layout::Paged, Layout::Slab})
        for (const int count : {1, 2, 10, 15, 16, 17, 31}) {
            const std::vector<std::int32_t> tokens = tokens_from(4, count);
            const auto with_nan = TestCache::make(*machine.backend, cache_shape(layout));
            const auto with_large = TestCache::make(*machine.backend, cache_shape(layout));
            const std::vector<float> large(static_cast<std::size_t>(tiny().kv_heads * tiny().head_dim), 1e4f);
            for (int layer = 0; layer < tiny().layers; ++layer)
                for (std::int32_t entry = 0; entry < 64; ++entry) with_large->write(layer, entry, large, large);
            const Trace nan = play(machine, *with_nan, tokens, (count + 1) / 2),
                        other = play(machine, *with_large, tokens, (count + 1) / 2);
            for (const float value : nan.logits) ASSERT_TRUE(std::isfinite(value));
            EXPECT_TRUE(same_bits(nan.logits, other.logits)) << count;
        }
}

// Rows of later positions may hold NaN (a broken model): the rows before them must not be touched by it.
TEST(StorageGarbage, EntriesThatARowDoesNotSeeMayBeNan) {
    ProgramBuilder builder(5);
    const int width = 3 * 16;
    const int q = builder.value("q", width), out = builder.value("out", width);
    builder.embed(builder.tensor(40, width, ElementType::F32, 1.0f), q);
    builder.program.layers = 1;
    OpDesc& op = builder.op(OpId::Attention, OpKind::Attention, 0, q, out);
    op.heads = op.kv_heads = 3;
    op.head_dim = 16;
    op.scale = 0.25f;
    builder.program.vocabulary = width;
    builder.program.logits_value = builder.value("logits", width, true);
    builder.select(out, builder.program.logits_value);
    auto backend = std::move(make_cpu_backend({.threads = 2}).value());
    auto weights = backend->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
    CompileOptions options;
    options.max_rows = options.max_logits_rows = 40;
    auto step = std::move(backend->compile(builder.program, weights.value(), options).value());
    const auto cache = TestCache::make(*backend, {1, 3, 16, 64});
    const std::vector<float> ones(48, 1.0f), nan(48, std::nanf(""));
    std::vector<std::int32_t> tokens(40);
    for (std::int32_t e = 0; e < 40; ++e) {
        tokens[static_cast<std::size_t>(e)] = e;
        cache->write(0, e, e < 37 ? ones : nan, e < 37 ? ones : nan);
    }
    const std::vector<KvView> views = cache->views(40);
    const StepResult result = test::run_step(*backend, *step, StepCase::causal(tokens, 0), {{0, 40, views}});
    ASSERT_TRUE(result.status.ok());
    for (std::size_t i = 0; i < 37u * 48u; ++i) ASSERT_NEAR(result.logits[i], 1.0f, 1e-6f);
    EXPECT_TRUE(std::isnan(result.logits[37u * 48u]));
}

}  // namespace
}  // namespace decodescope
