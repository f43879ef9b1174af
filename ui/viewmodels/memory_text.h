// Words for the memory panel: formula, numbers filled in, bytes counted, and the gap between them.
#pragma once

#include <QColor>
#include <QString>

#include "engine/trace/run_recording.h"

namespace decodescope {

struct ByteUnit {
    QString name;  // "KiB"
    double bytes = 1;
};
ByteUnit byte_unit(double largest_bytes);

// Rich text for a label; what is derived is written in the quiet colour.
// `cache_only`: without the lines on weights and activations.
QString memory_words(const RunFacts& facts, const StepFacts& step, const QColor& quiet, bool cache_only = false);

}  // namespace decodescope
