// The viewed step in sentences: what was computed, read and written, what the cache saved, what was chosen.
#pragma once

#include <QString>
#include <QStringList>

#include "engine/trace/run_recording.h"

namespace decodescope {

// "step 7, decode"
QString happened_subtitle(const StepFacts& step);
// At most five sentences, the most important first.
QStringList happened_sentences(const RunRecording& recording, const StepFacts& step);

}  // namespace decodescope
