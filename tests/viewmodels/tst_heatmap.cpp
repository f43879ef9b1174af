// Attention maps: which value a cell shows, merging, zoom, and what drawing costs.
#include <QtTest>
#include <cmath>
#include <limits>
#include <memory>

#include "kernels/api/half.h"
#include "tests/support/fake_run.h"
#include "tests/viewmodels/heatmap_palette.h"
#include "ui/viewmodels/attention_export.h"
#include "ui/viewmodels/attention_pyramid.h"
#include "ui/viewmodels/heatmap_layout.h"
#include "ui/viewmodels/pooled_map.h"
#include "ui/viewmodels/viewed_step.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
RunFacts facts(int layers, int heads) {
    RunFacts f;
    f.config.layers = layers;
    f.config.heads = heads;
    f.config.kv_heads = 1;
    f.config.head_dim = 2;
    f.cache_spec = "preallocated";
    return f;
}

// One row of one layer with the given weights per head: [heads][entries].
void append(RunRecording& recording, int position, const std::vector<std::vector<float>>& heads,
            const std::vector<std::int32_t>& positions = {}, bool captured = true) {
    RunRecording::NewRow row;
    row.row.position = position;
    row.row.token = position;
    row.display = "t" + std::to_string(position);
    std::vector<float> flat;
    for (const auto& head : heads) flat.insert(flat.end(), head.begin(), head.end());
    const float* pointer = captured ? flat.data() : nullptr;
    const std::vector<float> rms(1, 1.0f);
    recording.append_row(row, rms, rms, std::span<const float* const>(&pointer, 1),
                         static_cast<std::int32_t>(heads[0].size()), positions);
}

void advance_all(AttentionPyramid& pyramid) {
    std::int64_t budget = std::int64_t{1} << 40;
    QVERIFY(pyramid.advance(budget));
}

}  // namespace

class TestHeatmap : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void golden_3x3();
    void rows_accumulate_after_prefill();
    void not_captured_is_not_zero();
    void evicted_is_not_zero();
    void mean_over_heads();
    void values_that_are_no_weights();
    void merging_keeps_the_largest_data();
    void merging_keeps_the_largest();
    void self_merging_map_equals_a_merged_one();
    void empty_layouts();
    void view_equals_values();
    void cost_of_a_view_does_not_grow();
    void work_per_presentation_is_bounded();
    void exports_hold_every_weight();
};

// Query goes down, keys go right: the newest row is the lowest.
void TestHeatmap::golden_3x3() {
    auto recording = std::make_shared<RunRecording>(facts(1, 1), RecordingLimits{});
    append(*recording, 0, {{1.0f}});
    append(*recording, 1, {{0.25f, 0.75f}});
    append(*recording, 2, {{0.5f, 0.0f, 0.5f}});
    AttentionPyramid pyramid;
    pyramid.select(recording, 0, 0);
    advance_all(pyramid);
    HeatmapLayout layout;
    layout.area = QRectF(10, 20, 30, 30);
    layout.rows = layout.columns = 3;
    layout.fit(100, 1);
    const HeatmapPicture picture = paint_view(pyramid, layout, 1, palette());
    const auto scale = grey_scale();
    const auto at = [&](float weight) { return scale[static_cast<std::size_t>(weight * 255.0f + 0.5f)]; };
    const std::vector<std::vector<QRgb>> golden = {
        {at(1), kOutsideColor, kOutsideColor}, {at(0.25f), at(0.75f), kOutsideColor}, {at(0.5f), at(0), at(0.5f)}};
    QCOMPARE(picture.image.size(), QSize(3, 3));
    for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 3; ++x)
            QCOMPARE(picture.image.pixel(x, y), golden[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)]);
    QCOMPARE(picture.target, QRectF(10, 20, 30, 30));
    QCOMPARE(layout.cell_rect(2, 0), QRectF(10, 40, 10, 10));
}

