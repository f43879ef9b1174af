#include "ui/main_window/export_writer.h"

#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QImageWriter>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <cmath>

#include "engine/support/output_file.h"
#include "ui/widgets/paint_relay.h"
#include "ui/widgets/painting.h"

namespace decodescope {

namespace {

constexpr double kDotsPerInch = 96.0;  // units of type per inch on paper
constexpr double kMargin = 16.0;
constexpr int kMostPixels = 32000;  // per side

// Exported pictures are for paper and slides: light, at the size of type that the export asks for.
class ScopedTheme {
public:
    ScopedTheme() : before_(theme()) { set_theme(Theme(Theme::Mode::Light, 1.0)); }
    ~ScopedTheme() { set_theme(before_); }
    ScopedTheme(const ScopedTheme&) = delete;
    ScopedTheme& operator=(const ScopedTheme&) = delete;

private:
    Theme before_;
};

// Title, picture and the line of facts on a white page of `size` units.
void draw_page(QPainter& painter, const QSizeF& size, const ExportItem& item, const QString& facts_line) {
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    painter.fillRect(QRectF(QPointF(0, 0), size), theme().color(Role::Card));
    QRectF area = QRectF(QPointF(0, 0), size).adjusted(kMargin, kMargin * 0.75, -kMargin, -kMargin * 0.75);
    const double title = text_height(theme().title()) + 6;
    // The facts take as many lines as they need.
    constexpr int kFactFlags = Qt::AlignLeft | Qt::AlignBottom | Qt::TextWordWrap;
    const QFontMetricsF metrics(theme().note());
    const double facts = metrics.boundingRect(QRectF(0, 0, area.width(), 1000), kFactFlags, facts_line).height();
    const double note = facts_line.isEmpty() ? 0 : facts + 6;
    paint_text(painter, QRectF(area.left(), area.top(), area.width(), title), Qt::AlignLeft | Qt::AlignTop, item.title,
               theme().title(), theme().color(Role::Ink));
    painter.setFont(theme().note());
    painter.setPen(theme().color(Role::QuietInk));
    painter.drawText(QRectF(area.left(), area.bottom() - note, area.width(), note), kFactFlags, facts_line);
    item.paint(painter, area.adjusted(0, title, 0, -note));
}

Result<QByteArray> png_bytes(const ExportItem& item, const QString& facts_line, const ExportSize& size) {
    QImage image(size.pixels, QImage::Format_RGB32);
    if (image.isNull())
        return make_error(ErrorKind::Memory, QStringLiteral("A picture of %1 x %2 pixels does not fit into memory.")
                                                 .arg(size.pixels.width())
                                                 .arg(size.pixels.height())
                                                 .toStdString());
    constexpr double kMetre = 39.37;  // inches
    image.setDotsPerMeterX(static_cast<int>(kDotsPerInch * size.scale * kMetre));
    image.setDotsPerMeterY(static_cast<int>(kDotsPerInch * size.scale * kMetre));
    {
        QPainter painter(&image);
        painter.scale(size.scale, size.scale);
        draw_page(painter, QSizeF(size.pixels) / size.scale, item, facts_line);
    }
    image.setText(QStringLiteral("Title"), item.title);
    image.setText(QStringLiteral("Description"), facts_line);
    image.setText(QStringLiteral("Software"), QStringLiteral("decodescope"));
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QImageWriter writer(&buffer, "png");
    if (!writer.write(image))
        return make_error(ErrorKind::File,
                          "The picture could not be encoded: " + writer.errorString().toStdString() + ".");
    return bytes;
}

Result<QByteArray> svg_bytes(const ExportItem& item, const QString& facts_line, const ExportSize& size) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    const QSize units(std::max(1, static_cast<int>(std::lround(size.pixels.width() / size.scale))),
                      std::max(1, static_cast<int>(std::lround(size.pixels.height() / size.scale))));
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setResolution(static_cast<int>(kDotsPerInch));
    generator.setSize(units);
    generator.setViewBox(QRect(QPoint(0, 0), units));
    generator.setTitle(item.title);
    generator.setDescription(facts_line);
    QPainter target(&generator);
    PaintRelay relay(target, units, PaintRelay::Text::AsOutlines);
    QPainter painter(&relay);
    draw_page(painter, units, item, facts_line);
    painter.end();
    target.end();
    return bytes;
}

Result<QByteArray> pdf_bytes(const ExportItem& item, const QString& facts_line, const ExportSize& size) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setPageSize(QPageSize(size.mm, QPageSize::Millimeter, QString(), QPageSize::ExactMatch));
    writer.setPageMargins(QMarginsF(0, 0, 0, 0));
    constexpr int kResolution = 1200;
    writer.setResolution(kResolution);
    writer.setTitle(item.title + (facts_line.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(facts_line)));
    writer.setCreator(QStringLiteral("decodescope"));
    QPainter target(&writer);
    target.scale(kResolution / kDotsPerInch, kResolution / kDotsPerInch);
    const QSizeF units = size.mm / 25.4 * kDotsPerInch;
    PaintRelay relay(target, units, PaintRelay::Text::AsOutlines);
    QPainter painter(&relay);
    draw_page(painter, units, item, facts_line);
    painter.end();
    target.end();
    return bytes;
}

