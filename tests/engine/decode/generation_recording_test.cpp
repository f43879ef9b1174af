// What a generation leaves in the recording: rows, steps, attention, names, run facts (TH-03, UI-06).
#include <gmock/gmock.h>

#include <cmath>

#include "engine/decode/generation.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

using testing::ElementsAre;
using Tokens = std::vector<std::int32_t>;

const std::vector<const char*> kCaches = {"recompute", "growing", "preallocated", "preallocated:slab=true"};

TEST(GenerationRecord, RecordsWhatHappened) {
    const auto model = make_tiny_llama();
    const auto prompt = random_tokens(8, 97, 9);
    for (const char* cache : kCaches) {
        SCOPED_TRACE(cache);
        SessionConfig session_with = session_config(cache, "f32", 3);
        session_with.capture_attention = true;
        std::shared_ptr<DecodeSession> session = session_of(loaded(model), session_with);
        auto recording = std::make_shared<RunRecording>(make_run_facts(*session, {}), RecordingLimits{});
        GenerationConfig config;
        config.new_tokens = 5;
        std::vector<std::int64_t> fed;
        config.on_pass = [&](const PassResult& pass, std::span<const std::int32_t> tokens, Phase) {
            EXPECT_EQ(pass.rows, static_cast<std::int32_t>(tokens.size()));
            fed.push_back(pass.rows);
        };
        Generation generation(session, config, recording);
        ASSERT_TRUE(generation.start(prompt, {}, {}).ok());
        while (!generation.finished()) ASSERT_TRUE(generation.step({}).ok());
        EXPECT_THAT(fed, ElementsAre(3, 3, 2, 1, 1, 1, 1));
        // TH-03: the whole prompt is one step, each further token another.
        ASSERT_EQ(recording->step_count(), 5);
        ASSERT_EQ(recording->row_count(), 12);
        const auto prefill = recording->step(0);
        EXPECT_EQ(prefill->phase, Phase::Prefill);
        EXPECT_EQ(prefill->row_count, 8);
        EXPECT_TRUE(prefill->captured);
        const bool none = std::string(cache) == "recompute", growing = std::string(cache) == "growing";
        const std::int64_t row = model->config.kv_bytes_per_token(ElementType::F32, ElementType::F32);
        EXPECT_EQ(prefill->kv.rows_written, none ? 0 : 8);
        EXPECT_EQ(prefill->kv.copied_bytes, growing ? (3 + 6) * row : 0);
        EXPECT_EQ(prefill->kv.peak_bytes, none ? 0 : growing ? 8 * row + 6 * row / 3 : 128 * row);
        EXPECT_EQ(prefill->memory.bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)], prefill->kv.reserved_bytes);
        Tokens all(generation.tokens().begin(), generation.tokens().end());
        std::string text;
        for (std::int32_t r = 0; r < 12; ++r) {
            const TokenRow& recorded = recording->row(r);
            EXPECT_EQ(recorded.token, all[static_cast<std::size_t>(r)]);
            EXPECT_EQ(recorded.position, r);
            EXPECT_EQ(recorded.step, r < 8 ? 0 : r - 7);
            EXPECT_EQ(recorded.phase, r < 8 ? Phase::Prefill : Phase::Decode);
            EXPECT_EQ(recorded.generated, r >= 8);
            text += recording->row_text(r);
            const AttentionRow attention = recording->attention(r, 1);
            ASSERT_TRUE(attention.captured);
            ASSERT_EQ(attention.entries, r + 1);
            float sum = 0;
            for (std::int32_t e = 0; e <= r; ++e) sum += attention.weight(7, e);
            EXPECT_NEAR(sum, 1.0f, 2e-3f);
            if (!none) {
                auto cell = session->cell(2, r);
                ASSERT_TRUE(cell.ok());
                double square = 0;
                for (const float x : cell->v) square += static_cast<double>(x) * x / 16;
                EXPECT_NEAR(recording->v_rms(r, 2), std::sqrt(square), 1e-5);
            }
        }
        EXPECT_EQ(text, model->tokenizer->decode(std::span(all).first(12)));
        const auto last = recording->step(4);
        EXPECT_EQ(last->stop_reason, "length");
        EXPECT_EQ(last->sampled_token, all.back());
        EXPECT_EQ(last->first_row, 11);
        ASSERT_EQ(last->top.size(), 10u);
        EXPECT_EQ(last->top.front().token, all.back());
        EXPECT_EQ(recording->token_display(all.back()), model->tokenizer->display(all.back()));
        EXPECT_GT(last->micros, 0);
        EXPECT_GT(last->flops, 0);
    }
}

TEST(GenerationRecord, RunFactsNameEverything) {
    const auto session =
        session_of(loaded(make_tiny_llama()), session_config("preallocated:capacity=64", "k=f16,v=f32"));
    const RunFacts facts = make_run_facts(*session, {});
    EXPECT_EQ(facts.model_name, "L3");
    EXPECT_EQ(facts.backend, "cpu");
    EXPECT_EQ(facts.cache_spec, "preallocated:capacity=64");
    EXPECT_EQ(facts.kv_type, "k=f16,v=f32");
    EXPECT_EQ(facts.weights_type, "f32");
    EXPECT_GT(facts.weight_bytes, 0);
    EXPECT_FALSE(facts.date.empty());
    EXPECT_FALSE(facts.stages.empty());
    EXPECT_TRUE(facts.meaningless_text);
}

}  // namespace
}  // namespace decodescope