// UI-06: with a cache each step brings one row only; rows accumulate.
void TestHeatmap::rows_accumulate_after_prefill() {
    FakeRunOptions options;
    options.steps = 4;
    options.prompt_tokens = 6;
    options.layers = 2;
    options.heads = 3;
    const auto recording = make_fake_run(options);
    QCOMPARE(recording->row_count(), 10);
    AttentionPyramid pyramid;
    for (int head = 0; head < 3; ++head) {
        pyramid.select(recording, 1, head);
        advance_all(pyramid);
        for (int row = 0; row < 10; ++row) {
            double sum = 0;
            for (int column = 0; column <= row; ++column) {
                QVERIFY(is_weight(pyramid.value(row, column)));
                sum += weight_of(pyramid.value(row, column));
            }
            QVERIFY2(std::abs(sum - 1) < 4e-3, qPrintable(QString::number(sum)));  // stored in 11 bits
            QCOMPARE(pyramid.value(row, row + 1), kOutside);
        }
    }
    append_fake_step(const_cast<RunRecording&>(*recording), options);
    advance_all(pyramid);
    QCOMPARE(pyramid.rows(), 11);
    QVERIFY(is_weight(pyramid.value(10, 10)));
}

void TestHeatmap::not_captured_is_not_zero() {
    auto recording = std::make_shared<RunRecording>(facts(1, 1), RecordingLimits{});
    append(*recording, 0, {{1.0f}});
    append(*recording, 1, {{0.0f, 0.0f}}, {}, false);
    append(*recording, 2, {{0.0f, 0.0f, 1.0f}});
    AttentionPyramid pyramid;
    pyramid.select(recording, 0, 0);
    advance_all(pyramid);
    QCOMPARE(pyramid.value(1, 0), kNotCaptured);
    QCOMPARE(pyramid.value(1, 1), kNotCaptured);
    QCOMPARE(pyramid.value(1, 2), kOutside);
    QVERIFY(palette().color(kNotCaptured) != palette().color(map_value(0)));
    QCOMPARE(pyramid.rows_not_captured().size(), std::size_t{1});
    QCOMPARE(pyramid.rows_not_captured()[0].first, 1);
    QCOMPARE(pyramid.rows_not_captured()[0].end, 2);
}

void TestHeatmap::evicted_is_not_zero() {
    auto recording = std::make_shared<RunRecording>(facts(1, 2), RecordingLimits{});
    append(*recording, 0, {{1.0f}, {1.0f}});
    append(*recording, 1, {{0.5f, 0.5f}, {1.0f, 0.0f}});
    append(*recording, 2, {{0.75f, 0.25f}, {0.5f, 0.5f}},
           {2, 1});  // slot order: position 2 took the slot of position 0
    AttentionPyramid pyramid;
    pyramid.select(recording, 0, 0);
    advance_all(pyramid);
    QCOMPARE(pyramid.value(2, 0), kEvicted);
    QCOMPARE(weight_of(pyramid.value(2, 1)), 0.25f);
    QCOMPARE(weight_of(pyramid.value(2, 2)), 0.75f);
    std::vector<MapValue> part;
    pyramid.read(0, 2, 1, 3, part);  // a slice of the row maps positions alike
    QCOMPARE(weight_of(part[0]), 0.25f);
    QCOMPARE(weight_of(part[1]), 0.75f);
}

void TestHeatmap::mean_over_heads() {
    auto recording = std::make_shared<RunRecording>(facts(1, 2), RecordingLimits{});
    append(*recording, 0, {{1.0f}, {1.0f}});
    append(*recording, 1, {{1.0f, 0.0f}, {0.25f, 0.75f}});
    AttentionPyramid pyramid;
    pyramid.select(recording, 0, AttentionPyramid::kMeanOfHeads);
    advance_all(pyramid);
    QCOMPARE(weight_of(pyramid.value(1, 0)), 0.625f);
    QCOMPARE(weight_of(pyramid.value(1, 1)), 0.375f);
}

void TestHeatmap::values_that_are_no_weights() {
    QCOMPARE(map_value(kNaN), kNotCaptured);
    QCOMPARE(weight_of(map_value(std::numeric_limits<float>::infinity())), 1.0f);
    QCOMPARE(weight_of(map_value(-3.0f)), 0.0f);
    QCOMPARE(weight_of(map_value(1e38f)), 1.0f);
    QVERIFY(std::isnan(weight_of(kEvicted)));
    auto recording = std::make_shared<RunRecording>(facts(1, 1), RecordingLimits{});
    append(*recording, 0, {{kNaN}});
    append(*recording, 1, {{std::numeric_limits<float>::infinity(), -1.0f}});
    AttentionPyramid pyramid;
    pyramid.select(recording, 0, 0);
    advance_all(pyramid);
    QCOMPARE(pyramid.value(0, 0), kNotCaptured);
    QCOMPARE(pyramid.value(1, 0), kOneWeight);
    QCOMPARE(pyramid.value(1, 1), kZeroWeight);
    pyramid.select(recording, 7, 9);  // no such layer or head
    advance_all(pyramid);
    QCOMPARE(pyramid.value(0, 0), kOutside);
}

