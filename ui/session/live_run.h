// A run on the engine's thread: model, session, generation, recording and the lane that races it. The functions make a
// new one beside the old one, so that a failure leaves the old one as it was.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "engine/decode/generation.h"
#include "ui/session/engine_driver.h"
#include "ui/session/race_pacer.h"
#include "ui/session/session_settings.h"
#include "ui/session/worker_link.h"

namespace decodescope {

struct LiveRun {
    SessionSettings settings;
    LoadedModelPtr loaded;
    std::shared_ptr<DecodeSession> session;
    std::shared_ptr<RunRecording> recording;
    std::unique_ptr<Generation> generation;
    std::unique_ptr<RecomputeLane> lane;  // made when it is first needed
    bool lane_failed = false;
    bool alone_told = false;  // that there is no race beyond the context
    bool broken = false;  // an unexpected error interrupted it: what is recorded stays, going on needs a reset
    RacePacer pacer;
    // A step that was cancelled was not fed: the run can go on.
    bool finished() const { return broken || (generation->finished() && generation->stop_reason() != "cancelled"); }
};
using LiveRunPtr = std::unique_ptr<LiveRun>;

// How a run goes on from an earlier step.
enum class GoOn {
    InPlace,    // what came after is given up
    InABranch,  // the run so far stays as it is, beside its fork
};

// The first tokens of a recording with their origin, as they are fed again.
struct KnownTokens {
    std::vector<std::int32_t> tokens;
    std::unique_ptr<bool[]> generated;  // [tokens]
    std::size_t prompt = 0;             // leading tokens that were not generated
    std::span<const bool> marks(std::size_t first) const { return {generated.get() + first, tokens.size() - first}; }
};
KnownTokens known_tokens(const RunRecording& recording, std::int32_t rows);

class RunMaker {
public:
    RunMaker(EngineDriver& driver, WorkerLink& link) : driver_(driver), link_(link) {}

    // From the prompt of the settings.
    Result<LiveRunPtr> start(LoadedModelPtr loaded, const SessionSettings& settings, std::stop_token stop);
    // The same tokens, fed again into a new session and a new recording.
    Result<LiveRunPtr> feed_again(LoadedModelPtr loaded, const SessionSettings& settings, const KnownTokens& known,
                                  std::stop_token stop);
    // Only the steps 0 .. step of `old`. Its session, or a fork of it, is cut back and taken over where its rows can be
    // restored, else all is fed again.
    Result<LiveRunPtr> cut_back(LiveRun& old, std::int32_t step, GoOn how, std::stop_token stop);

private:
    Result<LiveRunPtr> prepare(LoadedModelPtr loaded, const SessionSettings& settings, std::size_t prompt_tokens);
    Result<LiveRunPtr> begin(LiveRunPtr run, std::span<const std::int32_t> prompt, std::stop_token stop);
    ProgressFn progress(WorkKind kind);

    EngineDriver& driver_;
    WorkerLink& link_;
};

// Copies steps 0 .. steps - 1 with their rows and race points.
Status copy_steps(const RunRecording& from, RunRecording& to, std::int32_t steps, std::stop_token stop);

}  // namespace decodescope
