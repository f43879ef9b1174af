#include "ui/widgets/chart_plotter.h"

// The library's header is written with Qt's short keywords, which this program turns off everywhere.
#define signals Q_SIGNALS
#define slots Q_SLOTS
#define emit
#define foreach(variable, container) for (variable : container)
#include <qcustomplot.h>
#undef signals
#undef slots
#undef emit
#undef foreach

#include <algorithm>
#include <cmath>

namespace decodescope {

namespace {

constexpr double kMarkPixels = 6.0;
constexpr double kMarkSpacing = 9.0;  // nearer marks would hide each other and the expected line

// Roles that are too pale for text are labelled in ink.
QColor label_color(Role role) {
    switch (role) {
        case Role::K:
        case Role::V:
        case Role::Cached:
        case Role::Recompute:
        case Role::Generated: return theme().text(role);
        default: return theme().color(Role::QuietInk);
    }
}

QFont label_font() {
    QFont font = theme().body();
    font.setBold(true);
    return font;
}

// A joined line of thousands of points with a pen wider than one pixel takes 30 times as long to draw as its pieces,
// which look the same on screen. In a vector drawing it stays one path.
class PiecewiseGraph : public QCPGraph {
public:
    using QCPGraph::QCPGraph;

protected:
    void drawLinePlot(QCPPainter* painter, const QVector<QPointF>& points) const override {
        if (painter->modes().testFlag(QCPPainter::pmVectorized) || mPen.style() != Qt::SolidLine) {
            QCPGraph::drawLinePlot(painter, points);
            return;
        }
        applyDefaultAntialiasingHint(painter);
        painter->setPen(mPen);
        const auto drawn = [](const QPointF& at) { return std::isfinite(at.x()) && std::isfinite(at.y()); };
        for (int i = 1; i < points.size(); ++i)
            if (drawn(points[i - 1]) && drawn(points[i])) painter->drawLine(points[i - 1], points[i]);
    }

    // Thousands of circles, each filled and stroked as a path, are most of the time of a drawing; on screen they are
    // stamped from one picture instead, to the nearest pixel.
    void drawScatterPlot(QCPPainter* painter, const QVector<QPointF>& marks,
                         const QCPScatterStyle& style) const override {
        constexpr int kFew = 256;
        if (painter->modes().testFlag(QCPPainter::pmVectorized) || marks.size() <= kFew) {
            QCPGraph::drawScatterPlot(painter, marks, style);
            return;
        }
        const double scale = painter->device()->devicePixelRatioF();
        const int side = 2 * static_cast<int>(std::ceil(scale * (style.size() / 2 + style.pen().widthF()))) + 1;
        QImage stamp(side, side, QImage::Format_ARGB32_Premultiplied);
        stamp.setDevicePixelRatio(scale);
        stamp.fill(Qt::transparent);
        {
            QCPPainter one(&stamp);
            one.setAntialiasing(true);
            style.applyTo(&one, mPen);
            style.drawShape(&one, side / scale / 2, side / scale / 2);
        }
        const auto to_pixel = [&](double at) { return std::round(at * scale - side / 2.0) / scale; };
        for (const QPointF& at : marks)
            if (std::isfinite(at.x()) && std::isfinite(at.y()))
                painter->drawImage(QPointF(to_pixel(at.x()), to_pixel(at.y())), stamp);
    }
};

// Of the axis of tokens: there is no half token.
class WholeTicker : public QCPAxisTicker {
protected:
    double getTickStep(const QCPRange& range) override {
        const double step = QCPAxisTicker::getTickStep(range);
        if (step <= 1) return 1;
        return step == 2.5 ? 5 : step;  // from 10 on every step is whole
    }
};

}  // namespace

// Owns the plot of the library, which is never shown: it lays out and draws into whatever painter it is given.
struct ChartPlotter::Private {
    Private() {
        plot_.setAttribute(Qt::WA_DontShowOnScreen);
        plot_.setLocale(QLocale::c());
        plot_.xAxis->setTicker(QSharedPointer<WholeTicker>::create());
        plot_.setBackground(QBrush(Qt::NoBrush));
        plot_.setAutoAddPlottableToLegend(false);
        plot_.axisRect()->setAutoMargins(QCP::msLeft | QCP::msBottom);
        plot_.axisRect()->setMinimumMargins(QMargins(24, 0, 0, 16));
        plot_.setNotAntialiasedElements(QCP::aeAxes | QCP::aeGrid);
        plot_.setAntialiasedElements(QCP::aePlottables | QCP::aeScatters);
    }

