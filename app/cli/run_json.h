// The object that `generate --json` prints; `batch` prints one for each of its lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/text/tokenizer.h"
#include "engine/trace/run_recording.h"

namespace decodescope {

struct RunForJson {
    std::string model;                          // as on the command line
    const RunFacts* facts = nullptr;
    const RunRecording* recording = nullptr;    // null: the run did not begin
    const Tokenizer* tokenizer = nullptr;
    std::span<const std::int32_t> tokens;       // prompt and generated
    std::size_t prompt = 0;
    std::int64_t new_tokens = 0;                // that were asked for; 0: prefill only
    std::string stop_reason, logits_hash;
    std::string error;                          // why it ended before its time; empty: no such member
};

std::string run_json(const RunForJson& run);

}  // namespace decodescope