Status save_bytes(const QString& path, const QByteArray& bytes) {
    return write_file(path.toStdString(), std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
}

bool is_picture(const QString& suffix) {
    return suffix == QLatin1String("png") || suffix == QLatin1String("svg") || suffix == QLatin1String("pdf");
}

}  // namespace

QString run_facts_line(const RunFacts& f) {
    const auto text = [](const std::string& s) { return QString::fromStdString(s); };
    QStringList parts;
    parts << QStringLiteral("%1, %2 weights, %3, %4 cache")
                 .arg(text(f.model_name.empty() ? f.model_source : f.model_name), text(f.weights_type),
                      text(f.cache_spec).replace(QLatin1Char(' '), QStringLiteral(", ")), text(f.kv_type));
    parts << QStringLiteral("%1 %2 (%3, %4 threads)")
                 .arg(text(f.backend), text(f.cpu.empty() ? f.device : f.cpu), text(f.instruction_set))
                 .arg(f.threads);
    parts << QStringLiteral("seed %1").arg(f.sampler.seed);
    parts << QStringLiteral("decodescope %1 %2").arg(text(f.program_version), text(f.commit));
    parts << text(f.date);
    return parts.join(QStringLiteral(" · "));
}

Result<QByteArray> picture_bytes(const ExportItem& item, const QString& facts_line, const QString& suffix,
                                 const ExportSize& size) {
    if (!item.paint)
        return make_error(ErrorKind::Argument, item.title.toStdString() + " has no picture, only data.",
                          "Choose CSV or JSON.");
    if (size.pixels.width() < 1 || size.pixels.height() < 1 || size.pixels.width() > kMostPixels ||
        size.pixels.height() > kMostPixels || !(size.scale > 0))
        return make_error(ErrorKind::Argument,
                          QStringLiteral("A picture of %1 x %2 pixels cannot be made: 1 to %3 a side.")
                              .arg(size.pixels.width())
                              .arg(size.pixels.height())
                              .arg(kMostPixels)
                              .toStdString());
    const ScopedTheme light;
    if (suffix == QLatin1String("png")) return png_bytes(item, facts_line, size);
    if (suffix == QLatin1String("svg")) return svg_bytes(item, facts_line, size);
    return pdf_bytes(item, facts_line, size);
}

Status write_export(const ExportItem& item, const RunFacts& facts, const QString& path, const ExportSize& size) {
    const QString suffix = QFileInfo(path).suffix().toLower();
    if (is_picture(suffix)) {
        auto bytes = picture_bytes(item, run_facts_line(item.facts ? *item.facts : facts), suffix, size);
        if (!bytes) return bytes.error();
        return save_bytes(path, *bytes);
    }
    const auto& data = suffix == QLatin1String("csv")    ? item.csv
                       : suffix == QLatin1String("json") ? item.json
                                                         : std::function<std::string()>();
    if (data) return save_bytes(path, QByteArray::fromStdString(data()));
    if (suffix == QLatin1String("csv") || suffix == QLatin1String("json"))
        return make_error(ErrorKind::Argument, item.title.toStdString() + " has no data, only a picture.",
                          "Choose PNG, SVG or PDF.");
    return make_error(ErrorKind::Argument,
                      suffix.isEmpty() ? path.toStdString() + " has no ending that names a format for export."
                                       : "A file that ends with ." + suffix.toStdString() + " is no format for export.",
                      "Use .png, .svg, .pdf, .csv or .json.");
}

}  // namespace decodescope
