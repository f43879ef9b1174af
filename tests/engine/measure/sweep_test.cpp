#include "engine/measure/sweep.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/measure/statistics.h"
#include "engine/measure/sweep_runner.h"
#include "kernels/reference/reference_backend.h"
#include "tests/engine/measure/fake_session.h"
#include "tests/support/comma_locale.h"
#include "tests/support/tiny_models.h"

namespace decodescope {
namespace {

CacheSpec cache(const char* id) {
    CacheSpec spec;
    spec.id = id;
    return spec;
}

class SweepTest : public ::testing::Test {
protected:
    SweepTest() {
        clock_->micros = [](const FakePass& pass) {
            const auto rows = static_cast<double>(pass.rows), past = static_cast<double>(pass.past);
            return pass.config.cache.id == "recompute" ? 100.0 * rows : 200.0 + 10.0 * rows + past;
        };
        parts_.context = 64;
        parts_.tokens = sweep_tokens(64, 97, 1);
        parts_.run.program_version = "0.1.0";
        parts_.run.model_source = "invented";
        parts_.run.weights_type = "f16";
        parts_.run.backend = "cpu";
        parts_.create = [this](const SessionConfig& config) -> Result<std::unique_ptr<DecodeSession>> {
            return std::unique_ptr<DecodeSession>(std::make_unique<FakeSession>(clock_, config, 64));
        };
        request_.lengths = {16, 4};
        request_.caches = {cache("recompute"), cache("preallocated")};
    }
    SweepResult run() {
        auto result = run_sweep_with(parts_, request_, {}, {});
        EXPECT_TRUE(result.ok()) << result.error().text();
        return std::move(result).value();
    }
    static const SweepRow& row(const SweepResult& result, std::int64_t length, const std::string& cache,
                               const std::string& phase) {
        for (const SweepRow& r : result.rows)
            if (r.length == length && r.cache == cache && r.phase == phase) return r;
        ADD_FAILURE() << "no row " << length << " " << cache << " " << phase;
        static const SweepRow none;
        return none;
    }

