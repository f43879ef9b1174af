// Values of an attention map as pixels of a picture.
#include <QtTest>
#include <memory>

#include "tests/viewmodels/heatmap_palette.h"
#include "ui/viewmodels/pooled_map.h"

using namespace decodescope;
using namespace decodescope::testing;

class TestHeatmapImage : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void pixels_equal_colours_data();
    void pixels_equal_colours();
    void picture_outlives_its_source();
    void threshold_hides_only_below();
};

void TestHeatmapImage::pixels_equal_colours_data() {
    QTest::addColumn<int>("width");
    for (const int width : {1, 3, 5, 7, 13, 64, 1023}) QTest::newRow(qPrintable(QString::number(width))) << width;
}

// UI-05: rows of a QImage are 32-bit aligned; odd widths must not shear.
void TestHeatmapImage::pixels_equal_colours() {
    QFETCH(int, width);
    const int height = std::min(width, 37) + 2;
    std::vector<std::vector<MapValue>> matrix(static_cast<std::size_t>(height));
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            matrix[static_cast<std::size_t>(y)].push_back(
                map_value(static_cast<float>((x * 31 + y * 17) % 101) / 100.0f));
    const HeatmapPalette colours = palette();
    const QImage image = paint_matrix(matrix, width, colours);
    QCOMPARE(image.size(), QSize(width, height));
    const auto scale = grey_scale();
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const MapValue value = matrix[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
            QCOMPARE(image.pixel(x, y), colours.color(value));
            QCOMPARE(image.pixel(x, y), scale[static_cast<std::size_t>(weight_of(value) * 255.0f + 0.5f)]);
        }
    }
}

void TestHeatmapImage::picture_outlives_its_source() {
    QImage image;
    {
        auto map = std::make_unique<PooledMap>(0);
        const std::vector<MapValue> row(5, kOneWeight);
        for (std::size_t i = 1; i <= 5; ++i) map->append_row(std::span(row).first(i));
        image = paint_map(*map, palette());
    }
    QCOMPARE(image.copy().pixel(0, 4), grey_scale()[255]);
    QCOMPARE(image.pixel(4, 0), kOutsideColor);
}

void TestHeatmapImage::threshold_hides_only_below() {
    const HeatmapPalette hiding = palette(0.02f);
    QCOMPARE(hiding.color(map_value(0.0199f)), hiding.color(kZeroWeight));
    QCOMPARE(hiding.color(map_value(0.5f)), palette().color(map_value(0.5f)));
    QCOMPARE(hiding.color(kNotCaptured), kNotCapturedColor);
}

QTEST_APPLESS_MAIN(TestHeatmapImage)
#include "tst_heatmap_image.moc"
