#include "ui/widgets/theme.h"

#include <QApplication>
#include <QHash>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>
#include <algorithm>
#include <array>
#include <cmath>

namespace decodescope {
namespace {

struct RolePair {
    QRgb light, dark;
};

RolePair role_colors(Role role) {
    switch (role) {
        case Role::K: return {0xFF3B6FB6, 0xFF7FA8E0};
        case Role::V: return {0xFFC77800, 0xFFE6A23C};
        case Role::Cached: return {0xFF0B8F6A, 0xFF3FC79A};
        case Role::Recompute: return {0xFFCC4E12, 0xFFF08A55};
        case Role::Prompt: return {0xFF8593A3, 0xFF7C8896};
        case Role::Generated: return {0xFF6E4FB5, 0xFFA98BEB};
        case Role::Ring: return {0xFF111111, 0xFFFFFFFF};
        case Role::Reserved: return {0xFFE9EDF2, 0xFF232A33};
        case Role::Background: return {0xFFF7F8FA, 0xFF12161C};
        case Role::Card: return {0xFFFFFFFF, 0xFF1A2028};
        case Role::Line: return {0xFFD9DEE5, 0xFF2E3743};
        case Role::Ink: return {0xFF1E2733, 0xFFE6EBF1};
        // A shade darker than in the sketch: 4.5 to 1 on the background too, not on the card alone.
        case Role::QuietInk: return {0xFF667280, 0xFF95A1AE};
        case Role::Accent: return {0xFF1E2733, 0xFFE6EBF1};
        case Role::Warning: return {0xFF8A5A00, 0xFFE6B450};
        case Role::Error: return {0xFFA8232B, 0xFFF2A0A0};
    }
    return {0xFF000000, 0xFFFFFFFF};
}

constexpr QRgb kAttentionLow[2] = {0xFFFFFFFF, 0xFF14181F};
constexpr QRgb kAttentionHigh[2] = {0xFF2B2F77, 0xFFC9D0FF};
constexpr QRgb kNotCaptured[2] = {0xFFE2DED6, 0xFF3A362F};
constexpr double kTextContrast = 4.5;

QRgb mix(QRgb from, QRgb to, float share) {
    const auto channel = [share](int a, int b) {
        return static_cast<int>(std::lround(static_cast<float>(a) + share * static_cast<float>(b - a)));
    };
    return qRgb(channel(qRed(from), qRed(to)), channel(qGreen(from), qGreen(to)), channel(qBlue(from), qBlue(to)));
}

using AttentionScale = std::array<QRgb, 256>;
AttentionScale make_scale(int mode) {
    AttentionScale scale{};
    for (int i = 0; i < 256; ++i)
        scale[static_cast<std::size_t>(i)] =
            mix(kAttentionLow[mode], kAttentionHigh[mode], static_cast<float>(i) / 255.0f);
    return scale;
}

double luminance(const QColor& color) {
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

// Fonts are asked for with every text that is drawn: one copy of each keeps its engine.
QFont font_of(double pixels, bool bold) {
    static QHash<int, QFont> known;
    const int size = std::clamp(static_cast<int>(std::lround(pixels)), 6, 400), key = 2 * size + (bold ? 1 : 0);
    const auto at = known.constFind(key);
    if (at != known.constEnd()) return *at;
    QFont font;
    font.setFamilies(font_families());
    font.setPixelSize(size);
    font.setBold(bold);
    return *known.insert(key, font);
}

constexpr int kRoles = static_cast<int>(Role::Error) + 1;
using RoleColors = std::array<QColor, kRoles>;

// Contrast takes powers: computed once per mode and role.
const QColor& remembered(std::array<RoleColors, 2>& table, Theme::Mode mode, Role role,
                         QColor (*compute)(const Theme&, Role)) {
    QColor& color = table[mode == Theme::Mode::Light ? 0 : 1][static_cast<std::size_t>(role)];
    if (!color.isValid()) color = compute(Theme(mode), role);
    return color;
}

QColor compute_ink_on(const Theme& theme, Role role) {
    const QColor fill = theme.color(role);
    const QColor paper(0xFF, 0xFF, 0xFF), ink(0x08, 0x0B, 0x10);
    return contrast_ratio(fill, paper) >= kTextContrast || contrast_ratio(fill, paper) > contrast_ratio(fill, ink)
               ? paper
               : ink;
}

QColor compute_text(const Theme& theme, Role role) {
    const QColor card = theme.color(Role::Card), background = theme.color(Role::Background),
                 role_color = theme.color(role);
    const QRgb target = theme.mode() == Theme::Mode::Light ? 0xFF000000 : 0xFFFFFFFF;
    for (int step = 0; step <= 20; ++step) {
        const QColor candidate = QColor::fromRgb(mix(role_color.rgb(), target, static_cast<float>(step) / 20.0f));
        if (std::min(contrast_ratio(candidate, card), contrast_ratio(candidate, background)) >= kTextContrast)
            return candidate;
    }
    return theme.color(Role::Ink);
}

// Fusion derives the outline of check boxes from the window's colour, which nobody sees on a dark card.
class ThemedStyle : public QProxyStyle {
public:
    ThemedStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override {
        if (element == PE_IndicatorCheckBox || element == PE_IndicatorRadioButton)
            return draw_indicator(element, *option, *painter);
        QProxyStyle::drawPrimitive(element, option, painter, widget);
    }

    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override {
        const bool indicator = metric == PM_IndicatorWidth || metric == PM_IndicatorHeight ||
                               metric == PM_ExclusiveIndicatorWidth || metric == PM_ExclusiveIndicatorHeight;
        return indicator ? static_cast<int>(std::lround(14 * theme().type_scale()))
                         : QProxyStyle::pixelMetric(metric, option, widget);
    }

private:
    void draw_indicator(PrimitiveElement element, const QStyleOption& option, QPainter& painter) const {
        const Theme& t = theme();
        const bool on = option.state & (State_On | State_NoChange), enabled = option.state & State_Enabled;
        const QColor ink = enabled ? t.color(Role::Accent) : t.palette().color(QPalette::Disabled, QPalette::Text);
        const double side = std::min(option.rect.width(), option.rect.height()) - 2.0;
        QRectF box(0, 0, side, side);
        box.moveCenter(QRectF(option.rect).center());
        const double radius = element == PE_IndicatorRadioButton ? side / 2 : 3.0;
        painter.save();
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(on ? ink : t.color(Role::QuietInk), 1.0));
        painter.setBrush(on ? ink : t.color(Role::Card));
        painter.drawRoundedRect(box, radius, radius);
        painter.setPen(QPen(t.ink_on(Role::Accent), side / 7, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        const auto at = [&](double x, double y) { return QPointF(box.left() + x * side, box.top() + y * side); };
        if (on && element == PE_IndicatorRadioButton) {
            painter.setBrush(t.ink_on(Role::Accent));
            painter.drawEllipse(box.center(), side / 8, side / 8);
        } else if (option.state & State_NoChange) {
            painter.drawLine(at(0.25, 0.5), at(0.75, 0.5));
        } else if (on) {
            painter.drawPolyline(QPolygonF({at(0.24, 0.52), at(0.43, 0.72), at(0.77, 0.30)}));
        }
        painter.restore();
    }
};

Theme& current() {
    static Theme instance;
    return instance;
}

}  // namespace

double contrast_ratio(const QColor& a, const QColor& b) {
    const double la = luminance(a), lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QStringList font_families() {
    return {QStringLiteral("DejaVu Sans"), QStringLiteral("Noto Sans CJK SC"), QStringLiteral("Noto Sans"),
            QStringLiteral("sans-serif")};
}

QColor Theme::color(Role role) const {
    const RolePair pair = role_colors(role);
    return QColor::fromRgb(mode_ == Mode::Light ? pair.light : pair.dark);
}

QColor Theme::ink_on(Role role) const {
    static std::array<RoleColors, 2> table;
    return remembered(table, mode_, role, compute_ink_on);
}

QColor Theme::text(Role role) const {
    static std::array<RoleColors, 2> table;
    return remembered(table, mode_, role, compute_text);
}

QColor Theme::not_captured() const { return QColor::fromRgb(kNotCaptured[mode_ == Mode::Light ? 0 : 1]); }

QColor Theme::sequence(int number) const {
    static constexpr RolePair kColors[] = {{0xFF0B8F6A, 0xFF3FC79A}, {0xFFDB8DBF, 0xFFB4548F},
                                           {0xFFC9A227, 0xFFF0D568}, {0xFF2A6F97, 0xFF6BAED6},
                                           {0xFF7A4B2A, 0xFFD3976B}, {0xFF79C2E8, 0xFF2C7FA8}};
    const RolePair& pair = kColors[static_cast<std::size_t>(std::max(number, 0)) % std::size(kColors)];
    return QColor::fromRgb(mode_ == Mode::Light ? pair.light : pair.dark);
}

QColor Theme::focus() const { return mode_ == Mode::Light ? QColor(0x2B, 0x2F, 0x77) : QColor(0xC9, 0xD0, 0xFF); }

QRgb Theme::attention(float weight) const {
    static const std::array<AttentionScale, 2> scales = {make_scale(0), make_scale(1)};
    const std::size_t mode = mode_ == Mode::Light ? 0 : 1;
    if (std::isnan(weight)) return kNotCaptured[mode];
    const float clamped = std::clamp(weight, 0.0f, 1.0f);
    return scales[mode][static_cast<std::size_t>(clamped * 255.0f + 0.5f)];
}

QRgb Theme::shade(Role role, float strength) const {
    if (std::isnan(strength)) return kNotCaptured[mode_ == Mode::Light ? 0 : 1];
    return mix(color(Role::Card).rgb(), color(role).rgb(), std::clamp(strength, 0.0f, 1.0f));
}

QFont Theme::body() const { return font_of(13 * type_scale_, false); }
QFont Theme::note() const { return font_of(11 * type_scale_, false); }
QFont Theme::title() const { return font_of(13 * type_scale_, true); }
QFont Theme::figure() const { return font_of(16 * type_scale_, true); }
// The digits of DejaVu Sans all have the same width, so no other face is needed.
QFont Theme::digits() const { return body(); }
int Theme::grid() const { return std::max(4, static_cast<int>(std::lround(8 * type_scale_))); }

QPalette Theme::palette() const {
    QPalette palette;
    palette.setColor(QPalette::Window, color(Role::Background));
    palette.setColor(QPalette::WindowText, color(Role::Ink));
    palette.setColor(QPalette::Base, color(Role::Card));
    palette.setColor(QPalette::AlternateBase, color(Role::Background));
    palette.setColor(QPalette::Text, color(Role::Ink));
    palette.setColor(QPalette::Button, color(Role::Card));
    palette.setColor(QPalette::ButtonText, color(Role::Ink));
    palette.setColor(QPalette::BrightText, color(Role::Error));
    palette.setColor(QPalette::Highlight, color(Role::Accent));
    palette.setColor(QPalette::HighlightedText, ink_on(Role::Accent));
    palette.setColor(QPalette::Link, text(Role::K));
    palette.setColor(QPalette::ToolTipBase, color(Role::Accent));
    palette.setColor(QPalette::ToolTipText, ink_on(Role::Accent));
    palette.setColor(QPalette::PlaceholderText, color(Role::QuietInk));
    palette.setColor(QPalette::Light, color(Role::Card));
    palette.setColor(QPalette::Midlight, color(Role::Line));
    palette.setColor(QPalette::Mid, color(Role::Line));
    palette.setColor(QPalette::Dark, color(Role::QuietInk));
    palette.setColor(QPalette::Shadow, color(Role::Line));
    const QColor disabled = QColor::fromRgb(mix(color(Role::QuietInk).rgb(), color(Role::Card).rgb(), 0.35f));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, disabled);
    palette.setColor(QPalette::Disabled, QPalette::Highlight, color(Role::Line));
    palette.setColor(QPalette::Disabled, QPalette::HighlightedText, disabled);
    return palette;
}

const Theme& theme() { return current(); }
void set_theme(const Theme& theme) { current() = theme; }

void apply_theme(const Theme& theme) {
    set_theme(theme);
    QApplication::setStyle(new ThemedStyle);
    QApplication::setPalette(theme.palette());
    QApplication::setFont(theme.body());
    if (auto* application = qobject_cast<QApplication*>(QCoreApplication::instance()))
        application->setStyleSheet(theme.style_sheet());
}

}  // namespace decodescope
