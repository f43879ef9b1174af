// The table of operations: the longest first, and what is not known is said, never drawn as zero.
#include "ui/viewmodels/operation_model.h"

#include <QtTest>

#include "ui/viewmodels/format.h"

using namespace decodescope;

namespace {

std::shared_ptr<RunRecording> recording(bool profiled) {
    RunFacts facts;
    facts.config.layers = 1;
    facts.cache_spec = "preallocated";
    facts.kv_type = "f32";
    facts.stages = {"Q + K", "attention"};
    facts.stage_layers = {0, 0};
    auto made = std::make_shared<RunRecording>(facts, RecordingLimits());
    StepFacts step;
    step.row_count = 1;
    step.micros = 12;
    step.kv.rows_read = 1;
    if (profiled) step.ops = {{0, 3}, {1, 8}};
    made->append_step(step);
    return made;
}

}  // namespace

class TestOperationModel : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void longest_first_and_costs_only_where_known() {
        const auto run = recording(true);
        const OperationTable table = operation_table(*run, 0, {}, MachineCeiling{10, 100});
        QCOMPARE(table.rows_by_time.size(), std::size_t{2});
        QCOMPARE(QString::fromStdString(table.rows_by_time[0].use.stage), QStringLiteral("attention"));
        QCOMPARE(table.micros, 11.0);
        QVERIFY(qAbs(table.rows_by_time[0].part - 8.0 / 11) < 1e-12);
        QVERIFY(!table.rows_by_time[0].use.cost);
        QVERIFY(!table.rows_by_time[0].share);
        const ExportTable data = operation_export(table);
        QCOMPARE(data.rows.size(), std::size_t{2});
        QCOMPARE(data.rows[0].size(), data.columns.size());
        QVERIFY(std::holds_alternative<std::monostate>(data.rows[0][5]));  // bytes
    }

    void sentences() {
        const auto run = recording(true);
        const OperationTable table = operation_table(*run, 0, {}, {});
        QVERIFY(operation_sentence(table, true, {}, true).contains(QStringLiteral("next pause")));
        QVERIFY(operation_sentence(table, true, {}, true).contains(format_micros(11)));
        QVERIFY(operation_sentence(table, true, MachineCeiling{31.24, 70}, false).contains(QStringLiteral("31.2")));
        const OperationTable none = operation_table(*recording(false), 0, {}, {});
        QCOMPARE(none.step, -1);
        QVERIFY(operation_sentence(none, false, {}, false).contains(QStringLiteral("switch")));
        QCOMPARE(operation_table(*run, 5, {}, {}).step, -1);
    }
};

QTEST_GUILESS_MAIN(TestOperationModel)
#include "tst_operation_model.moc"
