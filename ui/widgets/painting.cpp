#include "ui/widgets/painting.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QHash>
#include <QPainterPath>
#include <QStyle>
#include <algorithm>
#include <cmath>

namespace decodescope {

// Shaping a text costs far more than drawing it, and panels ask for the same few words 30 times a second.
double text_width(const QFont& font, const QString& text) {
    static QHash<QString, double> known;
    const QString key = QChar(static_cast<char16_t>(font.pixelSize() * 2 + (font.bold() ? 1 : 0))) + text;
    const auto at = known.constFind(key);
    if (at != known.constEnd()) return *at;
    if (known.size() > 8192) known.clear();
    return *known.insert(key, QFontMetricsF(font).horizontalAdvance(text));
}
double text_height(const QFont& font) { return QFontMetricsF(font).height(); }

void paint_text(QPainter& painter, const QRectF& rect, int flags, const QString& text, const QFont& font,
                const QColor& color) {
    painter.setFont(font);
    painter.setPen(color);
    const bool whole = (flags & Qt::TextWordWrap) || text_width(font, text) <= rect.width() + 0.5;
    painter.drawText(rect, flags,
                     whole ? text : QFontMetricsF(font).elidedText(text, Qt::ElideRight, rect.width() + 0.5));
}

QColor faded(QColor color, float alpha) {
    color.setAlphaF(alpha);
    return color;
}

QColor mixed(const QColor& color, const QColor& with, float share) {
    const auto channel = [share](float a, float b) { return a + share * (b - a); };
    return QColor::fromRgbF(channel(color.redF(), with.redF()), channel(color.greenF(), with.greenF()),
                            channel(color.blueF(), with.blueF()));
}

QColor readable_on(const QColor& fill) {
    const QColor dark(0x08, 0x0B, 0x10), light(0xFF, 0xFF, 0xFF);
    return contrast_ratio(fill, dark) > contrast_ratio(fill, light) ? dark : light;
}

void paint_hatch(QPainter& painter, const QRectF& rect, const QColor& color, double spacing) {
    if (rect.isEmpty()) return;
    painter.save();
    painter.setClipRect(rect, Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, 1));
    // Lines hang on the page, not on the rectangle, so that neighbours continue each other.
    const double first = std::floor((rect.left() + rect.top()) / spacing) * spacing;
    for (double c = first; c < rect.right() + rect.bottom() + spacing; c += spacing)
        painter.drawLine(QPointF(c - rect.top(), rect.top()), QPointF(c - rect.bottom(), rect.bottom()));
    painter.restore();
}

void paint_stripes(QPainter& painter, const QRectF& rect, const std::vector<QColor>& colors, double width) {
    if (rect.isEmpty() || colors.empty()) return;
    painter.fillRect(rect, colors[0]);
    if (colors.size() < 2) return;
    painter.save();
    painter.setClipRect(rect, Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    // They hang on the page, as hatching does: neighbours continue each other.
    const double period = width * static_cast<double>(colors.size()), height = rect.height();
    const double first = std::floor((rect.left() - height) / period) * period;
    for (std::size_t k = 1; k < colors.size(); ++k) {
        painter.setBrush(colors[k]);
        for (double x = first + static_cast<double>(k) * width; x < rect.right(); x += period) {
            const QPointF corners[] = {{x + height, rect.top()}, {x + height + width, rect.top()},
                                       {x + width, rect.bottom()}, {x, rect.bottom()}};
            painter.drawConvexPolygon(corners, 4);
        }
    }
    painter.restore();
}

void paint_pointer(QPainter& painter, const QPointF& tip, double size, const QColor& color) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    const QPointF corners[] = {tip, tip + QPointF(size / 2, size * 0.8), tip + QPointF(-size / 2, size * 0.8)};
    painter.drawConvexPolygon(corners, 3);
    painter.restore();
}

void paint_ring(QPainter& painter, const QRectF& rect, double width, double radius) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme().color(Role::Ring), width));
    const double out = width / 2;
    const double round = std::min(radius, std::min(rect.width(), rect.height()) / 4 + 0.5);
    painter.drawRoundedRect(rect.adjusted(-out, -out, out, out), round, round);
    painter.restore();
}

