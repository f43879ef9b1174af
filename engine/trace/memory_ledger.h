// Bytes by purpose as the allocator counted them, beside what the formula says, with the gap in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

struct LedgerLine {
    // "weights", "KV used", "KV reserved", "KV peak" (while a cache grows), "activations", "staging", "recording"
    std::string purpose;
    std::int64_t measured_bytes = 0;
    std::int64_t derived_bytes = 0;  // -1: no formula
    std::string formula;        // "2 · L · H_kv · d · bytes · tokens"
    std::string filled_in;      // "2 · 6 · 2 · 32 · 4 · 21 = 64,512"
    std::string gap;            // why measured and derived differ; empty when equal
};

// Rows that a layer keeps as of a step: what the strategy keeps, or less where the layer's own attention is a window.
std::int64_t rows_kept(const RunFacts& facts, const KvFacts& kv, std::int64_t layer);
std::vector<LedgerLine> memory_ledger(const RunFacts& facts, const StepFacts& step);

}  // namespace decodescope