    std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
    SweepParts parts_;
    SweepRequest request_;
};

TEST_F(SweepTest, RowsPerLengthCacheAndPhase) {
    const SweepResult result = run();
    ASSERT_EQ(result.rows.size(), 6u);
    const SweepRow& decode = row(result, 16, "preallocated", "decode");
    EXPECT_DOUBLE_EQ(decode.median_ms, 0.225);  // 200 + 10 + 15 past tokens
    EXPECT_EQ(decode.repeats, 5);
    EXPECT_EQ(decode.kv_bytes_used, 1600);
    EXPECT_EQ(decode.kv_bytes_reserved, 1600);  // capacity of the longest sequence of the sweep
    EXPECT_EQ(decode.flops, 1000);
    const SweepRow& prefill = row(result, 16, "preallocated", "prefill");
    EXPECT_DOUBLE_EQ(prefill.median_ms, 0.568);  // two chunks of 8 rows
    EXPECT_EQ(prefill.flops, 16000);
    const SweepRow& recompute = row(result, 16, "recompute", "recompute");
    EXPECT_DOUBLE_EQ(recompute.median_ms, 1.6);
    EXPECT_EQ(recompute.kv_bytes_used, 0);
    ASSERT_EQ(result.speedup.size(), 2u);
    EXPECT_EQ(result.speedup[0].length, 16);
    EXPECT_DOUBLE_EQ(result.speedup[0].value, 7.11);
    EXPECT_EQ(row(result, 4, "preallocated", "decode").kv_bytes_reserved, 1600);
}

// TH-02: the first round is not measured, lanes change places.
TEST_F(SweepTest, WarmUpIsDiscardedAndTheOrderChanges) {
    int passes = 0;
    clock_->micros = [&passes](const FakePass&) { return ++passes <= 4 ? 1e6 : 100.0; };  // the first round is slow
    request_.lengths = {2};
    const SweepResult result = run();
    for (const SweepRow& r : result.rows) EXPECT_LT(r.max_ms, 1.0) << r.cache << r.phase;
    // Passes of a round: one of recompute; prefill, one token, the timed token of preallocated.
    EXPECT_EQ(clock_->log.size(), 4u * 6);
    EXPECT_EQ(clock_->log[0], "recompute 0+2");
    EXPECT_EQ(clock_->log[4], "preallocated 0+2");  // the first repeat goes the other way round
    EXPECT_EQ(clock_->log[7], "recompute 0+2");
    std::vector<std::vector<std::size_t>> orders;
    for (int repeat = 0; repeat < 4; ++repeat) orders.push_back(lane_order(2, repeat));
    EXPECT_EQ(orders, (std::vector<std::vector<std::size_t>>{{0, 1}, {1, 0}, {1, 0}, {0, 1}}));
    EXPECT_EQ(lane_order(3, 5), (std::vector<std::size_t>{1, 0, 2}));
}

// TH-02: two identical strategies, with a drift that favours whoever comes later.
TEST_F(SweepTest, IdenticalStrategiesShowNoDifferenceAndTheSpread) {
    double drift = 1.0;
    clock_->micros = [&drift](const FakePass& pass) {
        return (drift *= 0.99) * (200.0 + static_cast<double>(pass.rows));
    };
    request_.lengths = {8};
    request_.caches = {cache("preallocated"), cache("preallocated")};
    for (const int repeats : {5, 6}) {
        request_.repeats = repeats;
        const SweepResult result = run();
        std::vector<Spread> spreads;
        for (const SweepRow& r : result.rows)
            if (r.phase == "decode") spreads.push_back({r.median_ms, r.min_ms, r.max_ms});
        ASSERT_EQ(spreads.size(), 2u);
        for (const auto& comparison :
             {compare_spreads(spreads[0], spreads[1]), compare_spreads(spreads[1], spreads[0])}) {
            EXPECT_FALSE(comparison.different);
            EXPECT_EQ(comparison.sentence.rfind("no difference: ", 0), 0u) << comparison.sentence;
            EXPECT_LT(comparison.low, 1);
            EXPECT_GT(comparison.high, 1);
        }
    }
    const Comparison apart = compare_spreads({4.07, 4.0, 4.1}, {1.0, 0.9, 1.1});
    EXPECT_TRUE(apart.different);
    EXPECT_EQ(apart.sentence, "slower: 4.07 (3.64 to 4.56)");
    EXPECT_FALSE(compare_spreads({}, {1, 1, 1}).different);
}

// TH-05: from the numbers as shown, two decimals, with the spread.
TEST_F(SweepTest, SpeedUpComesFromTheShownNumbers) {
    int call = 0;
    clock_->micros = [&call](const FakePass& pass) {
        ++call;
        return pass.config.cache.id == "recompute" ? 37037.04 + (call % 3) * 400 : 9090.91 + (call % 2) * 100;
    };
    request_.lengths = {8};
    const SweepResult result = run();
    ASSERT_EQ(result.speedup.size(), 1u);
    const SweepRow &slow = row(result, 8, "recompute", "recompute"), &fast = row(result, 8, "preallocated", "decode");
    EXPECT_EQ(result.speedup[0].value, std::round(slow.median_ms / fast.median_ms * 100) / 100);
    EXPECT_EQ(result.speedup[0].low, std::round(slow.min_ms / fast.max_ms * 100) / 100);
    EXPECT_EQ(result.speedup[0].high, std::round(slow.max_ms / fast.min_ms * 100) / 100);
    EXPECT_LE(result.speedup[0].low, result.speedup[0].value);
    EXPECT_NE(sweep_csv(result).find(fmt::format("{:.4f}", slow.median_ms)), std::string::npos);
}

// A growing cache must be at its true size when its step is timed: two tokens are fed one by one.
TEST_F(SweepTest, TheTimedStepFollowsAStep) {
    request_.lengths = {12};
    request_.caches = {cache("growing")};
    request_.repeats = 1;
    run();
    EXPECT_EQ(clock_->log,
              (std::vector<std::string>{"growing 0+8", "growing 8+4", "growing 10+1", "growing 11+1",  // warm-up
                                        "growing 0+8", "growing 8+4", "growing 10+1", "growing 11+1"}));
}

TEST_F(SweepTest, FitsNeedSixLengths) {
    request_.lengths = {4, 8, 16, 24, 32};
    SweepResult result = run();
    ASSERT_EQ(result.fits.size(), 2u);
    EXPECT_FALSE(result.fits[0].fit.valid);
    request_.lengths = {4, 8, 16, 24, 32, 48};
    result = run();
    EXPECT_TRUE(result.fits[0].fit.valid);
    EXPECT_NEAR(result.fits[0].fit.exponent, 1.0, 1e-6);  // 100 us a token
    const auto json = nlohmann::json::parse(sweep_json(result));
    EXPECT_NEAR(json["fit"]["recompute"]["exponent"].get<double>(), 1.0, 1e-6);
}

TEST_F(SweepTest, CancelKeepsWhatWasMeasured) {
    std::stop_source stop;
    clock_->stop_after = &stop;
    clock_->passes_left = 40;
    request_.lengths = {8, 16, 24};
    const auto result = run_sweep_with(parts_, request_, {}, stop.get_token());
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(result->cancelled);
    EXPECT_FALSE(result->rows.empty());
    EXPECT_LT(result->rows.size(), 9u);
    for (const SweepRow& r : result->rows) EXPECT_GE(r.repeats, 1);
    EXPECT_FALSE(result->speedup.empty());
    EXPECT_TRUE(nlohmann::json::parse(sweep_json(*result))["cancelled"].get<bool>());
}

TEST_F(SweepTest, ProgressCountsUpAndShowsWhatIsKnown) {
    std::vector<std::int64_t> done;
    std::size_t rows = 0;
    std::string first;
    const auto result = run_sweep_with(parts_, request_,
                                       [&](const SweepProgress& progress) {
                                           if (first.empty()) first = progress.what;
                                           EXPECT_EQ(progress.total, 2 * 2 * 6);
                                           done.push_back(progress.done);
                                           EXPECT_GE(progress.partial->rows.size(), rows);
                                           rows = progress.partial->rows.size();
                                       },
                                       {});
    EXPECT_EQ(first, "recompute at 16 tokens, warm-up");
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_EQ(done.back(), 24);
    EXPECT_EQ(rows, 6u);
}

TEST_F(SweepTest, LaneThatDoesNotFitIsNotedAndTheOthersGoOn) {
    const auto create = parts_.create;
    parts_.create = [create](const SessionConfig& config) -> Result<std::unique_ptr<DecodeSession>> {
        if (config.cache.id == "growing") return make_error(ErrorKind::Memory, "12 GiB are needed and 4 GiB are free.");
        return create(config);
    };
    request_.caches.push_back(cache("growing"));
    const SweepResult result = run();
    EXPECT_EQ(result.rows.size(), 6u);
    ASSERT_EQ(result.notes.size(), 2u);
    EXPECT_NE(result.notes[0].find("growing at 16 tokens was left out: 12 GiB"), std::string::npos);
    request_.caches = {cache("growing")};
    const auto nothing = run_sweep_with(parts_, request_, {}, {});
    ASSERT_FALSE(nothing.ok());
    EXPECT_EQ(nothing.error().kind, ErrorKind::Memory);
}

TEST_F(SweepTest, BadRequestsAreNamed) {
    for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{65}}) {
        request_.lengths = {length};
        const auto result = run_sweep_with(parts_, request_, {}, {});
        ASSERT_FALSE(result.ok());
        EXPECT_NE(result.error().message.find(std::to_string(length)), std::string::npos);
    }
    request_.lengths = {};
    EXPECT_FALSE(run_sweep_with(parts_, request_, {}, {}).ok());
    request_.lengths = {4};
    request_.repeats = 0;
    EXPECT_FALSE(run_sweep_with(parts_, request_, {}, {}).ok());
    request_.repeats = 1;
    request_.caches.clear();
    EXPECT_FALSE(run_sweep_with(parts_, request_, {}, {}).ok());
}

