// The what-if table of the memory panel: a model's cache under every strategy at 1k to 1M tokens. Without widgets.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "engine/measure/what_if.h"
#include "ui/viewmodels/export_table.h"

namespace decodescope {

struct WhatIfCell {
    QString text;       // "1.0 GiB"
    QString tip;        // exact bytes, tokens kept, peak
    bool known = false; // false: refused, the tip says why
    bool fits = true;   // in the memory of this machine
};

// What strategies would keep, [caches][lengths]; the same for every model and format. Takes some hundred milliseconds.
struct WhatIfSlots {
    std::vector<CacheSpec> caches;
    std::vector<std::vector<Result<CacheSlots>>> slots;
};
WhatIfSlots what_if_slots(const CacheSpec& chosen);

// `memory_bytes`: what this machine can give; 0: not known, everything fits.
std::vector<std::vector<WhatIfCell>> what_if_cells(const WhatIfSlots& slots, const KvModelShape& shape,
                                                   const KvFormat& format, std::int64_t memory_bytes);
// What the shading says, and what is special about the shape.
QString what_if_words(const KvModelShape& shape, std::int64_t memory_bytes);
QString what_if_row_name(const CacheSpec& cache);
QString what_if_column_name(std::int64_t tokens);  // "16k", "1M"
// One row for every strategy, format and length.
ExportTable what_if_table(const WhatIfSlots& slots, const KvModelShape& shape, std::int64_t memory_bytes);

}  // namespace decodescope
