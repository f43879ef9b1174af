// One colour per role, everywhere, light and dark. Widgets ask for a role, never for a colour.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>

namespace decodescope {

enum class Role {
    K, V, Cached, Recompute, Prompt, Generated,
    Ring,          // just written, selected: an outline, never a fill
    Reserved,      // reserved, empty
    Background, Card, Line, Ink, QuietInk,
    Accent,        // the pressed look of buttons: ink on light, paper on dark
    Warning, Error,
};

class Theme {
public:
    enum class Mode { Light, Dark };
    explicit Theme(Mode mode = Mode::Light, double type_scale = 1.0) : mode_(mode), type_scale_(type_scale) {}

    Mode mode() const { return mode_; }
    double type_scale() const { return type_scale_; }
    QColor color(Role role) const;
    // Text that is readable on a fill of that role.
    QColor ink_on(Role role) const;
    // The role's colour as text on card or background: darkened (or lightened) until the contrast is at least 4.5 to 1.
    QColor text(Role role) const;
    // What is drawn for a value that was not captured: never a colour of the attention scale, hatched by the painter.
    QColor not_captured() const;
    // Colour of a sequence that owns pages: six, then again. Neighbours differ in lightness too, for stripes that stay
    // apart with any colour vision.
    QColor sequence(int number) const;
    QColor focus() const;  // ring of the widget that has the keyboard
    // Attention 0..1 on the one fixed scale; values outside are clamped, NaN gives the "not captured" colour.
    QRgb attention(float weight) const;
    // Role colour mixed with the card by strength 0..1, for cells shaded by value.
    QRgb shade(Role role, float strength) const;

    QFont body() const;    // 13 px times type_scale
    QFont note() const;    // 11 px
    QFont title() const;   // 13 px bold
    QFont figure() const;  // 16 px bold, for the figures that matter
    QFont digits() const;  // body with digits of equal width
    int grid() const;      // 8 px times type_scale, rounded
    QPalette palette() const;
    // For the whole application: flat cards, quiet lines, visible focus. Widgets choose a look by dynamic properties,
    // set to true before they are shown: "accent" (QPushButton, QToolButton: filled with ink; a checked button looks
    // the same), "flat" (buttons without a frame), "small" (buttons in a card's header), "card" (QFrame, QWidget:
    // rounded card), "quiet", "note", "title", "figure" (QLabel). "givesWay": hidden where a card's header is narrow
    // and while "away" is true.
    QString style_sheet() const;

private:
    Mode mode_;
    double type_scale_;
};

// The theme in force; changed by the main window, read while painting.
const Theme& theme();
void set_theme(const Theme& theme);
// set_theme() and the whole application with it: Fusion style, palette, font, style sheet.
void apply_theme(const Theme& theme);
// Contrast of two colours as WCAG defines it, 1 to 21.
double contrast_ratio(const QColor& a, const QColor& b);
// Families that every text uses, CJK face named before the system's default.
QStringList font_families();

}  // namespace decodescope