void TestHeatmap::merging_keeps_the_largest_data() {
    QTest::addColumn<int>("rows");
    for (const int rows : {1, 2, 3, 5, 7, 13, 64, 129}) QTest::newRow(qPrintable(QString::number(rows))) << rows;
}

void TestHeatmap::merging_keeps_the_largest() {
    QFETCH(int, rows);
    auto recording = std::make_shared<RunRecording>(facts(1, 1), RecordingLimits{});
    for (int row = 0; row < rows; ++row) {
        std::vector<float> weights;
        for (int column = 0; column <= row; ++column)
            weights.push_back(static_cast<float>((row * 13 + column * 7) % 29) / 29.0f);
        append(*recording, row, {weights});
    }
    AttentionPyramid pyramid;
    pyramid.select(recording, 0, 0);
    advance_all(pyramid);
    for (int level = 1; level <= AttentionPyramid::kHighestLevel; ++level) {
        const int side = (rows + (1 << level) - 1) >> level;
        std::vector<MapValue> cells;
        for (int merged_row = 0; merged_row < side; ++merged_row) {
            pyramid.read(level, merged_row, 0, side, cells);
            for (int merged_column = 0; merged_column < side; ++merged_column) {
                MapValue expected = kOutside;
                for (int row = merged_row << level; row < std::min(rows, (merged_row + 1) << level); ++row)
                    for (int column = merged_column << level; column < (merged_column + 1) << level; ++column)
                        expected = std::max(expected, pyramid.value(row, column));
                QCOMPARE(cells[static_cast<std::size_t>(merged_column)], expected);
            }
        }
    }
}

void TestHeatmap::self_merging_map_equals_a_merged_one() {
    for (const int rows : {1, 47, 96, 97, 191, 193, 500}) {
        PooledMap bounded(0, 96);
        std::vector<std::vector<MapValue>> all;
        for (int row = 0; row < rows; ++row) {
            std::vector<MapValue> cells;
            for (int column = 0; column <= row; ++column)
                cells.push_back(static_cast<MapValue>(kZeroWeight + (row * 131 + column * 37) % 9000));
            bounded.append_row(cells);
            all.push_back(cells);
        }
        QVERIFY(bounded.side() <= 96);
        PooledMap fixed(bounded.shift());
        for (const auto& cells : all) fixed.append_row(cells);
        QCOMPARE(bounded.side(), fixed.side());
        for (int y = 0; y < fixed.side(); ++y)
            for (int x = 0; x < fixed.side(); ++x) QCOMPARE(bounded.value(y, x), fixed.value(y, x));
    }
}

void TestHeatmap::empty_layouts() {
    HeatmapLayout layout;
    layout.fit(32, 1);
    QVERIFY(!layout.hit(QPointF(0, 0)));
    QCOMPARE(layout.visible_rows().count(), 0);
    layout.area = QRectF(0, 0, 10, 10);
    layout.fit(32, 1);
    layout.reveal(3, 3);
    layout.clamp();
    AttentionPyramid pyramid;
    advance_all(pyramid);
    QVERIFY(paint_view(pyramid, layout, 1, palette()).image.isNull());
    QVERIFY(paint_matrix({}, 3, palette()).isNull());
    QVERIFY(paint_map(PooledMap(0), palette()).isNull());
}

void TestHeatmap::view_equals_values() {
    FakeRunOptions options;
    options.steps = 180;
    options.layers = 1;
    options.heads = 2;
    const auto recording = make_fake_run(options);
    AttentionPyramid pyramid;
    pyramid.select(recording, 0, 1);
    advance_all(pyramid);
    HeatmapLayout layout;
    layout.area = QRectF(0, 0, 97, 53);
    layout.rows = layout.columns = recording->row_count();
    layout.cell = 7;
    layout.first_row = 140.5;
    layout.first_column = 120.25;
    const HeatmapPalette colours = palette();
    const HeatmapPicture picture = paint_view(pyramid, layout, 1, colours);
    QCOMPARE(picture.level, 0);
    for (int y = 0; y < picture.image.height(); ++y)
        for (int x = 0; x < picture.image.width(); ++x)
            QCOMPARE(picture.image.pixel(x, y), colours.color(pyramid.value(140 + y, 120 + x)));
    QCOMPARE(picture.target.left(), (120 - 120.25) * 7);
    QCOMPARE(picture.target.top(), (140 - 140.5) * 7);
}

