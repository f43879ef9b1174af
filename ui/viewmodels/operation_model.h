// Where the time of a step goes: its operations with what they took, moved and reached of this machine's limits.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "engine/measure/op_profile.h"
#include "ui/viewmodels/export_table.h"

namespace decodescope {

struct OperationRow {
    OpUse use;
    double part = 0;                 // of the time of all operations, 0 to 1
    std::optional<OpShare> share;    // nothing: limits or cost are not known
};

struct OperationTable {
    int step = -1;                   // -1: there is none, or it was not profiled
    int length = 0;                  // tokens in the sequence after it
    std::int64_t rows = 0;           // that it fed
    double micros = 0, step_micros = 0;  // the operations together; the step by the clock around it
    std::vector<OperationRow> rows_by_time;  // longest first
};

// Of the viewed step. Without the program (a run from a file) costs are not known.
OperationTable operation_table(const RunRecording& recording, int step, const StepProgram& program,
                               const std::optional<MachineCeiling>& ceiling);
// One line: which step, how long, and what the limits are or why they are not known.
QString operation_sentence(const OperationTable& table, bool profiled_run, const std::optional<MachineCeiling>& ceiling,
                           bool measuring_later);
ExportTable operation_export(const OperationTable& table);

}  // namespace decodescope
