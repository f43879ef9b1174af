#include "ui/panels/cache/cell_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "ui/viewmodels/format.h"
#include "ui/widgets/glossary.h"
#include "ui/widgets/painting.h"

namespace decodescope {
namespace {

QFont small_digits() {
    QFont font = theme().note();
    font.setPixelSize(std::max(7, font.pixelSize() - 2));
    return font;
}

double label_width() { return std::ceil(text_width(theme().note(), QStringLiteral("K head 00"))) + 8; }
double heading_height() { return text_height(theme().body()) + 6; }
constexpr double kSideGap = 4;

}  // namespace

CellView::CellView(QWidget* parent) : QWidget(parent), close_(new QToolButton(this)) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Numbers of the chosen cell"));
    close_->setText(QStringLiteral("✕"));
    close_->setProperty("small", true);
    close_->setProperty("flat", true);
    close_->setToolTip(tr("Close (Esc)"));
    close_->setAccessibleName(tr("Close"));
    connect(close_, &QToolButton::clicked, this, &CellView::closed);
}

void CellView::show_cell(const InspectedCell& cell, const QString& token, int kv_head) {
    cell_ = cell;
    token_ = token;
    kv_head_ = std::clamp<int>(kv_head, 0, std::max<int>(0, static_cast<int>(cell.values.kv_heads) - 1));
    hover_side_ = -1;
    updateGeometry();
    update();
}

void CellView::set_available_height(int height) {
    if (height == available_height_) return;
    available_height_ = height;
    updateGeometry();
}

int CellView::heads_shown(const Plan& plan) const {
    return plan.all_heads ? static_cast<int>(cell_.values.kv_heads) : 1;
}

CellView::Plan CellView::plan_for(double width) const {
    const int dims = std::max<int>(1, static_cast<int>(cell_.values.head_dim)),
              heads = std::max<int>(1, static_cast<int>(cell_.values.kv_heads));
    const double room = std::max(40.0, width - label_width());
    const double number = text_width(small_digits(), QStringLiteral("-0.00")) + 4;
    Plan plan;
    for (const auto& [all_heads, numbers] :
         {std::pair{true, true}, std::pair{false, true}, std::pair{true, false}, std::pair{false, false}}) {
        plan.all_heads = all_heads;
        plan.numbers = numbers;
        const int fitting = std::max(1, static_cast<int>(room / (numbers ? number : 3)));
        plan.lines = (dims + fitting - 1) / fitting;
        plan.per_line = (dims + plan.lines - 1) / plan.lines;
        plan.cell = std::min(room / plan.per_line, 46 * theme().type_scale());
        plan.line_height = numbers ? std::round(text_height(small_digits()) + 3) : 12;
        plan.height = heading_height() + 2 * (all_heads ? heads : 1) * plan.lines * plan.line_height + 2 * kSideGap;
        if (plan.height <= available_height_) break;
    }
    return plan;
}

QSize CellView::sizeHint() const {
    if (!cell_.available) return {320, static_cast<int>(2 * heading_height())};
    return {320, static_cast<int>(std::ceil(plan_for(width() > 100 ? width() : 640).height)) + 2};
}

float CellView::value(int side, int head, int element) const {
    const auto& values = side == 0 ? cell_.values.k : cell_.values.v;
    const auto at = static_cast<std::size_t>(head) * static_cast<std::size_t>(cell_.values.head_dim) +
                    static_cast<std::size_t>(element);
    return at < values.size() ? values[at] : std::numeric_limits<float>::quiet_NaN();
}

float CellView::largest(int side) const {
    float most = 0;
    for (const float v : side == 0 ? cell_.values.k : cell_.values.v)
        if (std::isfinite(v)) most = std::max(most, std::abs(v));
    return most;
}

QRectF CellView::element_rect(const Plan& plan, int side, int head_index, int element) const {
    const int line = (side * heads_shown(plan) + head_index) * plan.lines + element / plan.per_line;
    const double y = heading_height() + (side == 1 ? kSideGap : 0) + line * plan.line_height;
    return {label_width() + (element % plan.per_line) * plan.cell, y, plan.cell - 1, plan.line_height - 1};
}

