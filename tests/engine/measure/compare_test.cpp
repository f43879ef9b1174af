// Comparisons of configurations: what is measured, in which order, and what is said about it.
#include "engine/measure/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/measure/compare_commentary.h"
#include "engine/measure/compare_runner.h"
#include "engine/measure/logit_difference.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/engine/measure/compare_helpers.h"
#include "tests/engine/measure/fake_session.h"
#include "tests/engine/measure/large_keys.h"
#include "tests/support/tiny_models.h"

namespace decodescope {
namespace {

// ---- invented sessions: order, times, stops ----

class CompareTest : public ::testing::Test {
protected:
    CompareTest() {
        clock_->micros = [](const FakePass& pass) { return pass.config.cache.id == "growing" ? 200.0 : 150.0; };
        parts_.create = [this](std::size_t, const SessionConfig& config) -> Result<std::unique_ptr<DecodeSession>> {
            auto session = std::make_unique<FakeSession>(clock_, config, 64);
            session->logits()[3] = 1;
            sessions_.push_back(session.get());
            return std::unique_ptr<DecodeSession>(std::move(session));
        };
        request_.configs = {config("cache=growing"), config("cache=preallocated")};
        request_.prompt = {1, 2, 3};
        request_.new_tokens = 9;
    }
    Result<CompareResult> run() {
        CompareResult result;
        for (const std::string& name : config_names(request_.configs)) {
            CompareLane& lane = result.lanes.emplace_back();
            lane.name = name;
            lane.config = request_.configs[result.lanes.size() - 1];
        }
        return run_compare_with(parts_, request_, std::move(result), {}, stop_.get_token());
    }

    std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
    CompareParts parts_;
    CompareRequest request_;
    std::vector<FakeSession*> sessions_;
    std::stop_source stop_;
};

TEST_F(CompareTest, TH02_WarmUpApartAndLanesInTurn) {
    const auto result = run();
    ASSERT_TRUE(result.ok()) << result.error().text();
    // A prefill that warms up and three that count, then one step of each lane after the other; order turns round.
    const std::vector<std::string> start = {"growing 0+3", "preallocated 0+3", "preallocated 0+3", "growing 0+3"};
    ASSERT_EQ(clock_->log.size(), 2u * (4 + 8));
    EXPECT_TRUE(std::equal(start.begin(), start.end(), clock_->log.begin()));
    EXPECT_EQ(clock_->log[8], "preallocated 3+1");
    EXPECT_EQ(clock_->log[9], "growing 3+1");
    const CompareLane& growing = result->lanes[0];
    EXPECT_EQ(growing.prefill_repeats, 3);
    EXPECT_EQ(growing.decode_steps, 8);
    EXPECT_DOUBLE_EQ(growing.decode_micros.median, 200);
    EXPECT_EQ(growing.passes.size(), 9u);
    EXPECT_EQ(growing.passes.back().length, 11);
    EXPECT_EQ(growing.tokens, std::vector<std::int32_t>(9, 3));
    EXPECT_EQ(result->stop_reason, "length");
}

TEST_F(CompareTest, TH02_TwoIdenticalConfigurationsShowNoDifference) {
    request_.configs = {config("cache=growing"), config("cache=growing")};
    int pass = 0;
    clock_->micros = [&pass](const FakePass&) { return 100.0 + (++pass * 37) % 11; };
    const auto result = run();
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(paired_times(result->lanes[1], result->lanes[0]).different());
    EXPECT_EQ(result->lanes[1].name, "growing (2)");
}

TEST_F(CompareTest, ClaimOfTheArticleIsMeasured) {
    auto result = run();
    ASSERT_TRUE(result.ok());
    const PairedTimes pair = paired_times(result->lanes[1], result->lanes[0]);
    EXPECT_DOUBLE_EQ(pair.ratio, 0.75);
    EXPECT_EQ(pair.steps, 8);
    auto said = preallocation_sentence(*result);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->id, "claim.preallocated");
    EXPECT_NE(said->english.find("25.0 % less time"), std::string::npos) << said->english;
    clock_->micros = [](const FakePass& pass) { return pass.config.cache.id == "growing" ? 100.0 : 110.0; };
    result = run();
    said = preallocation_sentence(*result);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->id, "claim.preallocated.slower");
    EXPECT_NE(said->english.find("10.0 % more time"), std::string::npos) << said->english;
    clock_->micros = [](const FakePass&) { return 100.0; };
    EXPECT_EQ(preallocation_sentence(*run())->id, "claim.preallocated.same");
}

TEST_F(CompareTest, TH03_NoStepMeansNoTime) {
    request_.new_tokens = 1;
    const auto result = run();
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->lanes[0].decode_steps, 0);
    EXPECT_EQ(result->lanes[0].passes.size(), 1u);
    EXPECT_FALSE(preallocation_sentence(*result));
    const auto json = nlohmann::json::parse(compare_json(*result));
    EXPECT_TRUE(json["configs"][0]["decode_micros"].is_null());
    request_.new_tokens = 0;
    EXPECT_TRUE(run()->lanes[0].tokens.empty());
}

