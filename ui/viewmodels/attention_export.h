// The attention of one head (or the mean over the heads of a layer) as data, exactly as recorded.
#pragma once

#include <string>

#include "engine/trace/run_recording.h"

namespace decodescope {

// head -1: mean over heads. Rows below row_limit. One line per weight: row, row_text, column, column_text, weight. A
// row that was not captured has one line without a column and a weight; positions that had left the cache have none.
std::string attention_map_csv(const RunRecording& recording, int layer, int head, int row_limit);
// {"title", "run", "layer", "head", "rows": [{"row", "position", "text", "captured", "columns": [...], "weights":
// [...]}]}
std::string attention_map_json(const RunRecording& recording, int layer, int head, int row_limit);

}  // namespace decodescope
