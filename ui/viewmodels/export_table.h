// The data behind a picture as CSV or JSON, with the facts of the run in the same file. Numbers are locale-free.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

using ExportCell =
    std::variant<std::monostate, std::int64_t, double, bool, std::string>;  // monostate: not known, not captured

struct ExportTable {
    std::string title;                 // "time per token"
    std::vector<std::string> columns;  // names with units: "length", "micros"
    std::vector<std::vector<ExportCell>> rows;
};

// The facts of a run as (name, value), in the order in which files show them.
std::vector<std::pair<std::string, ExportCell>> run_fact_cells(const RunFacts& facts);

// CSV: '#' lines with the facts, one line of names, then the rows. What is not known is an empty field.
std::string to_csv(const ExportTable& table, const RunFacts& facts);
// {"title", "run": {...}, "columns": [...], "rows": [{name: value}]}; what is not known or not finite is null.
std::string to_json(const ExportTable& table, const RunFacts& facts);

}  // namespace decodescope