TEST_F(CompareTest, StopKeepsWholeSteps) {
    clock_->stop_after = &stop_;
    clock_->passes_left = 2 * (4 + 3) + 1;  // in the middle of the fourth step
    const auto result = run();
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(result->cancelled);
    EXPECT_EQ(result->stop_reason, "cancelled");
    for (const CompareLane& lane : result->lanes) {
        EXPECT_EQ(lane.passes.size(), 4u);
        EXPECT_EQ(lane.tokens.size(), 4u);
        EXPECT_EQ(lane.stop_reason, "cancelled");
    }
}

TEST_F(CompareTest, EndTokenEndsTheReference) {
    parts_.ends = [](std::int32_t token) { return token == 3; };
    EXPECT_EQ(run()->stop_reason, "eos");
    request_.stop_at_eos = false;
    EXPECT_EQ(run()->stop_reason, "length");
    request_.new_tokens = 100;
    EXPECT_EQ(run()->stop_reason, "context_full");
}

// Rows that pad the embedding are larger than every other and differ: they decide nothing, and no difference is theirs.
TEST_F(CompareTest, LD15_PaddedRowsDecideNothing) {
    parts_.sampled_vocabulary = 4;
    const auto create = parts_.create;
    parts_.create = [this, create](std::size_t lane, const SessionConfig& config) {
        auto session = create(lane, config);
        sessions_.back()->logits()[4] = lane == 0 ? 9.0f : -9.0f;
        return session;
    };
    const auto result = run();
    ASSERT_TRUE(result.ok()) << result.error().text();
    const CompareLane& lane = result->lanes[1];
    EXPECT_EQ(lane.first_different, -1);
    for (const ComparePass& pass : lane.passes) {
        EXPECT_TRUE(pass.same_token);
        EXPECT_EQ(pass.max_abs_logit_diff, 0);
        EXPECT_EQ(pass.kl, 0);
    }
}

TEST_F(CompareTest, RefusalOfASessionNamesTheConfiguration) {
    parts_.create = [](std::size_t lane, const SessionConfig&) -> Result<std::unique_ptr<DecodeSession>> {
        if (lane == 1) return make_error(ErrorKind::Unsupported, "no such pair.");
        return std::unique_ptr<DecodeSession>(
            std::make_unique<FakeSession>(std::make_shared<FakeClock>(), SessionConfig{}, 64));
    };
    const auto result = run();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "configuration 2: no such pair.");
    EXPECT_EQ(result.error().kind, ErrorKind::Unsupported);
}

// ---- the real engine ----

BackendRegistry registry() {
    BackendRegistry all;
    BackendEntry cpu;
    cpu.id = "cpu";
    cpu.available = true;
    cpu.create = [](const BackendRequest&) -> Result<std::shared_ptr<Backend>> {
        CpuBackendOptions options;
        options.threads = 1;
        auto backend = make_cpu_backend(options);
        if (!backend.ok()) return backend.error();
        return std::shared_ptr<Backend>(std::move(*backend));
    };
    all.add(std::move(cpu));
    BackendEntry reference;
    reference.id = "reference";
    reference.available = true;
    reference.create = [](const BackendRequest&) -> Result<std::shared_ptr<Backend>> {
        return std::shared_ptr<Backend>(make_reference_backend());
    };
    all.add(std::move(reference));
    return all;
}

CompareResult compare(const std::vector<std::string>& configs, std::int64_t prompt, std::int64_t new_tokens,
                      const ModelPtr& model = make_tiny_llama()) {
    CompareRequest request;
    auto parsed = parse_compare_configs(configs);
    EXPECT_TRUE(parsed.ok());
    request.configs = *parsed;
    request.prompt = random_tokens(prompt, model->config.vocabulary, 5);
    request.new_tokens = new_tokens;
    auto result = run_compare(model, registry(), {}, request, {}, {}, {});
    EXPECT_TRUE(result.ok()) << result.error().text();
    return result.ok() ? std::move(*result) : CompareResult();
}

