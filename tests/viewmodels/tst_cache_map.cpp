// The cache map: where positions lie, what is merged, what stays readable, and how strong cells are drawn.
#include <QtTest>
#include <cmath>
#include <limits>

#include "tests/support/fake_run.h"
#include "ui/viewmodels/cache_map_layout.h"
#include "ui/viewmodels/cache_shades.h"
#include "ui/viewmodels/cache_story.h"
#include "ui/viewmodels/format.h"

using namespace decodescope;

class TestCacheMap : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void every_position_once_data();
    void every_position_once();
    void newest_stay_readable();
    void drawing_cost_depends_on_the_width();
    void hits_and_cells_agree();
    void lanes_are_k_above_v();
    void zoomed_scrolls();
    void degenerate_sizes();
    void shades();
    void shades_cost_only_new_rows();
    void shades_of_unknown_values();
    void story_of_strategies();
    void story_of_local_layers();
    void table_of_a_step();
    void numbers();
};

void TestCacheMap::every_position_once_data() {
    QTest::addColumn<int>("columns");
    QTest::addColumn<int>("filled");
    QTest::addColumn<double>("width");
    for (const int columns : {1, 3, 5, 7, 13, 64, 300, 1023, 2048})
        for (const double width : {120.0, 333.0, 700.5, 1100.0})
            for (const int filled : {0, columns / 3, columns})
                QTest::newRow(qPrintable(QStringLiteral("%1/%2 in %3").arg(filled).arg(columns).arg(width)))
                    << columns << filled << width;
}

// Left to right, without a gap in positions, inside the view, and every position is found again where it is drawn.
void TestCacheMap::every_position_once() {
    QFETCH(int, columns);
    QFETCH(int, filled);
    QFETCH(double, width);
    CacheMapLayout layout;
    layout.fit(QRectF(40, 10, width, 200), 6, filled, columns, {});
    int next = 0;
    double right = 40 - 1e-9;
    for (const CacheColumn& column : layout.columns()) {
        QCOMPARE(column.first, next);
        QVERIFY(column.end > column.first);
        QVERIFY(column.width > 0);
        QVERIFY(column.x >= right - 1e-6);
        right = column.x + column.width;
        next = column.end;
    }
    QCOMPARE(next, columns);
    QVERIFY2(right <= 40 + width + 1e-6, qPrintable(QString::number(right)));
    for (int position = 0; position < columns; position += 1 + columns / 97) {
        const auto span = layout.span_of(position);
        QVERIFY(span.has_value());
        const int found = layout.position_at(span->first + span->second / 2);
        const auto again = layout.span_of(found);
        QCOMPARE(again->first, span->first);
    }
}

void TestCacheMap::newest_stay_readable() {
    CacheMapLayout layout;
    layout.fit(QRectF(0, 0, 720, 200), 6, 1500, 2048, {});
    QVERIFY(!layout.everything_readable());
    int readable = 0;
    for (const CacheColumn& column : layout.columns()) {
        if (column.merged) continue;
        ++readable;
        QVERIFY(column.first >= 1500 - 72 && column.first < 1500);
        QVERIFY(column.width >= 6);
    }
    QCOMPARE(readable, 72);  // 64 at least, and what fits six tenths of the width
    QVERIFY(layout.columns().front().merged);
    QVERIFY(layout.columns().back().merged);  // the reserve
    QCOMPARE(layout.columns().back().end, 2048);
    layout.fit(QRectF(0, 0, 720, 200), 6, 30, 90, {});
    QVERIFY(layout.everything_readable());
    QCOMPARE(layout.columns().size(), std::size_t{90});
    layout.fit(QRectF(0, 0, 720, 200), 6, 67, 2048, {});  // all written ones fit: no strip of a few older ones
    QVERIFY(!layout.columns().front().merged);
}

