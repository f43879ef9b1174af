// Everything a person chooses for a run. Plain values, compared as a whole, saved and restored as text.
#pragma once

#include <QString>
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

}  // namespace decodescope