TEST(Compare, QT09_IdenticalRunsDifferByNothing) {
    const CompareResult result =
        compare({"cache=preallocated", "cache=growing", "cache=paged:page=4", "cache=preallocated:slab=true"}, 7, 20);
    for (const CompareLane& lane : result.lanes) {
        EXPECT_EQ(lane.max_abs_logit_diff, 0) << lane.name;
        EXPECT_EQ(lane.max_kl, 0) << lane.name;
        EXPECT_EQ(lane.first_different, -1) << lane.name;
        EXPECT_EQ(lane.tokens, result.lanes[0].tokens);
        EXPECT_EQ(lane.passes.size(), 20u);
    }
    EXPECT_EQ(result.lanes[0].kv_bytes_copied, 0);
    // Growing copies all rows before each step: 7 + 8 + ... + 25, K and V of 3 layers, 2 heads of 8 elements.
    const std::int64_t row = 2 * 3 * 2 * 8 * 4;
    EXPECT_EQ(result.lanes[1].kv_bytes_copied, row * (7 + 25) * 19 / 2);
    EXPECT_EQ(result.lanes[1].kv_bytes_used, row * 26);
    EXPECT_EQ(result.lanes[0].kv_bytes_reserved, row * 27);
    EXPECT_GT(result.lanes[1].kv_bytes_peak, result.lanes[1].kv_bytes_used);
}

TEST(Compare, QT09_RecomputeAndBackendsAgreeToRounding) {
    const CompareResult result = compare({"cache=preallocated", "cache=recompute", "backend=reference"}, 5, 8);
    for (std::size_t i = 1; i < 3; ++i) {
        EXPECT_LT(result.lanes[i].max_abs_logit_diff, 1e-3);
        EXPECT_LT(result.lanes[i].max_kl, 1e-6);
        EXPECT_EQ(result.lanes[i].first_different, -1);
    }
    EXPECT_GT(result.lanes[2].max_abs_logit_diff, 0);
    EXPECT_EQ(result.lanes[1].kv_bytes_peak, 0);
    EXPECT_EQ(result.lanes[2].backend, "reference");
}

// A lossy configuration is led by the reference's tokens for its logits and writes a text of its own.
TEST(Compare, SW07_LossyOnesShowWhereTheyPart) {
    const CompareResult result =
        compare({"cache=preallocated", "cache=ring:window=4", "cache=sinks:sinks=1,window=4", "kv=bf16"}, 12, 24);
    const CompareLane &reference = result.lanes[0], &ring = result.lanes[1];
    EXPECT_GT(ring.max_abs_logit_diff, 1e-2);
    EXPECT_GT(ring.max_kl, 0);
    ASSERT_GE(ring.first_different, 0);
    const auto at = static_cast<std::size_t>(ring.first_different);
    EXPECT_TRUE(std::equal(ring.tokens.begin(), ring.tokens.begin() + ring.first_different, reference.tokens.begin()));
    EXPECT_NE(ring.tokens[at], reference.tokens[at]);
    EXPECT_EQ(ring.tokens.size(), 24u);
    EXPECT_EQ(ring.stop_reason, "length");
    EXPECT_GT(result.lanes[2].max_abs_logit_diff, 0);
    const CompareLane& coarse = result.lanes[3];
    EXPECT_GT(coarse.max_abs_logit_diff, 1e-6);
    EXPECT_LT(coarse.max_abs_logit_diff, ring.max_abs_logit_diff);
    EXPECT_EQ(coarse.kv_bytes_used * 2, reference.kv_bytes_used);
    // The text that the ring writes is that of a run on its own.
    const CompareResult alone = compare({"cache=ring:window=4"}, 12, 24);
    EXPECT_EQ(alone.lanes[0].tokens, ring.tokens);
}

// The whole prompt is named, not the portion that did not fit.
TEST(Compare, CC14_PromptBeyondTheContextNamesBothNumbers) {
    const auto model = make_tiny_llama();
    const std::int64_t context = model->config.context;
    CompareRequest request;
    request.configs = *parse_compare_configs(std::vector<std::string>{"cache=growing", "cache=preallocated"});
    request.prompt = random_tokens(context + 1, model->config.vocabulary, 5);
    request.prefill_chunk = 16;
    const auto result = run_compare(model, registry(), {}, request, {}, {}, {});
    ASSERT_FALSE(result.ok());
    const std::string& said = result.error().message;
    EXPECT_THAT(said, testing::HasSubstr(std::to_string(context + 1)));
    EXPECT_THAT(said, testing::HasSubstr(" " + std::to_string(context)));
    EXPECT_THAT(said, testing::Not(testing::HasSubstr("16 ")));
}

TEST(Compare, BackendThatIsMissingNamesTheConfiguration) {
    CompareRequest request;
    request.configs = {config("cache=growing"), config("backend=cuda")};
    request.prompt = {1};
    const auto result = run_compare(make_tiny_llama(), registry(), {}, request, {}, {}, {});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message.rfind("configuration 2: ", 0), 0u) << result.error().message;
}

TEST(Compare, QT09_DivergenceIsThatOfTheFormula) {
    const std::vector<float> p = {0.0f, 1.0f}, q = {0.0f, 2.0f};
    const double p1 = 1 / (1 + std::exp(-1.0)), q1 = 1 / (1 + std::exp(-2.0));
    EXPECT_NEAR(kl_divergence(p, q), p1 * std::log(p1 / q1) + (1 - p1) * std::log((1 - p1) / (1 - q1)), 1e-12);
    EXPECT_EQ(kl_divergence(p, p), 0);
}

