// Time to the first token, prefill rate and decode rate of a run: three figures that are never mixed.
#pragma once

#include <optional>

#include "engine/trace/run_recording.h"

namespace decodescope {

// Nothing: not known, shown as "n/a". Rates count tokens, not words, and only tokens that were computed.
struct RunRates {
    std::optional<double> first_token_ms;             // the prompt's pass, whose logits give the first token
    std::optional<double> prefill_tokens_per_second;  // rows that the pass fed; those of an earlier run do not count
    std::optional<double> decode_tokens_per_second;   // (n - 1) / time from the first to the last of n generated tokens
    std::optional<double> decode_ms_per_token;        // median over the decode steps
    bool captured = false;                            // attention was captured in some of the steps
};
RunRates run_rates(const RunRecording& recording);

}  // namespace decodescope
