#include "ui/panels/happened/stage_chips.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "ui/widgets/painting.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/view_events.h"

namespace decodescope {

namespace {
constexpr double kGap = 4;
}

StageChips::StageChips(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::TabFocus);  // a click keeps the arrow keys for stepping
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Stages of a step"));
}

QSize StageChips::sizeHint() const { return {560, theme().grid() * 3}; }
QSize StageChips::minimumSizeHint() const { return {240, theme().grid() * 3}; }

void StageChips::set_lit(int stage) {
    if (stage == lit_) return;
    lit_ = stage;
    setAccessibleDescription(stage < 0 ? QString() : walk_stage_name(static_cast<WalkStage>(stage)));
    update();
}

// Widths follow the words, so that short words leave room to long ones.
std::vector<QRectF> StageChips::boxes() const {
    std::vector<double> widths;
    double words = 0;
    for (int i = 0; i < kWalkStageCount; ++i) {
        widths.push_back(text_width(theme().note(), walk_stage_name(static_cast<WalkStage>(i))));
        words += widths.back();
    }
    const double padding = std::max(2.0, (width() - 1 - words - kGap * (kWalkStageCount - 1)) / kWalkStageCount);
    std::vector<QRectF> boxes;
    double x = 0.5;
    for (double w : widths) {
        boxes.emplace_back(x, 0.5, w + padding, height() - 1.0);
        x += w + padding + kGap;
    }
    return boxes;
}

void StageChips::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const auto places = boxes();
    for (int i = 0; i < kWalkStageCount; ++i) {
        const bool lit = i == lit_;
        const QRectF& box = places[static_cast<std::size_t>(i)];
        painter.setPen(QPen(theme().color(lit ? Role::Accent : i == hovered_ ? Role::QuietInk : Role::Line), 1));
        painter.setBrush(theme().color(lit ? Role::Accent : Role::Card));
        painter.drawRoundedRect(box, 5, 5);
        paint_text(painter, box, Qt::AlignCenter, walk_stage_name(static_cast<WalkStage>(i)), theme().note(),
                   lit ? theme().ink_on(Role::Accent) : theme().color(Role::Ink));
    }
    if (hasFocus()) paint_focus(painter, rect());
}

int StageChips::chip_at(const QPointF& at) const {
    const auto places = boxes();
    for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i].contains(at)) return static_cast<int>(i);
    return -1;
}

void StageChips::mousePressEvent(QMouseEvent* event) {
    if (const int chip = chip_at(event->position()); chip >= 0) Q_EMIT chosen(chip);
}

void StageChips::mouseMoveEvent(QMouseEvent* event) {
    hovered_ = chip_at(event->position());
    update();
}

void StageChips::leaveEvent(QEvent*) {
    hovered_ = -1;
    update();
}

// The window steps with the arrow keys; here they choose a chip while the strip has the focus.
bool StageChips::event(QEvent* event) {
    return keeps_arrow_keys(event, Qt::Horizontal) || QWidget::event(event);
}

void StageChips::keyPressEvent(QKeyEvent* event) {
    const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (step == 0) return QWidget::keyPressEvent(event);
    Q_EMIT chosen(std::clamp(lit_ + step, 0, kWalkStageCount - 1));
}

}  // namespace decodescope
