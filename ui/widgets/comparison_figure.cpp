#include "ui/widgets/comparison_figure.h"

#include <QCoreApplication>
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>

#include "ui/viewmodels/format.h"
#include "ui/widgets/painting.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(ComparisonFigure)
};

enum class Measure { Time, Memory, Copied, Logits };
constexpr std::array kMeasures = {Measure::Time, Measure::Memory, Measure::Copied, Measure::Logits};

constexpr double kLeastDifference = 1e-8;  // left end of the logarithmic scale; smaller ones are drawn there

QString title(Measure measure) {
    switch (measure) {
        case Measure::Time: return Text::tr("ms per step: median, middle half");
        case Measure::Memory: return Text::tr("KV bytes: used, reserved, line: peak");
        case Measure::Copied: return Text::tr("bytes copied to grow");
        case Measure::Logits: return Text::tr("largest logit difference, log scale");
    }
    return {};
}

Spread step_spread(const CompareLane& lane) {
    std::vector<double> micros;
    for (std::size_t p = 1; p < lane.passes.size(); ++p)
        if (!lane.passes[p].warm_up) micros.push_back(lane.passes[p].micros);
    return middle_half_of(std::move(micros));
}

QString small_number(double value) { return value == 0 ? QStringLiteral("0") : QString::number(value, 'g', 2); }

QString words(Measure measure, const CompareLane& lane, bool reference) {
    switch (measure) {
        case Measure::Time: {
            const Spread spread = step_spread(lane);
            if (lane.decode_steps == 0) return Text::tr("n/a: no step was timed");
            return Text::tr("%1 (%2 to %3)")
                .arg(QString::number(spread.median / 1000, 'f', 3), QString::number(spread.lowest / 1000, 'f', 3),
                     QString::number(spread.highest / 1000, 'f', 3));
        }
        case Measure::Memory:
            return Text::tr("%1 of %2, peak %3")
                .arg(format_bytes(lane.kv_bytes_used), format_bytes(lane.kv_bytes_reserved),
                     format_bytes(lane.kv_bytes_peak));
        case Measure::Copied: return lane.kv_bytes_copied == 0 ? Text::tr("nothing") : format_bytes(lane.kv_bytes_copied);
        case Measure::Logits:
            if (reference) return Text::tr("the reference");
            return lane.max_abs_logit_diff == 0 ? Text::tr("0, bit for bit")
                                                : Text::tr("%1, KL %2").arg(small_number(lane.max_abs_logit_diff),
                                                                            small_number(lane.max_kl));
    }
    return {};
}

// Where the figure's parts lie for a width.
struct Layout {
    // Rows use the height that there is, as far as it helps; 0: as much as they want.
    Layout(double width, double height, const CompareResult& result) {
        const int grid = theme().grid();
        text = text_height(theme().note());
        per_row = width >= grid * 130 ? 4 : width >= grid * 44 ? 2 : 1;
        row = grid + text + grid * 1.5;
        head = text + grid;
        for (std::size_t i = 0; i < result.lanes.size(); ++i)
            names = std::max(names, text_width(theme().body(), label(result, i)));
        names = std::min(names, width * (per_row == 4 ? 0.18 : 0.3)) + grid * 1.5;
        column = std::max(40.0, (width - names) / per_row);
        const double lanes = static_cast<double>(result.lanes.size());
        const double room = (height / blocks() - head - grid) / std::max(lanes, 1.0);
        row = std::clamp(room, row, row * 1.6);
        block = head + row * lanes + grid;
    }
    static QString label(const CompareResult& result, std::size_t lane) {
        return QStringLiteral("%1  %2").arg(lane + 1).arg(QString::fromStdString(result.lanes[lane].name));
    }
    int blocks() const { return (static_cast<int>(kMeasures.size()) + per_row - 1) / per_row; }
    double height() const { return block * blocks(); }

    int per_row = 4;
    double text = 0, row = 0, head = 0, names = 0, column = 0, block = 0;
};

class Painting {
public:
    Painting(QPainter& painter, const CompareResult& result) : painter_(painter), result_(result) {}

    // `bar` is the strip of one row in which the value is drawn.
    void draw(Measure measure, std::size_t lane_index, const QRectF& bar) {
        const CompareLane& lane = result_.lanes[lane_index];
        painter_.fillRect(QRectF(bar.left(), bar.bottom(), bar.width(), 1), theme().color(Role::Line));
        switch (measure) {
            case Measure::Time: return draw_time(lane, bar);
            case Measure::Memory: return draw_memory(lane, bar);
            case Measure::Copied:
                return fill(bar, 0, part(lane.kv_bytes_copied, largest(&CompareLane::kv_bytes_copied)),
                            theme().color(Role::QuietInk));
            case Measure::Logits:
                if (lane_index > 0) draw_logits(lane, bar);
        }
    }

private:
    std::int64_t largest(std::int64_t CompareLane::* member) const {
        std::int64_t most = 0;
        for (const CompareLane& lane : result_.lanes) most = std::max(most, lane.*member);
        return most;
    }
    static double part(std::int64_t value, std::int64_t most) {
        return most <= 0 ? 0 : static_cast<double>(value) / static_cast<double>(most);
    }
    void fill(const QRectF& bar, double from, double to, const QColor& color) {
        if (to > from) painter_.fillRect(QRectF(bar.left() + from * bar.width(), bar.top(), (to - from) * bar.width(),
                                                bar.height()), color);
    }
    void line_at(const QRectF& bar, double at, const QColor& color) {
        painter_.fillRect(QRectF(bar.left() + at * bar.width() - 1, bar.top() - 1, 2, bar.height() + 2), color);
    }

