#include "ui/panels/ribbon/ribbon_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/viewmodels/format.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/view_events.h"

namespace decodescope {

constexpr double kMargin = 14;  // left and right of the strip

RibbonView::RibbonView(Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection), bar_(new QScrollBar(Qt::Horizontal, this)) {
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);  // what lies below is not painted 30 times a second
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Tokens"));
    setAccessibleDescription(tr("Left and right move the pinned token, Esc clears"));
    bar_->setFocusPolicy(Qt::NoFocus);
    bar_->hide();
    connect(bar_, &QScrollBar::valueChanged, this, [this](int value) {
        if (std::abs(value - offset_) < 1) return;
        offset_ = value;
        following_ = offset_ >= layout_.largest_offset(strip_width_) - 1;
        update();
    });
    restart();
    place();
}

void RibbonView::restart() {
    const double s = theme().type_scale();
    layout_ = RibbonLayout(RibbonLayout::Metrics{4 * s, 16 * s, 8 * s, 18 * s, 170 * s});
    labels_.clear();
    widths_.clear();
    offset_ = 0;
    following_ = true;
    shown_newest_ = -1;
}

void RibbonView::take_rows() {
    track_.update(context_.recording.get());
    for (int row = layout_.count(); row < track_.rows(); ++row) {
        const TokenRow& token = context_.recording->row(row);
        labels_.push_back(token_label(context_.recording->row_display(row), token.special));
        const QString& text = labels_.back().text;
        auto width = widths_.find(text);
        if (width == widths_.end()) width = widths_.insert(text, text_width(theme().body(), text));
        const bool new_group = row > 0 && context_.recording->row(row - 1).phase != token.phase;
        layout_.append(*width, new_group);
    }
}

int RibbonView::query_row() const {
    const int query = selection_->effective().query;
    return query >= 0 && query < layout_.count() ? query : view_.newest_row();
}

void RibbonView::take_weights() {
    weights_.clear();
    const int row = query_row();
    const SelectionPoint& point = selection_->effective();
    if (!context_.recording || row < 0 || point.layer < 0 || point.layer >= context_.recording->facts().config.layers)
        return;
    encode_row(context_.recording->attention(row, point.layer), point.head, track_.position_of(row), weights_);
}

void RibbonView::place() {
    const Theme& t = theme();
    const double note = text_height(t.note());
    caption_top_ = 2;
    chip_top_ = std::round(caption_top_ + note + 3);
    chip_height_ = std::round(text_height(t.body()) + 8 * t.type_scale());
    bar_top_ = chip_top_ + chip_height_ + 2;
    bar_height_ = std::round(13 * t.type_scale());
    const int bar = 8;
    setFixedHeight(static_cast<int>(bar_top_ + bar_height_ + 2 + bar));
    note_width_ = width() < 560 * t.type_scale() ? 0 : std::min(width() * 0.24, 250 * t.type_scale());
    strip_width_ = std::max(1.0, width() - 2 * kMargin - note_width_ - (note_width_ > 0 ? 2 * t.grid() : 0));
    const int most = static_cast<int>(std::ceil(layout_.largest_offset(strip_width_)));
    bar_->setVisible(most > 0);
    bar_->setGeometry(static_cast<int>(kMargin), height() - bar, static_cast<int>(strip_width_), bar);
    bar_->setPageStep(static_cast<int>(strip_width_));
    bar_->setSingleStep(48);
    bar_->setRange(0, most);
    scroll_to(offset_);
}

void RibbonView::scroll_to(double offset) {
    offset_ = std::round(std::clamp(offset, 0.0, layout_.largest_offset(strip_width_)));
    bar_->setValue(static_cast<int>(offset_));
    update();
}

void RibbonView::present(const PanelContext& context, unsigned changes) {
    const bool replaced = (changes & NewRecording) != 0 || context.recording != context_.recording;
    context_ = context;
    if (replaced || (changes & ThemeChanged)) restart();
    view_ = viewed_step(context_.recording.get(), context_.step);
    take_rows();
    take_weights();
    place();
    follow(changes);
    if (changes & (SelectionMoved | ViewMoved | NewRecording)) describe();
    update();
}

void RibbonView::follow(unsigned changes) {
    const int newest = view_.newest_row();
    if (newest != shown_newest_) {
        if (following_ || (changes & ViewMoved)) scroll_to(layout_.reveal(newest, offset_, strip_width_));
        shown_newest_ = newest;
        return;
    }
    const int pinned = selection_->pinned().position;
    if ((changes & SelectionMoved) && !selection_->hovering() && pinned >= 0)
        scroll_to(layout_.reveal(pinned, offset_, strip_width_));
}

QString RibbonView::legend() const {
    const SelectionPoint& point = selection_->effective();
    const int row = query_row();
    if (row < 0) return {};
    const QString head = QStringLiteral("L%1 H%2").arg(point.layer).arg(point.head);
    if (row == view_.newest_row()) return tr("bars: what the newest token reads (%1)").arg(head);
    return tr("bars: what %1 reads (%2)").arg(labels_[static_cast<std::size_t>(row)].spoken, head);
}

