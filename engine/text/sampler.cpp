#include "engine/text/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace decodescope {
namespace {

// f32 logits cannot say a probability more exactly; without it {0.5, 0.3} would miss p = 0.8.
constexpr double kSumTolerance = 1e-6;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Candidate {
    std::int32_t token;
    double weight;  // exp((logit - largest) / temperature), then a probability
};

bool more_likely(const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
}

// NaN anywhere, +infinity, or nothing but -infinity.
Status check_finite(std::span<const float> logits) {
    bool any = false, bad = false;
    for (const float logit : logits) {
        any |= logit > -kInfinity;
        bad |= !(logit < kInfinity);
    }
    for (std::size_t i = 0; bad && i < logits.size(); ++i) {
        if (std::isnan(logits[i]) || logits[i] == kInfinity)
            return make_error(
                ErrorKind::NonFinite,
                fmt::format("The logit of token {} is {}.", i, std::isnan(logits[i]) ? "not a number" : "infinite"),
                "The model or the cache is damaged; nothing was chosen.");
    }
    if (!any) return make_error(ErrorKind::NonFinite, fmt::format("None of the {} logits is finite.", logits.size()));
    return {};
}

std::int32_t argmax(std::span<const float> logits) {
    // max_element keeps the first of equals.
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// All tokens that have a probability, in the order of their ids.
std::vector<Candidate> candidates_of(std::span<const float> logits, double temperature) {
    const double largest = logits[static_cast<std::size_t>(argmax(logits))];
    std::vector<Candidate> out;
    out.reserve(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const double weight = std::exp((static_cast<double>(logits[i]) - largest) / temperature);
        if (weight > 0) out.push_back({static_cast<std::int32_t>(i), weight});
    }
    return out;
}

void keep_top_k(std::vector<Candidate>& candidates, std::size_t k) {
    if (k == 0 || k >= candidates.size()) return;
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(k), candidates.end(),
                     more_likely);
    candidates.resize(k);
}

double total(const std::vector<Candidate>& candidates) {
    double sum = 0;
    for (const Candidate& c : candidates) sum += c.weight;
    return sum;
}

// Keeps the smallest set, most likely first, whose share of the sum reaches p. Sorts only as much as it needs.
void keep_top_p(std::vector<Candidate>& candidates, double p) {
    const double wanted = total(candidates) * (p - kSumTolerance);
    double sum = 0;
    std::size_t sorted = 0;
    for (std::size_t kept = 0; kept < candidates.size(); ++kept) {
        if (kept == sorted) {
            const std::size_t more = std::min(candidates.size(), std::max<std::size_t>(64, sorted * 4));
            std::partial_sort(candidates.begin() + static_cast<std::ptrdiff_t>(sorted),
                              candidates.begin() + static_cast<std::ptrdiff_t>(more), candidates.end(), more_likely);
            sorted = more;
        }
        sum += candidates[kept].weight;
        if (sum >= wanted) {
            candidates.resize(kept + 1);
            return;
        }
    }
}

void normalize(std::vector<Candidate>& candidates) {
    const double sum = total(candidates);
    for (Candidate& c : candidates) c.weight /= sum;
}

// What is drawn from, as probabilities. In the order of ids when nothing was filtered, so that nothing is sorted.
std::vector<Candidate> filtered(std::span<const float> logits, const SamplerConfig& config) {
    if (config.temperature == 0.0) return {{argmax(logits), 1.0}};
    std::vector<Candidate> candidates = candidates_of(logits, config.temperature);
    keep_top_k(candidates, static_cast<std::size_t>(config.top_k));
    if (config.top_p < 1.0) keep_top_p(candidates, config.top_p);
    normalize(candidates);
    if (config.top_k > 0 || config.top_p < 1.0) std::sort(candidates.begin(), candidates.end(), more_likely);
    return candidates;
}

std::vector<TokenProbability> as_probabilities(const std::vector<Candidate>& candidates) {
    std::vector<TokenProbability> out;
    out.reserve(candidates.size());
    for (const Candidate& c : candidates) out.push_back({c.token, static_cast<float>(c.weight)});
    return out;
}

}  // namespace

Status validate(const SamplerConfig& config) {
    const auto refuse = [](std::string message) { return make_error(ErrorKind::Argument, std::move(message)); };
    if (!std::isfinite(config.temperature) || config.temperature < 0)
        return refuse(
            fmt::format("The temperature is {}; 0 (greedy) or a positive number is needed.", config.temperature));
    if (config.top_k < 0)
        return refuse(fmt::format("top-k is {}; 0 (all) or a positive number is needed.", config.top_k));
    if (!(config.top_p >= 0 && config.top_p <= 1))
        return refuse(fmt::format("top-p is {}; 0 to 1 is possible.", config.top_p));
    return {};
}

// One pass for the sum and for the n largest, without a list of all.
std::vector<TokenProbability> top_probabilities(std::span<const float> logits, int n) {
    if (n <= 0 || logits.empty() || !check_finite(logits).ok()) return {};
    const double largest = logits[static_cast<std::size_t>(argmax(logits))];
    std::vector<Candidate> kept;  // most likely first; the weight is the logit until the sum is known
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        sum += std::exp(static_cast<double>(logits[i]) - largest);
        if (kept.size() == static_cast<std::size_t>(n) && !(logits[i] > kept.back().weight)) continue;
        if (kept.size() == static_cast<std::size_t>(n)) kept.pop_back();
        const Candidate one{static_cast<std::int32_t>(i), logits[i]};
        kept.insert(std::upper_bound(kept.begin(), kept.end(), one, more_likely), one);
    }
    for (Candidate& c : kept) c.weight = std::exp(c.weight - largest) / sum;
    std::erase_if(kept, [](const Candidate& c) { return !(c.weight > 0); });
    return as_probabilities(kept);
}

std::vector<TokenProbability> filtered_distribution(std::span<const float> logits, const SamplerConfig& config) {
    if (logits.empty() || !validate(config).ok() || !check_finite(logits).ok()) return {};
    std::vector<Candidate> candidates = filtered(logits, config);
    std::sort(candidates.begin(), candidates.end(), more_likely);
    return as_probabilities(candidates);
}

Sampler::Sampler(const SamplerConfig& config) : config_(config), state_(config.seed) {}

// splitmix64: the state is the seed plus a multiple of a constant, so a run can be taken up anywhere.
double Sampler::next_uniform() {
    state_ += 0x9E3779B97F4A7C15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-53;
}

Result<std::int32_t> Sampler::sample(std::span<const float> logits) {
    DS_RETURN_IF_ERROR(validate(config_));
    DS_RETURN_IF_ERROR(check_finite(logits));
    if (config_.temperature == 0.0) return argmax(logits);
    const std::vector<Candidate> candidates = filtered(logits, config_);
    const double uniform = next_uniform();
    double sum = 0;
    for (const Candidate& c : candidates) {
        sum += c.weight;
        if (uniform < sum) return c.token;
    }
    return candidates.back().token;  // the sum of the probabilities may end a little below 1
}

}  // namespace decodescope