void CellView::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter painter(this);
    painter.setPen(QPen(t.color(Role::Line), 1));
    painter.drawLine(QPointF(0, 0.5), QPointF(width(), 0.5));
    const double height = heading_height();
    const QString place = tr("Layer %1 · position %2 · %3").arg(cell_.layer).arg(cell_.position).arg(token_);
    const double room = width() - close_->width() - 8;
    paint_text(painter, QRectF(0, 1, room, height), Qt::AlignLeft | Qt::AlignVCenter, place, t.title(),
               t.color(Role::Ink));
    if (!cell_.available) {
        paint_text(painter, QRectF(0, height, width(), height), Qt::AlignLeft | Qt::AlignVCenter, cell_.reason,
                   t.note(), t.color(Role::QuietInk));
        if (focus_visible(this)) paint_focus(painter, QRectF(rect()));
        return;
    }
    const Plan plan = plan_for(width());
    const QString k_type = QString::fromStdString(cell_.values.k_type),
                  v_type = QString::fromStdString(cell_.values.v_type);
    QString origin = k_type == v_type ? tr("as stored, %1 [measured]").arg(k_type)
                                      : tr("as stored, K %1, V %2 [measured]").arg(k_type, v_type);
    if (!plan.all_heads && cell_.values.kv_heads > 1)
        origin = tr("KV head %1 of %2 · ").arg(kv_head_).arg(cell_.values.kv_heads) + origin;
    const double used = text_width(t.title(), place) + t.grid();
    paint_text(painter, QRectF(used, 1, std::max(0.0, room - used), height), Qt::AlignLeft | Qt::AlignVCenter, origin,
               t.note(), t.color(Role::QuietInk));
    for (int side = 0; side < 2; ++side) paint_side(painter, plan, side);
    if (hover_side_ >= 0) {
        const int shown = plan.all_heads ? hover_head_ : 0;
        const QRectF cell = element_rect(plan, hover_side_, shown, hover_element_);
        paint_ring(painter, cell, 1.6);
        const QStringList lines{
            QStringLiteral("%1[%2] = %3")
                .arg(hover_side_ == 0 ? QStringLiteral("K") : QStringLiteral("V"))
                .arg(hover_element_)
                .arg(static_cast<double>(value(hover_side_, hover_head_, hover_element_)), 0, 'g', 6),
            tr("KV head %1 [measured]").arg(hover_head_)};
        const QSizeF size = info_box_size(lines, width());
        const double x = cell.right() + 6 + size.width() > width() ? cell.left() - 6 - size.width() : cell.right() + 6;
        const double y =
            std::clamp(cell.center().y() - size.height() / 2, 0.0, std::max(0.0, this->height() - size.height()));
        paint_info_box(painter, QRectF(QPointF(x, y), size), lines);
    }
    if (focus_visible(this)) paint_focus(painter, QRectF(rect()));
}

void CellView::paint_side(QPainter& painter, const Plan& plan, int side) const {
    const Theme& t = theme();
    const Role role = side == 0 ? Role::K : Role::V;
    const float most = std::max(largest(side), 1e-20f);
    const QFont digits = small_digits();
    for (int index = 0; index < heads_shown(plan); ++index) {
        const int head = plan.all_heads ? index : kv_head_;
        const QRectF first = element_rect(plan, side, index, 0);
        const QString name =
            QStringLiteral("%1 ").arg(side == 0 ? QStringLiteral("K") : QStringLiteral("V")) + tr("head %1").arg(head);
        paint_text(painter, QRectF(0, first.top(), label_width() - 8, first.height()),
                   Qt::AlignRight | Qt::AlignVCenter, name, t.note(), t.text(role));
        for (int element = 0; element < cell_.values.head_dim; ++element) {
            const QRectF cell = element_rect(plan, side, index, element);
            const float v = value(side, head, element);
            const float strength =
                std::isfinite(v) ? std::min(1.0f, std::abs(v) / most) : std::numeric_limits<float>::quiet_NaN();
            const QColor fill = QColor::fromRgb(t.shade(v < 0 ? Role::Prompt : role, strength * 0.9f));
            painter.fillRect(cell, fill);
            if (!plan.numbers) continue;
            const QColor dark(0x08, 0x0B, 0x10), light(0xFF, 0xFF, 0xFF);
            paint_text(painter, cell, Qt::AlignCenter, format_value(v), digits,
                       contrast_ratio(fill, dark) > contrast_ratio(fill, light) ? dark : light);
        }
    }
}

void CellView::resizeEvent(QResizeEvent*) {
    close_->adjustSize();
    close_->move(width() - close_->width(), 1);
    updateGeometry();
}

void CellView::mouseMoveEvent(QMouseEvent* event) {
    pointer_ = event->position();
    hover_side_ = -1;
    if (cell_.available) {
        const Plan plan = plan_for(width());
        for (int side = 0; side < 2 && hover_side_ < 0; ++side)
            for (int index = 0; index < heads_shown(plan) && hover_side_ < 0; ++index)
                for (int element = 0; element < cell_.values.head_dim; ++element)
                    if (element_rect(plan, side, index, element).adjusted(0, 0, 1, 1).contains(pointer_)) {
                        hover_side_ = side;
                        hover_head_ = plan.all_heads ? index : kv_head_;
                        hover_element_ = element;
                        break;
                    }
    }
    update();
}

void CellView::leaveEvent(QEvent*) {
    hover_side_ = -1;
    update();
}

void CellView::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) Q_EMIT closed();
    else QWidget::keyPressEvent(event);
}

}  // namespace decodescope
