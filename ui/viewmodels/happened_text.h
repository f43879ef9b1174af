// The viewed step in sentences, for the panel that tells what just happened.
#pragma once

#include <QString>
#include <QStringList>

#include "engine/trace/run_recording.h"

namespace decodescope {

// "step 7, decode"
QString happened_subtitle(const StepFacts& step);
// What was computed, read, written and saved, in reading order. What other panels show better is left to them.
QStringList happened_sentences(const RunRecording& recording, int step);

}  // namespace decodescope
