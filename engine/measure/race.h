// The recompute lane: the same tokens through a full causal pass without a cache, compared with the cached lane.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "engine/decode/decode_session.h"
#include "engine/trace/step_facts.h"

namespace decodescope {

class RecomputeLane {
public:
    static Result<std::unique_ptr<RecomputeLane>> create(LoadedModelPtr model);
    virtual ~RecomputeLane() = default;
    // A full pass over all tokens; `cached_logits` are the cached lane's after the same tokens. RacePoint::step and
    // captured are the caller's to fill in. The first pass of a new size is run twice: warm-up apart.
    virtual Result<RacePoint> compare(std::span<const std::int32_t> tokens, std::span<const float> cached_logits,
                                      double cached_micros, std::stop_token stop) = 0;
};
// Whether there is a full pass to compare with. A cache whose positions are counted anew goes on beyond the model's
// context; a pass over all tokens would give them positions that the model was never trained for.
inline bool can_recompute(std::int64_t length, const ModelConfig& config) { return length <= config.context; }

// A lane over a session of the recompute strategy; what create() makes.
std::unique_ptr<RecomputeLane> make_recompute_lane(std::unique_ptr<DecodeSession> session,
                                                   std::int64_t sampled_vocabulary = 0);

// `--recompute every|at=256,512|budget=30s`: at which lengths the recompute lane runs.
struct RaceSchedule {
    enum class Mode { Every, At, Budget } mode = Mode::Every;
    std::vector<std::int64_t> lengths;
    double budget_seconds = 0;
    // Whether to measure at this length; `spent_micros` so far and the expected price of the next pass.
    bool due(std::int64_t length, double spent_micros, double expected_micros) const;
};
Result<RaceSchedule> parse_race_schedule(std::string_view text);

}  // namespace decodescope
