#include "engine/measure/run_export.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/measure/run_facts.h"
#include "tests/support/comma_locale.h"
#include "tests/support/fake_run.h"

namespace decodescope {
namespace {

std::vector<std::string> data_lines(const std::string& csv) {
    std::vector<std::string> lines;
    std::size_t at = 0;
    while (at < csv.size()) {
        const std::size_t end = csv.find('\n', at);
        if (csv[at] != '#') lines.push_back(csv.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

TEST(RunExport, TimingOfBothLanes) {
    FakeRunOptions options;
    options.steps = 3;
    const auto recording = make_fake_run(options);
    const auto lines = data_lines(timing_csv(*recording));
    ASSERT_EQ(lines.size(), 5u);
    EXPECT_EQ(lines[0],
              "step,length,phase,tokens_fed,cached_ms,recompute_ms,cached_total_ms,recompute_total_ms,"
              "max_abs_logit_diff,same_token,captured,warm_up");
    EXPECT_EQ(lines[1].rfind("0,20,prefill,20,", 0), 0u);
    EXPECT_EQ(lines[2].rfind("1,21,decode,1,", 0), 0u);
    const auto json = nlohmann::json::parse(timing_json(*recording));
    ASSERT_EQ(json["rows"].size(), 4u);
    double cached = 0, recompute = 0;
    for (std::int32_t s = 0; s < 4; ++s) {
        cached += recording->step(s)->micros / 1000;
        recompute += recording->race_point(s).recompute_micros / 1000;
        EXPECT_NEAR(json["rows"][s]["cached_total_ms"].get<double>(), cached, 1e-4);
        EXPECT_NEAR(json["rows"][s]["recompute_total_ms"].get<double>(), recompute, 1e-4);
    }
    EXPECT_EQ(json["kind"], "timing");
    EXPECT_EQ(json["run"]["threads"], 2);
    EXPECT_EQ(json["run"]["cpu"], "invented processor");
}

TEST(RunExport, WhatWasNotMeasuredIsEmptyOrNull) {
    FakeRunOptions options;
    options.steps = 3;
    options.race = false;
    const auto recording = make_fake_run(options);
    RacePoint point;
    point.step = 2;
    point.recompute_micros = 5000;
    recording->append_race_point(point);
    const auto lines = data_lines(timing_csv(*recording));
    EXPECT_NE(lines[2].find(",,"), std::string::npos);
    const auto json = nlohmann::json::parse(timing_json(*recording));
    EXPECT_TRUE(json["rows"][1]["recompute_ms"].is_null());
    EXPECT_TRUE(json["rows"][1]["same_token"].is_null());
    EXPECT_EQ(json["rows"][2]["recompute_ms"], 5.0);
    EXPECT_TRUE(json["rows"][2]["recompute_total_ms"].is_null());  // the steps before were not measured
}

TEST(RunExport, Memory) {
    FakeRunOptions options;
    options.cache = "growing";
    options.steps = 2;
    const auto recording = make_fake_run(options);
    const auto json = nlohmann::json::parse(memory_json(*recording));
    EXPECT_EQ(json["rows"][2]["kv_used_bytes"], recording->step(2)->kv.used_bytes);
    EXPECT_EQ(json["rows"][2]["kv_peak_bytes"], recording->step(2)->kv.peak_bytes);
    EXPECT_EQ(json["rows"][2]["weights_bytes"], 4404019);
    EXPECT_EQ(data_lines(memory_csv(*recording)).size(), 4u);
}

TEST(RunExport, AttentionOfOneRow) {
    const auto recording = make_fake_run({});
    const auto json = nlohmann::json::parse(attention_json(*recording, 22, 1, 2));
    ASSERT_EQ(json["rows"].size(), 23u);
    double sum = 0;
    for (const auto& row : json["rows"]) sum += row["weight"].get<double>();
    EXPECT_NEAR(sum, 1, 2e-3);
    EXPECT_EQ(json["selection"]["position"], "22");
    EXPECT_EQ(json["rows"][3]["token"], recording->row_display(3));
    EXPECT_EQ(json["rows"][3]["weight"].get<float>(), recording->attention(22, 1).weight(2, 3));
    const auto mean = nlohmann::json::parse(attention_json(*recording, 22, 1, -1));
    EXPECT_EQ(mean["selection"]["head"], "mean over heads");
    EXPECT_EQ(data_lines(attention_csv(*recording, 22, 1, 2)).size(), 24u);
}

TEST(RunExport, AttentionThatWasNotCapturedIsNotZero) {
    FakeRunOptions options;
    options.capture = false;
    const auto recording = make_fake_run(options);
    const auto json = nlohmann::json::parse(attention_json(*recording, 5, 0, 0));
    ASSERT_EQ(json["rows"].size(), 6u);
    for (const auto& row : json["rows"]) EXPECT_TRUE(row["weight"].is_null());
    EXPECT_EQ(json["selection"]["captured"], "false");
    const auto lines = data_lines(attention_csv(*recording, 5, 0, 0));
    EXPECT_EQ(lines[1].back(), ',');
}

TEST(RunExport, EntriesOfARingKeepTheirPositions) {
    FakeRunOptions options;
    options.cache = "ring";
    options.window = 6;
    const auto recording = make_fake_run(options);
    const auto json = nlohmann::json::parse(attention_json(*recording, 25, 0, 0));
    ASSERT_EQ(json["rows"].size(), 6u);
    EXPECT_EQ(json["rows"][0]["position"], 20);
    EXPECT_EQ(json["rows"][0]["token"], recording->row_display(20));
}

TEST(RunExport, SelectionsOutsideTheRunGiveNoRows) {
    const auto recording = make_fake_run({});
    for (const auto& [row, layer, head] :
         {std::tuple{99, 0, 0}, std::tuple{-1, 0, 0}, std::tuple{3, 4, 0}, std::tuple{3, 0, 6}})
        EXPECT_EQ(nlohmann::json::parse(attention_json(*recording, row, layer, head))["rows"].size(), 0u);
    EXPECT_EQ(nlohmann::json::parse(next_token_json(*recording, 99))["rows"].size(), 0u);
}

TEST(RunExport, NextTokens) {
    const auto recording = make_fake_run({});
    const auto json = nlohmann::json::parse(next_token_json(*recording, 2));
    ASSERT_EQ(json["rows"].size(), 10u);
    EXPECT_EQ(json["rows"][0]["rank"], 1);
    EXPECT_EQ(json["rows"][0]["text"], recording->token_display(recording->step(2)->top[0].token));
    EXPECT_TRUE(json["rows"][0]["sampled"].get<bool>());
}

// LD-10: no locale changes a number.
TEST(RunExport, LocaleChangesNothing) {
    FakeRunOptions options;
    options.language = "zh_CN";
    options.steps = 1200;  // counts beyond 1000 would show a separator
    options.capture = false;
    const auto recording = make_fake_run(options);
    const auto all = [&] {
        return timing_csv(*recording) + timing_json(*recording) + memory_csv(*recording) + memory_json(*recording) +
               attention_csv(*recording, 1100, 0, 0) + attention_json(*recording, 1100, 0, 0) +
               next_token_csv(*recording, 3);
    };
    const std::string plain = all();
    const CommaLocale locale;
    ASSERT_TRUE(locale.active()) << kNoCommaLocale;
    EXPECT_TRUE(all() == plain);  // a comparison letter by letter of so much text takes minutes
}

TEST(RunExport, TextIsQuotedAndHostileTextStaysInItsPlace) {
    EXPECT_EQ(csv_field("plain"), "plain");
    EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
    EXPECT_EQ(csv_field("say \"no\"\n"), "\"say \"\"no\"\"\n\"");
    RunFacts facts = fake_run_facts({});
    facts.model_source = "evil\nlength,cache\r1,2";
    facts.device = "\xFF\xFE not UTF-8";
    const RunRecording recording(facts, {});
    EXPECT_EQ(data_lines(timing_csv(recording)).size(), 1u);
    EXPECT_FALSE(nlohmann::json::parse(timing_json(recording))["run"]["device"].get<std::string>().empty());
}

TEST(RunFactsText, VersionDateAndProcessor) {
    EXPECT_EQ(program_version().substr(0, 2), "0.");
    EXPECT_FALSE(program_commit().empty());
    EXPECT_FALSE(cpu_name().empty());
    const std::string date = utc_date();
    ASSERT_EQ(date.size(), 20u) << date;
    EXPECT_EQ(date[10], 'T');
    EXPECT_EQ(date[19], 'Z');
}

TEST(RunFactsText, DatesIgnoreTheLocale) {
    const CommaLocale locale;
    ASSERT_TRUE(locale.active()) << kNoCommaLocale;
    EXPECT_EQ(utc_date().size(), 20u);  // a year is not 2.026
}

}  // namespace
}  // namespace decodescope
