// The live chart of the timing panel: both lanes, per token or cumulated.
#pragma once

#include "ui/viewmodels/timing_model.h"
#include "ui/widgets/chart_data.h"

namespace decodescope {

ChartSpec timing_chart(const TimingModel& model, const TimingSummary& now, bool cumulated, bool log);
// What the lane of the run itself is called: "cached", or "this run" when it recomputes.
QString main_lane_name(const TimingModel& model);

}  // namespace decodescope
