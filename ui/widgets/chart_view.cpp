#include "ui/widgets/chart_view.h"

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

#include <QMouseEvent>
#include <algorithm>
#include <cmath>

#include "ui/widgets/paint_relay.h"

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

}  // namespace

// Owns the plot of the library, which is never shown: it lays out and draws into whatever painter it is given.
class ChartView::Plotter {
public:
    Plotter() {
        plot_.setAttribute(Qt::WA_DontShowOnScreen);
        plot_.setLocale(QLocale::c());
        plot_.setBackground(QBrush(Qt::NoBrush));
        plot_.setAutoAddPlottableToLegend(false);
        plot_.axisRect()->setAutoMargins(QCP::msLeft | QCP::msBottom);
        plot_.axisRect()->setMinimumMargins(QMargins(24, 0, 0, 16));
        plot_.setNotAntialiasedElements(QCP::aeAxes | QCP::aeGrid);
        plot_.setAntialiasedElements(QCP::aePlottables | QCP::aeScatters);
    }

    // Returns the points that were handed to the library.
    int draw(const ChartSpec& spec, const QSizeF& size,
             const std::function<void(const std::function<void(QCPPainter&)>&)>& with_painter) {
        const int width = std::max(1, static_cast<int>(size.width())),
                  height = std::max(1, static_cast<int>(size.height()));
        prepare(spec, width, height);
        const int points = fill(spec, width, height);
        with_painter([&](QCPPainter& painter) {
            plot_.toPainter(&painter, width, height);
            draw_y_title(painter, spec);
            draw_labels(painter, spec);
            if (points == 0) draw_empty(painter, spec);
        });
        return points;
    }

    QRectF area() const { return plot_.axisRect()->rect(); }
    double to_x(double pixel) const { return plot_.xAxis->pixelToCoord(pixel); }
    double from_x(double x) const { return plot_.xAxis->coordToPixel(x); }

private:
    void style_axis(QCPAxis& axis, bool log, const AxisRange& range, bool grid, int ticks) {
        const QColor line = theme().color(Role::Line), quiet = theme().color(Role::QuietInk);
        axis.setScaleType(log ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
        if (log != (ticker_is_log_[grid])) {
            if (log) axis.setTicker(QSharedPointer<QCPAxisTickerLog>::create());
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
        plot_.xAxis->setLabel(spec.x_title);
        const QFontMetricsF metrics(label_font());
        double label_width = 0;
        for (const ChartSeries& s : spec.series)
            if (!s.label.isEmpty()) label_width = std::max(label_width, metrics.horizontalAdvance(s.label) + 12);
        const double strip = QFontMetricsF(theme().note()).height() + 6;
        label_width = std::min(label_width, width * 0.45);
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
        QCPGraph* g = plot_.addGraph();
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

    void draw_y_title(QCPPainter& painter, const ChartSpec& spec) {
        painter.setFont(theme().note());
        painter.setPen(theme().color(Role::QuietInk));
        painter.drawText(QPointF(0, QFontMetricsF(theme().note()).ascent() + 1), spec.y_title);
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
        painter.setFont(label_font());
        for (std::size_t i = 0; i < shown.size(); ++i) {
            painter.setPen(label_color(shown[i].series->role));
            painter.drawText(QPointF(rect.right() + 8, centres[i] + (metrics.ascent() - metrics.descent()) / 2),
                             shown[i].series->label);
        }
    }

    void draw_empty(QCPPainter& painter, const ChartSpec& spec) {
        painter.setFont(theme().body());
        painter.setPen(theme().color(Role::QuietInk));
        painter.drawText(area().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap, spec.empty_text);
    }

    mutable QCustomPlot plot_;
    AxisRange x_, y_;
    bool ticker_is_log_[2] = {false, false};
};

ChartView::ChartView(QWidget* parent) : QWidget(parent), plotter_(std::make_unique<Plotter>()) {
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

ChartView::~ChartView() = default;

void ChartView::set_spec(ChartSpec spec) {
    spec_ = std::move(spec);
    stale_ = true;
    update();
}

void ChartView::set_marker(double x) {
    spec_.marker_x = x;
    update();
}

void ChartView::theme_changed() {
    stale_ = true;
    update();
}

QRectF ChartView::plot_area() const { return plotter_->area(); }

void ChartView::paint(QPainter& painter, const QRectF& area) const {
    painter.save();
    painter.translate(area.topLeft());
    Plotter plotter;  // apart from the one on screen, whose layout the overlay reads
    drawn_points_ = plotter.draw(spec_, area.size(), [&](const std::function<void(QCPPainter&)>& draw) {
        PaintRelay relay(painter, area.size(), PaintRelay::Text::AsText);
        QCPPainter inner(&relay);
        draw(inner);
    });
    painter.restore();
}

void ChartView::paintEvent(QPaintEvent*) {
    const qreal ratio = devicePixelRatioF();
    const QSize wanted = size() * ratio;
    if (stale_ || image_.size() != wanted) {
        image_ = QPixmap(wanted);
        image_.setDevicePixelRatio(ratio);
        image_.fill(Qt::transparent);
        drawn_points_ = plotter_->draw(spec_, size(), [&](const std::function<void(QCPPainter&)>& draw) {
            QCPPainter inner(&image_);
            draw(inner);
        });
        stale_ = false;
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, image_);
    draw_overlay(painter);
}

void ChartView::draw_overlay(QPainter& painter) const {
    if (drawn_points_ == 0) return;
    const QRectF area = plot_area();
    const auto vertical = [&](double x, const QPen& pen) {
        const double pixel = std::floor(plotter_->from_x(x)) + 0.5;
        if (!std::isfinite(pixel) || pixel < area.left() || pixel > area.right() + 1) return;
        painter.setPen(pen);
        painter.drawLine(QPointF(pixel, area.top()), QPointF(pixel, area.bottom()));
    };
    if (std::isfinite(spec_.marker_x)) vertical(spec_.marker_x, QPen(theme().color(Role::Ring), 1));
    if (!std::isfinite(hover_x_)) return;
    vertical(hover_x_, QPen(theme().color(Role::QuietInk), 1, Qt::DotLine));
    if (!readout_) return;
    painter.setFont(theme().note());
    painter.setPen(theme().color(Role::Ink));
    painter.drawText(QRectF(0, 0, width(), area.top()), Qt::AlignRight | Qt::AlignTop, readout_(hover_x_));
}

double ChartView::x_at(double pixel) const {
    const QRectF area = plot_area();
    if (drawn_points_ == 0 || pixel < area.left() - 4 || pixel > area.right() + 4)
        return std::numeric_limits<double>::quiet_NaN();
    return plotter_->to_x(pixel);
}

void ChartView::mouseMoveEvent(QMouseEvent* event) {
    const double before = hover_x_;
    hover_x_ = x_at(event->position().x());
    if (std::isfinite(hover_x_)) Q_EMIT hovered(hover_x_);
    else if (std::isfinite(before)) Q_EMIT hover_ended();
    update();
}

void ChartView::mousePressEvent(QMouseEvent* event) {
    const double x = x_at(event->position().x());
    if (event->button() == Qt::LeftButton && std::isfinite(x)) Q_EMIT clicked(x);
}

void ChartView::leaveEvent(QEvent*) {
    if (!std::isfinite(hover_x_)) return;
    hover_x_ = std::numeric_limits<double>::quiet_NaN();
    Q_EMIT hover_ended();
    update();
}

void ChartView::resizeEvent(QResizeEvent*) { stale_ = true; }

}  // namespace decodescope
