#include "ui/main_window/key_guard.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QTabBar>

namespace decodescope {

namespace {

bool moves(int key) {
    switch (key) {
        case Qt::Key_Left:
        case Qt::Key_Right:
        case Qt::Key_Up:
        case Qt::Key_Down:
        case Qt::Key_Home:
        case Qt::Key_End:
        case Qt::Key_PageUp:
        case Qt::Key_PageDown: return true;
        default: return false;
    }
}

bool needs(const QObject* object, int key) {
    if (qobject_cast<const QAbstractButton*>(object) != nullptr) return key == Qt::Key_Space;
    if (qobject_cast<const QComboBox*>(object) != nullptr || qobject_cast<const QAbstractItemView*>(object) != nullptr)
        return moves(key) || key == Qt::Key_Space;
    return (qobject_cast<const QAbstractSlider*>(object) != nullptr ||
            qobject_cast<const QAbstractSpinBox*>(object) != nullptr ||
            qobject_cast<const QTabBar*>(object) != nullptr) &&
           moves(key);
}

}  // namespace

KeyGuard::KeyGuard(QObject* parent) : QObject(parent) { QCoreApplication::instance()->installEventFilter(this); }

bool KeyGuard::eventFilter(QObject* object, QEvent* event) {
    if (event->type() != QEvent::ShortcutOverride) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    const Qt::KeyboardModifiers modifiers = key->modifiers() & ~Qt::KeypadModifier;
    if (modifiers != Qt::NoModifier || !needs(object, key->key())) return false;
    event->accept();
    return true;
}

}  // namespace decodescope
