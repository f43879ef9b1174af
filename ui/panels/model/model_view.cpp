#include "ui/panels/model/model_view.h"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QPaintEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/viewmodels/format.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/view_events.h"

namespace decodescope {
namespace {

constexpr double kTwoColumnsFrom = 620;  // pixels at scale 1
constexpr double kPadding = 8, kGap = 7, kArrow = 12, kRail = 22;

double unit() { return theme().type_scale(); }

QColor tone_color(CardTone tone) {
    const Theme& t = theme();
    switch (tone) {
        case CardTone::Query: return t.color(Role::Ink);
        case CardTone::Key: return t.color(Role::K);
        case CardTone::Value: return t.color(Role::V);
        case CardTone::Plain: break;
    }
    return t.color(Role::QuietInk);
}

QColor tone_text(CardTone tone) {
    const Theme& t = theme();
    return tone == CardTone::Key     ? t.text(Role::K)
           : tone == CardTone::Value ? t.text(Role::V)
                                     : t.color(Role::Ink);
}

double wrapped_height(const QFont& font, const QString& text, double width) {
    if (text.isEmpty()) return 0;
    return std::ceil(
        QFontMetricsF(font).boundingRect(QRectF(0, 0, width, 1e5), Qt::AlignLeft | Qt::TextWordWrap, text).height());
}

void rounded(QPainter& painter, const QRectF& rect, const QColor& fill, const QColor& line) {
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(line, 1));
    painter.setBrush(fill);
    painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
}

}  // namespace

ModelView::ModelView(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Model card: the shapes of the model and its cache"));
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void ModelView::set_card(const ModelCard& card) {
    card_ = card;
    setAccessibleDescription(model_card_words(card_));
    updateGeometry();
    update();
}

int ModelView::heightForWidth(int width) const { return static_cast<int>(std::ceil(height_for(width))); }

double ModelView::height_for(double width) const { return whole({nullptr, nullptr, 0, 0, width}); }

void ModelView::paint_card(QPainter& painter, const QRectF& area) const {
    painter.save();
    painter.fillRect(area, theme().color(Role::Card));
    // On a page of a given size everything is made to fit: a card has no smaller form.
    const double natural = std::max(area.width(), (kTwoColumnsFrom + 20) * unit()), needed = height_for(natural);
    const double scale = std::min(area.width() / natural, area.height() / std::max(1.0, needed));
    painter.translate(area.left() + (area.width() - natural * scale) / 2, area.top());
    painter.scale(scale, scale);
    whole({&painter, nullptr, 0, 0, natural});
    painter.restore();
}

double ModelView::whole(Pen pen) const {
    if (card_.local.empty()) return 0;
    const Theme& t = theme();
    const double top = pen.top;
    pen.top += words(pen, card_.summary, t.body(), t.color(Role::Ink)) + kGap;
    if (pen.width < kTwoColumnsFrom * unit()) {
        pen.top += diagram(pen) + 2 * kGap;
        return pen.top + facts(pen) + kGap - top;
    }
    const double gutter = 3 * t.grid(), left = std::round(pen.width * 0.54 - gutter / 2);
    Pen right = pen;
    pen.width = std::min(left, 480 * unit());
    right.left += pen.width + gutter;
    right.width = std::min(right.width - pen.width - gutter, 520 * unit());
    return pen.top - top + std::max(diagram(pen), facts(right)) + kGap;
}

double ModelView::words(Pen pen, const QString& text, const QFont& font, const QColor& color) const {
    const double height = wrapped_height(font, text, pen.width);
    if (pen.painter != nullptr)
        paint_text(*pen.painter, QRectF(pen.left, pen.top, pen.width, height),
                   Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, text, font, color);
    return height;
}

double ModelView::heading(Pen pen, const QString& text, const QString& term) const {
    const double height = words(pen, text, theme().title(), theme().color(Role::Ink));
    if (pen.spots != nullptr) pen.spots->push_back({QRectF(pen.left, pen.top, pen.width, height), term});
    return height + 4;
}

// ---- the diagram

double ModelView::diagram(Pen pen) const {
    const double top = pen.top;
    pen.top += boxes(pen, card_.before, kArrow) + kArrow;
    arrow(pen, pen.left + pen.width / 2, pen.top - kArrow, pen.top);
    pen.top += layer(pen) + kArrow;
    arrow(pen, pen.left + pen.width / 2, pen.top - kArrow, pen.top);
    return pen.top + boxes(pen, card_.after, kArrow) - top;
}

double ModelView::boxes(Pen pen, const std::vector<CardBox>& list, double gap) const {
    const double top = pen.top;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (i > 0) {
            arrow(pen, pen.left + pen.width / 2, pen.top, pen.top + gap);
            pen.top += gap;
        }
        pen.top += box(pen, list[i]);
    }
    return pen.top - top;
}

