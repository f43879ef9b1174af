// What the cache map says in words: the sentence below it and the box under the pointer; the same facts as a table.
#pragma once

#include <QString>
#include <QStringList>

#include "ui/viewmodels/cache_story.h"
#include "ui/viewmodels/export_table.h"
#include "ui/viewmodels/placement_layout.h"

namespace decodescope {

// What is looked at.
struct PlacementScene {
    const RunRecording& recording;
    const ViewedStep& step;
    const TokenTrack& tokens;
    const PlacementTrack& track;
};

// Bytes of one slot in all layers: what was allocated, divided by the slots that it has room for.
double slot_bytes(const Placement& state, const KvFacts& kv);
// Slots of the viewed sequence's pages that hold nothing.
std::int64_t wasted_slots(const Placement& state, const KvFacts& kv);

QString placement_sentence(const PlacementTrack& track, const ViewedStep& view, const CacheStory& story);
// "12 pages of 16 slots, one allocation for each of 6 layers"
QString memory_words(const Placement& state, std::int64_t layers);
// What is under the pointer: what it is, owners, tokens, bytes, waste, with where each number comes from.
QStringList placement_facts(const PlacementScene& scene, const PlacementHit& hit);
// One row per slot as of a step: slot, page, what the page is used for, owners, position, token, text.
ExportTable placement_table(const RunRecording& recording, int step);

}  // namespace decodescope
