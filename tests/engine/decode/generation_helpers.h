// Whole generations in one call.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "engine/decode/generation.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {

using Tokens = std::vector<std::int32_t>;

inline const std::vector<const char*> kCaches = {"recompute", "growing", "preallocated", "preallocated:slab=true"};

inline GenerationConfig config_of(std::int64_t new_tokens, double temperature = 0, std::uint64_t seed = 1) {
    GenerationConfig config;
    config.new_tokens = new_tokens;
    config.sampler.temperature = temperature;
    config.sampler.seed = seed;
    return config;
}

inline Tokens tokens_of(const Generation& generation) {
    return {generation.tokens().begin(), generation.tokens().end()};
}

inline void run_to_end(Generation& generation) {
    for (int i = 0; i < 1000 && !generation.finished(); ++i) {
        const Status status = generation.step({});
        ASSERT_TRUE(status.ok()) << status.error().text();
    }
    ASSERT_TRUE(generation.finished());
}

inline Tokens generate(const LoadedModelPtr& model, const SessionConfig& session, const GenerationConfig& config,
                std::span<const std::int32_t> prompt) {
    Generation generation(session_of(model, session), config, nullptr);
    EXPECT_TRUE(generation.start(prompt, {}, {}).ok());
    run_to_end(generation);
    return tokens_of(generation);
}

}  // namespace decodescope
