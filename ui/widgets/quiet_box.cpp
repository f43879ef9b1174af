#include "ui/widgets/quiet_box.h"

#include <QStylePainter>
#include <QWheelEvent>

namespace decodescope {

QuietBox::QuietBox(QWidget* parent) : QComboBox(parent) { setFocusPolicy(Qt::TabFocus); }

void QuietBox::showPopup() {
    Q_EMIT opening();
    QComboBox::showPopup();
}

void QuietBox::wheelEvent(QWheelEvent* event) { event->ignore(); }

void QuietBox::paintEvent(QPaintEvent*) {
    QStylePainter painter(this);
    QStyleOptionComboBox option;
    initStyleOption(&option);
    painter.drawComplexControl(QStyle::CC_ComboBox, option);
    const int room = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this).width();
    option.currentText = fontMetrics().elidedText(option.currentText, Qt::ElideRight, room - 4);
    painter.drawControl(QStyle::CE_ComboBoxLabel, option);
}

}  // namespace decodescope
