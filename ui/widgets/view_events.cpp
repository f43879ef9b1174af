#include "ui/widgets/view_events.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <cmath>

#include "ui/widgets/glossary.h"

namespace decodescope {

bool keeps_arrow_keys(QEvent* event, Qt::Orientations which) {
    if (event->type() != QEvent::ShortcutOverride) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool across = key->key() == Qt::Key_Left || key->key() == Qt::Key_Right;
    const bool along = key->key() == Qt::Key_Up || key->key() == Qt::Key_Down;
    const bool own = (across && which.testFlag(Qt::Horizontal)) || (along && which.testFlag(Qt::Vertical));
    if (!own || (key->modifiers() & ~Qt::KeypadModifier) != Qt::NoModifier) return false;
    event->accept();
    return true;
}

void show_term(const QHelpEvent& help, QWidget* view, const QString& term) {
    if (term.isEmpty()) return QToolTip::hideText();
    QToolTip::showText(help.globalPos(), QStringLiteral("%1: %2").arg(glossary_name(term), glossary(term)), view);
}

double wheel_zoom(const QWheelEvent& event) { return std::pow(1.0015, event.angleDelta().y()); }

QPointF wheel_distance(const QWheelEvent& event) {
    return event.pixelDelta().isNull() ? QPointF(event.angleDelta()) * 0.5 : QPointF(event.pixelDelta());
}

}  // namespace decodescope