void TestCacheMap::drawing_cost_depends_on_the_width() {
    std::size_t most = 0;
    for (int filled = 1; filled <= 2048; filled += 89) {
        CacheMapLayout layout;
        layout.fit(QRectF(0, 0, 700, 200), 6, filled, 2048, {});
        most = std::max(most, layout.columns().size());
    }
    QVERIFY2(most <= 700 / 2 + 72, qPrintable(QString::number(most)));
}

void TestCacheMap::hits_and_cells_agree() {
    CacheMapLayout layout;
    layout.fit(QRectF(50, 20, 640, 220), 6, 21, 64, {});
    for (int layer = 0; layer < 6; ++layer)
        for (int lane = 0; lane < 2; ++lane)
            for (int position = 0; position < 64; ++position) {
                const auto hit = layout.hit(layout.cell_rect(layer, lane, position).center());
                QVERIFY(hit.has_value());
                QCOMPARE(*hit, (CacheHit{layer, lane, position}));
            }
    QVERIFY(!layout.hit(QPointF(10, 30)));
    QVERIFY(!layout.hit(QPointF(60, 500)));
}

void TestCacheMap::lanes_are_k_above_v() {
    CacheMapLayout layout;
    layout.fit(QRectF(0, 0, 640, 220), 6, 21, 64, {});
    double bottom = -1;
    for (int layer = 0; layer < 6; ++layer)
        for (int lane = 0; lane < 2; ++lane) {
            const QRectF rect = layout.lane_rect(layer, lane);
            QVERIFY(rect.top() > bottom);
            bottom = rect.bottom();
        }
    QVERIFY(bottom <= 220.01);
    layout.fit(QRectF(0, 0, 640, 60), 48, 21, 64, {});  // more layers than fit: they scroll
    QVERIFY(layout.content_height() > 60);
    layout.scroll_to(layout.content_height() - 60);
    QVERIFY(layout.lane_rect(47, 1).bottom() <= 60.01);
}

void TestCacheMap::zoomed_scrolls() {
    CacheMapLayout layout;
    layout.zoomed(QRectF(0, 0, 500, 200), 2, 2048, 10, 1990.5, {});
    QCOMPARE(layout.columns().front().first, 1990);
    QVERIFY(layout.columns().front().x < 0);
    QCOMPARE(layout.position_at(0.1), 1990);
    QCOMPARE(layout.position_at(499.9), 2040);
    layout.zoomed(QRectF(0, 0, 500, 200), 2, 2048, 10, 1e9, {});
    QCOMPARE(layout.columns().back().end, 2048);
    QVERIFY(layout.columns().size() <= 51);
    layout.zoomed(QRectF(0, 0, 500, 200), 2, 2048, 0.5, 0, {});
    QVERIFY(layout.columns().size() <= 251);
    QVERIFY(!layout.everything_readable());
}

void TestCacheMap::degenerate_sizes() {
    CacheMapLayout layout;
    layout.fit(QRectF(), 0, 0, 0, {});
    QVERIFY(!layout.hit(QPointF(0, 0)));
    QCOMPARE(layout.position_at(5), -1);
    layout.fit(QRectF(0, 0, 3, 2), 6, 2048, 2048, {});
    layout.fit(QRectF(0, 0, 100, 100), 1, 5000, 10, {});
    QCOMPARE(layout.columns().back().end, 10);
}

void TestCacheMap::shades() {
    FakeRunOptions options;
    options.steps = 50;
    const auto recording = make_fake_run(options);
    CacheShades shades;
    shades.update(recording.get());
    for (int layer = 0; layer < options.layers; ++layer) {
        double sum = 0, smallest = 1e9, largest = 0;
        for (int row = 0; row < recording->row_count(); ++row) {
            const double k = recording->k_rms(row, layer);
            sum += k;
            if (row > 0) smallest = std::min(smallest, k), largest = std::max(largest, k);
            QVERIFY(std::abs(shades.mean(layer, 0, row, row + 1) - k) < 1e-6);
        }
        QVERIFY(std::abs(shades.mean(layer, 0, 0, recording->row_count()) - sum / recording->row_count()) < 1e-6);
        QCOMPARE(shades.largest(layer, 0), largest);
        for (int row = 0; row < recording->row_count(); ++row) {
            const float strength = shades.strength(layer, 0, row, row + 1);
            QVERIFY(strength >= 0.3f && strength <= 1.0f);
        }
    }
}

