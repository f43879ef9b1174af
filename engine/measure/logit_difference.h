// How far two rows of logits lie apart.
#pragma once

#include <cstdint>
#include <span>

namespace decodescope {

double max_abs_difference(std::span<const float> a, std::span<const float> b);  // NaN when one of them has a NaN
std::int32_t greedy_token(std::span<const float> logits);                       // ties to the lowest id
// KL(exact || other) in nats of the softmax of both: sum of p ln(p / q), never below 0; 0 when they are equal bit for
// bit, NaN where one is. Rows of the same size.
double kl_divergence(std::span<const float> exact, std::span<const float> other);

}  // namespace decodescope
