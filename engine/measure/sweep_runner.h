// What a sweep does, apart from where its sessions come from: a test hands in sessions whose times it knows.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/measure/sweep.h"

namespace decodescope {

struct SweepParts {
    std::function<Result<std::unique_ptr<DecodeSession>>(const SessionConfig&)> create;
    std::int64_t context = 0;
    std::vector<std::int32_t> tokens;  // at least as many as the largest length
    RunFacts run;
    // FLOPs and bytes of every stage of a session for a step of this shape; null or another count: not known.
    std::function<std::vector<Cost>(const StepShape&)> stage_costs;
};

Result<SweepResult> run_sweep_with(const SweepParts& parts, const SweepRequest& request,
                                   const std::function<void(const SweepProgress&)>& progress, std::stop_token stop);

// In which order the lanes of one repeat are measured: rotated from repeat to repeat and turned round in every second
// one, so that no lane always comes first or after the same other.
std::vector<std::size_t> lane_order(std::size_t lanes, int repeat);

// Tokens of a seeded sequence, the same on every machine.
std::vector<std::int32_t> sweep_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed);

}  // namespace decodescope
