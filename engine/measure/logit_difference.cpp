#include "engine/measure/logit_difference.h"

#include <algorithm>
#include <cmath>

namespace decodescope {
namespace {

// ln of the softmax's denominator.
double log_sum(std::span<const float> logits) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) - highest);
    return highest + std::log(sum);
}

}  // namespace

double max_abs_difference(std::span<const float> a, std::span<const float> b) {
    double largest = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        if (std::isnan(difference)) return difference;
        largest = std::max(largest, difference);
    }
    return largest;
}

std::int32_t greedy_token(std::span<const float> logits) {
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double kl_divergence(std::span<const float> exact, std::span<const float> other) {
    if (exact.empty() || exact.size() != other.size()) return 0;
    const double exact_sum = log_sum(exact), other_sum = log_sum(other);
    double sum = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double log_p = static_cast<double>(exact[i]) - exact_sum;
        sum += std::exp(log_p) * (log_p - (static_cast<double>(other[i]) - other_sum));
    }
    return std::isnan(sum) ? sum : std::max(sum, 0.0);  // rounding may leave a sum just below 0
}

}  // namespace decodescope
