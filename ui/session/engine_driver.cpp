#include "ui/session/engine_driver.h"

#include "engine/trace/recording_file.h"

namespace decodescope {

Result<LoadedModelPtr> EngineDriver::load(const LoadRequest& request, const LoadedModelPtr& current,
                                          const ProgressFn& progress, std::stop_token stop) {
    ModelPtr model = current != nullptr && current->model->source == request.model ? current->model : nullptr;
    if (model == nullptr) {
        OpenOptions options;
        options.resource_folder = resource_folder_;
        auto opened = open_model(request.model, options, progress, stop);
        if (!opened.ok()) return opened.error();
        model = std::move(opened).value();
    }
    if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "Loading was cancelled.");
    auto backend = registry_.create(request.backend);
    if (!backend.ok()) return backend.error();
    return load_model(std::move(model), std::move(backend).value(), request.weights, progress, stop);
}

Result<std::unique_ptr<DecodeSession>> EngineDriver::create_session(LoadedModelPtr model, const SessionConfig& config) {
    return DecodeSession::create(std::move(model), config);
}

Result<std::unique_ptr<RecomputeLane>> EngineDriver::create_lane(LoadedModelPtr model) {
    return RecomputeLane::create(std::move(model));
}

Result<SweepResult> EngineDriver::sweep(LoadedModelPtr model, const SweepRequest& request,
                                        const std::function<void(const SweepProgress&)>& progress,
                                        std::stop_token stop) {
    return run_sweep(std::move(model), request, progress, stop);
}

Result<CompareResult> EngineDriver::compare(const LoadedModelPtr& loaded, int threads, const CompareRequest& request,
                                            const std::function<void(const CompareProgress&)>& progress,
                                            std::stop_token stop) {
    BackendRequest machine;
    machine.threads = threads;
    return run_compare(loaded->model, registry_, machine, request, {loaded}, progress, stop);
}

Status EngineDriver::save(const RunRecording& recording, const std::string& path, const ProgressFn& progress,
                          std::stop_token stop) {
    return save_recording(recording, path, progress, stop);
}

Result<std::shared_ptr<RunRecording>> EngineDriver::open(const std::string& path, const ProgressFn& progress,
                                                         std::stop_token stop) {
    return load_recording(path, progress, stop);
}

}  // namespace decodescope