double ModelView::box(Pen pen, const CardBox& content) const {
    Pen inner = pen;
    inner.left += kPadding;
    inner.top += kPadding - 2;
    inner.width -= 2 * kPadding;
    Pen measure = inner;
    measure.painter = nullptr;
    const double height = box_text(measure, content) + 2 * (kPadding - 2);
    const QRectF rect(pen.left, pen.top, pen.width, height);
    if (pen.spots != nullptr) pen.spots->push_back({rect, content.term});
    if (pen.painter != nullptr) {
        const Theme& t = theme();
        rounded(*pen.painter, rect, t.color(Role::Background), t.color(Role::Line));
        box_text(inner, content);
    }
    return height;
}

// Title and parameters on one line, what it does below, then its columns.
double ModelView::box_text(Pen pen, const CardBox& content) const {
    const Theme& t = theme();
    const double top = pen.top, line = std::ceil(text_height(t.body()));
    if (pen.painter != nullptr) {
        const QString parameters = content.parameters > 0 ? format_count(content.parameters) : QString();
        const double number = text_width(t.note(), parameters);
        const QRectF row(pen.left, pen.top, pen.width, line);
        paint_text(*pen.painter, row.adjusted(0, 0, -number - 8, 0), Qt::AlignLeft | Qt::AlignVCenter, content.title,
                   t.body(), t.color(Role::Ink));
        paint_text(*pen.painter, row, Qt::AlignRight | Qt::AlignVCenter, parameters, t.note(), t.color(Role::QuietInk));
    }
    pen.top += line;
    pen.top += words(pen, content.detail, t.note(), t.color(Role::QuietInk));
    if (!content.cells.empty()) pen.top += 4 + cells({pen.painter, pen.spots, pen.left, pen.top + 4, pen.width}, content.cells);
    return pen.top - top;
}

double ModelView::cells(Pen pen, const std::vector<CardCell>& list) const {
    const Theme& t = theme();
    const double line = std::ceil(text_height(t.note())), height = 2 * line + 6, gap = 4;
    const double room = pen.width - gap * static_cast<double>(list.size() - 1);
    // By weight while every figure can be read; else all alike.
    double total = 0;
    bool readable = true;
    for (const CardCell& cell : list) total += cell.weight;
    for (const CardCell& cell : list)
        readable = readable && text_width(t.note(), cell.detail) + 8 <= room * cell.weight / total;
    double x = pen.left;
    for (const CardCell& cell : list) {
        const double share = readable ? cell.weight / total : 1.0 / static_cast<double>(list.size());
        const QRectF rect(x, pen.top, room * share, height);
        x = rect.right() + gap;
        if (pen.painter == nullptr) continue;
        const bool colored = cell.tone == CardTone::Key || cell.tone == CardTone::Value;
        const QColor tone = colored ? tone_color(cell.tone) : t.color(Role::Line);
        rounded(*pen.painter, rect, colored ? mixed(t.color(Role::Card), tone, 0.14f) : t.color(Role::Card), tone);
        paint_text(*pen.painter, QRectF(rect.left() + 4, rect.top() + 3, rect.width() - 8, line), Qt::AlignCenter,
                   cell.title, t.note(), tone_text(cell.tone));
        paint_text(*pen.painter, QRectF(rect.left() + 4, rect.top() + 3 + line, rect.width() - 8, line),
                   Qt::AlignCenter, cell.detail, t.note(), t.color(Role::Ink));
    }
    return height;
}

// One of the two halves of a layer, to the right of the rail on which the row itself runs.
double ModelView::branch(Pen pen, const std::vector<CardBox>& list) const { return boxes(pen, list, kGap); }

