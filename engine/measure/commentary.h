// What a step did and what the cache gains, in plain sentences with the numbers of the run. The window and the command
// line say the same; `id` and `args` are for translation, `english` is the sentence with the arguments filled in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

// A difference beyond this is not rounding, in the scale of logits of a small model.
constexpr double kRoundingDifference = 1e-2;

struct Sentence {
    std::string id;                 // "step.cache": stable, one per form of sentence
    std::vector<std::string> args;  // in the order in which `english` uses them, already formatted and without units
    std::string english;
};

// Whether a run's answers may differ from those of full attention by what was chosen for it: rows leave the cache, or
// are stored with fewer bits than a logit's rounding.
bool differs_by_design(const RunFacts& facts);

// The sentence of a pattern with its arguments filled in.
Sentence make_sentence(std::string id, std::vector<std::string> args = {});
// The English pattern of an id, with {0}, {1}, ... for the arguments: the source text of a translation.
std::string_view sentence_pattern(std::string_view id);
std::vector<std::string_view> sentence_ids();

// In reading order: what was computed, what the cache did, what it would have cost without, time, next token.
// Empty when there is no such step.
std::vector<Sentence> what_happened(const RunRecording& recording, std::int32_t step);

// The gain now, from the latest comparison of both lanes; below 1.05 "no benefit at this length" and why.
Sentence gain_sentence(const RunRecording& recording);

// The same for any comparison of a cached pass with one without, both in the run of `facts` at `length` tokens.
// `shown_digits`: of the milliseconds, from which the gain is computed, so that text and figures never disagree.
Sentence gain_sentence(const RunFacts& facts, std::int64_t length, double cached_ms, double recompute_ms,
                       int shown_digits);

// Whether both lanes gave the same answer so far, with the largest logit difference.
Sentence agreement_sentence(const RunRecording& recording);

// Products of a full pass over `length` tokens, by the formula: 2 N T + 2 L H d T (T + 1) + 2 V D.
std::int64_t recompute_flops(const ModelConfig& config, std::int64_t length);

}  // namespace decodescope
