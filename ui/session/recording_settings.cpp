#include "ui/session/recording_settings.h"

#include "engine/model/weight_type.h"

namespace decodescope {

namespace {

WeightType weight_type(const std::string& name) {
    const auto type = parse_weight_type(name);
    return type.ok() ? *type : WeightType::AsInFile;
}

}  // namespace

SessionSettings settings_of(const RunRecording& recording) {
    const RunFacts& facts = recording.facts();
    SessionSettings settings;
    settings.model = QString::fromStdString(facts.model_source);
    settings.backend = QString::fromStdString(facts.backend);
    settings.weights = weight_type(facts.weights_type);
    if (auto cache = parse_cache_spec(facts.cache_spec)) settings.cache = *cache;
    if (auto kv = parse_kv_format(facts.kv_type)) settings.kv = *kv;
    settings.sampler = facts.sampler;
    std::string prompt;
    for (std::int32_t i = 0; i < recording.row_count() && !recording.row(i).generated; ++i)
        if (!recording.row(i).special) prompt += recording.row_text(i);
    settings.prompt = QString::fromStdString(prompt);
    return settings;
}

}  // namespace decodescope
