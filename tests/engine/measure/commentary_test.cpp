#include "engine/measure/commentary.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/measure/rates.h"
#include "tests/support/comma_locale.h"
#include "tests/support/fake_run.h"

namespace decodescope {
namespace {

std::string text(const std::vector<Sentence>& sentences) {
    std::string result;
    for (const Sentence& s : sentences) result += s.english + "\n";
    return result;
}

bool has(const std::vector<Sentence>& sentences, const std::string& id) {
    for (const Sentence& s : sentences)
        if (s.id == id) return true;
    return false;
}

TEST(Commentary, DecodeStepWithACache) {
    const auto recording = make_fake_run({});
    const auto sentences = what_happened(*recording, 1);
    EXPECT_EQ(sentences[0].english, "Computed Q, K and V for 1 token in 4 layers.");
    EXPECT_EQ(sentences[0].args, (std::vector<std::string>{"1", "4"}));
    EXPECT_EQ(sentences[1].english, "Read 20 cached rows per layer, wrote 1.");
    EXPECT_EQ(sentences[2].english, "21 of 32 reserved rows are in use; the reserve holds 5.5 KiB.");
    EXPECT_EQ(sentences[3].id, "step.without");
    EXPECT_EQ(sentences[3].args[0], "21");
    EXPECT_TRUE(has(sentences, "step.time.captured"));
    EXPECT_TRUE(has(sentences, "step.next"));
    EXPECT_TRUE(has(what_happened(*recording, 12), "step.stop.length"));
}

TEST(Commentary, ADeviceApartFromTheHost) {
    FakeRunOptions options;
    EXPECT_FALSE(has(what_happened(*make_fake_run(options), 2), "step.device"));
    options.device = true;
    const auto recording = make_fake_run(options);
    const auto sentences = what_happened(*recording, 2);
    EXPECT_TRUE(has(sentences, "step.graph.one"));
    EXPECT_FALSE(has(what_happened(*recording, 3), "step.graph.one"));
    EXPECT_NE(text(sentences).find("launches and gaps took 0.026 ms"), std::string::npos) << text(sentences);
}

TEST(Commentary, PrefillGrowthAndEviction) {
    FakeRunOptions options;
    options.cache = "growing";
    const auto growing = make_fake_run(options);
    const auto prefill = what_happened(*growing, 0);
    EXPECT_EQ(prefill[0].english, "Computed Q, K and V for the 20 tokens of the prompt together, in 4 layers.");
    EXPECT_EQ(prefill[1].id, "step.cache.block");
    EXPECT_TRUE(has(prefill, "step.time.warm"));
    EXPECT_FALSE(has(prefill, "step.without"));
    const auto grown = what_happened(*growing, 3);
    EXPECT_TRUE(has(grown, "step.grown"));
    EXPECT_FALSE(has(grown, "step.reserved"));
    options.cache = "ring";
    options.window = 8;
    const auto ring = make_fake_run(options);
    EXPECT_NE(text(what_happened(*ring, 0)).find("12 positions left the cache: 0 to 11."), std::string::npos);
    EXPECT_NE(text(what_happened(*ring, 1)).find("Position 12 left the cache."), std::string::npos);
}

TEST(Commentary, WithoutACache) {
    FakeRunOptions options;
    options.cache = "recompute";
    const auto recording = make_fake_run(options);
    const auto sentences = what_happened(*recording, 1);
    EXPECT_EQ(sentences[0].english, "Computed Q, K and V again for all 21 tokens in 4 layers: nothing had been kept.");
    EXPECT_TRUE(has(sentences, "step.cache.none"));
    EXPECT_EQ(gain_sentence(*recording).id, "gain.same");
}

TEST(Commentary, OutOfRangeStepsSayNothing) {
    const auto recording = make_fake_run({});
    EXPECT_TRUE(what_happened(*recording, -1).empty());
    EXPECT_TRUE(what_happened(*recording, 13).empty());
}

std::shared_ptr<RunRecording> one_race(double cached, double recompute, std::int32_t length, double bandwidth_gb_s) {
    RunFacts facts = fake_run_facts({});
    facts.bandwidth_gb_s = bandwidth_gb_s;
    facts.weight_bytes = 100 << 20;
    auto recording = std::make_shared<RunRecording>(facts, RecordingLimits{});
    RacePoint point;
    point.length = length;
    point.cached_micros = cached;
    point.recompute_micros = recompute;
    recording->append_race_point(point);
    return recording;
}

// TH-05: two decimals of the numbers as shown. 27 -> 110 tokens a second is 4.07 times, not "about 5".
TEST(Commentary, GainHasTwoDecimals) {
    const Sentence gain = gain_sentence(*one_race(9090.909, 37037.037, 204, 0));
    EXPECT_EQ(gain.id, "gain");
    EXPECT_EQ(gain.english, "4.07 times faster with the cache at 204 tokens: 9.091 ms instead of 37.037 ms.");
}

// TH-07: below 1.05 there is no benefit, and the reason is said.
TEST(Commentary, NoBenefitIsSaidWithTheReason) {
    EXPECT_EQ(gain_sentence(*one_race(1000, 1049, 8, 10)).id, "gain.none.short");
    EXPECT_EQ(gain_sentence(*one_race(12000, 12300, 40, 10)).id, "gain.none.memory");  // 100 MiB at 10 GB/s: 10.5 ms
    EXPECT_EQ(gain_sentence(*one_race(50000, 40000, 40, 10)).id, "gain.none.overhead");
    EXPECT_EQ(gain_sentence(*one_race(50000, 40000, 40, 0)).id, "gain.none.overhead");  // bandwidth not measured
    EXPECT_EQ(gain_sentence(*one_race(1000, 1050, 8, 10)).id, "gain");
    EXPECT_NE(gain_sentence(*one_race(1000, 900, 8, 10)).english.find("No benefit at this length: 0.90"),
              std::string::npos);
    EXPECT_EQ(gain_sentence(*one_race(0, 900, 8, 10)).id, "gain.unknown");
    FakeRunOptions options;
    options.race = false;
    EXPECT_EQ(gain_sentence(*make_fake_run(options)).id, "gain.unknown");
}

TEST(Commentary, Agreement) {
    FakeRunOptions options;
    const auto same = make_fake_run(options);
    EXPECT_EQ(agreement_sentence(*same).id, "agree.same");
    RacePoint point;
    point.same_token = false;
    point.max_abs_logit_diff = 2e-5;
    same->append_race_point(point);
    EXPECT_EQ(agreement_sentence(*same).id, "agree.tie");
    point.max_abs_logit_diff = 3.5;
    same->append_race_point(point);
    EXPECT_EQ(agreement_sentence(*same).english,
              "Different answer in 2 of 15 comparisons; the largest logit difference is 3.5e+00.");
    point.max_abs_logit_diff = std::numeric_limits<double>::quiet_NaN();
    same->append_race_point(point);
    point.max_abs_logit_diff = 0.5;  // does not hide the NaN before it
    same->append_race_point(point);
    EXPECT_NE(agreement_sentence(*same).english.find("nan"), std::string::npos);
    options.race = false;
    EXPECT_EQ(agreement_sentence(*make_fake_run(options)).id, "agree.unknown");
}

TEST(Commentary, EveryPatternFillsIn) {
    for (const std::string_view id : sentence_ids()) EXPECT_FALSE(sentence_pattern(id).empty());
    for (const char* cache : {"preallocated", "growing", "recompute"}) {
        FakeRunOptions options;
        options.cache = cache;
        const auto recording = make_fake_run(options);
        for (std::int32_t step = 0; step < recording->step_count(); ++step)
            for (const Sentence& s : what_happened(*recording, step)) {
                EXPECT_EQ(s.english.find('{'), std::string::npos) << s.english;
                EXPECT_EQ(s.english.find("nan"), std::string::npos) << s.english;
            }
    }
}

TEST(Commentary, LocaleDoesNotChangeANumber) {
    const CommaLocale locale;
    ASSERT_TRUE(locale.active()) << kNoCommaLocale;
    const std::string english = gain_sentence(*one_race(9090.909, 37037.037, 1204, 0)).english;
    EXPECT_EQ(english, "4.07 times faster with the cache at 1,204 tokens: 9.091 ms instead of 37.037 ms.");
}

// ---- TH-03 and TH-08: rates ----

StepFacts step_of(Phase phase, std::int32_t rows, double micros, std::int64_t stored, std::int64_t written) {
    StepFacts step;
    step.phase = phase;
    step.row_count = rows;
    step.micros = micros;
    step.sampled_token = 1;
    step.kv.tokens_stored = stored;
    step.kv.rows_written = written;
    return step;
}

TEST(Commentary, WhichRunsDifferByDesign) {
    RunFacts facts = fake_run_facts({});
    for (const char* cache : {"growing", "preallocated:capacity=9", "paged:page=4", "recompute", "not a strategy", ""}) {
        facts.cache_spec = cache;
        EXPECT_FALSE(differs_by_design(facts)) << cache;
    }
    for (const char* cache : {"ring:window=8", "sinks"}) {
        facts.cache_spec = cache;
        EXPECT_TRUE(differs_by_design(facts)) << cache;
    }
    facts.cache_spec = "growing";
    for (const auto& [type, differs] :
         {std::pair{"f32", false}, {"f16", false}, {"bf16", true}, {"k=f16,v=bf16", true}, {"int8", true},
          {"k=int8-kivi(group=8),v=f32", true}}) {
        facts.kv_type = type;
        EXPECT_EQ(differs_by_design(facts), differs) << type;
    }
}

TEST(RunRates, PhasesAreApart) {
    RunRecording recording(fake_run_facts({}), {});
    EXPECT_FALSE(run_rates(recording).first_token_ms.has_value());
    recording.append_step(step_of(Phase::Prefill, 100, 50000, 100, 40));  // 60 of the 100 rows were there before
    const RunRates first = run_rates(recording);
    EXPECT_DOUBLE_EQ(*first.first_token_ms, 50);
    EXPECT_DOUBLE_EQ(*first.prefill_tokens_per_second, 800);   // rows that were kept are not counted as fed
    EXPECT_FALSE(first.decode_tokens_per_second.has_value());  // one token gives no rate
    recording.append_step(step_of(Phase::Decode, 1, 10000, 101, 1));
    recording.append_step(step_of(Phase::Decode, 1, 30000, 102, 1));
    const RunRates rates = run_rates(recording);
    EXPECT_DOUBLE_EQ(*rates.decode_tokens_per_second, 50);  // (3 - 1) tokens in 40 ms
    EXPECT_DOUBLE_EQ(*rates.decode_ms_per_token, 20);
    EXPECT_DOUBLE_EQ(*rates.first_token_ms, 50);
}

TEST(RunRates, NoTimeGivesNoRate) {
    RunRecording recording(fake_run_facts({}), {});
    recording.append_step(step_of(Phase::Prefill, 1, 0, 1, 1));
    recording.append_step(step_of(Phase::Decode, 1, 0, 2, 1));
    const RunRates rates = run_rates(recording);
    EXPECT_FALSE(rates.first_token_ms.has_value());
    EXPECT_FALSE(rates.prefill_tokens_per_second.has_value());
    EXPECT_FALSE(rates.decode_tokens_per_second.has_value());
}

TEST(RunRates, CountsTokensNotCharacters) {
    FakeRunOptions options;  // the invented text has a character of two tokens
    options.steps = 40;
    const auto recording = make_fake_run(options);
    double micros = 0;
    std::string text;
    for (std::int32_t s = 1; s < recording->step_count(); ++s) micros += recording->step(s)->micros;
    EXPECT_NEAR(*run_rates(*recording).decode_tokens_per_second, 40 / micros * 1e6, 1e-6);
}

}  // namespace
}  // namespace decodescope