namespace {

void paint_swatch(QPainter& painter, const QRectF& swatch, const LegendItem& item) {
    const Theme& t = theme();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    switch (item.kind) {
        case LegendItem::Kind::Fill: painter.fillRect(swatch, item.color); break;
        case LegendItem::Kind::Ring: paint_ring(painter, swatch.adjusted(1.5, 1.5, -1.5, -1.5), 1.6); break;
        case LegendItem::Kind::Outline:
            painter.setPen(QPen(t.color(Role::Line), 1));
            painter.setBrush(item.color);
            painter.drawRect(swatch.adjusted(0.5, 0.5, -0.5, -0.5));
            break;
        case LegendItem::Kind::Stripes: paint_stripes(painter, swatch, {item.color, item.second}, 4); break;
        case LegendItem::Kind::Pointer:
            paint_pointer(painter, QPointF(swatch.center().x(), swatch.top() + 1), swatch.width(), item.color);
            break;
        case LegendItem::Kind::Hatch: paint_hatch(painter, swatch, item.color, 4); break;
        case LegendItem::Kind::NotCaptured:
            painter.fillRect(swatch, t.not_captured());
            paint_hatch(painter, swatch, t.color(Role::QuietInk), 4);
            break;
        case LegendItem::Kind::Line:
            painter.setPen(QPen(item.color, 2));
            painter.drawLine(QPointF(swatch.left(), swatch.center().y()), QPointF(swatch.right(), swatch.center().y()));
            break;
    }
    painter.restore();
}

}  // namespace

double paint_legend(QPainter& painter, const QRectF& rect, std::vector<LegendItem> items) {
    const Theme& t = theme();
    const QFont font = t.note();
    const double swatch = std::round(10 * t.type_scale()), inner = 5, gap = 14 * t.type_scale();
    const auto width = [&] {
        double sum = 0;
        for (const auto& item : items) sum += swatch + inner + text_width(font, item.text) + gap;
        return sum - gap;
    };
    while (items.size() > 1 && width() > rect.width())
        items.erase(std::min_element(items.begin(), items.end(),
                                     [](const auto& a, const auto& b) { return a.importance < b.importance; }));
    double x = rect.left();
    for (const auto& item : items) {
        paint_swatch(painter, QRectF(x, std::round(rect.center().y() - swatch / 2), swatch, swatch), item);
        x += swatch + inner;
        const double room = std::min(text_width(font, item.text), rect.right() - x);
        paint_text(painter, QRectF(x, rect.top(), room + 1, rect.height()), Qt::AlignLeft | Qt::AlignVCenter, item.text,
                   font, t.color(Role::QuietInk));
        x += room + gap;
    }
    return std::max(0.0, x - gap - rect.left());
}

std::array<QRgb, 256> attention_scale() {
    std::array<QRgb, 256> scale{};
    for (int i = 0; i < 256; ++i)
        scale[static_cast<std::size_t>(i)] = theme().attention(static_cast<float>(i) / 255.0f);
    return scale;
}

void paint_attention_scale(QPainter& painter, const QRectF& bar) {
    const Theme& t = theme();
    QImage strip(1, 256, QImage::Format_RGB32);
    for (int y = 0; y < 256; ++y) strip.setPixel(0, y, t.attention(static_cast<float>(255 - y) / 255.0f));
    painter.drawImage(bar, strip);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(t.color(Role::Line), 1));
    painter.drawRect(bar.adjusted(-0.5, -0.5, 0.5, 0.5));
    const QFont font = t.note();
    const double height = text_height(font);
    const int ticks = bar.height() > 4 * height ? 4 : bar.height() > 2.2 * height ? 2 : 1;
    for (int i = 0; i <= ticks; ++i) {
        const double value = static_cast<double>(i) / ticks, y = bar.bottom() - value * bar.height();
        painter.setPen(QPen(t.color(Role::QuietInk), 1));
        painter.drawLine(QPointF(bar.right() + 1, y), QPointF(bar.right() + 4, y));
        const QString text = ticks == 4 && (i % 2 == 1) ? QStringLiteral("%1").arg(value, 0, 'f', 2)
                                                        : QStringLiteral("%1").arg(value, 0, 'f', 1);
        paint_text(painter, QRectF(bar.right() + 7, y - height / 2, 60, height), Qt::AlignLeft | Qt::AlignVCenter, text,
                   font, t.color(Role::QuietInk));
    }
}

