// What a comparison shows, in plain sentences: time, logits, text and copies of every configuration beside the
// reference, and what becomes of the claim that preallocation is faster than growing.
#pragma once

#include <optional>
#include <vector>

#include "engine/measure/commentary.h"
#include "engine/measure/compare.h"

namespace decodescope {

// In reading order; empty before anything was measured.
std::vector<Sentence> compare_commentary(const CompareResult& result);

// Time of a step with a preallocated against a growing cache, everything else being equal. Nothing when the comparison
// does not hold such a pair or no step of it was timed.
std::optional<Sentence> preallocation_sentence(const CompareResult& result);

}  // namespace decodescope
