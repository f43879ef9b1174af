// Charts as tables of named columns, from which both CSV and JSON are written.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

struct Decimal {
    double value = 0;
    int digits = 4;  // after the point
};
// Nothing: not measured or not captured.
using ExportCell = std::variant<std::monostate, std::int64_t, Decimal, float, double, bool, std::string>;

struct RunTable {
    std::string kind;                                        // "timing"
    std::vector<std::pair<std::string, std::string>> notes;  // of the selection: "layer": "2"
    std::vector<std::string> columns;
    std::vector<std::vector<ExportCell>> rows;
};

RunTable timing_table(const RunRecording& recording);
RunTable memory_table(const RunRecording& recording);
RunTable attention_table(const RunRecording& recording, std::int32_t row, std::int32_t layer, std::int32_t head);
RunTable next_token_table(const RunRecording& recording, std::int32_t step);

std::string table_csv(const RunTable& table, const RunFacts& facts);
std::string table_json(const RunTable& table, const RunFacts& facts);

}  // namespace decodescope
