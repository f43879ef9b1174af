#include "ui/session/session_settings.h"

#include <charconv>
#include <cmath>
#include <string>

#include "engine/model/weight_type.h"

namespace decodescope {

namespace {

bool same_sampler(const SamplerConfig& a, const SamplerConfig& b) {
    return a.temperature == b.temperature && a.top_k == b.top_k && a.top_p == b.top_p && a.seed == b.seed;
}

// A specification with its defaults left out equals the one that names them.
bool same_cache(const CacheSpec& a, const CacheSpec& b) { return a == b || to_string(a) == to_string(b); }

QString weight_name(WeightType type) {
    return type == WeightType::AsInFile ? QStringLiteral("file") : QString::fromStdString(to_string(type));
}

WeightType weight_from_name(const QString& name) {
    const auto type = parse_weight_type(name.toStdString());
    return type.ok() ? *type : WeightType::AsInFile;
}

template <class T>
QString number(T value) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return QString::fromLatin1(text, end - text);
}

// Leaves `value` alone when the text is not a number of that type.
template <class T>
void read_number(const QVariantMap& map, const char* key, T& value) {
    const std::string text = map.value(QLatin1String(key)).toString().toStdString();
    T parsed{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (error == std::errc{} && end == text.data() + text.size() && !text.empty()) value = parsed;
}

void read_flag(const QVariantMap& map, const char* key, bool& value) {
    const QString text = map.value(QLatin1String(key)).toString();
    if (text == QLatin1String("true")) value = true;
    if (text == QLatin1String("false")) value = false;
}

void read_text(const QVariantMap& map, const char* key, QString& value) {
    const QVariant found = map.value(QLatin1String(key));
    if (found.isValid()) value = found.toString();
}

QString flag(bool value) { return value ? QStringLiteral("true") : QStringLiteral("false"); }

SamplerConfig read_sampler(const QVariantMap& map) {
    const SamplerConfig defaults;
    SamplerConfig sampler;
    read_number(map, "temperature", sampler.temperature);
    read_number(map, "top_k", sampler.top_k);
    read_number(map, "top_p", sampler.top_p);
    read_number(map, "seed", sampler.seed);
    if (validate(sampler).ok()) return sampler;
    SamplerConfig usable = defaults;
    usable.seed = sampler.seed;
    return usable;
}

}  // namespace

bool SessionSettings::operator==(const SessionSettings& other) const {
    return settings_change(*this, other) == SettingsChange::Nothing && preset_id == other.preset_id &&
           capture == other.capture && race == other.race;
}

SettingsChange settings_change(const SessionSettings& from, const SessionSettings& to) {
    if (from.model != to.model) return SettingsChange::LoadOther;
    const bool other_run = from.prompt != to.prompt || from.parse_special != to.parse_special ||
                           from.stop_at_eos != to.stop_at_eos || !same_sampler(from.sampler, to.sampler);
    const bool other_device = from.backend != to.backend || from.threads != to.threads || from.weights != to.weights;
    if (other_device) return other_run ? SettingsChange::LoadOther : SettingsChange::Load;
    if (other_run) return SettingsChange::Restart;
    if (!same_cache(from.cache, to.cache) || from.kv != to.kv || from.new_tokens != to.new_tokens ||
        from.profile != to.profile)
        return SettingsChange::Refeed;
    return SettingsChange::Nothing;
}

QVariantMap to_map(const SessionSettings& settings) {
    return {
        {QStringLiteral("model"), settings.model},
        {QStringLiteral("backend"), settings.backend},
        {QStringLiteral("threads"), number(settings.threads)},
        {QStringLiteral("weights"), weight_name(settings.weights)},
        {QStringLiteral("cache"), QString::fromStdString(to_string(settings.cache))},
        {QStringLiteral("kv"), QString::fromStdString(to_string(settings.kv))},
        {QStringLiteral("temperature"), number(settings.sampler.temperature)},
        {QStringLiteral("top_k"), number(settings.sampler.top_k)},
        {QStringLiteral("top_p"), number(settings.sampler.top_p)},
        {QStringLiteral("seed"), number(settings.sampler.seed)},
        {QStringLiteral("prompt"), settings.prompt},
        {QStringLiteral("preset"), settings.preset_id},
        {QStringLiteral("parse_special"), flag(settings.parse_special)},
        {QStringLiteral("new_tokens"), number(settings.new_tokens)},
        {QStringLiteral("stop_at_eos"), flag(settings.stop_at_eos)},
        {QStringLiteral("capture"), flag(settings.capture)},
        {QStringLiteral("race"), flag(settings.race)},
        {QStringLiteral("profile"), flag(settings.profile)},
    };
}

SessionSettings settings_from_map(const QVariantMap& map) {
    SessionSettings settings;
    read_text(map, "model", settings.model);
    read_text(map, "backend", settings.backend);
    read_number(map, "threads", settings.threads);
    if (settings.threads < 0) settings.threads = 0;
    settings.weights = weight_from_name(map.value(QStringLiteral("weights")).toString());
    if (auto cache = parse_cache_spec(map.value(QStringLiteral("cache")).toString().toStdString()))
        settings.cache = *cache;
    if (auto kv = parse_kv_format(map.value(QStringLiteral("kv")).toString().toStdString())) settings.kv = *kv;
    settings.sampler = read_sampler(map);
    read_text(map, "prompt", settings.prompt);
    read_text(map, "preset", settings.preset_id);
    read_flag(map, "parse_special", settings.parse_special);
    read_number(map, "new_tokens", settings.new_tokens);
    if (settings.new_tokens < 0) settings.new_tokens = 0;
    read_flag(map, "stop_at_eos", settings.stop_at_eos);
    read_flag(map, "capture", settings.capture);
    read_flag(map, "race", settings.race);
    read_flag(map, "profile", settings.profile);
    return settings;
}

}  // namespace decodescope