    int draw(const ChartSpec& spec, const QSizeF& size, QPaintDevice& device, Target target) {
        const int width = std::max(1, static_cast<int>(size.width()));
        const int height = std::max(1, static_cast<int>(size.height()));
        prepare(spec, width, height);
        const int points = fill(spec, width, height);
        QCPPainter painter(&device);
        if (target == Target::Drawing) painter.setMode(QCPPainter::pmVectorized);
        if (points == 0) {  // axes without data would say nothing
            draw_empty(painter, spec, QRectF(0, 0, width, height));
            return points;
        }
        plot_.toPainter(&painter, width, height);
        draw_titles(painter, spec, width, height);
        draw_labels(painter, spec);
        return points;
    }

    QRectF area() const { return plot_.axisRect()->rect(); }

    void style_axis(QCPAxis& axis, bool log, const AxisRange& range, bool grid, int ticks) {
        const QColor line = theme().color(Role::Line), quiet = theme().color(Role::QuietInk);
        axis.setScaleType(log ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
        if (log != (ticker_is_log_[grid])) {
            if (log) axis.setTicker(QSharedPointer<QCPAxisTickerLog>::create());
            else if (!grid) axis.setTicker(QSharedPointer<WholeTicker>::create());
            else axis.setTicker(QSharedPointer<QCPAxisTicker>::create());
            ticker_is_log_[grid] = log;
        }
        axis.ticker()->setTickCount(ticks);
        axis.setNumberFormat(QStringLiteral("g"));
        axis.setNumberPrecision(6);
        axis.setRange(range.lower, range.upper);
        axis.setBasePen(QPen(quiet, 1));
        axis.setTickPen(QPen(quiet, 1));
        axis.setSubTickPen(Qt::NoPen);
        axis.setTickLength(0, grid ? 0 : 4);
        axis.setTickLabelColor(quiet);
        axis.setLabelColor(quiet);
        axis.setTickLabelFont(theme().note());
        axis.setLabelFont(theme().note());
        axis.setTickLabelPadding(4);
        axis.setLabelPadding(2);
        axis.grid()->setVisible(grid);
        axis.grid()->setPen(QPen(line, 1));
        axis.grid()->setZeroLinePen(Qt::NoPen);
        axis.grid()->setSubGridVisible(false);
    }

    void prepare(const ChartSpec& spec, int width, int height) {
        plot_.clearPlottables();
        x_ = x_range(spec);
        y_ = y_range(spec);
        // Numbers of an axis never touch each other: fewer of them where room is short.
        const double type = QFontMetricsF(theme().note()).height();
        style_axis(*plot_.xAxis, spec.log_x, x_, false, std::clamp(static_cast<int>(width / (type * 6)), 2, 7));
        style_axis(*plot_.yAxis, spec.log_y, y_, true, std::clamp(static_cast<int>(height / (type * 3.4)), 1, 5));
        plot_.xAxis->setLabel(spec.x_title.isEmpty() ? QString()
                                                     : QStringLiteral(" "));  // room; written by draw_titles
        const QFontMetricsF metrics(label_font());
        double label_width = 0;
        for (const ChartSeries& s : spec.series)
            if (!s.label.isEmpty()) label_width = std::max(label_width, metrics.horizontalAdvance(s.label) + 12);
        const double strip = QFontMetricsF(theme().note()).height() + 10;
        label_width = std::min(label_width, width * 0.5);
        plot_.axisRect()->setMargins(
            QMargins(0, static_cast<int>(strip), static_cast<int>(std::max(label_width, 10.0)), 0));
    }

    int fill(const ChartSpec& spec, int width, int height) {
        int points = 0;
        for (const ChartSeries& s : spec.series) {
            if (s.fill) points += add_area(s, spec, width);
            else {
                if (s.line) points += add_line(s, spec, width);
                if (s.mark != ChartSeries::Mark::None) points += add_marks(s, spec, width, height);
            }
        }
        return points;
    }

    QCPGraph* graph(const std::vector<int>& indices, const ChartSeries& s, const std::vector<double>& values) {
        QCPGraph* g = new PiecewiseGraph(plot_.xAxis, plot_.yAxis);  // owned by the plot
        QVector<QCPGraphData> data;
        data.reserve(static_cast<int>(indices.size()));
        constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
        for (int i : indices) {
            const bool ok = std::isfinite(s.y[i]) && std::abs(s.y[i]) < kLargestDrawn;
            data.append(QCPGraphData(std::isfinite(s.x[i]) ? s.x[i] : 0, ok ? values[i] : kGap));
        }
        g->data()->set(data, true);
        g->setAdaptiveSampling(false);
        g->setPen(Qt::NoPen);
        return g;
    }

    int add_area(const ChartSeries& s, const ChartSpec& spec, int width) {
        const auto indices = thin_out(s, x_, spec.log_x, spec.log_y, width);
        std::vector<double> base = s.base;
        base.resize(s.y.size(), spec.log_y ? y_.lower : 0.0);
        QCPGraph* bottom = graph(indices, s, base);
        QCPGraph* top = graph(indices, s, s.y);
        top->setBrush(theme().color(s.role));
        top->setPen(QPen(theme().color(Role::Card), 1));
        top->setChannelFillGraph(bottom);
        return static_cast<int>(indices.size());
    }

    int add_line(const ChartSeries& s, const ChartSpec& spec, int width) {
        const auto indices = thin_out(s, x_, spec.log_x, spec.log_y, width);
        // On a logarithmic axis a value that has no logarithm is a gap.
        std::vector<double> y = s.y;
        if (spec.log_y)
            for (double& value : y) value = drawable(value, true) ? value : std::numeric_limits<double>::quiet_NaN();
        graph(indices, s, y)->setPen(QPen(theme().color(s.role), 1.25, s.dashed ? Qt::DashLine : Qt::SolidLine));
        return static_cast<int>(indices.size());
    }

    int add_marks(const ChartSeries& s, const ChartSpec& spec, int width, int height) {
        const auto indices =
            thin_out_marks(s, x_, y_, spec.log_x, spec.log_y, width, height, kMarkSpacing * theme().type_scale());
        const double size = kMarkPixels * theme().type_scale();
        std::vector<int> solid, hollow;
        for (int i : indices) (i < static_cast<int>(s.hollow.size()) && s.hollow[i] ? hollow : solid).push_back(i);
        const QColor color = theme().color(s.role);
        const auto shape = s.mark == ChartSeries::Mark::Round ? QCPScatterStyle::ssCircle : QCPScatterStyle::ssSquare;
        const double box = s.mark == ChartSeries::Mark::Square ? size * 0.9 : size;
        for (const auto* part : {&hollow, &solid}) {
            if (part->empty()) continue;
            QCPGraph* g = graph(*part, s, s.y);
            g->setLineStyle(QCPGraph::lsNone);
            const QBrush inside = part == &solid ? QBrush(color) : QBrush(theme().color(Role::Card));
            g->setScatterStyle(QCPScatterStyle(shape, QPen(color, 1.2), inside, box));
            if (part == &solid) add_spread(s, *part, g);
        }
        return static_cast<int>(indices.size());
    }

    void add_spread(const ChartSeries& s, const std::vector<int>& indices, QCPGraph* g) {
        if (s.low.size() != s.y.size() || s.high.size() != s.y.size()) return;
        auto* bars = new QCPErrorBars(plot_.xAxis, plot_.yAxis);  // owned by the plot
        bars->setAntialiased(true);
        bars->setDataPlottable(g);
        bars->setPen(QPen(theme().color(s.role), 1));
        bars->setWhiskerWidth(5);
        bars->setSymbolGap(0);
        QVector<double> below, above;
        for (int i : indices) {
            below.append(std::isfinite(s.low[i]) ? std::max(0.0, s.y[i] - s.low[i]) : 0.0);
            above.append(std::isfinite(s.high[i]) ? std::max(0.0, s.high[i] - s.y[i]) : 0.0);
        }
        bars->setData(below, above);
    }

    // The library centres the title below the axis and cuts what is longer than it; here it may use the whole width.
    void draw_titles(QCPPainter& painter, const ChartSpec& spec, double width, double height) {
        const QFontMetricsF metrics(theme().note());
        painter.setFont(theme().note());
        painter.setPen(theme().color(Role::QuietInk));
        painter.drawText(QPointF(0, metrics.ascent() + 1), spec.y_title);
        const bool fits = metrics.horizontalAdvance(spec.x_title) <= width || spec.x_title_short.isEmpty();
        const QString title = metrics.elidedText(fits ? spec.x_title : spec.x_title_short, Qt::ElideRight, width);
        const double wide = metrics.horizontalAdvance(title);
        const double left = std::clamp(area().center().x() - wide / 2, 0.0, std::max(0.0, width - wide));
        painter.drawText(QPointF(left, height - metrics.descent() - 1), title);
    }

    struct Label {
        const ChartSeries* series;
        double centre;
        double importance;  // in pixels: thickness of an area; lines are more important than any area
    };

    std::vector<Label> labels(const ChartSpec& spec) const {
        std::vector<Label> all;
        for (const ChartSeries& s : spec.series) {
            if (s.label.isEmpty()) continue;
            for (int i = static_cast<int>(std::min(s.x.size(), s.y.size())) - 1; i >= 0; --i) {
                if (!drawable(s.x[i], spec.log_x) || !drawable(s.y[i], spec.log_y)) continue;
                const double top = plot_.yAxis->coordToPixel(s.y[i]);
                const double bottom =
                    s.fill ? plot_.yAxis->coordToPixel(i < static_cast<int>(s.base.size()) ? s.base[i] : 0) : top;
                all.push_back({&s, (top + bottom) / 2, s.fill ? bottom - top : 1e9});
                break;
            }
        }
        return all;
    }

    // At the right ends; the least important drop out when there is no room for all.
    void draw_labels(QCPPainter& painter, const ChartSpec& spec) {
        const QFontMetricsF metrics(label_font());
        const QRectF rect = area();
        std::vector<Label> shown = labels(spec);
        while (shown.size() > 1 && static_cast<double>(shown.size()) * metrics.height() > rect.height() + 12)
            shown.erase(std::min_element(shown.begin(), shown.end(),
                                         [](const Label& a, const Label& b) { return a.importance < b.importance; }));
        std::vector<double> centres;
        for (const Label& label : shown) centres.push_back(label.centre);
        centres = spread_labels(centres, metrics.height(), rect.top() - 8, rect.bottom() + 8);
        const double room = plot_.axisRect()->margins().right() - 8;
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const QString& text = shown[i].series->label;
            // A label ends with its number: smaller type before it is cut.
            QFont font = label_font();
            if (const double width = metrics.horizontalAdvance(text); width > room)
                font.setPixelSize(std::max(font.pixelSize() * 2 / 3, static_cast<int>(font.pixelSize() * room / width)));
            const QFontMetricsF used(font);
            painter.setFont(font);
            painter.setPen(label_color(shown[i].series->role));
            painter.drawText(QPointF(rect.right() + 8, centres[i] + (used.ascent() - used.descent()) / 2),
                             used.elidedText(text, Qt::ElideRight, room));
        }
    }

    void draw_empty(QCPPainter& painter, const ChartSpec& spec, const QRectF& rect) {
        painter.setFont(theme().body());
        painter.setPen(theme().color(Role::QuietInk));
        painter.drawText(rect.adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap, spec.empty_text);
    }

    mutable QCustomPlot plot_;
    AxisRange x_, y_;
    bool ticker_is_log_[2] = {false, false};
};

ChartPlotter::ChartPlotter() : d_(std::make_unique<Private>()) {}
ChartPlotter::~ChartPlotter() = default;

int ChartPlotter::draw(const ChartSpec& spec, const QSizeF& size, QPaintDevice& device, Target target) {
    return d_->draw(spec, size, device, target);
}

QRectF ChartPlotter::area() const { return d_->area(); }
double ChartPlotter::to_x(double pixel) const { return d_->plot_.xAxis->pixelToCoord(pixel); }
double ChartPlotter::from_x(double x) const { return d_->plot_.xAxis->coordToPixel(x); }

}  // namespace decodescope
