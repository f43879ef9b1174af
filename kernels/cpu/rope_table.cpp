#include "kernels/cpu/rope_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace decodescope {

Status RopeTable::ensure(std::int64_t positions) {
    if (positions <= positions_) return {};
    constexpr std::uint64_t kFirst = 256;
    const auto grown =
        static_cast<std::int64_t>(std::bit_ceil(std::max(kFirst, static_cast<std::uint64_t>(positions))));
    auto buffer =
        memory_->allocate(static_cast<std::size_t>(grown * 2 * half()) * sizeof(float), MemoryPurpose::Activations);
    if (!buffer.ok()) return buffer.error();
    float* data = reinterpret_cast<float*>(buffer.value()->data());
    if (buffer_) std::memcpy(data, buffer_->data(), static_cast<std::size_t>(positions_ * 2 * half()) * sizeof(float));
    std::vector<double> frequencies(static_cast<std::size_t>(half()));
    for (std::int64_t i = 0; i < half(); ++i)
        frequencies[static_cast<std::size_t>(i)] = rope_frequency(rope_, i);
    for (std::int64_t position = positions_; position < grown; ++position) {
        float* line = data + position * 2 * half();
        for (std::int64_t i = 0; i < half(); ++i) {
            const double angle = static_cast<double>(position) * frequencies[static_cast<std::size_t>(i)];
            line[i] = static_cast<float>(std::cos(angle));
            line[half() + i] = static_cast<float>(std::sin(angle));
        }
    }
    buffer_ = std::move(buffer.value());
    positions_ = grown;
    return {};
}

void RopeTable::turn_back(const float* x, std::int32_t positions, std::int64_t head_dim, float* out) const {
    const float* cosine = cosines(positions);
    const float* sine = sines(positions);
    for (std::int64_t i = 0; i < half(); ++i) {
        const float a = x[i], b = x[i + half()];
        out[i] = a * cosine[i] + b * sine[i];
        out[i + half()] = b * cosine[i] - a * sine[i];
    }
    std::copy(x + rope_.rotary_dim, x + head_dim, out + rope_.rotary_dim);
}

}  // namespace decodescope
