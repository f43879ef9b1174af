#include "ui/panels/timing/same_light.h"

#include <QPainter>
#include <QPainterPath>

#include "ui/widgets/theme.h"

namespace decodescope {

SameLight::SameLight(QWidget* parent) : QWidget(parent) { set_state(SameAnswer::Unknown); }

QSize SameLight::sizeHint() const {
    const int side = theme().grid() * 2;
    return {side, side};
}

void SameLight::set_state(SameAnswer state) {
    state_ = state;
    const QString words = state == SameAnswer::Yes   ? tr("Same answer: both lanes choose the same tokens")
                          : state == SameAnswer::Tie ? tr("Same answer up to rounding: two tokens were equally likely")
                          : state == SameAnswer::No  ? tr("Different answer: the lanes choose different tokens")
                          : state == SameAnswer::ByDesign ? tr("Differs by design: this strategy forgets on purpose")
                                                          : tr("Same answer: not compared yet");
    setToolTip(words);
    setAccessibleName(words);
    update();
}

void SameLight::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double side = theme().grid() * 1.5;
    QRectF box(0, 0, side, side);
    box.moveCenter(QRectF(rect()).center());
    if (state_ == SameAnswer::Yes || state_ == SameAnswer::Tie) {  // a full disc
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme().color(Role::Cached));
        painter.drawEllipse(box);
    } else if (state_ == SameAnswer::No) {  // a triangle
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme().color(Role::Error));
        painter.drawPolygon(QPolygonF({{box.center().x(), box.top()}, box.bottomRight(), box.bottomLeft()}));
    } else {  // a ring, half filled when the difference is meant
        painter.setPen(QPen(theme().color(Role::QuietInk), 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(box);
        if (state_ != SameAnswer::ByDesign) return;
        painter.setBrush(theme().color(Role::Generated));
        painter.drawPie(box, 90 * 16, 180 * 16);
    }
}

}  // namespace decodescope
