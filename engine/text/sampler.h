// Logits -> next token. Order: temperature, top-k, renormalize, top-p, renormalize, draw.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/api/status.h"

namespace decodescope {

struct SamplerConfig {
    double temperature = 0.0;  // 0 = greedy, ties to the lowest id
    int top_k = 0;             // 0 = all
    double top_p = 1.0;        // smallest set whose probabilities reach p
    std::uint64_t seed = 1;
};
Status validate(const SamplerConfig& config);

struct TokenProbability {
    std::int32_t token = 0;
    float probability = 0;
};

// Probabilities of the n most likely tokens by the plain softmax, before temperature and filters. Ties by lower id.
std::vector<TokenProbability> top_probabilities(std::span<const float> logits, int n);
// The set that is drawn from, most likely first, summing to 1.
std::vector<TokenProbability> filtered_distribution(std::span<const float> logits, const SamplerConfig& config);

// Deterministic: own generator, own uniform, the same on every platform.
class Sampler {
public:
    explicit Sampler(const SamplerConfig& config);
    // NonFinite error when a logit is NaN or +infinity or all are -infinity.
    Result<std::int32_t> sample(std::span<const float> logits);
    const SamplerConfig& config() const { return config_; }
    std::uint64_t state() const { return state_; }
    void set_state(std::uint64_t state) { state_ = state; }
    double next_uniform();  // [0, 1)

private:
    SamplerConfig config_;
    std::uint64_t state_ = 0;
};

}  // namespace decodescope
