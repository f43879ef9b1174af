// The data behind the charts of a recording as CSV and JSON, with the facts of the run: '#' lines or the object "run".
// Numbers never depend on the locale. What was not measured or not captured is empty or null, never 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

// Per step: time of both lanes in ms, the same cumulated (recompute only while every step was measured), largest logit
// difference, flags of steps that are not to be compared (captured, warm-up).
std::string timing_csv(const RunRecording& recording);
std::string timing_json(const RunRecording& recording);

// Per step: bytes by purpose, KV used, reserved, copied and at the peak.
std::string memory_csv(const RunRecording& recording);
std::string memory_json(const RunRecording& recording);

// What one row (a token being computed) reads from, in one layer and head; head -1: mean over the heads.
std::string attention_csv(const RunRecording& recording, std::int32_t row, std::int32_t layer, std::int32_t head);
std::string attention_json(const RunRecording& recording, std::int32_t row, std::int32_t layer, std::int32_t head);

// The most likely next tokens after a step, by the plain softmax.
std::string next_token_csv(const RunRecording& recording, std::int32_t step);
std::string next_token_json(const RunRecording& recording, std::int32_t step);

// ---- shared with other exports ----
// Names and values of the run facts as they are written, in order. Empty value: not known.
std::vector<std::pair<std::string, std::string>> run_fact_lines(const RunFacts& facts);
std::string run_facts_json(const RunFacts& facts);     // the same as one JSON object, numbers as numbers
std::string run_fact_comments(const RunFacts& facts);  // "# model: bundled\n" ...
// Quoted when it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace decodescope
