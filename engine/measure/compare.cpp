#include "engine/measure/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/decode/generation.h"
#include "engine/measure/compare_runner.h"

namespace decodescope {

namespace {

// One model for each backend and type of weights that is asked for, loaded once.
class Models {
public:
    Models(const ModelPtr& model, const BackendRegistry& registry, const BackendRequest& machine,
           const std::vector<LoadedModelPtr>& ready)
        : model_(model), registry_(registry), machine_(machine) {
        for (const LoadedModelPtr& loaded : ready) {
            if (loaded == nullptr || loaded->model != model) continue;
            const std::string& id = loaded->backend->info().id;
            backends_.emplace(id, loaded->backend);
            loaded_.emplace(Key(id, name_of(model->config, loaded->weight_type)), loaded);
        }
    }

    Result<LoadedModelPtr> get(const CompareConfig& config, std::stop_token stop) {
        const Key key(config.backend, name_of(model_->config, config.weights));
        if (const auto found = loaded_.find(key); found != loaded_.end()) return found->second;
        auto backend = backend_of(config.backend);
        if (!backend.ok()) return backend.error();
        auto loaded = load_model(model_, *backend, config.weights, {}, std::move(stop));
        if (!loaded.ok()) return loaded.error();
        return loaded_.emplace(key, std::move(*loaded)).first->second;
    }

private:
    using Key = std::pair<std::string, std::string>;  // backend, weights

    // Blocks of a file are other weights than the numbers that they mean, as f32.
    static std::string name_of(const ModelConfig& config, WeightType type) {
        if (type == WeightType::AsInFile && config.kept_bytes > 0) return "as in the file";
        return std::string(element_name(resolve_weight_type(config, type)));
    }

    Result<std::shared_ptr<Backend>> backend_of(const std::string& id) {
        if (const auto found = backends_.find(id); found != backends_.end()) return found->second;
        BackendRequest request = machine_;
        request.id = id;
        auto backend = registry_.create(request);
        if (!backend.ok()) return backend.error();
        return backends_.emplace(id, std::move(*backend)).first->second;
    }

    const ModelPtr& model_;
    const BackendRegistry& registry_;
    const BackendRequest& machine_;
    std::map<std::string, std::shared_ptr<Backend>> backends_;
    std::map<Key, LoadedModelPtr> loaded_;
};

bool keeps_a_cache(const CompareConfig& config) {
    const StrategyDescriptor* strategy = find_strategy(config.cache.id);
    return strategy == nullptr || strategy->has_cache;
}

CompareLane describe(const CompareConfig& config, std::string name, const LoadedModel& model) {
    CompareLane lane;
    lane.config = config;
    lane.name = std::move(name);
    lane.weights = model.weights_name();
    lane.backend = model.backend->info().id;
    lane.kv_type = keeps_a_cache(config) ? to_string(config.kv) : "f32";
    lane.weight_bytes = model.weights->bytes();
    return lane;
}

// What the lanes have in common once, what differs one after the other.
template <class Get>
std::string joined(const std::vector<CompareLane>& lanes, Get get) {
    std::vector<std::string> seen;
    std::string text;
    for (const CompareLane& lane : lanes) {
        std::string value = get(lane);
        if (std::find(seen.begin(), seen.end(), value) != seen.end()) continue;
        text += (seen.empty() ? "" : " ") + value;
        seen.push_back(std::move(value));
    }
    return text;
}

Result<RunFacts> facts_of(const LoadedModelPtr& reference, const CompareRequest& request,
                          const std::vector<CompareLane>& lanes) {
    SessionConfig config;  // the smallest session there is: it only tells what it would run on
    config.cache.id = "recompute";
    auto session = DecodeSession::create(reference, config);
    if (!session.ok()) return session.error();
    RunFacts facts = make_run_facts(**session, request.sampler);
    facts.cache_spec = joined(lanes, [](const CompareLane& lane) { return to_string(lane.config.cache); });
    facts.kv_type = joined(lanes, [](const CompareLane& lane) { return lane.kv_type; });
    facts.weights_type = joined(lanes, [](const CompareLane& lane) { return lane.weights; });
    facts.backend = joined(lanes, [](const CompareLane& lane) { return lane.backend; });
    facts.prompt_tokens = std::ssize(request.prompt);
    return facts;
}

}  // namespace

Result<CompareResult> run_compare(const ModelPtr& model, const BackendRegistry& registry, const BackendRequest& machine,
                                  const CompareRequest& request, const std::vector<LoadedModelPtr>& ready,
                                  const std::function<void(const CompareProgress&)>& progress, std::stop_token stop) {
    Models models(model, registry, machine, ready);
    std::vector<LoadedModelPtr> loaded;  // [configurations]
    CompareResult result;
    const std::vector<std::string> names = config_names(request.configs);
    for (std::size_t i = 0; i < request.configs.size(); ++i) {
        if (progress) progress({0, 0, fmt::format("weights of configuration {}", i + 1)});
        auto one = models.get(request.configs[i], stop);
        if (!one.ok()) return named_config_error(i + 1, one.error());
        result.lanes.push_back(describe(request.configs[i], names[i], **one));
        loaded.push_back(std::move(*one));
    }
    if (!loaded.empty()) {
        auto facts = facts_of(loaded.front(), request, result.lanes);
        if (!facts.ok()) return facts.error();
        result.run = std::move(*facts);
    }
    CompareParts parts;
    parts.create = [&](std::size_t lane, const SessionConfig& config) {
        return DecodeSession::create(loaded[lane], config);
    };
    parts.tokenizer = model->tokenizer.get();
    parts.ends = [&model](std::int32_t token) {
        const auto& ends = model->config.end_tokens;
        return std::find(ends.begin(), ends.end(), token) != ends.end() || model->tokenizer->eos() == token;
    };
    parts.sampled_vocabulary = model->sampled_vocabulary;
    return run_compare_with(parts, request, std::move(result), progress, std::move(stop));
}

}  // namespace decodescope
