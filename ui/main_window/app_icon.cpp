#include "ui/main_window/app_icon.h"

#include <QPainter>
#include <QPixmap>

#include "ui/widgets/theme.h"

namespace decodescope {

namespace {

QPixmap draw(int pixels) {
    const Theme look(Theme::Mode::Light);
    QPixmap picture(pixels, pixels);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(pixels / 16.0, pixels / 16.0);
    painter.setPen(Qt::NoPen);
    painter.setBrush(look.color(Role::Card));
    painter.drawRoundedRect(QRectF(0, 0, 16, 16), 3, 3);
    constexpr int kRows = 4;
    for (int row = 0; row < kRows; ++row) {
        const qreal top = 2 + 3.1 * row;
        painter.setBrush(QColor::fromRgb(look.shade(Role::K, 1.0f - 0.15f * row)));
        painter.drawRect(QRectF(2, top, 5.6, 2.4));
        painter.setBrush(QColor::fromRgb(look.shade(Role::V, 1.0f - 0.15f * row)));
        painter.drawRect(QRectF(8.4, top, 5.6, 2.4));
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(look.color(Role::Ring), 0.9));
    painter.drawRect(QRectF(1.6, 2 + 3.1 * (kRows - 1) - 0.4, 12.8, 3.2));
    return picture;
}

}  // namespace

QIcon app_icon() {
    QIcon icon;
    for (const int pixels : {16, 24, 32, 48, 64, 128, 256}) icon.addPixmap(draw(pixels));
    return icon;
}

}  // namespace decodescope
