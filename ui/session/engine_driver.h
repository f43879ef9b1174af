// The few calls by which the session reaches the engine, all on the engine's thread. The methods do the real thing;
// tests override single ones with something slow, fast or failing.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "engine/backend/backend_registry.h"
#include "engine/decode/decode_session.h"
#include "engine/measure/compare.h"
#include "engine/measure/race.h"
#include "engine/measure/sweep.h"
#include "engine/trace/run_recording.h"

namespace decodescope {

class EngineDriver {
public:
    EngineDriver(BackendRegistry registry, std::string resource_folder)
        : registry_(std::move(registry)), resource_folder_(std::move(resource_folder)) {}
    virtual ~EngineDriver() = default;

    struct LoadRequest {
        std::string model;
        BackendRequest backend;
        WeightType weights = WeightType::AsInFile;
    };
    // Opens the model (or takes `current`'s when it is the same), makes the backend and puts the weights there.
    virtual Result<LoadedModelPtr> load(const LoadRequest& request, const LoadedModelPtr& current,
                                        const ProgressFn& progress, std::stop_token stop);
    virtual Result<std::unique_ptr<DecodeSession>> create_session(LoadedModelPtr model, const SessionConfig& config);
    virtual Result<std::unique_ptr<RecomputeLane>> create_lane(LoadedModelPtr model);
    virtual Result<SweepResult> sweep(LoadedModelPtr model, const SweepRequest& request,
                                      const std::function<void(const SweepProgress&)>& progress, std::stop_token stop);
    // `loaded` is used as it is by the configurations that it fits; what else they need is loaded for the comparison
    // only.
    virtual Result<CompareResult> compare(const LoadedModelPtr& loaded, int threads, const CompareRequest& request,
                                          const std::function<void(const CompareProgress&)>& progress,
                                          std::stop_token stop);
    virtual Status save(const RunRecording& recording, const std::string& path, const ProgressFn& progress,
                        std::stop_token stop);
    virtual Result<std::shared_ptr<RunRecording>> open(const std::string& path, const ProgressFn& progress,
                                                       std::stop_token stop);

private:
    BackendRegistry registry_;
    std::string resource_folder_;
};

}  // namespace decodescope
