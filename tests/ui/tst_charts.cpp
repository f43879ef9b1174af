// Charts with data that no axis likes, and with far more points than pixels (UI-07, UI-08). Nothing here measures time.
#include <QImage>
#include <QPainter>
#include <QTest>
#include <cmath>
#include <limits>

#include "ui/widgets/chart_view.h"

using namespace decodescope;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

ChartSpec one_series(std::vector<double> x, std::vector<double> y, bool log) {
    ChartSpec spec;
    spec.log_x = spec.log_y = log;
    ChartSeries series;
    series.label = QStringLiteral("series");
    series.mark = ChartSeries::Mark::Round;
    series.line = true;
    series.x = std::move(x);
    series.y = std::move(y);
    spec.series.push_back(series);
    spec.x_title = QStringLiteral("LENGTH IN TOKENS");
    spec.y_title = QStringLiteral("MILLISECONDS");
    spec.empty_text = QStringLiteral("nothing yet");
    return spec;
}

int coloured_pixels(const QImage& image, const QColor& color) {
    int count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y) == color;
    return count;
}

int marked_pixels(const QImage& image) { return image.width() * image.height() - coloured_pixels(image, Qt::white); }

QImage drawn(ChartView& view, const QSize& size, double scale = 1) {
    QImage image(size * scale, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.scale(scale, scale);
    view.paint(painter, QRectF(QPointF(0, 0), size));
    return image;
}

}  // namespace

class ChartTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void hostile_values_data() {
        QTest::addColumn<QVector<double>>("x");
        QTest::addColumn<QVector<double>>("y");
        QTest::newRow("nothing") << QVector<double>{} << QVector<double>{};
        QTest::newRow("one point") << QVector<double>{5} << QVector<double>{7};
        QTest::newRow("one at zero") << QVector<double>{0} << QVector<double>{0};
        QTest::newRow("all equal") << QVector<double>{1, 2, 3, 4} << QVector<double>{2, 2, 2, 2};
        QTest::newRow("same x") << QVector<double>{3, 3, 3} << QVector<double>{1, 2, 3};
        QTest::newRow("zeros") << QVector<double>{1, 2, 3} << QVector<double>{0, 0, 0};
        QTest::newRow("negative") << QVector<double>{1, 2, 3} << QVector<double>{-5, -1, -3};
        QTest::newRow("nan in the middle") << QVector<double>{1, 2, 3, 4, 5} << QVector<double>{1, 2, kNan, 4, 5};
        QTest::newRow("all nan") << QVector<double>{1, 2, 3} << QVector<double>{kNan, kNan, kNan};
        QTest::newRow("infinities") << QVector<double>{1, 2, 3, 4} << QVector<double>{kInf, 1, -kInf, 2};
        QTest::newRow("nan x") << QVector<double>{kNan, 2, kInf} << QVector<double>{1, 2, 3};
        QTest::newRow("huge") << QVector<double>{1, 2, 3} << QVector<double>{1e308, 1, -1e308};
        QTest::newRow("huge x") << QVector<double>{1, 1e308} << QVector<double>{1, 2};
        QTest::newRow("tiny") << QVector<double>{1, 2} << QVector<double>{5e-324, 1e-310};
        QTest::newRow("nearly equal") << QVector<double>{1, 2} << QVector<double>{1.0, std::nextafter(1.0, 2.0)};
        QTest::newRow("lengths differ") << QVector<double>{1, 2, 3} << QVector<double>{1};
    }

    void hostile_values() {
        QFETCH(QVector<double>, x);
        QFETCH(QVector<double>, y);
        for (bool log : {false, true}) {
            const ChartSpec spec = one_series({x.begin(), x.end()}, {y.begin(), y.end()}, log);
            for (const AxisRange& range : {x_range(spec), y_range(spec)}) {
                QVERIFY(std::isfinite(range.lower) && std::isfinite(range.upper));
                QVERIFY2(range.lower < range.upper, "an axis has two ends");
                if (log) QVERIFY(range.lower > 0);
            }
            ChartView view;
            view.set_spec(spec);
            QVERIFY(!drawn(view, {320, 200}).isNull());
            view.resize(320, 200);
            view.grab();
        }
    }

    // A value that is not a number leaves a gap in the line, and the points beside it stay.
    void gap_is_drawn() {
        ChartSeries series = one_series({0, 1, 2, 3, 4}, {1, 1, kNan, 1, 1}, false).series.front();
        const std::vector<int> kept = thin_out(series, {0, 4}, false, false, 100);
        QCOMPARE(kept, (std::vector<int>{0, 1, 2, 3, 4}));
        QVERIFY(!drawable(series.y[2], false));
        series.y = {1, 0, 1, -1, 1};
        QVERIFY(!drawable(series.y[1], true) && drawable(series.y[1], false));
    }

    void many_points_data() {
        QTest::addColumn<double>("scale");
        QTest::newRow("1") << 1.0;
        QTest::newRow("2") << 2.0;
    }

    // 100,000 points at any scale: no more are drawn than pixel columns can show.
    void many_points() {
        QFETCH(double, scale);
        constexpr int kPoints = 100000;
        const QSize size(600, 300);
        std::vector<double> x(kPoints), y(kPoints);
        for (int i = 0; i < kPoints; ++i) {
            x[i] = i;
            y[i] = 10 + std::sin(i * 0.01) + (i % 97 == 0 ? 5 : 0);
        }
        ChartView view;
        view.set_spec(one_series(x, y, false));
        drawn(view, size, scale);
        QVERIFY(view.drawn_points() > 600);
        // A line of at most four points a column, and marks of which no two share a cell of 2 x 2.
        QVERIFY2(view.drawn_points() <= 4 * size.width() + size.width() / 2 * (size.height() / 2),
                 qPrintable(QString::number(view.drawn_points())));
        const int columns = size.width();
        const ChartSpec spec = one_series(x, y, false);
        const auto kept = thin_out(spec.series.front(), x_range(spec), false, false, columns);
        QVERIFY(static_cast<int>(kept.size()) <= 4 * columns + 4);
        // Nothing that stands out is lost: highest and lowest are among what is kept.
        double highest = -kInf, lowest = kInf;
        for (int i : kept) {
            highest = std::max(highest, y[i]);
            lowest = std::min(lowest, y[i]);
        }
        QCOMPARE(highest, *std::max_element(y.begin(), y.end()));
        QCOMPARE(lowest, *std::min_element(y.begin(), y.end()));
    }

    // Only a change makes the chart draw itself again.
    void redraws_only_on_change() {
        ChartView view;
        view.resize(300, 200);
        view.set_spec(one_series({1, 2, 3}, {1, 2, 3}, false));
        const QImage first = view.grab().toImage();
        QCOMPARE(view.grab().toImage(), first);
        view.set_spec(one_series({1, 2, 3}, {3, 2, 1}, false));
        QVERIFY(view.grab().toImage() != first);
    }

    void exports_at_any_size() {
        ChartView view;
        view.set_spec(one_series({1, 2, 3}, {1, 2, 3}, false));
        for (const QSize& size : {QSize(200, 120), QSize(1600, 1000)}) {
            const QImage image = drawn(view, size);
            QVERIFY(coloured_pixels(image, theme().color(Role::Cached)) > 10);
            // The label at the end of the line and the titles of the axes are part of the picture.
            const int label = 40;
            QVERIFY(coloured_pixels(image.copy(image.width() - label, 0, label, image.height()),
                                    theme().text(Role::Cached)) > 5);
            QVERIFY(marked_pixels(image.copy(0, 0, image.width() / 2, 14)) > 20);
            QVERIFY(marked_pixels(image.copy(0, image.height() - 12, image.width(), 12)) > 20);
        }
    }

    void labels_do_not_overlap() {
        const auto places = spread_labels({50, 51, 52, 10}, 14, 0, 100);
        for (std::size_t a = 0; a < places.size(); ++a)
            for (std::size_t b = a + 1; b < places.size(); ++b) QVERIFY(std::abs(places[a] - places[b]) >= 14 - 1e-9);
        for (double place : places) QVERIFY(place >= 7 && place <= 93);
        QVERIFY(places[0] < places[1] && places[1] < places[2]);
    }
};

QTEST_MAIN(ChartTest)
#include "tst_charts.moc"