void TestCacheMap::shades_cost_only_new_rows() {
    FakeRunOptions options;
    options.steps = 30;
    const auto recording = make_fake_run(options);
    CacheShades shades;
    shades.update(recording.get());
    const std::int64_t before = shades.values_read();
    append_fake_step(*recording, options);
    shades.update(recording.get());
    QCOMPARE(shades.values_read() - before, std::int64_t{2 * options.layers});
    QCOMPARE(shades.positions(), recording->row_count());
}

void TestCacheMap::shades_of_unknown_values() {
    RunFacts facts;
    facts.config.layers = 1;
    RunRecording recording(facts, {});
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
    int position = 0;
    for (const float value : {nan, 2.0f, infinite, 2.0f}) {
        RunRecording::NewRow row;
        row.row.position = position++;
        recording.append_row(row, std::span(&value, 1), std::span(&value, 1), {}, 0, {});
    }
    CacheShades shades;
    shades.update(&recording);
    QVERIFY(std::isnan(shades.mean(0, 0, 0, 1)));
    QCOMPARE(shades.mean(0, 0, 0, 4), 2.0);
    QCOMPARE(shades.strength(0, 0, 0, 1), 0.65f);
    QCOMPARE(shades.strength(0, 0, 1, 2), 0.65f);  // constant: one middle shade
    QVERIFY(std::isnan(shades.mean(5, 0, 0, 4)));
    shades.update(nullptr);
    QCOMPARE(shades.positions(), 0);
}

void TestCacheMap::story_of_strategies() {
    FakeRunOptions options;
    options.cache = "growing";
    options.steps = 6;
    const auto growing = make_fake_run(options);
    CacheStory story;
    story.update(growing.get());
    QCOMPARE(story.kind(), CacheKind::Growing);
    std::int64_t copied = 0;
    for (int step = 0; step < growing->step_count(); ++step) {
        copied += growing->step(step)->kv.copied_bytes;
        QCOMPARE(story.copied_bytes(step), copied);
    }
    const ViewedStep last = viewed_step(growing.get(), growing->step_count() - 1);
    QVERIFY(story.sentence(last).contains(format_bytes(copied)));
    QVERIFY(story.facts_line(last).contains(QStringLiteral("[measured]")));
    options.cache = "preallocated";
    const auto reserved = make_fake_run(options);
    story.update(reserved.get());
    QCOMPARE(story.kind(), CacheKind::Preallocated);
    story.update(nullptr);
    QCOMPARE(story.kind(), CacheKind::None);
    QVERIFY(story.sentence(viewed_step(nullptr, 0)).isEmpty());
}