// The cells read for a picture depend on its pixels, not on the length of the run.
void TestHeatmap::cost_of_a_view_does_not_grow() {
    std::vector<std::int64_t> touched;
    for (const int rows : {300, 600, 1200, 2048}) {
        FakeRunOptions options;
        options.prompt_tokens = 20;
        options.steps = rows - 20;
        options.layers = 1;
        options.heads = 1;
        options.race = options.profile = false;
        const auto recording = make_fake_run(options);
        AttentionPyramid pyramid;
        pyramid.select(recording, 0, 0);
        advance_all(pyramid);
        HeatmapLayout layout;
        layout.area = QRectF(0, 0, 300, 300);
        layout.rows = layout.columns = rows;
        layout.fit(32, 1);
        const std::int64_t before = pyramid.cells_touched();
        const HeatmapPicture picture = paint_view(pyramid, layout, 1, palette());
        touched.push_back(pyramid.cells_touched() - before);
        QVERIFY(picture.image.width() <= 600 && picture.image.height() <= 600);
        // One more row costs one row, not the whole map.
        append_fake_step(*recording, options);
        const std::int64_t grown = pyramid.cells_touched();
        advance_all(pyramid);
        QVERIFY(pyramid.cells_touched() - grown <= 3 * rows + 64);
    }
    for (const std::int64_t cells : touched) QVERIFY2(cells <= 4 * 300 * 300, qPrintable(QString::number(cells)));
}

void TestHeatmap::work_per_presentation_is_bounded() {
    FakeRunOptions options;
    options.steps = 600;
    options.layers = 1;
    options.heads = 2;
    options.race = options.profile = false;
    const auto recording = make_fake_run(options);
    AttentionPyramid pyramid;
    pyramid.select(recording, 0, 0);
    int rounds = 0;
    for (bool complete = false; !complete; ++rounds) {
        const std::int64_t before = pyramid.cells_touched();
        std::int64_t budget = 50'000;
        complete = pyramid.advance(budget);
        QVERIFY(pyramid.cells_touched() - before <= 50'000 + 2 * recording->row_count() + 64);
        QVERIFY(rounds < 1000);
    }
    QVERIFY(rounds > 3);
    AttentionOverview overview;
    overview.select(recording);
    std::int64_t budget = 10'000;
    QVERIFY(!overview.advance(budget));
    budget = std::int64_t{1} << 40;
    QVERIFY(overview.advance(budget));
    QCOMPARE(overview.rows(), recording->row_count());
}

void TestHeatmap::exports_hold_every_weight() {
    auto recording = std::make_shared<RunRecording>(facts(1, 1), RecordingLimits{});
    append(*recording, 0, {{1.0f}});
    append(*recording, 1, {{0.25f, 0.75f}});
    append(*recording, 2, {{0.0f, 0.0f, 0.0f}}, {}, false);
    append(*recording, 3, {{0.5f, 0.5f}}, {1, 3});
    const QStringList lines = QString::fromStdString(attention_map_csv(*recording, 0, 0, 4))
                                  .split('\n', Qt::SkipEmptyParts)
                                  .filter(QRegularExpression("^[^#]"));
    QCOMPARE(lines.size(), 1 + 1 + 2 + 1 + 2);
    QCOMPARE(lines[3], QStringLiteral("1,t1,1,t1,0.75"));
    QCOMPARE(lines[4], QStringLiteral("2,t2,,,"));
    QCOMPARE(lines[5], QStringLiteral("3,t3,1,t1,0.5"));
    const QJsonObject json =
        QJsonDocument::fromJson(QByteArray::fromStdString(attention_map_json(*recording, 0, 0, 4))).object();
    const QJsonArray rows = json["rows"].toArray();
    QCOMPARE(rows.size(), 4);
    QCOMPARE(rows[1].toObject()["weights"].toArray()[0].toDouble(), 0.25);
    QVERIFY(!rows[2].toObject()["captured"].toBool());
    QCOMPARE(rows[3].toObject()["columns"].toArray()[0].toInt(), 1);
}

QTEST_APPLESS_MAIN(TestHeatmap)
#include "tst_heatmap.moc"