    void draw_time(const CompareLane& lane, const QRectF& bar) {
        double most = 0;
        for (const CompareLane& other : result_.lanes) most = std::max(most, step_spread(other).highest);
        const Spread spread = step_spread(lane);
        if (!(most > 0) || lane.decode_steps == 0) return;
        const StrategyDescriptor* strategy = find_strategy(lane.config.cache.id);
        const bool cached = strategy == nullptr || strategy->has_cache;
        const QColor color = theme().color(cached ? Role::Cached : Role::Recompute);
        const auto x = [&](double micros) { return bar.left() + micros / most * (bar.width() - 4); };
        const double y = bar.center().y(), radius = bar.height() * 0.45;
        painter_.setPen(QPen(color, 2));
        painter_.drawLine(QPointF(x(spread.lowest), y), QPointF(x(spread.highest), y));
        painter_.setPen(Qt::NoPen);
        painter_.setBrush(color);
        const QRectF mark(x(spread.median) - radius, y - radius, 2 * radius, 2 * radius);
        cached ? painter_.drawEllipse(mark) : painter_.drawRect(mark);
    }

    void draw_memory(const CompareLane& lane, const QRectF& bar) {
        const std::int64_t most = std::max(largest(&CompareLane::kv_bytes_peak), largest(&CompareLane::kv_bytes_reserved));
        const double used = part(lane.kv_bytes_used, most), reserved = part(lane.kv_bytes_reserved, most);
        fill(bar, used, reserved, theme().color(Role::Reserved));
        fill(bar, 0, used, theme().color(Role::K));
        if (lane.kv_bytes_peak > 0) line_at(bar, part(lane.kv_bytes_peak, most), theme().color(Role::Ink));
    }

    void draw_logits(const CompareLane& lane, const QRectF& bar) {
        double most = 1;
        for (const CompareLane& other : result_.lanes) most = std::max(most, other.max_abs_logit_diff);
        if (!(lane.max_abs_logit_diff > 0)) return;
        const double at = std::log(std::max(lane.max_abs_logit_diff, kLeastDifference) / kLeastDifference) /
                          std::log(most / kLeastDifference);
        line_at(bar, std::clamp(at, 0.0, 1.0), theme().color(Role::Ink));
    }

    QPainter& painter_;
    const CompareResult& result_;
};

}  // namespace

double comparison_height(double width, const CompareResult& result) { return Layout(width, 0, result).height(); }

void paint_comparison(QPainter& painter, const QRectF& area, const CompareResult& result) {
    const Layout layout(area.width(), area.height(), result);
    const double grid = theme().grid();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    Painting painting(painter, result);
    for (std::size_t m = 0; m < kMeasures.size(); ++m) {
        const int block = static_cast<int>(m) / layout.per_row, column = static_cast<int>(m) % layout.per_row;
        const double top = area.top() + block * layout.block;
        const double left = area.left() + layout.names + column * layout.column;
        const double width = layout.column - grid * 2;
        paint_text(painter, QRectF(left, top, width, layout.text), Qt::AlignLeft | Qt::AlignVCenter,
                   title(kMeasures[m]), theme().note(), theme().color(Role::QuietInk));
        for (std::size_t i = 0; i < result.lanes.size(); ++i) {
            const double y = top + layout.head + layout.row * static_cast<double>(i);
            if (column == 0)
                paint_text(painter, QRectF(area.left(), y - grid / 4, layout.names - grid, grid + layout.text),
                           Qt::AlignLeft | Qt::AlignVCenter, Layout::label(result, i), theme().body(),
                           theme().color(Role::Ink));
            painting.draw(kMeasures[m], i, QRectF(left, y, width, grid));
            paint_text(painter, QRectF(left, y + grid + 2, width, layout.text), Qt::AlignLeft | Qt::AlignVCenter,
                       words(kMeasures[m], result.lanes[i], i == 0), theme().note(), theme().color(Role::Ink));
        }
    }
    painter.restore();
}

ComparisonFigure::ComparisonFigure(QWidget* parent) : QWidget(parent) {
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setAccessibleName(Text::tr("Time, memory, copies and logits of every configuration"));
}

void ComparisonFigure::set_result(std::shared_ptr<const CompareResult> result) {
    result_ = std::move(result);
    updateGeometry();
    update();
}

int ComparisonFigure::heightForWidth(int width) const {
    return result_ == nullptr ? theme().grid() * 12 : static_cast<int>(std::ceil(comparison_height(width, *result_)));
}

void ComparisonFigure::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (result_ != nullptr) {
        paint_comparison(painter, QRectF(rect()), *result_);
        return;
    }
    paint_empty(painter, QRectF(rect()), Text::tr("Nothing compared yet"),
                Text::tr("Choose up to four configurations and press Start: they run on the current prompt, step by step "
                         "in turn."));
}

}  // namespace decodescope
