#include "ui/main_window/app_icon.h"

#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>

namespace decodescope {

QIcon app_icon() {
    QSvgRenderer drawing(QStringLiteral(":/icons/decodescope.svg"));
    QIcon icon;
    for (const int pixels : {16, 24, 32, 48, 64, 128, 256}) {
        QPixmap picture(pixels, pixels);
        picture.fill(Qt::transparent);
        QPainter painter(&picture);
        drawing.render(&painter);
        icon.addPixmap(picture);
    }
    return icon;
}

}  // namespace decodescope