namespace {
constexpr double kBoxPadding = 8;

double wrapped_height(const QString& text, const QFont& font, double width) {
    return QFontMetricsF(font)
        .boundingRect(QRectF(0, 0, width, 10000), Qt::AlignLeft | Qt::TextWordWrap, text)
        .height();
}
}  // namespace

QSizeF info_box_size(const QStringList& lines, double most_width) {
    const Theme& t = theme();
    double widest = 0;
    for (qsizetype i = 0; i < lines.size(); ++i)
        widest = std::max(widest, text_width(i == 0 ? t.body() : t.note(), lines[i]) + 2);
    const double width = std::min(widest, most_width - 2 * kBoxPadding);
    double height = 2 * kBoxPadding + 2.0 * static_cast<double>(std::max<qsizetype>(0, lines.size() - 1));
    for (qsizetype i = 0; i < lines.size(); ++i)
        height += wrapped_height(lines[i], i == 0 ? t.body() : t.note(), width);
    return {std::ceil(width) + 2 * kBoxPadding, std::ceil(height)};
}

void paint_info_box(QPainter& painter, const QRectF& rect, const QStringList& lines) {
    const Theme& t = theme();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(t.color(Role::Accent));
    painter.drawRoundedRect(rect, 6, 6);
    QRectF line = rect.adjusted(kBoxPadding, kBoxPadding, -kBoxPadding, -kBoxPadding);
    const QColor ink = t.ink_on(Role::Accent);
    QColor quiet = ink;
    quiet.setAlphaF(0.8f);
    for (qsizetype i = 0; i < lines.size(); ++i) {
        const QFont font = i == 0 ? t.body() : t.note();
        const double height = wrapped_height(lines[i], font, line.width());
        painter.setFont(font);
        painter.setPen(i == 0 ? ink : quiet);
        painter.drawText(QRectF(line.left(), line.top(), line.width(), height + 1), Qt::AlignLeft | Qt::TextWordWrap,
                         lines[i]);
        line.setTop(line.top() + height + 2);
    }
    painter.restore();
}

void paint_empty(QPainter& painter, const QRectF& rect, const QString& title, const QString& sentence) {
    const Theme& t = theme();
    const double width = std::min(rect.width() - 2 * t.grid(), 420 * t.type_scale());
    const double first = wrapped_height(title, t.body(), width), second = wrapped_height(sentence, t.note(), width),
                 gap = t.grid() / 2.0;
    QRectF text(0, 0, width, first + gap + second);
    text.moveCenter(rect.center());
    const int flags = Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap;
    paint_text(painter, QRectF(text.left(), text.top(), width, first + 1), flags, title, t.body(), t.color(Role::Ink));
    paint_text(painter, QRectF(text.left(), text.top() + first + gap, width, second + 1), flags, sentence, t.note(),
               t.color(Role::QuietInk));
}

bool focus_visible(const QWidget* widget) {
    return widget->hasFocus() && widget->window()->testAttribute(Qt::WA_KeyboardFocusChange);
}

void paint_focus(QPainter& painter, const QRectF& rect) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme().focus(), 2));
    painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), 4, 4);
    painter.restore();
}

bool animations_welcome() {
    if (QGuiApplication::platformName() == QLatin1String("offscreen") ||
        QGuiApplication::platformName() == QLatin1String("minimal"))
        return false;
    return QApplication::style()->styleHint(QStyle::SH_Widget_Animation_Duration) > 0;
}

}  // namespace decodescope