double ModelView::layer(Pen pen) const {
    const Theme& t = theme();
    const double top = pen.top, line = std::ceil(text_height(t.note())), frame_padding = 10;
    Pen inner = pen;
    inner.left += frame_padding + kRail;
    inner.width -= 2 * frame_padding + kRail;
    inner.top += frame_padding + line + 4;
    const double rail = pen.left + frame_padding + 6;
    Pen measure = inner;
    measure.painter = nullptr;
    measure.spots = nullptr;
    std::vector<double> joins;  // where a half is added to the row
    const double half = (inner.width - kGap) / 2;
    const bool beside = card_.parallel && half > 150 * unit();
    if (beside) {
        measure.width = half;
        joins = {inner.top + std::max(branch(measure, card_.attention), branch(measure, card_.feed_forward)) + kArrow};
    } else {
        const double first = branch(measure, card_.attention), second = branch(measure, card_.feed_forward);
        joins = {inner.top + first + kArrow, inner.top + first + second + 3 * kArrow + 4};
    }
    const double bottom = joins.back() + kArrow;
    if (pen.painter != nullptr) {
        rounded(*pen.painter, QRectF(pen.left, pen.top, pen.width, bottom - top), t.color(Role::Card),
                t.color(Role::QuietInk));
        const QString title = card_.parallel ? tr("%1 × this layer; attention and MLP read the same row")
                                             : tr("%1 × this layer; attention first, then the MLP");
        paint_text(*pen.painter, QRectF(inner.left - kRail + 16, top + 8, inner.width + kRail - 16, line),
                   Qt::AlignLeft | Qt::AlignVCenter, title.arg(card_.local.size()), t.note(), t.color(Role::Ink));
        pen.painter->setPen(QPen(t.color(Role::QuietInk), 1.4));
        pen.painter->drawLine(QPointF(rail, top + 8), QPointF(rail, bottom));
    }
    std::vector<QPointF> ends;  // below the halves
    const auto draw = [&](const std::vector<CardBox>& list) {
        const double height = branch(inner, list);
        ends.emplace_back(inner.left + inner.width - 20, inner.top + height);
        return height;
    };
    if (beside) {
        inner.width = half;
        draw(card_.attention);
        inner.left += half + kGap;
        draw(card_.feed_forward);
    } else {
        inner.top += draw(card_.attention) + 2 * kArrow + 4;
        draw(card_.feed_forward);
    }
    if (pen.painter == nullptr) return bottom - top;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const double y = joins[std::min(i, joins.size() - 1)];
        pen.painter->setPen(QPen(t.color(Role::QuietInk), 1.2));
        pen.painter->drawLine(ends[i] + QPointF(0, 1), QPointF(ends[i].x(), y));
        pen.painter->drawLine(QPointF(ends[i].x(), y), QPointF(rail + 6, y));
    }
    for (const double y : joins) plus(pen, QPointF(rail, y));
    return bottom - top;
}

void ModelView::arrow(const Pen& pen, double x, double from, double to) const {
    if (pen.painter == nullptr) return;
    const QColor ink = theme().color(Role::QuietInk);
    pen.painter->setRenderHint(QPainter::Antialiasing);
    pen.painter->setPen(QPen(ink, 1.2));
    pen.painter->drawLine(QPointF(x, from), QPointF(x, to - 3));
    pen.painter->setPen(Qt::NoPen);
    pen.painter->setBrush(ink);
    const QPointF head[] = {{x, to}, {x - 3, to - 4}, {x + 3, to - 4}};
    pen.painter->drawConvexPolygon(head, 3);
}

void ModelView::plus(const Pen& pen, const QPointF& middle) const {
    const Theme& t = theme();
    pen.painter->setRenderHint(QPainter::Antialiasing);
    pen.painter->setPen(QPen(t.color(Role::QuietInk), 1.2));
    pen.painter->setBrush(t.color(Role::Card));
    pen.painter->drawEllipse(middle, 6, 6);
    pen.painter->drawLine(middle - QPointF(3, 0), middle + QPointF(3, 0));
    pen.painter->drawLine(middle - QPointF(0, 3), middle + QPointF(0, 3));
}

// ---- parts, layers, cache

double ModelView::facts(Pen pen) const {
    const Theme& t = theme();
    const double top = pen.top;
    pen.top += heading(pen, tr("Parameters"), QStringLiteral("weights"));
    pen.top += part_bars(pen) + 2 * kGap;
    pen.top += heading(pen, card_.window > 0 ? tr("Layers: what each sees and keeps") : tr("Layers: all are alike"),
                       card_.window > 0 ? QStringLiteral("local-layer") : QStringLiteral("layer"));
    pen.top += layer_strip(pen) + 2 * kGap;
    pen.top += heading(pen, tr("KV cache [derived]"), QStringLiteral("kv-cache"));
    for (const QString& line : card_.cache_lines)
        pen.top += words(pen, line, t.note(), t.color(Role::Ink)) + 3;
    return pen.top - top;
}

