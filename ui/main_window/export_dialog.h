// What to export, as what, how large, and where to.
#pragma once

#include <QDialog>

#include "ui/main_window/export_writer.h"

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QSpinBox;
class QStackedWidget;

namespace decodescope {

class ExportDialog : public QDialog {
    Q_OBJECT
public:
    ExportDialog(std::vector<ExportItem> items, const QString& first_id, const QString& folder, QWidget* parent);
    const ExportItem& item() const;
    QString path() const;
    ExportSize size() const;

private:
    void show_item();
    void show_format();
    void browse();

    std::vector<ExportItem> items_;
    QComboBox *item_, *format_;
    QStackedWidget* sizes_;
    QSpinBox *width_, *height_;
    QDoubleSpinBox *scale_, *width_mm_, *height_mm_;
    QLineEdit* path_;
    QString folder_;
};

}  // namespace decodescope
