#include "ui/panels/happened/probability_bars.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/viewmodels/format.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/theme.h"

namespace decodescope {

ProbabilityBars::ProbabilityBars(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(tr("Probabilities of the next token"));
}

QSize ProbabilityBars::sizeHint() const { return {400, theme().grid() * 20}; }
QSize ProbabilityBars::minimumSizeHint() const { return {160, theme().grid() * 4}; }

void ProbabilityBars::set_bars(std::vector<ProbabilityBar> bars, const QString& empty_text) {
    bars_ = std::move(bars);
    empty_text_ = empty_text;
    QStringList words;
    for (const ProbabilityBar& bar : bars_)
        words << bar.token + QLatin1Char(' ') + format_weight(bar.probability) +
                     (bar.chosen ? tr(" (chosen)") : QString());
    setAccessibleDescription(words.join(QStringLiteral(", ")));
    setToolTip(words.join(QStringLiteral("\n")));
    update();
}

void ProbabilityBars::paint(QPainter& painter, const QRectF& area, const std::vector<ProbabilityBar>& bars) {
    if (bars.empty()) return;
    const double row = std::max(text_height(theme().body()), theme().grid() * 2.0);
    const auto fitting = std::clamp<std::size_t>(
        static_cast<std::size_t>(std::max(1.0, std::floor(area.height() / row))), 1, bars.size());
    std::vector<const ProbabilityBar*> shown;
    for (const ProbabilityBar& bar : bars)
        if (shown.size() < fitting) shown.push_back(&bar);
        else if (bar.chosen) shown.back() = &bar;
    double words = 0;
    for (const ProbabilityBar* bar : shown) words = std::max(words, text_width(theme().body(), bar->token));
    words = std::min(words, area.width() * 0.35);
    const double number = text_width(theme().note(), QStringLiteral("0.000") + tr("  chosen")) + 8,
                 left = area.left() + words + 12;
    const double room = std::max(8.0, area.right() - left - number - 8);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const ProbabilityBar& bar = *shown[i];
        const QRectF line(area.left(), area.top() + static_cast<double>(i) * row, area.width(), row);
        paint_text(painter, QRectF(line.left(), line.top(), words, row), Qt::AlignRight | Qt::AlignVCenter, bar.token,
                   theme().body(), theme().color(Role::Ink));
        const double length = std::max(1.5, room * std::clamp(bar.probability, 0.0, 1.0));
        const QRectF box(left, line.top() + row * 0.2, length, row * 0.6);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme().color(Role::Generated));
        painter.drawRoundedRect(box, 2, 2);
        if (bar.chosen) paint_ring(painter, box, 1.5, 2);
        paint_text(painter, QRectF(box.right() + 8, line.top(), number + 40, row), Qt::AlignLeft | Qt::AlignVCenter,
                   format_weight(bar.probability) + (bar.chosen ? tr("  chosen") : QString()), theme().note(),
                   theme().color(Role::QuietInk));
    }
    painter.restore();
}

void ProbabilityBars::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (bars_.empty())
        paint_text(painter, rect(), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, empty_text_, theme().body(),
                   theme().color(Role::QuietInk));
    else paint(painter, rect(), bars_);
}

}  // namespace decodescope
