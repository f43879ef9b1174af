// The same conversations alone and in a batch, with the logits that every token was sampled from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/decode/batch.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {

struct Talk {
    std::vector<std::int32_t> prompt;
    std::int64_t new_tokens = 5;
    SamplerConfig sampler = {};
    bool stop_at_eos = false;
};

struct TalkResult {
    std::vector<std::int32_t> tokens;
    std::vector<std::vector<float>> logits;  // of every sampled token
    std::string stop_reason;
};

inline GenerationConfig generation_of(const Talk& talk, std::vector<std::vector<float>>& logits) {
    GenerationConfig config;
    config.sampler = talk.sampler;
    config.new_tokens = talk.new_tokens;
    config.stop_at_eos = talk.stop_at_eos;
    const auto prompt = static_cast<std::int64_t>(talk.prompt.size());
    config.on_pass = [&logits, prompt](const PassResult& pass, std::span<const std::int32_t>, Phase) {
        if (pass.first_position + pass.rows >= prompt) logits.emplace_back(pass.logits.begin(), pass.logits.end());
    };
    return config;
}

inline TalkResult alone(const LoadedModelPtr& model, const SessionConfig& config, const Talk& talk) {
    TalkResult result;
    std::shared_ptr<DecodeSession> session = session_of(model, config);
    Generation generation(session, generation_of(talk, result.logits), nullptr);
    EXPECT_TRUE(generation.start(talk.prompt, {}, {}).ok());
    while (!generation.finished()) EXPECT_TRUE(generation.step({}).ok());
    result.tokens.assign(generation.tokens().begin(), generation.tokens().end());
    result.stop_reason = generation.stop_reason();
    return result;
}

// A batch that keeps what it gives; talks may be added at any time.
class Together {
public:
    Together(const LoadedModelPtr& model, const BatchConfig& config) {
        auto made = Batch::create(model, config);
        if (!made.ok()) ADD_FAILURE() << made.error().text();
        DS_CHECK(made.ok());
        batch = std::move(*made);
    }
    Together(const LoadedModelPtr& model, const SessionConfig& session) : Together(model, batch_config(session)) {}

    static BatchConfig batch_config(const SessionConfig& session) {
        BatchConfig config;
        config.session = session;
        return config;
    }

    SequenceId add(const Talk& talk) {
        results.push_back(std::make_unique<TalkResult>());
        auto id = batch->add(talk.prompt, generation_of(talk, results.back()->logits));
        EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().text());
        EXPECT_EQ(*id, static_cast<SequenceId>(results.size()) - 1);
        return *id;
    }

    // At most `steps` steps; less when all have ended.
    void run(int steps = 1000) {
        for (int i = 0; i < steps && !batch->finished(); ++i) {
            auto step = batch->step({});
            ASSERT_TRUE(step.ok()) << step.error().text();
            seen.push_back(*step);
        }
        for (SequenceId id = 0; id < batch->size(); ++id) {
            auto& result = *results[static_cast<std::size_t>(id)];
            result.tokens.assign(batch->tokens(id).begin(), batch->tokens(id).end());
            result.stop_reason = batch->sequence(id).stop_reason;
        }
    }

    const TalkResult& result(SequenceId id) const { return *results[static_cast<std::size_t>(id)]; }

    std::unique_ptr<Batch> batch;
    std::vector<std::unique_ptr<TalkResult>> results;
    std::vector<BatchStep> seen;
};

inline void expect_same(const TalkResult& got, const TalkResult& expected) {
    EXPECT_EQ(got.tokens, expected.tokens);
    EXPECT_EQ(got.stop_reason, expected.stop_reason);
    EXPECT_EQ(got.logits, expected.logits);  // every bit
}

}  // namespace decodescope
