// Whole conversations on the emulated device against the CPU: every strategy with every format, chunks, forks, batches,
// offload. The tolerances are relative to the largest logit of a row.
#include <gmock/gmock.h>

#include "tests/cuda/emulated_backend.h"
#include "tests/engine/decode/batch_helpers.h"
#include "tests/engine/decode/window_oracle.h"
#include "tests/support/session_cases.h"

namespace decodescope {
namespace {

double worst_difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
    if (a.size() != b.size()) return HUGE_VAL;
    double worst = 0;
    for (std::size_t row = 0; row < a.size(); ++row) {
        const std::vector<double> wide(b[row].begin(), b[row].end());
        worst = std::max(worst, relative_error(a[row], wide));
    }
    return worst;
}

class CudaSession : public EmulatedDevice, public testing::WithParamInterface<SessionCase> {};

std::int64_t case_number(const SessionCase& c) {  // the schedules take turns
    return static_cast<std::int64_t>(c.cache.size() + 3 * c.kv.size()) + c.chunk;
}

TEST_P(CudaSession, EqualsTheCpu) {
    const SessionCase& c = GetParam();
    const ModelPtr model = c.llama ? model_l3() : make_tiny_gpt2();
    const std::int64_t count = 23;
    const auto tokens = random_tokens(count, model->config.vocabulary, 31);
    const auto config = every_row(c.cache, c.kv);
    const auto expected = feed_all(*session_of(loaded(model), config), tokens, c.chunk);
    simt::settings().schedule = kSchedules[case_number(c) % 4];
    const auto got = feed_all(*session_of(loaded(model, make_emulated()), config), tokens, c.chunk);
    EXPECT_LE(worst_difference(got.logits, expected.logits), session_tolerance(c.kv));
}

std::vector<SessionCase> cases_in_turn() {
    std::vector<SessionCase> some;
    const std::vector<SessionCase> all = session_cases();
    for (std::size_t i = 0; i < all.size(); i += kEvery) some.push_back(all[i]);
    return some;
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaSession, testing::ValuesIn(cases_in_turn()), [](const auto& info) {
    std::string name = std::to_string(info.index) + "_" + info.param.cache + "_" + info.param.kv;
    std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});

using CudaGeneration = EmulatedDevice;

TEST_F(CudaGeneration, WholeGenerationsGiveTheTokensOfTheCpu) {
    for (const bool llama : {true, false})
        for (const char* cache : {"paged:page=4", "ring:window=9"}) {
            const ModelPtr model = llama ? model_l3() : make_tiny_gpt2();
            Talk talk;
            talk.prompt = random_tokens(7, model->config.vocabulary, 5);
            talk.new_tokens = 15;
            const auto config = session_config(cache);
            const TalkResult expected = alone(loaded(model), config, talk);
            const TalkResult got = alone(loaded(model, make_emulated()), config, talk);
            EXPECT_EQ(got.tokens, expected.tokens) << cache;
            EXPECT_LE(worst_difference(got.logits, expected.logits), 2e-5) << cache;
        }
}

// Products of more rows than kFewRows go to cuBLAS, those of fewer to our kernel: not the same bits, but the same values.
TEST_F(CudaGeneration, CC09_ABatchGivesWhatEachGivesAlone) {
    for (const char* kv : {"f32", "int8"}) {
        const auto model = loaded(model_l3(), make_emulated());
        const auto config = session_config("paged:page=4", kv);
        std::vector<Talk> talks;
        for (int i = 0; i < 11; ++i) {
            Talk talk;
            talk.prompt = random_tokens(1 + i % 6, 97, static_cast<std::uint64_t>(i));
            talk.new_tokens = 3;
            talks.push_back(talk);
        }
        Together together(model, config);
        for (const Talk& talk : talks) together.add(talk);
        together.run();
        for (std::size_t i = 0; i < talks.size(); ++i) {
            const TalkResult expected = alone(model, config, talks[i]);
            EXPECT_LE(worst_difference(together.result(static_cast<SequenceId>(i)).logits, expected.logits),
                      session_tolerance(kv))
                << kv << " " << i;
        }
    }
}

TEST_F(CudaGeneration, CC07_ForksAndTruncation) {
    const auto model = loaded(model_l3(), make_emulated()), cpu = loaded(model_l3());
    for (const char* cache : {"growing", "paged:page=4"}) {
        const auto config = every_row(cache, "f16");
        const auto session = session_of(model, config), other = session_of(cpu, config);
        feed_all(*session, text(0, 20), 7);
        feed_all(*other, text(0, 20), 7);
        auto fork = session->fork();
        ASSERT_TRUE(fork.ok()) << fork.error().text();
        ASSERT_TRUE(session->truncate(11).ok());
        ASSERT_TRUE(other->truncate(11).ok());
        EXPECT_LE(worst_difference(feed_all(*session, text(30, 9), 4).logits, feed_all(*other, text(30, 9), 4).logits),
                  session_tolerance("f16"));
        const auto whole = session_of(cpu, config);
        const auto expected = feed_all(*whole, text(0, 29), 20).logits;
        EXPECT_LE(worst_difference(feed_all(**fork, text(20, 9), 3).logits, {expected.begin() + 20, expected.end()}),
                  session_tolerance("f16"));
    }
}

TEST_F(CudaGeneration, CapturedAttentionIsTheCpus) {
    for (const char* cache : {"growing", "ring:window=6", "h2o:budget=8,recent=3"}) {
        auto config = every_row(cache);
        config.capture_attention = true;
        const auto expected = feed_all(*session_of(loaded(model_l3()), config), text(0, 25), 6);
        const auto got = feed_all(*session_of(loaded(model_l3(), make_emulated()), config), text(0, 25), 6);
        ASSERT_EQ(got.attention.size(), expected.attention.size());
        double worst = 0;
        for (std::size_t row = 0; row < got.attention.size(); ++row)
            for (std::size_t layer = 0; layer < got.attention[row].size(); ++layer)
                for (std::size_t head = 0; head < got.attention[row][layer].size(); ++head) {
                    const auto& a = got.attention[row][layer][head];
                    const auto& b = expected.attention[row][layer][head];
                    ASSERT_EQ(a.size(), b.size());
                    for (std::size_t e = 0; e < a.size(); ++e)
                        worst = std::max(worst, std::abs(static_cast<double>(a[e]) - static_cast<double>(b[e])));
                }
        EXPECT_LE(worst, 1e-5) << cache;
    }
}

// A long context: more ranges than one, put together by a second kernel, and graphs that are made anew as it grows.
TEST_F(CudaGeneration, ALongContext) {
    ModelConfig config = tiny_llama_config();
    config.context = 400;
    const ModelPtr model = make_tiny_model(config);
    const auto tokens = random_tokens(330, 97, 8);
    const auto session_setting = session_config("preallocated:capacity=400", "f16");
    const auto gpu = session_of(loaded(model, make_emulated()), session_setting);
    const auto cpu = session_of(loaded(model), session_setting);
    const std::span<const std::int32_t> all(tokens);
    feed_all(*gpu, all.first(300), 150);
    feed_all(*cpu, all.first(300), 150);
    EXPECT_LE(worst_difference(feed_all(*gpu, all.subspan(300), 1).logits, feed_all(*cpu, all.subspan(300), 1).logits),
              session_tolerance("f16"));
}

}  // namespace
}  // namespace decodescope
