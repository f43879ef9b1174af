// UI-08: drawing a chart of 100,000 points anew, on screens of scale 1 and 2; the limit is 50 ms. Prints; asserts
// nothing.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

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

// On the screen: what a change of the data costs. The limit is 50 ms at either scale.
void replot(benchmark::State& state) {
    const ChartSpec spec = many_points();
    ChartView view;
    view.resize(600, 300);
    for (auto _ : state) {
        view.set_spec(spec);
        benchmark::DoNotOptimize(view.grab());
    }
    state.counters["scale"] = view.devicePixelRatioF();
    state.counters["points_drawn"] = view.drawn_points();
}
BENCHMARK(replot)->Unit(benchmark::kMillisecond);

// For a file, where lines stay whole paths; there is no limit for it.
void export_picture(benchmark::State& state) {
    const ChartSpec spec = many_points();
    ChartView view;
    view.set_spec(spec);
    const double scale = view.devicePixelRatioF();
    QImage image(QSize(600, 300) * scale, QImage::Format_RGB32);
    for (auto _ : state) {
        image.fill(Qt::white);
        QPainter painter(&image);
        painter.scale(scale, scale);
        view.paint(painter, QRectF(0, 0, 600, 300));
    }
    state.counters["scale"] = scale;
}
BENCHMARK(export_picture)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace decodescope

// Qt takes the scale of the screen from the environment when it starts: a process for each.
int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    for (const char* scale : {"1", "2"}) {
        const pid_t child = fork();
        if (child == 0) {
            qputenv("QT_SCALE_FACTOR", scale);
            const QApplication application(argc, argv);
            benchmark::Initialize(&argc, argv);
            benchmark::RunSpecifiedBenchmarks();
            return 0;
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
    }
    return 0;
}
