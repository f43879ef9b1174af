#include "ui/main_window/toggle_switch.h"

#include <QPainter>

#include "ui/widgets/painting.h"
#include "ui/widgets/theme.h"

namespace decodescope {

namespace {
constexpr double kTrackWidth = 3.25, kTrackHeight = 1.875;  // in grid units
}

ToggleSwitch::ToggleSwitch(const QString& text, QWidget* parent) : QAbstractButton(parent) {
    setText(text);
    setCheckable(true);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setAccessibleName(text);
}

QSize ToggleSwitch::sizeHint() const {
    const double grid = theme().grid();
    return {static_cast<int>(grid * (kTrackWidth + 1.5) + text_width(theme().body(), text())),
            static_cast<int>(grid * 3.25)};
}

void ToggleSwitch::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double grid = theme().grid();
    QRectF track(1, (height() - grid * kTrackHeight) / 2, grid * kTrackWidth, grid * kTrackHeight);
    const double radius = track.height() / 2;
    const QColor off = theme().color(Role::Prompt);
    QColor fill = isChecked() ? theme().color(Role::Cached) : off;
    if (!isEnabled()) fill = theme().color(Role::Line);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawRoundedRect(track, radius, radius);
    const double knob = track.height() - 4;
    const double x = isChecked() ? track.right() - 2 - knob : track.left() + 2;
    painter.setBrush(theme().mode() == Theme::Mode::Light ? theme().color(Role::Card)
                                                          : theme().color(Role::Background));
    painter.drawEllipse(QRectF(x, track.top() + 2, knob, knob));
    const QColor ink = theme().color(isEnabled() ? Role::Ink : Role::QuietInk);
    paint_text(painter, QRectF(track.right() + grid * 0.75, 0, width() - track.right() - grid * 0.75, height()),
               Qt::AlignLeft | Qt::AlignVCenter, text(), theme().body(), ink);
    if (hasFocus()) paint_focus(painter, QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
}

}  // namespace decodescope
