#include "ui/viewmodels/operation_model.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/viewmodels/format.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(OperationTable)
};

}  // namespace

OperationTable operation_table(const RunRecording& recording, int step, const StepProgram& program,
                               const std::optional<MachineCeiling>& ceiling) {
    OperationTable table;
    if (step < 0 || step >= recording.step_count()) return table;
    const auto facts = recording.step(step);
    if (facts->ops.empty()) return table;
    const RunFacts& run = recording.facts();
    table.step = step;
    table.length = facts->first_row + facts->row_count;
    table.rows = facts->row_count;
    table.step_micros = facts->micros;
    std::vector<Cost> costs;
    if (const auto shape = recorded_shape(run, *facts); shape && !program.ops.empty())
        costs = stage_costs(program, run, *shape);
    for (OpUse& use : sum_by_stage(run.stages, facts->ops, costs)) {
        table.micros += use.micros;
        OperationRow row{std::move(use), 0, {}};
        if (ceiling) row.share = share_of(row.use, *ceiling);
        table.rows_by_time.push_back(std::move(row));
    }
    for (OperationRow& row : table.rows_by_time) row.part = table.micros > 0 ? row.use.micros / table.micros : 0;
    std::stable_sort(table.rows_by_time.begin(), table.rows_by_time.end(),
                     [](const OperationRow& a, const OperationRow& b) { return a.use.micros > b.use.micros; });
    return table;
}

QString operation_sentence(const OperationTable& table, bool profiled_run, const std::optional<MachineCeiling>& ceiling,
                           bool measuring_later) {
    if (table.step < 0)
        return profiled_run ? Text::tr("This step has no times by operation.")
                            : Text::tr("Operations are not timed in this run: switch \"Time every stage\" on in the "
                                       "settings.");
    QString text = Text::tr("Step %1, %2 tokens: operations %3 of %4 [measured]")
                       .arg(table.step)
                       .arg(table.length)
                       .arg(format_micros(table.micros), format_micros(table.step_micros));
    if (ceiling && ceiling->read_gb_s > 0)
        text += QStringLiteral(" · ") + Text::tr("this machine reads %1 GB/s and computes %2 GFLOP/s [measured]")
                                            .arg(ceiling->read_gb_s, 0, 'f', 1)
                                            .arg(ceiling->gflop_s, 0, 'f', 0);
    else if (measuring_later)
        text += QStringLiteral(" · ") + Text::tr("the machine's limits are measured at the next pause");
    return text;
}

ExportTable operation_export(const OperationTable& table) {
    ExportTable data{"operations of a step, all layers together",
                     {"step", "length", "rows", "operation", "micros", "bytes", "flops", "gb_s", "gflop_s", "share",
                      "share_of"},
                     {}};
    for (const OperationRow& row : table.rows_by_time) {
        std::vector<ExportCell> cells{std::int64_t{table.step}, std::int64_t{table.length}, table.rows, row.use.stage,
                                      row.use.micros};
        if (row.use.cost) {
            cells.insert(cells.end(), {row.use.cost->bytes, row.use.cost->flops, row.use.gb_s(), row.use.gflop_s()});
        } else {
            cells.insert(cells.end(), 4, ExportCell());
        }
        cells.push_back(row.share ? ExportCell(row.share->value) : ExportCell());
        cells.push_back(row.share ? ExportCell(std::string(row.share->of_flops ? "flop_rate" : "bandwidth"))
                                  : ExportCell());
        data.rows.push_back(std::move(cells));
    }
    return data;
}

}  // namespace decodescope
