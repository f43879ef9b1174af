// What several widgets draw alike: cards, hatching, legends, boxes with exact facts, empty states.
#pragma once

#include <QPainter>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <array>
#include <vector>

#include "ui/widgets/theme.h"

namespace decodescope {

// Text in a rectangle, cut with an ellipsis when it does not fit.
void paint_text(QPainter& painter, const QRectF& rect, int flags, const QString& text, const QFont& font,
                const QColor& color);
double text_width(const QFont& font, const QString& text);
double text_height(const QFont& font);

QColor faded(QColor color, float alpha);
QColor mixed(const QColor& color, const QColor& with, float share);  // 0: color, 1: with
QColor readable_on(const QColor& fill);  // black or white, for text

// Diagonal lines that look the same at every scale of the screen.
void paint_hatch(QPainter& painter, const QRectF& rect, const QColor& color, double spacing = 5);
// Wide diagonal stripes in the colours of all who share something.
void paint_stripes(QPainter& painter, const QRectF& rect, const std::vector<QColor>& colors, double width = 5);
// Triangle whose tip is at `tip`, pointing up.
void paint_pointer(QPainter& painter, const QPointF& tip, double size, const QColor& color);
// Ring of what is selected or just written: drawn around the rectangle, never over its fill.
void paint_ring(QPainter& painter, const QRectF& rect, double width = 2, double radius = 2);

struct LegendItem {
    enum class Kind { Fill, Ring, Outline, Hatch, NotCaptured, Line, Stripes, Pointer } kind = Kind::Fill;
    QColor color;
    QString text;
    int importance = 0;  // the least important drop out first when room is short
    QColor second{};     // of stripes
};
// From the left on one line; returns the width used.
double paint_legend(QPainter& painter, const QRectF& rect, std::vector<LegendItem> items);

// The fixed scale of attention, 0 at the bottom, with its ticks at the right.
void paint_attention_scale(QPainter& painter, const QRectF& bar);
std::array<QRgb, 256> attention_scale();

// Dark box with exact facts: the first line in body type, the others as notes. Returns the size it takes for a width.
QSizeF info_box_size(const QStringList& lines, double most_width);
void paint_info_box(QPainter& painter, const QRectF& rect, const QStringList& lines);

// An empty panel: what will appear here, and the key that makes it appear.
void paint_empty(QPainter& painter, const QRectF& rect, const QString& title, const QString& sentence);

// Whether the ring of the keyboard focus is drawn: only when the focus came by the keyboard.
bool focus_visible(const QWidget* widget);
// Keyboard focus of a widget that paints itself.
void paint_focus(QPainter& painter, const QRectF& rect);

// Whether short fades are welcome: not without a screen, and not where the system asks for less motion.
bool animations_welcome();

}  // namespace decodescope
