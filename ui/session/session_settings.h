// Everything a person chooses for a run. Plain values, compared as a whole, saved and restored as text.
#pragma once

#include <QString>
#include <QVariantMap>
#include <cstdint>

#include "engine/cache/kv_format.h"
#include "engine/cache/strategy_descriptor.h"
#include "engine/text/sampler.h"
#include "kernels/api/backend.h"

namespace decodescope {

struct SessionSettings {
    QString model = QStringLiteral("bundled");
    QString backend = QStringLiteral("cpu");
    int threads = 0;                            // 0 = all
    WeightType weights = WeightType::AsInFile;
    CacheSpec cache;
    KvFormat kv;
    SamplerConfig sampler;
    QString prompt;
    QString preset_id;                          // empty: own text
    bool parse_special = false;
    int new_tokens = 0;                         // 0 = until the context is full
    bool stop_at_eos = true;
    bool capture = true;                        // attention of all heads
    bool race = true;                           // the recompute lane runs beside the cached one
    bool profile = true;                        // time stamps per operation
    bool operator==(const SessionSettings& other) const;
};

// What must be done to get from one run to another; the strongest need wins.
enum class SettingsChange {
    Nothing,   // at most capture and race differ, which a running generation follows at once
    Refeed,    // other cache, KV format, length or profiling: new session, the tokens are kept and fed again
    Restart,   // other prompt or sampler: from the prefill
    Load,      // other device, threads or weights of the same model: the tokens are kept and fed again
    LoadOther, // another model: from the prefill
};
SettingsChange settings_change(const SessionSettings& from, const SessionSettings& to);

// Text values only, independent of the locale; unknown or unusable values fall back to the default of that setting.
QVariantMap to_map(const SessionSettings& settings);
SessionSettings settings_from_map(const QVariantMap& map);

}  // namespace decodescope
