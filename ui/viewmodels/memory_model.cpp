#include "ui/viewmodels/memory_model.h"

#include <algorithm>

namespace decodescope {

void MemoryModel::update(const RunRecording* recording) {
    if (recording != source_) {
        *this = MemoryModel();
        source_ = recording;
    }
    if (recording == nullptr) return;
    const auto purpose = [](const StepFacts& facts, MemoryPurpose which) {
        return static_cast<double>(facts.memory.bytes[static_cast<std::size_t>(which)]);
    };
    for (const int count = recording->step_count(); steps_ < count; ++steps_) {
        const auto facts = recording->step(steps_);
        const double length = facts->first_row + facts->row_count;
        // Going on from an earlier token starts that length again: what it replaces is dropped.
        while (!length_.empty() && length_.back() >= length)
            for (auto* list : {&length_, &weights_, &activations_, &kv_used_, &kv_empty_, &kv_peak_}) list->pop_back();
        length_.push_back(length);
        weights_.push_back(purpose(*facts, MemoryPurpose::Weights));
        activations_.push_back(purpose(*facts, MemoryPurpose::Activations) + purpose(*facts, MemoryPurpose::Staging));
        kv_used_.push_back(static_cast<double>(facts->kv.used_bytes));
        kv_empty_.push_back(
            static_cast<double>(std::max<std::int64_t>(0, facts->kv.reserved_bytes - facts->kv.used_bytes)));
        kv_peak_.push_back(static_cast<double>(facts->kv.peak_bytes));
    }
}

double MemoryModel::cache_share() const {
    if (length_.empty()) return 0;
    const double cache = kv_used_.back() + kv_empty_.back();
    const double all = cache + weights_.back() + activations_.back();
    return all > 0 ? cache / all : 0;
}

ExportTable MemoryModel::table() const {
    ExportTable table{
        "bytes by purpose after each step, as the allocator counted them",
        {"length", "weights_bytes", "activations_bytes", "kv_used_bytes", "kv_reserved_bytes", "kv_peak_bytes"},
        {}};
    const auto whole = [](double value) { return ExportCell(static_cast<std::int64_t>(value)); };
    for (std::size_t i = 0; i < length_.size(); ++i)
        table.rows.push_back({whole(length_[i]), whole(weights_[i]), whole(activations_[i]), whole(kv_used_[i]),
                              whole(kv_used_[i] + kv_empty_[i]), whole(kv_peak_[i])});
    return table;
}

}  // namespace decodescope
