#include "ui/viewmodels/pooled_map.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/api/half.h"

namespace decodescope {
namespace {

constexpr std::uint16_t kOneBits = 0x3C00;

MapValue encode(std::uint16_t bits) {
    if (bits <= kOneBits) return static_cast<MapValue>(kZeroWeight + bits);
    const float weight = f16_to_f32(bits);
    return std::isnan(weight) ? kNotCaptured : weight > 0 ? kOneWeight : kZeroWeight;
}

// Weights 0..1 by their bits; 61 KB that stay in the cache while a mean is built.
const std::array<float, kOneBits + 1>& weight_table() {
    static const auto table = [] {
        std::array<float, kOneBits + 1> values{};
        for (std::size_t bits = 0; bits < values.size(); ++bits)
            values[bits] = f16_to_f32(static_cast<std::uint16_t>(bits));
        return values;
    }();
    return table;
}

// Fills the cells first .. min(position + 1, end) - 1 with what a row that sees nothing shows. False: nothing more to
// fill.
bool prepare_row(const AttentionRow& row, int position, int first, int end, std::vector<MapValue>& cells) {
    const int width = std::max(0, std::min(position + 1, end) - first);
    const bool usable =
        row.captured && row.heads > 0 && row.entries >= 0 &&
        row.weights.size() >= static_cast<std::size_t>(row.heads) * static_cast<std::size_t>(row.entries);
    cells.assign(static_cast<std::size_t>(width), usable ? kEvicted : kNotCaptured);
    return usable;
}

template <class Value>
void scatter(const AttentionRow& row, std::size_t first, std::vector<MapValue>& cells, const Value& value) {
    const std::size_t entries = static_cast<std::size_t>(row.entries);
    if (row.positions.empty()) {
        const std::size_t count = std::min(cells.size(), entries > first ? entries - first : 0);
        for (std::size_t i = 0; i < count; ++i) cells[i] = value(first + i);
        return;
    }
    for (std::size_t e = 0; e < entries; ++e) {
        const std::int64_t at = row.positions[e] - static_cast<std::int64_t>(first);
        if (at >= 0 && at < static_cast<std::int64_t>(cells.size())) cells[static_cast<std::size_t>(at)] = value(e);
    }
}

// The length of a run is a constant in each instance, which lets compilers use vector instructions.
template <int kShift>
void merge_runs(const MapValue* from, std::span<MapValue> bins) {
    for (MapValue& bin : bins) {
        MapValue largest = bin;
        for (int i = 0; i < 1 << kShift; ++i) largest = std::max(largest, from[i]);
        bin = largest;
        from += 1 << kShift;
    }
}

// Every bin takes the largest of itself and the next 2^shift values.
void merge_runs(int shift, const MapValue* from, std::span<MapValue> bins) {
    switch (shift) {
        case 0: return merge_runs<0>(from, bins);
        case 1: return merge_runs<1>(from, bins);
        case 2: return merge_runs<2>(from, bins);
        case 3: return merge_runs<3>(from, bins);
        case 4: return merge_runs<4>(from, bins);
        case 5: return merge_runs<5>(from, bins);
        case 6: return merge_runs<6>(from, bins);
        default:
            for (MapValue& bin : bins) {
                bin = std::max(bin, *std::max_element(from, from + (std::ptrdiff_t{1} << shift)));
                from += std::ptrdiff_t{1} << shift;
            }
    }
}

}  // namespace

float weight_of(MapValue value) {
    return is_weight(value) ? f16_to_f32(static_cast<std::uint16_t>(value - kZeroWeight))
                            : std::numeric_limits<float>::quiet_NaN();
}

MapValue map_value(float weight) {
    if (std::isnan(weight)) return kNotCaptured;
    return static_cast<MapValue>(kZeroWeight + f32_to_f16(std::clamp(weight, 0.0f, 1.0f)));
}

void encode_row(const AttentionRow& row, int head, int position, std::vector<MapValue>& cells, int first, int end) {
    first = std::max(first, 0);
    const bool usable = prepare_row(row, position, first, end, cells);
    if (!usable || head < 0 || head >= row.heads) {
        std::fill(cells.begin(), cells.end(), kNotCaptured);
        return;
    }
    const std::uint16_t* weights =
        row.weights.data() + static_cast<std::size_t>(head) * static_cast<std::size_t>(row.entries);
    const std::size_t from = static_cast<std::size_t>(first), have = static_cast<std::size_t>(row.entries);
    if (row.positions.empty() && from < have) {
        // Two loops without a branch, which compilers turn into vector instructions.
        const std::size_t count = std::min(cells.size(), have - from);
        std::uint16_t most = 0;
        for (std::size_t i = 0; i < count; ++i) most = std::max(most, weights[from + i]);
        if (most <= kOneBits) {
            for (std::size_t i = 0; i < count; ++i) cells[i] = static_cast<MapValue>(weights[from + i] + kZeroWeight);
            return;
        }
    }
    scatter(row, from, cells, [weights](std::size_t e) { return encode(weights[e]); });
}

void encode_mean_row(const AttentionRow& row, int position, std::vector<MapValue>& cells) {
    if (!prepare_row(row, position, 0, position + 1, cells)) return;
    const auto& table = weight_table();
    const std::size_t entries = static_cast<std::size_t>(row.entries);
    std::vector<float> sum(entries, 0.0f);
    for (std::int32_t head = 0; head < row.heads; ++head) {
        const std::uint16_t* weights = row.weights.data() + static_cast<std::size_t>(head) * entries;
        for (std::size_t e = 0; e < entries; ++e)
            sum[e] += weights[e] <= kOneBits ? table[weights[e]] : f16_to_f32(weights[e]);
    }
    const float share = 1.0f / static_cast<float>(row.heads);
    scatter(row, 0, cells, [&](std::size_t e) { return map_value(sum[e] * share); });
}

void PooledMap::append_row(std::span<const MapValue> cells) {
    while (most_side_ > 0 && (rows_ >> shift_) >= most_side_) coarsen();
    const std::size_t at = static_cast<std::size_t>(rows_ >> shift_);
    if (at >= merged_.size()) merged_.resize(at + 1);
    auto& target = merged_[at];
    const std::size_t whole = cells.size() >> shift_;
    const std::size_t width = (cells.size() + (std::size_t{1} << shift_) - 1) >> shift_;
    if (width > target.size()) target.resize(width, kOutside);
    merge_runs(shift_, cells.data(), std::span(target).first(whole));
    for (const MapValue cell : cells.subspan(whole << shift_)) target[whole] = std::max(target[whole], cell);
    ++rows_;
}

void PooledMap::coarsen() {
    for (auto& row : merged_) {
        for (std::size_t i = 0; i < row.size(); i += 2)
            row[i / 2] = i + 1 < row.size() ? std::max(row[i], row[i + 1]) : row[i];
        row.resize((row.size() + 1) / 2);
    }
    for (std::size_t i = 0; i < merged_.size(); i += 2) {
        auto upper = std::move(merged_[i]);
        if (i + 1 < merged_.size()) {
            const auto& lower = merged_[i + 1];
            if (lower.size() > upper.size()) upper.resize(lower.size(), kOutside);
            for (std::size_t c = 0; c < lower.size(); ++c) upper[c] = std::max(upper[c], lower[c]);
        }
        merged_[i / 2] = std::move(upper);
    }
    merged_.resize((merged_.size() + 1) / 2);
    ++shift_;
}

MapValue PooledMap::value(int merged_row, int merged_column) const {
    if (merged_row < 0 || merged_row >= side() || merged_column < 0) return kOutside;
    const auto& row = merged_[static_cast<std::size_t>(merged_row)];
    return static_cast<std::size_t>(merged_column) < row.size() ? row[static_cast<std::size_t>(merged_column)]
                                                                : kOutside;
}

}  // namespace decodescope
