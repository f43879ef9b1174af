// Where cells of a heat map lie: fitting, zooming, scrolling, and finding the cell under the pointer.
#include <QtTest>
#include <cmath>
#include <limits>

#include "ui/viewmodels/heatmap_layout.h"

using namespace decodescope;

class TestHeatmapLayout : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void layout_fits_data();
    void layout_fits();
    void hit_and_cell_agree();
    void zoom_keeps_the_cell_under_the_pointer();
    void reveal_and_clamp();
};

void TestHeatmapLayout::layout_fits_data() {
    QTest::addColumn<int>("count");
    QTest::addColumn<double>("ratio");
    for (const int count : {1, 3, 5, 7, 13, 60, 1023, 2048})
        for (const double ratio : {1.0, 1.25, 2.0})
            QTest::newRow(qPrintable(QStringLiteral("%1 at %2").arg(count).arg(ratio))) << count << ratio;
}

void TestHeatmapLayout::layout_fits() {
    QFETCH(int, count);
    QFETCH(double, ratio);
    HeatmapLayout layout;
    layout.area = QRectF(3.5, 7, 301, 287);
    layout.rows = layout.columns = count;
    layout.fit(32, ratio);
    QVERIFY(layout.map_rect().width() <= layout.area.width() + 1e-6 &&
            layout.map_rect().height() <= layout.area.height() + 1e-6);
    QVERIFY(layout.cell <= 32);
    if (layout.cell * ratio >= 3) QVERIFY(std::abs(layout.cell * ratio - std::round(layout.cell * ratio)) < 1e-6);
    QCOMPARE(layout.visible_rows().count(), count);
    QCOMPARE(layout.visible_columns().count(), count);
    QVERIFY(layout.cell * ratio * (1 << layout.level(ratio, 6)) >= 0.5);
}

void TestHeatmapLayout::hit_and_cell_agree() {
    HeatmapLayout layout;
    layout.area = QRectF(11.25, 5.5, 257, 200);
    layout.rows = 2048;
    layout.columns = 2048;
    layout.cell = 9.5;
    layout.first_row = 1700.3;
    layout.first_column = 12.7;
    for (int row = 1701; row < 1720; ++row)
        for (int column = 13; column < 38; ++column) {
            const auto hit = layout.hit(layout.cell_rect(row, column).center());
            QVERIFY(hit.has_value());
            QCOMPARE(*hit, (HeatCell{row, column}));
        }
    QVERIFY(!layout.hit(QPointF(0, 0)));
    QVERIFY(!layout.hit(layout.area.bottomRight() + QPointF(1, 1)));
}

void TestHeatmapLayout::zoom_keeps_the_cell_under_the_pointer() {
    HeatmapLayout layout;
    layout.area = QRectF(0, 0, 400, 400);
    layout.rows = layout.columns = 2048;
    layout.fit(32, 1);
    const double smallest = layout.cell;
    const QPointF anchor(310, 333);
    const auto before = layout.hit(anchor);
    for (int i = 0; i < 12; ++i) layout.zoom(anchor, 1.3, smallest, 64);
    const auto after = layout.hit(anchor);
    QVERIFY(before && after);
    QVERIFY(std::abs(before->row - after->row) <= 1 && std::abs(before->column - after->column) <= 1);
    for (int i = 0; i < 40; ++i) layout.zoom(anchor, 0.7, smallest, 64);
    QCOMPARE(layout.cell, smallest);
    QCOMPARE(layout.first_row, 0.0);
    layout.zoom(anchor, std::numeric_limits<double>::quiet_NaN(), smallest, 64);
    QCOMPARE(layout.cell, smallest);
}

void TestHeatmapLayout::reveal_and_clamp() {
    HeatmapLayout layout;
    layout.area = QRectF(0, 0, 100, 100);
    layout.rows = layout.columns = 100;
    layout.cell = 10;
    layout.reveal(99, 50);
    QCOMPARE(layout.first_row, 90.0);
    QCOMPARE(layout.first_column, 41.0);
    layout.reveal(3, 3);
    QCOMPARE(layout.first_row, 3.0);
    layout.pan(1e9, -1e9);
    QCOMPARE(layout.first_column, 0.0);
    QCOMPARE(layout.first_row, 90.0);
}

QTEST_APPLESS_MAIN(TestHeatmapLayout)
#include "tst_heatmap_layout.moc"