TEST_F(SweepTest, KvFormatsAreLanesOfTheirOwn) {
    request_.lengths = {1, 4};
    request_.kv_formats = {{ElementType::F32, ElementType::F32}, {ElementType::F16, ElementType::F32}};
    const SweepResult result = run();
    EXPECT_EQ(result.rows.size(), 2u * (1 + 2 * 2));  // recompute is one lane
    EXPECT_EQ(result.speedup.size(), 4u);
    const auto json = nlohmann::json::parse(sweep_json(result));
    EXPECT_TRUE(json["fit"].contains("preallocated k=f16,v=f32")) << json["fit"];
    const std::string csv = sweep_csv(result);
    EXPECT_NE(csv.find("4,preallocated,\"k=f16,v=f32\",f16,cpu,decode,0.2130,"), std::string::npos) << csv;
}

TEST_F(SweepTest, ProfileSumsStagesOverLayers) {
    request_.profile = true;
    request_.lengths = {4};
    parts_.stage_costs = [](const StepShape& shape) { return std::vector<Cost>{{1, 10}, {2, 20}, {shape.rows, 30}}; };
    const SweepResult result = run();
    ASSERT_EQ(result.profile.size(), 4u);  // two stages, two lanes
    EXPECT_EQ(result.profile[0].use.stage, "Q");
    EXPECT_EQ(result.profile[0].use.micros, 17.0);
    EXPECT_EQ(result.profile[0].use.cost->bytes, 40);
    EXPECT_EQ(result.profile[0].use.cost->flops, 1 + 4);  // recompute: 4 rows
    EXPECT_EQ(result.profile[2].use.cost->flops, 1 + 1);
    const auto without = nlohmann::json::parse(sweep_json(result))["profile"];
    ASSERT_EQ(without.size(), 4u);
    EXPECT_TRUE(without[0]["share"].is_null());  // of limits that were not measured
    SweepResult measured = result;
    measured.ceiling = {0.01, 0.002};  // 10 and 2 per microsecond
    const auto json = nlohmann::json::parse(sweep_json(measured))["profile"];
    EXPECT_DOUBLE_EQ(json[0]["gb_s"], 0.002);
    EXPECT_DOUBLE_EQ(json[0]["share"], 0.2353);  // 40 bytes in 17 us
    EXPECT_EQ(json[0]["share_of"], "bandwidth");
}

