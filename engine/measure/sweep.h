// Lengths x strategies with warm-up, alternating order, repeats and medians.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/decode/decode_session.h"
#include "engine/measure/op_profile.h"
#include "engine/trace/run_recording.h"

namespace decodescope {

struct SweepRequest {
    std::vector<std::int64_t> lengths;   // tokens in the sequence after the measured pass
    std::vector<CacheSpec> caches;
    std::vector<KvFormat> kv_formats{KvFormat{}};
    int repeats = 5;
    bool profile = false;
    std::uint64_t seed = 1;
};

struct SweepRow {
    std::int64_t length = 0;
    std::string cache, kv_type, weights, backend, phase;  // phase: decode, prefill, recompute
    double median_ms = 0, min_ms = 0, max_ms = 0;
    int repeats = 0;
    std::int64_t kv_bytes_used = 0, kv_bytes_reserved = 0, flops = 0, bytes = 0;
};

struct SpeedUp {
    std::int64_t length = 0;
    // recompute / cached, of the medians as shown, two decimals; low and high from the extremes
    double value = 0, low = 0, high = 0;
    std::string cache, kv_type;  // of the cached side
};

struct OpTiming {  // --profile
    std::int64_t length = 0;
    std::string cache;
    OpUse use;
};

struct SweepResult {
    std::vector<SweepRow> rows;
    std::vector<SpeedUp> speedup;
    struct Fit {
        std::string cache;
        PowerLawFit fit;  // of the medians of phase decode or recompute
        std::string kv_type;
    };
    std::vector<Fit> fits;
    std::vector<std::string> notes;  // what was left out and why (memory)
    std::vector<OpTiming> profile;
    MachineCeiling ceiling;  // the caller measures it, beside nothing else
    RunFacts run;
    bool cancelled = false;
};

struct SweepProgress {
    std::int64_t done = 0, total = 0;
    std::string what;  // "preallocated at 256 tokens, repeat 2 of 5"
    const SweepResult* partial = nullptr;
};

// One row per measured (length, cache, format, phase) as soon as it is known; cancelled within one pass tile: what was
// measured is kept. A lane that does not fit into memory at some length is left out there and noted.
Result<SweepResult> run_sweep(LoadedModelPtr model, const SweepRequest& request,
                              const std::function<void(const SweepProgress&)>& progress, std::stop_token stop);

// CSV with the run facts in '#' lines, and JSON; locale-free.
std::string sweep_csv(const SweepResult& result);
std::string sweep_json(const SweepResult& result);

}  // namespace decodescope