void RibbonView::describe() {
    const int row = selection_->pinned().position;
    if (row < 0 || row >= layout_.count()) {
        setAccessibleDescription(tr("Left and right move the pinned token, Esc clears"));
        return;
    }
    const TokenLabel& label = labels_[static_cast<std::size_t>(row)];
    setAccessibleDescription(tr("Token %1 of %2: %3").arg(row + 1).arg(layout_.count()).arg(label.spoken));
}

// ---- painting

void RibbonView::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.fillRect(event->rect(), theme().color(Role::Card));
    chips_drawn_ = 0;
    if (layout_.count() == 0) {
        paint_empty(painter, QRectF(rect()), tr("The tokens of the text appear here, one chip each."),
                    tr("Space plays, → makes one step."));
        if (focus_visible(this)) paint_focus(painter, QRectF(rect()));
        return;
    }
    painter.save();
    painter.setClipRect(QRectF(kMargin - 3, 0, strip_width_ + 6, height()));
    painter.translate(kMargin, 0);
    paint_captions(painter);
    const auto [first, end] = layout_.visible(offset_, offset_ + strip_width_);
    for (int row = first; row < end; ++row) {
        painter.setOpacity(row < view_.row_limit ? 1.0 : 0.35);
        paint_chip(painter, row);
        paint_bar(painter, row);
        ++chips_drawn_;
    }
    painter.restore();
    paint_note(painter);
    if (focus_visible(this)) paint_focus(painter, QRectF(rect()).adjusted(0, 0, 0, -8));
}

void RibbonView::paint_captions(QPainter& painter) const {
    const Theme& t = theme();
    double free_from = 0;
    for (const RibbonGroup& group : layout_.groups()) {
        const double left = group.left - offset_, right = group.right - offset_;
        if (right < 0 || left > strip_width_) continue;
        const TokenRow& token = context_.recording->row(group.first);
        const int count = group.end - group.first;
        QString text;
        if (token.phase == Phase::Prefill) text = tr("PREFILL %1 tokens").arg(count);
        else if (token.phase == Phase::Refeed)
            text = count == 1 ? tr("FED AGAIN 1 token") : tr("FED AGAIN %1 tokens").arg(count);
        else if (view_.facts && view_.facts->phase == Phase::Decode)
            text = tr("DECODE step %1").arg(view_.facts->index);
        else text = tr("DECODE");
        // A caption stays in view while its group is.
        const double x = std::max({left, 0.0, free_from});
        const double room = std::max(right, left + text_width(t.note(), text)) - x;
        if (room < text_width(t.note(), text)) continue;
        paint_text(painter, QRectF(x, caption_top_, room + 1, text_height(t.note())), Qt::AlignLeft | Qt::AlignVCenter,
                   text, t.note(), t.color(Role::QuietInk));
        free_from = x + std::min(room, text_width(t.note(), text)) + t.grid();
    }
}

void RibbonView::paint_chip(QPainter& painter, int row) const {
    const Theme& t = theme();
    const TokenRow& token = context_.recording->row(row);
    const TokenLabel& label = labels_[static_cast<std::size_t>(row)];
    const Role role = token.generated ? Role::Generated : Role::Prompt;
    const QRectF chip(layout_.left(row) - offset_, chip_top_, layout_.chip_width(row), chip_height_);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool plain = label.kind == TokenKind::Text;
    painter.setPen(plain ? QPen(Qt::NoPen)
                         : QPen(t.color(role), 1.4, label.kind == TokenKind::Bytes ? Qt::DashLine : Qt::SolidLine));
    painter.setBrush(plain ? QBrush(t.color(role)) : QBrush(QColor::fromRgb(t.shade(role, 0.16f))));
    painter.drawRoundedRect(plain ? chip : chip.adjusted(0.7, 0.7, -0.7, -0.7), 5, 5);
    const QColor ink = plain ? t.ink_on(role) : t.text(role);
    paint_text(painter, chip.adjusted(4, 0, -4, 0), Qt::AlignCenter, label.text, t.body(), ink);
    const SelectionPoint& point = selection_->effective();
    const bool selected = row == point.position || row == point.query;
    const bool just_written =
        row >= view_.first_new && row < view_.row_limit && view_.facts && view_.facts->phase == Phase::Decode;
    if (selected) paint_ring(painter, chip.adjusted(1, 1, -1, -1), 2.4, 5);
    else if (just_written) paint_ring(painter, chip.adjusted(1, 1, -1, -1), 1.4, 5);
}

