// Whole decoders with random weights: cpu against reference, fed at once and in chunks.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

using test::CacheShape;
using test::Layout;
using test::ProgramBuilder;
using test::StepCase;
using test::TestCache;
using test::TinyShape;

constexpr int kTokens = 41;
constexpr double kTolerance = 1e-5;

std::vector<std::int32_t> make_tokens(int vocabulary) {
    test::Random random(7);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < kTokens; ++i) tokens.push_back(random.below(vocabulary));
    return tokens;
}

// A model on a backend, its weights and cache.
struct Loaded {
    std::unique_ptr<CompiledStep> step;
    std::unique_ptr<TestCache> cache;
};

Loaded load(Backend& backend, const ProgramBuilder& builder, const TinyShape& shape, CacheShape cache,
            WeightType type) {
    Loaded loaded;
    auto weights = backend.load_weights(builder.table, builder.program, type, {}, {});
    if (!weights.ok()) {
        ADD_FAILURE() << weights.error().text();
        return loaded;
    }
    CompileOptions options;
    options.max_rows = kTokens;
    options.max_logits_rows = kTokens;
    auto step = backend.compile(builder.program, weights.value(), options);
    if (!step.ok()) {
        ADD_FAILURE() << step.error().text();
        return loaded;
    }
    loaded.step = std::move(step.value());
    cache.layers = shape.layers;
    cache.kv_heads = shape.kv_heads;
    cache.head_dim = shape.head_dim;
    loaded.cache = TestCache::make(backend, cache);
    return loaded;
}

// Logits of every token, fed in chunks of the given sizes (the last one repeats).
std::vector<float> feed(Backend& backend, Loaded& loaded, const std::vector<int>& chunks, int vocabulary) {
    std::vector<float> logits;
    const std::vector<std::int32_t> tokens = make_tokens(vocabulary);
    int first = 0;
    for (std::size_t c = 0; first < kTokens; ++c) {
        const int size = std::min(chunks[std::min(c, chunks.size() - 1)], kTokens - first);
        const StepCase rows = StepCase::causal({tokens.begin() + first, tokens.begin() + first + size}, first);
        const std::vector<KvView> views = loaded.cache->views(first + size);
        const auto result = test::run_step(backend, *loaded.step, rows, {{0, size, views}});
        EXPECT_TRUE(result.status.ok()) << result.status.error().text();
        EXPECT_EQ(result.damage, "");
        logits.insert(logits.end(), result.logits.begin(), result.logits.end());
        first += size;
    }
    EXPECT_EQ(loaded.cache->damage(kTokens), "");
    return logits;
}

struct ModelCase {
    const char* name;
    TinyShape shape;
    CacheShape cache;
    WeightType type = WeightType::AsInFile;
};
void PrintTo(const ModelCase& one, std::ostream* out) { *out << one.name; }

std::vector<ModelCase> model_cases() {
    std::vector<ModelCase> cases;
    TinyShape llama;
    llama.heads = 8, llama.kv_heads = 2, llama.head_dim = 20, llama.hidden = 52;
    cases.push_back({"LlamaF32", llama, {}});
    llama.type = ElementType::F16;
    llama.tied = true;
    CacheShape half{.k_type = ElementType::F16, .v_type = ElementType::F16, .layout = Layout::Paged};
    cases.push_back({"LlamaF16Paged", llama, half});
    TinyShape gpt2;
    gpt2.llama = false;
    cases.push_back({"Gpt2F32", gpt2, {}});
    gpt2.type = ElementType::BF16;
    gpt2.tied = true;
    CacheShape mixed{.k_type = ElementType::BF16, .v_type = ElementType::F32, .layout = Layout::Slab};
    cases.push_back({"Gpt2BF16Slab", gpt2, mixed});
    cases.push_back({"Gpt2BF16AsF16", gpt2, {.layout = Layout::TokenMajor}, WeightType::F16});
    cases.push_back({"Gpt2BF16AsInt8", gpt2, {}, WeightType::Int8});
    cases.push_back({"LlamaF16AsInt8", llama, {}, WeightType::Int8});
    return cases;
}

// A cache in 16 bits turns differences of one rounding into steps of its own, so its tolerance is wider.
void compare(const CpuBackendOptions& options, const ModelCase& model, const ProgramBuilder& builder,
             const std::vector<float>& expected) {
    auto cpu = make_cpu_backend(options);
    ASSERT_TRUE(cpu.ok());
    const bool exact = model.cache.k_type == ElementType::F32 && model.cache.v_type == ElementType::F32;
    for (const std::vector<int>& chunks : {std::vector<int>{kTokens}, {1}, {2}, {3}, {5}, {9, 1, 4, 16, 1}}) {
        Loaded loaded = load(**cpu, builder, model.shape, model.cache, model.type);
        ASSERT_NE(loaded.step, nullptr);
        EXPECT_LE(test::relative_difference(feed(**cpu, loaded, chunks, model.shape.vocabulary), expected),
                  exact ? kTolerance : 1e-3)
            << "chunks of " << chunks.front();
    }
}

class WholeModel : public testing::TestWithParam<std::tuple<ModelCase, std::string>> {};

TEST_P(WholeModel, EqualsReferenceAtOnceAndInChunks) {
    const auto& [model, instruction_set] = GetParam();
    ProgramBuilder builder(11);
    test::build_tiny_model(model.shape, builder);
    const auto reference = make_reference_backend();
    Loaded truth = load(*reference, builder, model.shape, model.cache, model.type);
    ASSERT_NE(truth.step, nullptr);
    const std::vector<float> expected = feed(*reference, truth, {kTokens}, model.shape.vocabulary);
    CpuBackendOptions options;
    options.threads = 2;
    options.instruction_set = instruction_set;
    compare(options, model, builder, expected);
}

INSTANTIATE_TEST_SUITE_P(Kernels, WholeModel,
                         testing::Combine(testing::ValuesIn(model_cases()), testing::ValuesIn(cpu_instruction_sets())),
                         [](const auto& info) {
                             return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
                         });

}  // namespace
}  // namespace decodescope
