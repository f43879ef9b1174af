// Bytes by purpose over the run, and the words beside the chart.
#include <QLocale>
#include <QTest>

#include "tests/support/fake_run.h"
#include "ui/viewmodels/memory_model.h"
#include "ui/viewmodels/memory_text.h"

using namespace decodescope;

class MemoryModelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void one_entry_per_step() {
        FakeRunOptions options;
        options.steps = 9;
        const auto recording = make_fake_run(options);
        MemoryModel model;
        model.update(recording.get());
        QCOMPARE(model.size(), std::size_t{10});
        for (int step = 0; step < recording->step_count(); ++step) {
            const auto facts = recording->step(step);
            const auto i = static_cast<std::size_t>(step);
            QCOMPARE(model.length()[i], static_cast<double>(facts->first_row + facts->row_count));
            QCOMPARE(model.kv_used()[i], static_cast<double>(facts->kv.used_bytes));
            QCOMPARE(model.kv_used()[i] + model.kv_empty()[i], static_cast<double>(facts->kv.reserved_bytes));
        }
        append_fake_step(*recording, options);
        model.update(recording.get());
        QCOMPARE(model.size(), std::size_t{11});
        const ExportTable table = model.table();
        QCOMPARE(table.rows.size(), model.size());
        model.update(nullptr);
        QCOMPARE(model.size(), std::size_t{0});
    }

    void words_name_formula_and_count() {
        FakeRunOptions options;
        options.steps = 3;
        const auto recording = make_fake_run(options);
        const auto step = recording->step(3);
        const QString words = memory_words(recording->facts(), *step, Qt::gray);
        QVERIFY2(words.contains(QStringLiteral("[measured]")), qPrintable(words));
        QVERIFY2(words.contains(QStringLiteral("[derived]")), qPrintable(words));
        QVERIFY2(words.contains(QStringLiteral("reserved: room for")), qPrintable(words));
    }

    // MA-06: 17 tokens in pages of 16 are 2 pages with 15 rows wasted.
    void MA06_waste_of_pages_inside_and_outside() {
        FakeRunOptions options;
        options.steps = 1;
        const auto recording = make_fake_run(options);
        StepFacts step = *recording->step(1);
        step.kv.tokens_stored = 17;
        step.kv.page_tokens = 16;
        step.kv.pages_used = 2;
        step.kv.pages_shared = 1;
        step.kv.pages_free = 3;
        step.kv.reserved_bytes = 32 * 100;
        step.kv.used_bytes = 17 * 100;
        step.kv.pool_bytes = 5 * 1600;
        const QString words = memory_words(recording->facts(), step, Qt::gray);
        QVERIFY2(words.contains(QStringLiteral("3,200 B in 2 pages of 16 tokens, 1,500 B of it empty")),
                 qPrintable(words));
        QVERIFY2(words.contains(QStringLiteral("(rows: 15)")), qPrintable(words));
        QVERIFY2(words.contains(QStringLiteral("1 of these pages belong")), qPrintable(words));
        QVERIFY2(words.contains(QStringLiteral("8,000 B allocated for the pool")), qPrintable(words));
    }

    // The rows that int8-kivi keeps in full precision lie beside the pages, not in them.
    void MA06_the_residual_is_not_in_the_pages() {
        FakeRunOptions options;
        options.steps = 1;
        const auto recording = make_fake_run(options);
        RunFacts facts = recording->facts();
        facts.kv_type = "k=int8-kivi(group=16,residual=16),v=f16";
        const std::int64_t residual = 4 * 2 * 32 * 8 * 4;  // layers, KV heads, rows, dimensions, f32
        StepFacts step = *recording->step(1);
        step.kv.tokens_stored = 17;
        step.kv.page_tokens = 16;
        step.kv.pages_used = 2;
        step.kv.reserved_bytes = 32 * 100 + residual;
        step.kv.pool_bytes = 32 * 100;
        const QString words = memory_words(facts, step, Qt::gray);
        QVERIFY2(words.contains(QStringLiteral("3,200 B in 2 pages of 16 tokens, 1,500 B of it empty")),
                 qPrintable(words));
        QVERIFY2(words.contains(QStringLiteral("8,192 B beside the pages")), qPrintable(words));
    }

    void csv_is_the_same_in_every_locale() {
        FakeRunOptions options;
        options.steps = 2;
        const auto recording = make_fake_run(options);
        ExportTable table{
            "t", {"a", "b,c"}, {{0.5, std::string("x \"y\", z")}, {ExportCell(), std::int64_t{12345678}}}};
        const std::string before = to_csv(table, recording->facts());
        QLocale::setDefault(QLocale(QLocale::German));
        QCOMPARE(to_csv(table, recording->facts()), before);
        QLocale::setDefault(QLocale::c());
        QVERIFY(before.find("\na,\"b,c\"\n0.5,\"x \"\"y\"\", z\"\n,12345678\n") != std::string::npos);
        const std::string json = to_json(table, recording->facts());
        QVERIFY(json.find("\"a\": null") != std::string::npos);
        QVERIFY(json.find("\"seed\"") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(MemoryModelTest)
#include "tst_memory_model.moc"