void RibbonView::paint_bar(QPainter& painter, int row) const {
    const Theme& t = theme();
    const int position = track_.position_of(row);
    const QRectF slot(layout_.left(row) - offset_, bar_top_, layout_.chip_width(row), bar_height_);
    painter.setRenderHint(QPainter::Antialiasing, false);
    const QRectF base(slot.left(), slot.bottom() - 1, slot.width(), 1);
    if (position < 0 || position >= static_cast<int>(weights_.size())) return;
    const MapValue value = weights_[static_cast<std::size_t>(position)];
    painter.fillRect(base, t.color(Role::Line));
    if (value == kNotCaptured || value == kEvicted) {
        paint_hatch(painter, QRectF(slot.left(), slot.bottom() - 5, slot.width(), 5), t.color(Role::QuietInk), 4);
        return;
    }
    const double height = std::max(1.0, std::round(weight_of(value) * slot.height()));
    painter.fillRect(QRectF(slot.left(), slot.bottom() - height, slot.width(), height),
                     QColor::fromRgb(t.attention(height > 1 ? 1.0f : 0.45f)));
}

void RibbonView::paint_note(QPainter& painter) const {
    if (note_width_ <= 0) return;
    const Theme& t = theme();
    const QRectF area(width() - kMargin - note_width_, chip_top_ - 2, note_width_,
                      bar_top_ + bar_height_ - chip_top_ + 2);
    QStringList lines{legend()};
    const qsizetype bracket = lines[0].lastIndexOf(QStringLiteral(" ("));
    if (bracket > 0 && text_width(t.note(), lines[0]) > area.width())
        lines = {lines[0].left(bracket), lines[0].mid(bracket + 1)};
    const int row = selection_->effective().position;
    if (row >= 0 && row < layout_.count()) {
        const TokenRow& token = context_.recording->row(row);
        lines.prepend(tr("%1 · position %2 · %3")
                          .arg(labels_[static_cast<std::size_t>(row)].spoken)
                          .arg(token.position)
                          .arg(token.generated ? tr("generated") : tr("prompt")));
    }
    if (!weights_.empty() && weights_.front() == kNotCaptured)
        lines.last() = tr("attention of this token was not captured");
    const double height = text_height(t.note()) + 1;
    double y = area.center().y() - height * static_cast<double>(lines.size()) / 2;
    for (const QString& line : lines) {
        paint_text(painter, QRectF(area.left(), y, area.width(), height), Qt::AlignRight | Qt::AlignVCenter, line,
                   t.note(), t.color(Role::QuietInk));
        y += height;
    }
}

// ---- pointer and keys

int RibbonView::row_at(const QPointF& point) const {
    const double x = point.x() - kMargin;
    if (x < 0 || x >= strip_width_ || point.y() < chip_top_ || point.y() > bar_top_ + bar_height_) return -1;
    return layout_.hit(x + offset_);
}

SelectionPoint RibbonView::point_of(int row) const {
    SelectionPoint point = selection_->pinned();
    point.position = row;
    point.query = row < view_.row_limit ? row : -1;
    return point;
}

void RibbonView::mouseMoveEvent(QMouseEvent* event) {
    const int row = row_at(event->position());
    setCursor(row >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (row >= 0) selection_->hover(point_of(row));
    else selection_->end_hover();
}

void RibbonView::mousePressEvent(QMouseEvent* event) {
    const int row = row_at(event->position());
    if (event->button() == Qt::LeftButton && row >= 0) selection_->pin(point_of(row));
}

void RibbonView::leaveEvent(QEvent*) { selection_->end_hover(); }
void RibbonView::resizeEvent(QResizeEvent*) {
    place();
    if (following_) scroll_to(layout_.reveal(view_.newest_row(), offset_, strip_width_));
}

void RibbonView::wheelEvent(QWheelEvent* event) {
    const QPoint pixels = event->pixelDelta(), angle = event->angleDelta();
    const double moved =
        !pixels.isNull() ? (pixels.x() != 0 ? pixels.x() : pixels.y()) : (angle.x() != 0 ? angle.x() : angle.y()) * 0.8;
    scroll_to(offset_ - moved);
    following_ = offset_ >= layout_.largest_offset(strip_width_) - 1;
    event->accept();
}

void RibbonView::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) return selection_->clear();
    const int step = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
    if (step == 0 || layout_.count() == 0 || view_.row_limit == 0) return QWidget::keyPressEvent(event);
    const int from = selection_->pinned().position < 0 ? view_.newest_row() - step : selection_->pinned().position;
    selection_->pin(point_of(std::clamp(from + step, 0, view_.row_limit - 1)));
}

bool RibbonView::event(QEvent* event) {
    if (keeps_arrow_keys(event, Qt::Horizontal)) return true;
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int row = row_at(help->pos());
        const bool caption = help->pos().y() < chip_top_;
        const QString term = !caption                                             ? QString()
                             : view_.facts && view_.facts->phase == Phase::Decode ? QStringLiteral("decode")
                                                                                  : QStringLiteral("prefill");
        if (row >= 0) {
            const TokenRow& token = context_.recording->row(row);
            QToolTip::showText(help->globalPos(),
                               tr("%1 · token id %2 · position %3")
                                   .arg(labels_[static_cast<std::size_t>(row)].spoken)
                                   .arg(token.token)
                                   .arg(token.position),
                               this);
        } else {
            show_term(*help, this, term);
        }
        return true;
    }
    return QWidget::event(event);
}

}  // namespace decodescope
