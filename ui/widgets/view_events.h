// What the views that are drawn by hand share: arrow keys, the wheel, terms of the glossary on hover.
#pragma once

#include <QPointF>
#include <Qt>

class QEvent;
class QHelpEvent;
class QString;
class QWheelEvent;
class QWidget;

namespace decodescope {

// While a view has the keyboard, the arrow keys without a modifier are its own and not the transport's. True: the event
// asked for that and is accepted.
bool keeps_arrow_keys(QEvent* event, Qt::Orientations which = Qt::Horizontal | Qt::Vertical);

// Tool tip "name: sentence" of a term; an empty one hides it.
void show_term(const QHelpEvent& help, QWidget* view, const QString& term);

double wheel_zoom(const QWheelEvent& event);       // factor that the turned wheel asks for
QPointF wheel_distance(const QWheelEvent& event);  // in pixels of the window
constexpr double kZoomStep = 1.4;                  // of the plus and minus keys

}  // namespace decodescope
