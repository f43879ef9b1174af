// UI-08: drawing a chart of 100,000 points anew, on screens of scale 1 and 2; the limit is 50 ms. Prints; asserts
// nothing.
#include <benchmark/benchmark.h>

#include <QApplication>
#include <QImage>
#include <QPainter>
#include <cmath>

#include "ui/widgets/chart_view.h"

namespace decodescope {
namespace {

ChartSpec many_points() {
    constexpr int kPoints = 100'000;
    ChartSpec spec;
    spec.x_title = QStringLiteral("LENGTH IN TOKENS");
    spec.y_title = QStringLiteral("MILLISECONDS");
    ChartSeries series;
    series.label = QStringLiteral("series");
    series.mark = ChartSeries::Mark::Round;
    series.line = true;
    for (int i = 0; i < kPoints; ++i) {
        series.x.push_back(i);
        series.y.push_back(10 + std::sin(i * 0.01) + (i % 97 == 0 ? 5 : 0));
    }
    spec.series.push_back(std::move(series));
    return spec;
}

void replot(benchmark::State& state) {
    const double scale = static_cast<double>(state.range(0));
    const ChartSpec spec = many_points();
    ChartView view;
    const QSize size(600, 300);
    QImage image(size * scale, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(scale);
    for (auto _ : state) {
        view.set_spec(spec);
        image.fill(Qt::white);
        QPainter painter(&image);
        view.paint(painter, QRectF(QPointF(0, 0), size));
    }
    state.counters["points_drawn"] = view.drawn_points();
}
BENCHMARK(replot)->Arg(1)->Arg(2)->ArgName("scale")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace decodescope

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication application(argc, argv);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