TEST_F(SweepTest, FilesCarryTheRunFactsAndTheContractsColumns) {
    const SweepResult result = run();
    const std::string csv = sweep_csv(result);
    const auto json = nlohmann::json::parse(sweep_json(result));
    EXPECT_NE(csv.find("\nlength,cache,kv_type,weights,backend,phase,median_ms,min_ms,max_ms,repeats,kv_bytes_used,"
                       "kv_bytes_reserved,flops,bytes\n"),
              std::string::npos);
    EXPECT_NE(csv.find("\n16,preallocated,f32,f16,cpu,decode,0.2250,0.2250,0.2250,5,1600,1600,1000,10\n"),
              std::string::npos)
        << csv;
    EXPECT_EQ(csv.rfind("# program: Decodescope\n# program_version: 0.1.0\n", 0), 0u);
    EXPECT_EQ(json["run"]["model"], "invented");
    EXPECT_TRUE(json["run"]["bandwidth_gb_s"].is_null());  // not measured is not 0
    EXPECT_EQ(json["rows"].size(), 6u);
    EXPECT_TRUE(json["fit"]["recompute"]["exponent"].is_null());
    EXPECT_FALSE(json["fit"]["recompute"]["reason"].get<std::string>().empty());
    EXPECT_EQ(json["speedup"][0]["length"], 16);
}

// LD-10: no locale changes a number.
TEST_F(SweepTest, FilesIgnoreTheLocale) {
    const SweepResult result = run();
    const std::string plain = sweep_csv(result) + sweep_json(result);
    const CommaLocale locale;
    ASSERT_TRUE(locale.active()) << kNoCommaLocale;
    EXPECT_TRUE(sweep_csv(result) + sweep_json(result) == plain);
}

// On a real, tiny model: figures that do not depend on time.
TEST(Sweep, RealSessions) {
    const ModelPtr model = make_tiny_llama();
    auto loaded = load_model(model, std::shared_ptr<Backend>(make_reference_backend()), WeightType::AsInFile, {}, {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    SweepRequest request;
    request.lengths = {1, 2, 21};
    request.caches = {cache("recompute"), cache("growing"), cache("preallocated")};
    request.repeats = 1;
    request.profile = true;
    const auto result = run_sweep(*loaded, request, {}, {});
    ASSERT_TRUE(result.ok()) << result.error().text();
    ASSERT_EQ(result->rows.size(), 15u);
    const std::int64_t row_bytes = model->config.kv_bytes_per_token(ElementType::F32, ElementType::F32);
    for (const SweepRow& r : result->rows) {
        const Cost expected = r.phase == "recompute" ? recompute_step_cost((*loaded)->program, model->config, r.length)
                              : r.phase == "decode"
                                  ? cached_step_cost((*loaded)->program, model->config, {}, r.length)
                                  : step_cost((*loaded)->program, causal_shape(model->config, 0, r.length, {}, true));
        EXPECT_EQ(r.flops, expected.flops) << r.cache << r.phase << r.length;
        EXPECT_EQ(r.bytes, expected.bytes) << r.cache << r.phase << r.length;
        EXPECT_GT(r.min_ms, 0);
        if (r.cache == "recompute") {
            EXPECT_EQ(r.kv_bytes_reserved, 0);
        } else {
            EXPECT_EQ(r.kv_bytes_used, r.length * row_bytes);
            EXPECT_EQ(r.kv_bytes_reserved, (r.cache == "growing" ? r.length : 21) * row_bytes);
        }
    }
    EXPECT_EQ(result->speedup.size(), 6u);
    std::int64_t flops = 0;
    for (const OpTiming& op : result->profile)
        if (op.length == 21 && op.cache == "preallocated") flops += op.use.cost->flops;
    EXPECT_EQ(flops, cached_step_cost((*loaded)->program, model->config, {}, 21).flops);
}

}  // namespace
}  // namespace decodescope
