// The arithmetic of each operation as its definition says it, in double.
#pragma once

#include <span>

#include "kernels/api/backend.h"
#include "kernels/reference/host_weights.h"

namespace decodescope::reference {

// out[o] = sum_i x[i] * weight[o, i] (+ bias[o]). x: [weight.columns], out: [weight.rows].
void linear(std::span<const float> x, const HostTensor& weight, const HostTensor* bias, std::span<float> out);

// x / sqrt(mean(x^2) + epsilon) * weight
void rms_norm(std::span<const float> x, const HostTensor& weight, double epsilon, std::span<float> out);

// (x - mean) / sqrt(variance + epsilon) * weight + bias; the variance is that of the row, divided by its length.
void layer_norm(std::span<const float> x, const HostTensor& weight, const HostTensor& bias, double epsilon,
                std::span<float> out);

// Rotates pairs (i, i + rotary_dim / 2) of every head by position * rope_frequency(i). x and out may be the same.
void rope(std::span<const float> x, const OpDesc& op, std::int32_t position, std::span<float> out);

void swiglu(std::span<const float> gate, std::span<const float> up, std::span<float> out);
void gelu_tanh(std::span<const float> x, std::span<float> out);
void gelu_erf(std::span<const float> x, std::span<float> out);
void geglu(std::span<const float> gate, std::span<const float> up, std::span<float> out);

// Stores one row of K and V, [kv_heads * head_dim] each, in `entry`, rounded to the storage's type.
void store_row(std::span<const float> k, std::span<const float> v, const KvView& view, std::int32_t entry);

// softmax(scale * q k) v over the entries that the row sees, per head; head h reads key-value head h / (heads /
// kv_heads). weights: [heads, weights_stride] or null; entries that are not seen get 0. A row that sees nothing gives
// 0.
void attend(std::span<const float> q, const OpDesc& op, const KvView& view, const RowVisibility& row, float* weights,
            std::int64_t weights_stride, std::span<float> out);

}  // namespace decodescope::reference
