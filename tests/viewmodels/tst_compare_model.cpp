// The form of a comparison as configurations, and its result as rows, sentences and marked text.
#include <QTest>

#include "ui/viewmodels/compare_model.h"

using namespace decodescope;

namespace {

CompareResult invented() {
    CompareResult result;
    for (const char* id : {"growing", "preallocated"}) {
        CompareLane& lane = result.lanes.emplace_back();
        lane.config.cache = *parse_cache_spec(id);
        lane.name = id;
        lane.kv_type = lane.weights = "f32";
        lane.backend = "cpu";
        const bool growing = result.lanes.size() == 1;
        for (int step = 0; step < 5; ++step) {
            ComparePass& pass = lane.passes.emplace_back();
            pass.length = 4 + step;
            pass.micros = growing ? 2000 : 1500;
            pass.kv_bytes_copied = growing ? 1024 : 0;
        }
        lane.decode_micros = {lane.passes[1].micros, lane.passes[1].micros, lane.passes[1].micros};
        lane.decode_steps = 4;
        lane.kv_bytes_used = 2048;
        lane.kv_bytes_peak = growing ? 4096 : 2048;
        lane.kv_bytes_copied = growing ? 5120 : 0;
        lane.tokens = {1, 2, 3};
        lane.pieces = {"a<b", "", " c\n"};
        lane.text = "a<b c\n";
        lane.stop_reason = "length";
    }
    return result;
}

}  // namespace

class CompareModelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void choices_become_configurations() {
        CompareChoice choice;
        choice.cache = *parse_cache_spec("paged:page=4");
        choice.k = QStringLiteral("bf16");
        choice.v = QStringLiteral("f16");
        choice.weights = QStringLiteral("f16");
        choice.backend = QStringLiteral("reference");
        const auto configs = configs_of({choice});
        QVERIFY(configs.ok());
        QCOMPARE(to_string(configs->front()), "cache=paged:page=4;kv=k=bf16,v=f16;weights=f16;backend=reference");
        const CompareChoice back = choice_of(configs->front());
        QCOMPARE(back.k, choice.k);
        QCOMPARE(back.v, choice.v);
        QCOMPARE(back.weights, choice.weights);
        QCOMPARE(back.backend, choice.backend);
        QVERIFY(back.cache == configs->front().cache);
        const CompareChoice plain = choice_of(CompareConfig());
        QCOMPARE(plain.k, QStringLiteral("f32"));
        QVERIFY(plain.weights.isEmpty());
    }

    // QT-08: K and V are chosen apart, and every type that the parser knows is offered.
    void QT08_types_are_those_of_the_parser() {
        const QStringList types = kv_type_choices();
        QVERIFY(types.contains(QStringLiteral("f32")) && types.contains(QStringLiteral("bf16")));
        for (const QString& k : types)
            for (const QString& v : types) {
                CompareChoice choice;
                choice.k = k;
                choice.v = v;
                const auto configs = configs_of({choice});
                QVERIFY2(configs.ok(), qPrintable(k + v));
                QCOMPARE(choice_of(configs->front()).k, k);
                QCOMPARE(choice_of(configs->front()).v, v);
            }
    }

    void refusals_name_the_number() {
        CompareChoice good, bad;
        bad.weights = QStringLiteral("f8");
        const auto configs = configs_of({good, bad});
        QVERIFY(!configs.ok());
        QVERIFY(QString::fromStdString(configs.error().message).startsWith(QLatin1String("configuration 2: ")));
        QVERIFY(!configs_of({}).ok());
        QVERIFY(!configs_of(std::vector<CompareChoice>(5)).ok());
    }

    void rows_have_a_value_for_every_configuration() {
        CompareResult result = invented();
        const auto rows = compare_rows(result);
        QVERIFY(rows.size() >= 10);
        const auto row = [&](const QString& title) {
            for (const CompareTableRow& one : compare_rows(result))
                if (one.title == title) return one.values;
            return QStringList();
        };
        for (const CompareTableRow& one : rows) {
            QCOMPARE(one.values.size(), 2);
            QVERIFY(!one.help.isEmpty());
            for (const QString& value : one.values) QVERIFY2(!value.isEmpty(), qPrintable(one.title));
        }
        QCOMPARE(row(QStringLiteral("ms per step"))[1], QStringLiteral("1.500 (1.500 to 1.500)"));
        QCOMPARE(row(QStringLiteral("times the step of 1"))[1], QStringLiteral("0.75 (0.75 to 0.75)"));
        QCOMPARE(row(QStringLiteral("KV peak"))[0], QStringLiteral("4.0 KiB"));
        QCOMPARE(row(QStringLiteral("first different token"))[1], QStringLiteral("none"));
        QCOMPARE(row(QStringLiteral("largest logit difference"))[1], QStringLiteral("0, bit for bit"));
        QCOMPARE(row(QStringLiteral("K rows off"))[1], QStringLiteral("—"));
        result.lanes[1].layers = {{0.0123, 0}, {0.051, 0.004}};
        QCOMPARE(row(QStringLiteral("K rows off"))[1], QStringLiteral("1.2 · 5.1 %"));
        QCOMPARE(row(QStringLiteral("V rows off"))[1], QStringLiteral("0 · 0.4 %"));
        QVERIFY(compare_sentences(result).join(QLatin1Char('\n')).contains(QStringLiteral("Warning: f32 does not suit")));
        result.lanes[1].first_different = 2;
        result.lanes[1].error = "Broken.";
        QCOMPARE(row(QStringLiteral("first different token"))[1], QStringLiteral("3"));
        QCOMPARE(row(QStringLiteral("ended by"))[1], QStringLiteral("Broken."));
        result.lanes[0].decode_steps = 0;
        QCOMPARE(row(QStringLiteral("ms per step"))[0], QStringLiteral("n/a"));
    }

    void sentences_measure_the_claim() {
        const QStringList lines = compare_sentences(invented());
        QVERIFY(!lines.isEmpty());
        QVERIFY2(lines.front().contains(QLatin1String("25.0 % less time")), qPrintable(lines.front()));
        QVERIFY(compare_sentences(CompareResult()).isEmpty());
    }

    void text_is_marked_from_the_first_difference() {
        CompareLane lane = invented().lanes[1];
        QCOMPARE(marked_text(lane, Qt::red), QStringLiteral("a&lt;b c<br>"));
        lane.first_different = 2;
        const QString marked = marked_text(lane, Qt::red);
        QVERIFY2(marked.startsWith(QLatin1String("a&lt;b<span")), qPrintable(marked));
        QVERIFY(marked.contains(QLatin1String("<u> c<br></u>")));
        QVERIFY(marked.contains(QLatin1String("#ff0000")));
        lane.first_different = 1;  // a token whose bytes come with the next one
        QVERIFY(marked_text(lane, Qt::red).contains(QStringLiteral("<u>·</u></b> c")));
    }
};

QTEST_GUILESS_MAIN(CompareModelTest)
#include "tst_compare_model.moc"
