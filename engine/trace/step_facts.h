// The facts of one step: what was fed, what came out, what it cost. Immutable once published.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/cache/offload.h"
#include "engine/text/sampler.h"
#include "engine/trace/placement.h"
#include "kernels/api/backend.h"

namespace decodescope {

enum class Phase : std::uint8_t { Prefill, Decode, Refeed };  // Refeed: tokens fed again after a switch of strategy

// One stage of the compiled step as it was timed.
struct OpRecord {
    std::int32_t stage = 0;  // index into RunFacts::stages
    float micros = 0;
};

struct KvFacts {
    std::int64_t rows_written = 0;     // per layer, by this step
    std::int64_t rows_read = 0;        // entries the last row read, per layer, itself included
    std::int64_t tokens_seen = 0;      // since the start of the sequence
    std::int64_t tokens_stored = 0;    // in the cache now, in the layer that keeps most
    std::int64_t capacity_tokens = 0;  // reserved now, in placed_layer(): not in those with a window of their own
    std::int64_t used_bytes = 0;       // all layers, as allocated for stored tokens
    std::int64_t reserved_bytes = 0;   // all layers, as allocated
    std::int64_t copied_bytes = 0;     // moved by this step to grow the cache
    std::int64_t peak_bytes = 0;       // highest KV bytes live during this step (old + new while growing)
    // Caches with pages; page_tokens is 0 for all others. Capacity and reserved bytes above are those of the pages that
    // this sequence has, shared ones included.
    std::int64_t page_tokens = 0;
    std::int64_t pages_used = 0;       // of this sequence
    std::int64_t pages_shared = 0;     // of those, with more than one owner
    std::int64_t pages_copied = 0;     // by this step, because they were shared and had to be written
    std::int64_t pages_free = 0;       // in the pool that the sequence takes them from
    std::int64_t pool_bytes = 0;       // all layers, as allocated for the pool
    // Caches whose rows lie elsewhere than on the device; used and reserved bytes above are then those of that place.
    OffloadPlace offload = OffloadPlace::None;
    std::int64_t offload_pool_bytes = 0;      // on the device: room for the layer that runs
    std::int64_t offload_fetched_bytes = 0;   // by this step, to the device
    std::int64_t offload_returned_bytes = 0;  // by this step, from the device
    double offload_micros = 0;                // that these copies took; part of the step's time
    double offload_rate = 0;                  // bytes per second of the fastest step so far; 0: none
    std::int64_t offload_moved_bytes() const { return offload_fetched_bytes + offload_returned_bytes; }
    double offload_bound_micros() const {     // what the moved bytes take at that rate, at the least
        return offload_rate > 0 ? static_cast<double>(offload_moved_bytes()) * 1e6 / offload_rate : 0;
    }
};

struct MemoryFacts {
    std::array<std::int64_t, kMemoryPurposeCount> bytes{};  // by MemoryPurpose, as the allocator counted them
    std::int64_t history_bytes = 0;                         // what the recording itself holds
};

// A token row that left the cache with a step.
struct EvictedEntry {
    std::int32_t position = 0;
    std::int32_t layer = kNone;  // the only one that dropped it; kNone: all layers did
    // What decided: the attention that the entry had got in the layer, summed over heads and rows; NaN: no score did.
    float score = std::numeric_limits<float>::quiet_NaN();
    bool scored() const { return score == score; }
};

struct StepFacts {
    std::int32_t index = 0;           // 0 = prefill of the prompt
    Phase phase = Phase::Prefill;
    std::int32_t first_row = 0;       // rows of this step in the recording: first_row .. first_row + row_count - 1
    std::int32_t row_count = 0;
    std::int32_t passes = 1;          // that the rows went through: long prompts, and caches that decide row by row
    std::int32_t last_pass_rows = 0;  // of more passes than one: rows of the last, which kv.rows_read belongs to
    std::int32_t sampled_token = -1;  // what the sampler picked from this step's logits; -1: none
    std::string stop_reason;          // "" while running, else "length", "eos", "context_full", "cancelled"
    double micros = 0;                // the pass itself, without sampling and recording
    // Devices apart from the host: what the host waited for them, of which `micros` is their own time; the rest went into
    // launches and waiting. 0: the backend computes on the host.
    double host_micros = 0;
    std::int64_t graph_captures = 0;  // command graphs that the device's driver recorded for this step
    bool captured = false;            // attention was captured: timing is marked
    bool warm_up = false;             // first use of buffers; left out of charts' medians
    KvFacts kv;
    MemoryFacts memory;
    std::int64_t flops = 0;           // by the formula
    std::int64_t bytes = 0;           // by the formula
    std::vector<OpRecord> ops;        // empty when not profiled
    std::vector<TokenProbability> top;  // 10, before temperature
    std::vector<TokenProbability> candidates;  // what was drawn from, after the filters; at most 10
    std::vector<EvictedEntry> evicted;
    Placement placement;              // what changed since the step before; of placed_layer() where layers differ
};

// One comparison of the recompute lane with the cached lane on the same tokens.
struct RacePoint {
    std::int32_t step = 0;             // step of the recording
    std::int32_t length = 0;           // tokens in the sequence after the pass
    double cached_micros = 0;
    double recompute_micros = 0;
    double max_abs_logit_diff = 0;
    bool same_token = true;            // greedy token of both
    bool captured = false;             // the cached lane captured attention
};

}  // namespace decodescope