// A bar for each part, all on one scale.
double ModelView::part_bars(Pen pen) const {
    const Theme& t = theme();
    const double line = std::ceil(text_height(t.note())), row = line + 11;
    std::int64_t largest = 1;
    for (const CardPart& part : card_.parts) largest = std::max(largest, part.parameters);
    for (std::size_t i = 0; i < card_.parts.size() && pen.painter != nullptr; ++i) {
        const CardPart& part = card_.parts[i];
        const double y = pen.top + row * static_cast<double>(i);
        const double share = 100.0 * static_cast<double>(part.parameters) / static_cast<double>(card_.parameters);
        const QString number =
            QStringLiteral("%1 · %2 %").arg(format_count(part.parameters)).arg(share, 0, 'f', share < 10 ? 1 : 0);
        const double wide = text_width(t.note(), number);
        paint_text(*pen.painter, QRectF(pen.left, y, pen.width - wide - 8, line), Qt::AlignLeft | Qt::AlignVCenter,
                   part.name, t.note(), tone_text(part.tone));
        paint_text(*pen.painter, QRectF(pen.left, y, pen.width, line), Qt::AlignRight | Qt::AlignVCenter, number,
                   t.note(), t.color(Role::QuietInk));
        const double length = pen.width * static_cast<double>(part.parameters) / static_cast<double>(largest);
        pen.painter->fillRect(QRectF(pen.left, y + line + 1, pen.width, 4), t.color(Role::Background));
        pen.painter->fillRect(QRectF(pen.left, y + line + 1, std::max(1.0, length), 4), tone_color(part.tone));
    }
    return row * static_cast<double>(card_.parts.size());
}

// A square for each layer: filled ones see everything, those with a part filled a window; below it what each kind keeps.
double ModelView::layer_strip(Pen pen) const {
    const Theme& t = theme();
    const double top = pen.top, gap = 3, least = 9 * unit();
    const auto layers = static_cast<int>(card_.local.size());
    const int columns = std::clamp(static_cast<int>((pen.width + gap) / (least + gap)), 1, std::max(1, layers));
    const double side = std::min(16 * unit(), (pen.width + gap) / columns - gap);
    const int per_row = std::clamp(static_cast<int>((pen.width + gap) / (side + gap)), 1, std::max(1, layers));
    for (int layer = 0; layer < layers && pen.painter != nullptr; ++layer) {
        const QRectF square(pen.left + (layer % per_row) * (side + gap), pen.top + (layer / per_row) * (side + gap),
                            side, side);
        pen.painter->setRenderHint(QPainter::Antialiasing, false);
        pen.painter->fillRect(square, mixed(t.color(Role::Card), t.color(Role::K), 0.18f));
        const bool local = card_.local[static_cast<std::size_t>(layer)];
        pen.painter->fillRect(local ? square.adjusted(side * 0.65, 0, 0, 0) : square, t.color(Role::K));
    }
    pen.top += ((layers + per_row - 1) / per_row) * (side + gap) + 3;
    for (const CardKind& kind : card_.kinds) {
        const QString rows = format_count(kind.rows_at_context), bytes = format_bytes(kind.bytes_at_context);
        const QString text =
            card_.kinds.size() == 1 && !kind.kind.local()
                ? tr("%1 layers keep %2 rows each at full context: %3").arg(kind.kind.layers).arg(rows, bytes)
            : kind.kind.local()
                ? tr("%1 local layers (part filled) keep the last %2 rows: %3").arg(kind.kind.layers).arg(rows, bytes)
                : tr("%1 global layers (filled) keep %2 rows at full context: %3")
                      .arg(kind.kind.layers)
                      .arg(rows, bytes);
        pen.top += words(pen, text, t.note(), t.color(Role::Ink)) + 2;
    }
    return pen.top - top;
}

// ---- events

void ModelView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme().color(Role::Card));
    whole({&painter, nullptr, 0, 0, static_cast<double>(width())});
}

void ModelView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) updateGeometry();
}

bool ModelView::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    std::vector<Spot> spots;
    whole({nullptr, &spots, 0, 0, static_cast<double>(width())});
    QString term;
    for (const Spot& spot : spots)
        if (spot.rect.contains(help->pos())) term = spot.term;
    show_term(*help, this, term);
    return true;
}

}  // namespace decodescope
