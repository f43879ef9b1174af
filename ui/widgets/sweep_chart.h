// The chart of a sweep: median time against length for each cache, with spread and fitted power law.
#pragma once

#include "engine/measure/sweep.h"
#include "ui/widgets/chart_data.h"

namespace decodescope {

ChartSpec sweep_chart(const SweepResult& result, bool log_axes);
// "recompute: time grows as length^1.43 (residual 0.03)", or why there is no fit; one line per cache.
QStringList sweep_fit_lines(const SweepResult& result);
// Where there is no gain, and why; which lanes this measurement cannot tell apart.
QStringList sweep_verdict_lines(const SweepResult& result);

}  // namespace decodescope
