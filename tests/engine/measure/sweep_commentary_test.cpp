// What is said about a sweep: TH-07 (no benefit is said, with its reason) and TH-02 (what cannot be told apart is not
// ranked).
#include "engine/measure/sweep_commentary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace decodescope {
namespace {

SweepRow row(std::int64_t length, const char* cache, const char* phase, double low, double median, double high,
             const char* kv = "f32") {
    SweepRow r;
    r.length = length;
    r.cache = cache;
    r.kv_type = kv;
    r.phase = phase;
    r.min_ms = low;
    r.median_ms = median;
    r.max_ms = high;
    r.repeats = 5;
    return r;
}

TEST(SweepCommentary, EveryCacheIsNamedAtEveryLength) {
    SweepResult result;
    for (const std::int64_t length : {64, 256}) {
        const double scale = static_cast<double>(length) / 64;
        result.rows.push_back(row(length, "growing", "prefill", 9, 9, 9));
        result.rows.push_back(row(length, "growing", "decode", 1.0, 1.1, 1.2));
        result.rows.push_back(row(length, "preallocated", "decode", 0.5, 0.55, 0.6));
        result.rows.push_back(row(length, "recompute", "recompute", 4 * scale, 4.4 * scale, 5 * scale));
    }
    const auto comments = sweep_commentary(result);
    ASSERT_EQ(comments.size(), 2u);
    EXPECT_EQ(comments[0].length, 64);
    ASSERT_EQ(comments[0].sentences.size(), 2u);
    EXPECT_EQ(comments[0].sentences[0].lane, "growing");
    EXPECT_EQ(comments[1].english,
              "growing: 16.00 times faster with the cache at 256 tokens: 1.1000 ms instead of 17.6000 ms. "
              "preallocated: 32.00 times faster with the cache at 256 tokens: 0.5500 ms instead of 17.6000 ms.");
}

TEST(SweepCommentary, NoBenefitIsSaid) {  // TH-07
    SweepResult result;
    result.rows = {row(8, "growing", "decode", 1.00, 1.01, 1.02), row(8, "recompute", "recompute", 1.04, 1.05, 1.06),
                   row(64, "growing", "decode", 1.00, 1.01, 1.02), row(64, "recompute", "recompute", 0.4, 0.5, 0.6)};
    const auto comments = sweep_commentary(result);
    ASSERT_EQ(comments.size(), 2u);
    ASSERT_EQ(comments[0].sentences.size(), 1u);
    EXPECT_EQ(comments[0].sentences[0].sentence.id, "gain.none.short");
    EXPECT_EQ(comments[0].english.rfind("growing: No benefit at this length: 1.04 times at 8 tokens", 0), 0u)
        << comments[0].english;
    EXPECT_EQ(comments[1].sentences[0].sentence.id, "gain.none.overhead");
    // Weights that take most of the pass: 1e6 bytes at 1 GB/s are 1 ms.
    result.run.weight_bytes = 1000000;
    result.run.bandwidth_gb_s = 1;
    EXPECT_EQ(sweep_commentary(result)[1].sentences[0].sentence.id, "gain.none.memory");
}

TEST(SweepCommentary, OverlappingSpreadsAreNoDifference) {  // TH-02
    SweepResult result;
    result.rows = {row(64, "preallocated", "decode", 0.9, 1.0, 1.3), row(64, "growing", "decode", 1.1, 1.2, 1.3),
                   row(64, "recompute", "recompute", 1.25, 1.5, 1.9)};
    const auto comments = sweep_commentary(result);
    ASSERT_EQ(comments.size(), 1u);
    // Medians 1.5 and 1.25 times apart, but within the spread: no gain is claimed.
    for (const auto& [lane, sentence] : comments[0].sentences) EXPECT_EQ(sentence.id, "compare.same");
    ASSERT_EQ(comments[0].sentences.size(), 3u);
    EXPECT_EQ(comments[0].sentences[0].sentence.english,
              "preallocated and growing at 64 tokens: no difference that this measurement can show, 0.83 times "
              "(0.69 to 1.18).");
    // One microsecond of air between them.
    result.rows[1] = row(64, "growing", "decode", 1.301, 1.31, 1.32);
    EXPECT_EQ(sweep_commentary(result)[0].sentences.size(), 2u);
}

TEST(SweepCommentary, FormatsAreNamedWhereThereAreSeveral) {
    SweepResult result;
    result.rows = {row(64, "growing", "decode", 1, 1, 1, "f32"), row(64, "growing", "decode", 0.5, 0.5, 0.5, "bf16"),
                   row(64, "recompute", "recompute", 4, 4, 4)};
    const auto comments = sweep_commentary(result);
    ASSERT_EQ(comments[0].sentences.size(), 2u);
    EXPECT_EQ(comments[0].sentences[1].lane, "growing (bf16)");
    EXPECT_EQ(lane_name(result, "recompute", "f32"), "recompute");
}

TEST(SweepCommentary, NothingToCompareSaysNothing) {
    SweepResult result;
    EXPECT_TRUE(sweep_commentary(result).empty());
    result.rows = {row(64, "growing", "decode", 1, 1, 1), row(128, "recompute", "recompute", 1, 1, 1)};
    EXPECT_TRUE(sweep_commentary(result).empty());
}

TEST(SweepCommentary, FilesCarryIt) {
    SweepResult result;
    result.rows = {row(8, "growing", "decode", 1.00, 1.01, 1.02), row(8, "recompute", "recompute", 0.9, 0.95, 0.99)};
    const auto json = nlohmann::json::parse(sweep_json(result));
    ASSERT_EQ(json["comments"].size(), 1u);
    EXPECT_EQ(json["comments"][0]["length"], 8);
    EXPECT_NE(sweep_csv(result).find("# at 8 tokens: growing: No benefit at this length"), std::string::npos);
}

}  // namespace
}  // namespace decodescope