bool says(const CompareResult& result, const std::string& id) {
    for (const Sentence& sentence : compare_commentary(result))
        if (sentence.id.rfind(id, 0) == 0) return true;
    return false;
}

// QT-01, QT-09: where the formats are what differs, the rows of every layer are compared, too.
TEST(Compare, QT01_FormatsAreComparedLayerByLayer) {
    const CompareResult result = compare({"kv=f32", "kv=k=int8,v=f16;cache=paged:page=4", "kv=int8;cache=ring:window=4",
                                          "kv=f32;cache=growing"}, 40, 20);
    const CompareLane& coarse = result.lanes[1];
    ASSERT_EQ(coarse.layers.size(), 3u);
    for (const LayerFormatError& layer : coarse.layers) {
        EXPECT_GT(layer.k, 1e-4);
        EXPECT_LT(layer.k, 2e-2);
        EXPECT_GT(layer.v, 1e-5);
        EXPECT_LT(layer.v, layer.k);
    }
    for (const std::size_t other : {0u, 2u, 3u}) EXPECT_TRUE(result.lanes[other].layers.empty()) << other;
    // Exactly what the same tokens give when they are measured for this alone.
    FormatErrorRequest request;
    request.cache = *parse_cache_spec("preallocated");
    request.format = *parse_kv_format("k=int8,v=f16");
    request.tokens = result.prompt;
    request.more_tokens = 19;  // the last one is not fed
    const auto model = load_model(make_tiny_llama(), std::shared_ptr<Backend>(make_cpu_backend().value()),
                                  WeightType::AsInFile, {}, {});
    const auto measured = measure_format_error(*model, request, {}, {});
    ASSERT_TRUE(measured.ok());
    for (std::size_t layer = 0; layer < 3; ++layer) {
        EXPECT_NEAR(coarse.layers[layer].k, measured->layers[layer].k, 1e-5);
        EXPECT_NEAR(coarse.layers[layer].v, measured->layers[layer].v, 1e-5);
    }
    EXPECT_TRUE(says(result, "pair.format"));
    EXPECT_FALSE(says(result, "pair.format.much"));
    const auto json = nlohmann::json::parse(compare_json(result));
    ASSERT_EQ(json["configs"][1]["layers"].size(), 3u);
    EXPECT_EQ(json["configs"][1]["layers"][2]["k_rows_l2"], coarse.layers[2].k);
    EXPECT_EQ(json["configs"][1]["max_k_rows_l2"], coarse.largest_layer_error().k);
    EXPECT_TRUE(json["configs"][2]["max_k_rows_l2"].is_null());
}

// A scale for each row does not suit large key channels, and it is said.
TEST(Compare, QT01_AWarningWhereAFormatDoesNotSuitTheModel) {
    const CompareResult result = compare({"kv=f32", "kv=int8"}, 60, 20, llama_with_large_key_channels());
    EXPECT_TRUE(says(result, "pair.format.much"));
    CompareResult mild = result;
    mild.lanes[1].layers = {{0.04, 0.01}};
    mild.lanes[1].max_kl = 0.001;
    EXPECT_FALSE(says(mild, "pair.format.much"));
    mild.lanes[1].layers = {{0.04, 0.01}, {0.01, 0.06}};
    EXPECT_TRUE(says(mild, "pair.format.much.v"));
    mild.lanes[1].layers.pop_back();
    mild.lanes[1].max_kl = 0.02;
    EXPECT_TRUE(says(mild, "pair.format.much.kl"));
}

TEST(Compare, TablesSayTheSame) {
    const CompareResult result = compare({"cache=growing", "cache=preallocated"}, 5, 6);
    const auto json = nlohmann::json::parse(compare_json(result));
    ASSERT_EQ(json["configs"].size(), 2u);
    EXPECT_EQ(json["configs"][1]["cache"], "preallocated");
    EXPECT_EQ(json["configs"][1]["max_abs_logit_diff"], 0.0);
    EXPECT_TRUE(json["configs"][1]["first_different_token"].is_null());
    EXPECT_EQ(json["configs"][0]["steps"].size(), 6u);
    EXPECT_EQ(json["configs"][0]["tokens"].size(), 6u);
    EXPECT_EQ(json["run"]["cache"], "growing preallocated");
    EXPECT_FALSE(json["comments"].empty());
    const std::string csv = compare_csv(result);
    EXPECT_NE(csv.find("\nconfig,name,cache,kv_type,weights,backend,prefill_micros"), std::string::npos);
    EXPECT_NE(csv.find("\n1,growing,growing,f32,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace decodescope
