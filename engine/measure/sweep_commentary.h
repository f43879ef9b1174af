// What a sweep shows, in plain sentences: the gain of every cache over recompute or why there is none, and which
// lanes this measurement cannot tell apart. The window's sweep page, the files and the command line say the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/measure/commentary.h"
#include "engine/measure/sweep.h"

namespace decodescope {

struct SweepSentence {
    std::string lane;   // whom it is about: "growing", with the KV format where several were measured; empty when the
                        // sentence names its two lanes itself
    Sentence sentence;  // ids "gain", "gain.none.*", "compare.same"
};

// Everything that is to be said about one length.
struct LengthCommentary {
    std::int64_t length = 0;
    std::vector<SweepSentence> sentences;
    std::string english;  // all of them in one line: "growing: 4.07 times faster with the cache at 204 tokens: ..."
};

// In the order in which the lengths were measured; lengths without two lanes to compare are left out.
std::vector<LengthCommentary> sweep_commentary(const SweepResult& result);

// The name of a lane in sentences and lists, as in SweepSentence::lane.
std::string lane_name(const SweepResult& result, const std::string& cache, const std::string& kv_type);

}  // namespace decodescope
