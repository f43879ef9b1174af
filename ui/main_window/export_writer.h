// Pictures and data into files: explicit pixel or millimetre sizes, never the screen's scale; a file is complete or not
// there.
#pragma once

#include <QSize>
#include <QString>

#include "engine/trace/run_recording.h"
#include "ui/panels/panel.h"

namespace decodescope {

struct ExportSize {
    QSize pixels{1600, 1000};  // PNG: exactly these; SVG: the view box is pixels / scale
    double scale = 2.0;        // pixels per unit of type: 2 draws 13 px type with 26 pixels
    QSizeF mm{160, 100};       // PDF: page size
};

// The run in one quiet line, drawn below every exported picture and written into its file.
QString run_facts_line(const RunFacts& facts);

// Formats by the end of the name: .png, .svg, .pdf, .csv, .json. File error with the system's reason when it cannot be
// written (an older file of that name stays), Argument error for another end or a part that the item does not have.
// Pictures are drawn in the light theme, whatever the window shows.
Status write_export(const ExportItem& item, const RunFacts& facts, const QString& path, const ExportSize& size);

// The bytes of a picture, for those who write themselves.
Result<QByteArray> picture_bytes(const ExportItem& item, const QString& facts_line, const QString& suffix,
                                 const ExportSize& size);

}  // namespace decodescope
