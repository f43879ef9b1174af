// Slow motion: the stages of one step in the order in which they run, with the shapes they work on and, where the step
// was profiled, their times.
#pragma once

#include <QString>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

enum class WalkStage { Embed, Norm, Qkv, Store, Attend, Output, Mlp, Logits, Sample };
constexpr int kWalkStageCount = 9;
QString walk_stage_name(WalkStage stage);  // "embed", "QKV", "attend": the words on the chips

struct WalkMoment {
    WalkStage stage = WalkStage::Embed;
    int layer = -1;       // -1: not in a layer
    double micros = -1;   // -1: not profiled
    bool shared = false;  // the time covers neighbouring stages too: they run as one fused piece
};

// embed; per layer norm, QKV, store (not without a cache), attend, output, MLP; logits, sample.
std::vector<WalkMoment> stage_walk(const RunFacts& facts, const StepFacts& step);
// "attend, layer 3: q [4, 1, 32] · K [2, 21, 32] → weights [4, 1, 21] · 12.3 µs [measured]"
QString walk_sentence(const RunFacts& facts, const StepFacts& step, const WalkMoment& moment);

}  // namespace decodescope