// Layers with a window keep fewer rows than the others, and what they let go is gone in them alone.
void TestCacheMap::story_of_local_layers() {
    RunFacts facts = fake_run_facts({});
    facts.config.window = 3;
    facts.config.local_layers = {true, false, true, true};
    facts.cache_spec = "preallocated:capacity=8";
    const auto recording = std::make_shared<RunRecording>(facts, RecordingLimits{});
    for (std::int32_t position = 0; position < 5; ++position) {
        RunRecording::NewRow row;
        row.row = {position, position, position, Phase::Decode, false, false};
        recording->append_row(row, {}, {}, {}, position + 1, {});
        StepFacts step;
        step.index = position;
        step.first_row = position, step.row_count = 1;
        step.kv.tokens_seen = step.kv.tokens_stored = position + 1;
        step.kv.capacity_tokens = 8;
        step.kv.used_bytes = 2048, step.kv.reserved_bytes = 4096;
        if (position >= 3)
            for (const std::int32_t layer : {0, 2, 3}) step.evicted.push_back({position - 3, layer});
        recording->append_step(std::move(step));
    }
    CacheStory story;
    story.update(recording.get());
    const ViewedStep early = viewed_step(recording.get(), 2), view = viewed_step(recording.get(), 4);
    QVERIFY(story.has_local() && story.is_local(0) && !story.is_local(1));
    QVERIFY(!story.some_left(early) && story.some_left(view));
    QCOMPARE(story.rows_kept(view, 0), 3);
    QCOMPARE(story.rows_kept(view, 1), 5);
    QCOMPARE(story.rows_room(view, 0), 3);
    QCOMPARE(story.rows_room(view, 1), 8);
    QCOMPARE(story.kind_label(view, 0), QStringLiteral("3 local"));
    QCOMPARE(story.kind_label(view, 1), QStringLiteral("5 global"));
    const QString line = story.facts_line(view), sentence = story.sentence(view);
    QVERIFY2(line.startsWith(QStringLiteral("1 global × 5 + 3 local × 3 rows")), qPrintable(line));
    QVERIFY2(sentence.contains(QStringLiteral("3 local layers keep the last 3 tokens only")), qPrintable(sentence));
    QVERIFY2(!story.sentence(early).contains(QStringLiteral("local")), qPrintable(story.sentence(early)));
    QVERIFY(story.layer_words().startsWith(QStringLiteral("layer 1 of 4")));
    int gone[2] = {};
    for (const auto& row : cache_table(*recording, 4).rows)
        gone[std::get<std::int64_t>(row[0]) == 1 ? 1 : 0] += std::get<std::string>(row[4]) == "evicted" ? 1 : 0;
    QCOMPARE(gone[0], 6);  // two positions in three layers
    QCOMPARE(gone[1], 0);
    // A model whose layers are alike: not a word of kinds.
    facts.config.window = 0;
    const auto plain = std::make_shared<RunRecording>(facts, RecordingLimits{});
    story.update(plain.get());
    QVERIFY(!story.has_local() && story.layer_words().isEmpty());
}

void TestCacheMap::table_of_a_step() {
    FakeRunOptions options;
    options.steps = 5;
    const auto recording = make_fake_run(options);
    const ExportTable table = cache_table(*recording, 3);
    QCOMPARE(static_cast<int>(table.rows.size()), options.layers * (options.prompt_tokens + 3));
    QCOMPARE(table.columns.size(), table.rows[0].size());
    QCOMPARE(std::get<std::string>(table.rows.back()[4]), std::string("just written"));
    QCOMPARE(std::get<std::string>(table.rows[0][4]), std::string("stored"));
}

void TestCacheMap::numbers() {
    QCOMPARE(format_bytes(512), QStringLiteral("512 B"));
    QCOMPARE(format_bytes(64512), QStringLiteral("63.0 KiB"));
    QCOMPARE(format_bytes(196608), QStringLiteral("192 KiB"));
    QCOMPARE(format_bytes(1024 * 1024 - 1), QStringLiteral("1.0 MiB"));
    QCOMPARE(format_bytes_exact(64512), QStringLiteral("64,512 B"));
    QCOMPARE(format_count(-1234567), QStringLiteral("-1,234,567"));
    QCOMPARE(format_count(999), QStringLiteral("999"));
    QCOMPARE(format_micros(640), QStringLiteral("640 µs"));
    QCOMPARE(format_micros(34800), QStringLiteral("34.8 ms"));
    QCOMPARE(format_micros(9.1e6), QStringLiteral("9.1 s"));
    QCOMPARE(format_micros(std::numeric_limits<double>::quiet_NaN()), QStringLiteral("n/a"));
    QCOMPARE(format_weight(0.5034), QStringLiteral("0.503"));
    QCOMPARE(format_value(-1.239), QStringLiteral("-1.24"));
}

QTEST_APPLESS_MAIN(TestCacheMap)
#include "tst_cache_map.moc"
