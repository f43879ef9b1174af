#include "ui/viewmodels/cache_shades.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace decodescope {

void CacheShades::append(Lane& lane, int position, float rms) {
    const auto at = static_cast<std::size_t>(position);
    if (lane.sum.size() > at + 1) {  // fed again: what was known from here on is written anew
        lane.sum.resize(at + 1);
        lane.count.resize(at + 1);
    }
    while (lane.sum.size() < at + 1) {
        lane.sum.push_back(lane.sum.back());
        lane.count.push_back(lane.count.back());
    }
    const bool known = std::isfinite(rms);
    lane.sum.push_back(lane.sum.back() + (known ? static_cast<double>(rms) : 0.0));
    lane.count.push_back(lane.count.back() + (known ? 1 : 0));
    // Position 0 stands out in most models; it must not flatten the rest of the scale.
    if (known && position == 1) lane.any = false;
    if (known) {
        lane.largest = lane.any ? std::max(lane.largest, static_cast<double>(rms)) : rms;
        lane.smallest = lane.any ? std::min(lane.smallest, static_cast<double>(rms)) : rms;
        lane.any = true;
    }
    ++values_read_;
}

void CacheShades::update(const RunRecording* recording) {
    if (recording != source_) {
        source_ = recording;
        rows_ = positions_ = 0;
        layers_ = recording == nullptr ? 0 : static_cast<int>(recording->facts().config.layers);
        lanes_.assign(static_cast<std::size_t>(layers_) * 2, Lane{});
    }
    const int count = recording == nullptr ? 0 : recording->row_count();
    for (; rows_ < count; ++rows_) {
        const int position = recording->row(rows_).position;
        if (position < 0 || position >= (1 << 20)) continue;
        positions_ = std::max(positions_, position + 1);
        for (int layer = 0; layer < layers_; ++layer) {
            append(lanes_[static_cast<std::size_t>(2 * layer)], position, recording->k_rms(rows_, layer));
            append(lanes_[static_cast<std::size_t>(2 * layer + 1)], position, recording->v_rms(rows_, layer));
        }
    }
}

double CacheShades::mean(int layer, int lane, int first, int end) const {
    if (layer < 0 || layer >= layers_ || lane < 0 || lane > 1) return std::numeric_limits<double>::quiet_NaN();
    const Lane& values = lanes_[static_cast<std::size_t>(2 * layer + lane)];
    const int last = static_cast<int>(values.sum.size()) - 1;
    const auto from = static_cast<std::size_t>(std::clamp(first, 0, last)),
               to = static_cast<std::size_t>(std::clamp(end, 0, last));
    const int count = to > from ? values.count[to] - values.count[from] : 0;
    return count > 0 ? (values.sum[to] - values.sum[from]) / count : std::numeric_limits<double>::quiet_NaN();
}

float CacheShades::strength(int layer, int lane, int first, int end) const {
    const double value = mean(layer, lane, first, end);
    if (std::isnan(value)) return 0.65f;
    const Lane& values = lanes_[static_cast<std::size_t>(2 * layer + lane)];
    const double range = values.largest - values.smallest;
    if (!(range > 1e-6 * std::abs(values.largest))) return 0.65f;
    return static_cast<float>(0.3 + 0.7 * std::clamp((value - values.smallest) / range, 0.0, 1.0));
}

double CacheShades::largest(int layer, int lane) const {
    return layer < 0 || layer >= layers_ || lane < 0 || lane > 1
               ? 0.0
               : lanes_[static_cast<std::size_t>(2 * layer + lane)].largest;
}

}  // namespace decodescope
