#include "ui/viewmodels/attention_pyramid.h"

#include <algorithm>

namespace decodescope {

void AttentionPyramid::select(RecordingPtr recording, int layer, int head) {
    if (recording == recording_ && layer == layer_ && head == head_) return;
    recording_ = std::move(recording);
    layer_ = layer;
    head_ = head;
    rows_ = 0;
    mean_rows_.clear();
    not_captured_.clear();
    for (int level = 1; level <= kHighestLevel; ++level)
        merged_[static_cast<std::size_t>(level - 1)] = PooledMap(level);
}

void AttentionPyramid::encode(int row, std::vector<MapValue>& cells) const {
    const AttentionRow attention = recording_->attention(row, layer_);
    const int position = recording_->row(row).position;
    if (head_ == kMeanOfHeads) return encode_mean_row(attention, position, cells);
    encode_row(attention, head_, position, cells);
}

bool AttentionPyramid::advance(std::int64_t& budget) {
    const int count = recording_ ? recording_->row_count() : 0;
    const bool layer_exists = recording_ && layer_ >= 0 && layer_ < recording_->facts().config.layers;
    if (!layer_exists) return true;
    while (rows_ < count && budget > 0) {
        encode(rows_, scratch_);
        const std::int64_t passes = head_ == kMeanOfHeads ? recording_->facts().config.heads + 2 : 2;
        const std::int64_t cost = static_cast<std::int64_t>(scratch_.size()) * passes + 16;
        budget -= cost;
        cells_touched_ += cost;
        if (head_ == kMeanOfHeads) mean_rows_.push_back(scratch_);
        for (auto& map : merged_) map.append_row(scratch_);
        if (!scratch_.empty() && scratch_[0] == kNotCaptured) {
            if (not_captured_.empty() || not_captured_.back().end != rows_) not_captured_.push_back({rows_, rows_});
            not_captured_.back().end = rows_ + 1;
        }
        ++rows_;
    }
    return rows_ >= count;
}

void AttentionPyramid::read(int level, int merged_row, int first_column, int end_column,
                            std::vector<MapValue>& cells) const {
    const std::size_t width = static_cast<std::size_t>(std::max(0, end_column - first_column));
    cells_touched_ += static_cast<std::int64_t>(width);
    if (level == 0 && head_ != kMeanOfHeads && merged_row >= 0 && merged_row < rows_) {
        encode_row(recording_->attention(merged_row, layer_), head_, recording_->row(merged_row).position, cells,
                   first_column, end_column);
        cells.resize(width, kOutside);
        return;
    }
    cells.assign(width, kOutside);
    std::span<const MapValue> from;
    if (level > 0) {
        const PooledMap& map = merged_[static_cast<std::size_t>(std::min(level, kHighestLevel) - 1)];
        if (merged_row < 0 || merged_row >= map.side()) return;
        from = map.merged_row(merged_row);
    } else {
        if (merged_row < 0 || merged_row >= rows_) return;
        from = mean_rows_[static_cast<std::size_t>(merged_row)];
    }
    const int end = std::min(end_column, static_cast<int>(from.size()));
    for (int column = std::max(0, first_column); column < end; ++column)
        cells[static_cast<std::size_t>(column - first_column)] = from[static_cast<std::size_t>(column)];
}

MapValue AttentionPyramid::value(int row, int column) const {
    std::vector<MapValue> cell;
    read(0, row, column, column + 1, cell);
    return cell[0];
}

void AttentionOverview::select(RecordingPtr recording) {
    if (recording == recording_) return;
    recording_ = std::move(recording);
    const auto* config = recording_ ? &recording_->facts().config : nullptr;
    layers_ = config ? static_cast<int>(config->layers) : 0;
    heads_ = config ? static_cast<int>(config->heads) : 0;
    rows_ = changed_from_ = changed_shift_ = 0;
    maps_.assign(static_cast<std::size_t>(layers_) * static_cast<std::size_t>(heads_), PooledMap(0, kMostSide));
}

bool AttentionOverview::advance(std::int64_t& budget) {
    const int count = recording_ ? recording_->row_count() : 0;
    if (maps_.empty()) return true;
    while (rows_ < count && budget > 0) {
        const int position = recording_->row(rows_).position;
        for (int layer = 0; layer < layers_; ++layer) {
            const AttentionRow row = recording_->attention(rows_, layer);
            for (int head = 0; head < heads_; ++head) {
                encode_row(row, head, position, scratch_);
                maps_[static_cast<std::size_t>(layer * heads_ + head)].append_row(scratch_);
            }
        }
        changed_from_ = std::min(changed_from_, rows_ >> maps_[0].shift());
        ++rows_;
        budget -= (static_cast<std::int64_t>(scratch_.size()) / 4 + 8) * layers_ * heads_;
    }
    return rows_ >= count;
}

int AttentionOverview::take_changed() {
    if (maps_.empty()) return 0;
    const int from = maps_[0].shift() == changed_shift_ ? changed_from_ : 0;
    changed_shift_ = maps_[0].shift();
    changed_from_ = maps_[0].side();
    return from;
}

}  // namespace decodescope
