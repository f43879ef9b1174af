#include "engine/measure/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/measure/commentary.h"
#include "engine/support/numbers.h"
#include "tests/engine/measure/shape_model.h"

namespace decodescope {
namespace {

constexpr KvFormat kF32{};
constexpr KvFormat kF16{ElementType::F16, ElementType::F16};

double gflop(std::int64_t flops) { return static_cast<double>(flops) / 1e9; }

TEST(CostModel, StepOfGpt2Small) {
    const ModelConfig config = gpt2_124m();
    const StepProgram program = program_of(config);
    EXPECT_EQ(config.layer_matrix_parameters(), 84934656);
    EXPECT_EQ(cached_step_cost(program, config, kF32, 1).flops, 247100928);
    EXPECT_EQ(cached_step_cost(program, config, kF32, 1024).flops, 284812800);
    EXPECT_EQ(cached_step_cost(program, config, kF16, 1024).flops, 284812800);  // the format changes bytes only
}

TEST(CostModel, RecomputeIsPrefillOfTheWholeSequence) {
    const ModelConfig config = gpt2_124m();
    const StepProgram program = program_of(config);
    for (const std::int64_t t : {1, 4, 10, 137, 1024}) {
        const std::int64_t expected = 2 * 84934656 * t + 2 * 12 * 768 * t * (t + 1) + 2 * 50257 * 768;
        EXPECT_EQ(recompute_step_cost(program, config, t).flops, expected);
        EXPECT_EQ(recompute_flops(config, t), expected);
    }
}

TEST(CostModel, LlamaWithGroupedHeads) {
    ModelConfig config = llama_shape(3, 8, 2, 8);
    config.feed_forward = 128;
    config.vocabulary = 97;
    config.tied_head = false;
    const std::int64_t n = 3 * (64 * 64 + 2 * 64 * 16 + 64 * 64 + 3 * 64 * 128);
    EXPECT_EQ(config.layer_matrix_parameters(), n);
    const StepProgram program = program_of(config);
    EXPECT_EQ(cached_step_cost(program, config, kF32, 21).flops, 2 * n + 4 * 3 * 8 * 8 * 21 + 2 * 97 * 64);
}

// TH-06. The table of a fair opponent, and what a straw man would claim.
TEST(CostModel, WholeRunsAgainstAFairOpponent) {
    const ModelConfig config = gpt2_124m();
    const StepProgram program = program_of(config);
    struct Case {
        std::int64_t prompt, tokens;
        double cached, recompute, ratio, straw_man;
    };
    for (const Case& c : {Case{4, 200, 50.69, 3583.9, 70.7, 102.9}, Case{10, 100, 26.46, 1026.6, 38.8, 56.2},
                          Case{10, 1000, 267.4, 92955.8, 347.7, 518.1}, Case{512, 512, 232.6, 72563.8, 312.0, 467.0}}) {
        const double cached = gflop(cached_run_flops(program, config, c.prompt, c.tokens));
        const double recompute = gflop(recompute_run_flops(program, config, c.prompt, c.tokens));
        EXPECT_NEAR(cached, c.cached, c.cached < 100 ? 0.005 : 0.05);
        EXPECT_NEAR(recompute, c.recompute, 0.05);
        EXPECT_NEAR(recompute / cached, c.ratio, 0.05);
        double wasteful = 0;  // logits of every row, the full square of scores
        for (std::int64_t t = c.prompt; t < c.prompt + c.tokens; ++t) {
            const auto n = static_cast<double>(t);
            wasteful += (2 * 84934656.0 * n + 4 * 12 * 768.0 * n * n + 2 * 50257.0 * 768 * n) / 1e9;
        }
        EXPECT_NEAR(wasteful / cached, c.straw_man, 0.06);
        EXPECT_GT(wasteful, 1.4 * recompute);  // planting it would be seen
    }
}

TEST(CostModel, BytesOfAStep) {
    const ModelConfig config = gpt2_124m();
    const StepProgram program = program_of(config, ElementType::F16);
    // Matrices f16, norms and biases f32, one row of each embedding, the tied head once.
    const std::int64_t biases = 12 * (4 * 768 + 3072 + 768);  // Q, K, V, output, up, down
    const std::int64_t norms = 2 * (2 * 12 + 1) * 768;
    const std::int64_t weights = 2 * (84934656 + 50257 * 768) + 4 * (biases + norms) + 2 * (768 + 768);
    const std::int64_t row = 36864;  // K and V of a token, f16
    EXPECT_EQ(cached_step_cost(program, config, kF16, 100).bytes, weights + 100 * row + row);
    EXPECT_EQ(cached_step_cost(program, config, kF32, 100).bytes, weights + 2 * (100 * row + row));
    // Without a cache no KV bytes, weights once, an embedding row per token.
    EXPECT_EQ(recompute_step_cost(program, config, 100).bytes, weights + 99 * 2 * (768 + 768));
    // A chunk reads the rows before it and its own.
    EXPECT_EQ(step_cost(program, causal_shape(config, 60, 40, kF16, true)).bytes,
              weights + 39 * 2 * (768 + 768) + 100 * row + 40 * row);
}

// MA-01: all presets, exact.
TEST(MemoryFormula, PresetsExactly) {
    struct Case {
        std::int64_t layers, heads, kv_heads, head_dim, f16, f32, context, total_f16;
    };
    const Case cases[] = {{12, 12, 12, 64, 36864, 73728, 1024, 37748736},
                          {24, 16, 16, 64, 98304, 196608, 1024, std::int64_t{96} << 20},
                          {36, 20, 20, 64, 184320, 368640, 1024, std::int64_t{180} << 20},
                          {48, 25, 25, 64, 307200, 614400, 1024, std::int64_t{300} << 20},
                          {32, 32, 32, 128, 524288, 1048576, 4096, 2147483648},
                          {40, 40, 40, 128, 819200, 1638400, 2048, 1677721600},
                          {80, 64, 8, 128, 327680, 655360, 4096, 1342177280},
                          {32, 32, 8, 128, 131072, 262144, 8192, 1073741824},
                          {22, 32, 4, 64, 22528, 45056, 2048, std::int64_t{44} << 20},
                          {16, 32, 8, 64, 32768, 65536, 131072, std::int64_t{4} << 30}};
    for (const Case& c : cases) {
        const ModelConfig config = llama_shape(c.layers, c.heads, c.kv_heads, c.head_dim);
        EXPECT_EQ(config.kv_bytes_per_token(ElementType::F16, ElementType::F16), c.f16);
        EXPECT_EQ(config.kv_bytes_per_token(ElementType::F32, ElementType::F32), c.f32);
        EXPECT_EQ(c.context * c.f16, c.total_f16);
        const StepShape shape = causal_shape(config, 0, 1, kF16, true);
        EXPECT_EQ(shape.kv_bytes_per_entry * c.layers, c.f16);  // the cost model counts KV heads too
    }
}

// MA-08: no product is 32 bits wide.
TEST(MemoryFormula, LargePresetDoesNotWrap) {
    ModelConfig config = llama_shape(80, 64, 64, 128);
    config.feed_forward = 28672;
    config.vocabulary = 128256;
    const std::int64_t bytes = 131072 * config.kv_bytes_per_token(ElementType::F32, ElementType::F32);
    EXPECT_EQ(bytes, 687194767360);
    EXPECT_EQ(format_grouped(bytes), "687,194,767,360");
    EXPECT_EQ(format_bytes(bytes), "640 GiB");
    const StepProgram program = program_of(config);
    const std::int64_t n = config.layer_matrix_parameters();
    EXPECT_GT(n, std::int64_t{1} << 36);
    EXPECT_EQ(recompute_step_cost(program, config, 131072).flops,
              2 * n * 131072 + std::int64_t{2} * 80 * 8192 * 131072 * 131073 + std::int64_t{2} * 128256 * 8192);
    EXPECT_GT(cached_step_cost(program, config, kF32, 131072).bytes, bytes);
}

// ---- TH-04 ----

TEST(PowerLaw, FindsTheExponentAndShowsTheResidual) {
    std::vector<double> lengths = {64, 96, 128, 192, 256, 384}, times;
    for (const double n : lengths) times.push_back(0.01 * std::pow(n, 1.7));
    const PowerLawFit exact = fit_power_law(lengths, times);
    ASSERT_TRUE(exact.valid);
    EXPECT_NEAR(exact.exponent, 1.7, 1e-9);
    EXPECT_NEAR(exact.factor, 0.01, 1e-9);
    EXPECT_NEAR(exact.residual, 0, 1e-9);
    for (std::size_t i = 0; i < times.size(); ++i) times[i] *= i % 2 == 0 ? std::exp(0.1) : std::exp(-0.1);
    const PowerLawFit noisy = fit_power_law(lengths, times);
    ASSERT_TRUE(noisy.valid);
    EXPECT_GT(noisy.residual, 0.08);
    EXPECT_LT(noisy.residual, 0.1001);
}

TEST(PowerLaw, SaysWhenThereIsNotEnoughData) {
    const PowerLawFit two = fit_power_law({64, 128}, {1, 4});
    EXPECT_FALSE(two.valid);
    EXPECT_NE(two.reason.find("at least 6"), std::string::npos);
    EXPECT_NE(two.reason.find("there are 2"), std::string::npos);
    EXPECT_FALSE(fit_power_law({1, 2, 3, 4, 5, 5, 5, 5}, {1, 2, 3, 4, 5, 5, 5, 5}).valid);  // repeats are no lengths
    EXPECT_FALSE(fit_power_law({1, 2, 3, 4, 5, 6}, {1, 2, 0, 4, NAN, 6}).valid);
    EXPECT_FALSE(fit_power_law({}, {}).valid);
}

TEST(CostFit, FindsNonNegativePrices) {
    const ModelConfig config = gpt2_124m();
    const StepProgram program = program_of(config);
    std::vector<Cost> costs;
    std::vector<double> micros;
    for (const std::int64_t t : {16, 64, 128, 256, 512, 1024}) {
        costs.push_back(recompute_step_cost(program, config, t));
        micros.push_back(120 + 2e-5 * static_cast<double>(costs.back().flops));
    }
    const CostFit fit = fit_cost(costs, micros);
    ASSERT_TRUE(fit.valid);
    EXPECT_GE(fit.micros_fixed, 0);
    EXPECT_GE(fit.micros_per_byte, 0);
    EXPECT_NEAR(fit.micros_per_flop, 2e-5, 1e-8);
    for (std::size_t i = 0; i < costs.size(); ++i) EXPECT_NEAR(fit.micros(costs[i]) / micros[i], 1, 1e-3);
}

TEST(CostFit, FallingTimesGiveNoNegativePrice) {
    const CostFit fit = fit_cost({{100, 0}, {200, 0}, {300, 0}}, {30, 20, 10});
    ASSERT_TRUE(fit.valid);
    EXPECT_GE(fit.micros_per_flop, 0);
    EXPECT_GE(fit.micros_fixed, 0);
}

// Passes that scatter by a factor of three lie around the curve, not above it; a few hiccups do not bend it.
TEST(CostFit, LiesAmongScatteredTimes) {
    std::vector<Cost> costs;
    std::vector<double> even, hiccups;
    for (std::int64_t i = 1; i <= 60; ++i) {
        costs.push_back({1000 * i, 0});
        even.push_back(static_cast<double>(i) * (i % 2 == 0 ? 60.0 : 140.0));
        hiccups.push_back(static_cast<double>(i) * (i % 20 == 5 ? 5000.0 : 100.0));
    }
    const CostFit middle = fit_cost(costs, even);
    ASSERT_TRUE(middle.valid);
    int above = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) above += even[i] > middle.micros(costs[i]) ? 1 : 0;
    EXPECT_GE(above, 20);
    EXPECT_LE(above, 40);
    const CostFit calm = fit_cost(costs, hiccups);
    ASSERT_TRUE(calm.valid);
    EXPECT_NEAR(calm.micros({30000, 0}) / 3000, 1, 0.25);
}

TEST(CostFit, DegenerateDataIsRefusedWithAReason) {
    EXPECT_FALSE(fit_cost({}, {}).valid);
    EXPECT_FALSE(fit_cost({{5, 5}, {5, 5}}, {1, 2}).reason.empty());
    EXPECT_FALSE(fit_cost({{5, 5}, {6, 6}}, {0, NAN}).valid);
}

}  // namespace
}  // namespace decodescope
