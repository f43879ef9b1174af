// What the cache of a run is and costs as of a step, in numbers and words; the same words on screen and in exports.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/layer_kinds.h"
#include "ui/viewmodels/export_table.h"
#include "ui/viewmodels/viewed_step.h"

namespace decodescope {

enum class CacheKind { None, Recompute, Growing, Preallocated, Other };

class CacheStory {
public:
    // Takes over steps that were appended since the last call; another recording starts anew.
    void update(const RunRecording* recording);
    CacheKind kind() const { return kind_; }
    bool layers_differ() const { return layers_ > 0; }  // each keeps tokens of its own
    // Layers of the model attend to a window and keep no more than that.
    bool has_local() const { return local_.layers > 0; }
    bool is_local(int layer) const;
    // Rows that a layer keeps, and has room for; the room of one that sees everything is the strategy's.
    std::int64_t rows_kept(const ViewedStep& view, int layer) const;
    std::int64_t rows_room(const ViewedStep& view, int layer) const;
    bool some_left(const ViewedStep& view) const;  // a layer keeps fewer rows than there are tokens
    // "512 local", "2,048 global": beside the rows of the layer; empty where all layers see everything.
    QString kind_label(const ViewedStep& view, int layer) const;
    // "layer 0 of 6: each layer keeps tokens of its own": where rows lie is recorded of one; else empty.
    QString layer_words() const;
    // Bytes copied by all steps up to and including this one.
    std::int64_t copied_bytes(int step) const;
    // "21 of 64 slots · 63.0 KiB of 192 KiB used [measured]"
    QString facts_line(const ViewedStep& view) const;
    // One sentence on what the strategy did in this step: the copy, the reserve, or that nothing is kept.
    QString sentence(const ViewedStep& view) const;
    // Slots before and after the copy of a growing step; equal when nothing was copied.
    std::int64_t slots_before(const ViewedStep& view) const;

private:
    const RunRecording* source_ = nullptr;
    CacheKind kind_ = CacheKind::None;
    QString strategy_words(const ViewedStep& view) const;
    QString window_words(const ViewedStep& view) const;

    std::int64_t layers_ = 0;           // where they differ
    LayerKind local_;
    std::vector<std::int64_t> copied_;  // [steps], running sum
};

// The attention that the row had got in the layer when it was dropped, where that decided.
std::optional<float> eviction_score(const RunRecording& recording, int step, int layer, int position);

// One row per layer and position as of a step: layer, position, token, state, step in which it was written, K RMS, V
// RMS.
ExportTable cache_table(const RunRecording& recording, int step);

}  // namespace decodescope
