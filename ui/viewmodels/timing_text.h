// Words for the timing panel.
#pragma once

#include <QString>

#include "ui/viewmodels/timing_model.h"

namespace decodescope {

QString milliseconds(double micros);  // "34.8 ms"; three digits that matter, never a locale
QString seconds(double micros);       // "9.1 s"

// "54x now · total 9.1 s against 0.25 s · same answer: yes (largest logit difference 4e-6)", or what there is to say
// instead.
QString timing_sentence(const TimingSummary& summary, bool race_enabled);

}  // namespace decodescope
