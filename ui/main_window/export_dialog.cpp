#include "ui/main_window/export_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/widgets/decimal_box.h"

namespace decodescope {

namespace {

QSpinBox* pixel_box(QWidget* parent, int value) {
    auto* box = new QSpinBox(parent);
    box->setLocale(QLocale::c());
    box->setRange(16, 32000);
    box->setValue(value);
    box->setSuffix(QStringLiteral(" px"));
    return box;
}

QDoubleSpinBox* measure_box(QWidget* parent, double least, double most, double value, const QString& unit) {
    auto* box = new DecimalBox(parent);
    box->setRange(least, most);
    box->setDecimals(2);
    box->setValue(value);
    box->setSuffix(unit);
    return box;
}

QWidget* pair(QWidget* parent, QWidget* a, QWidget* b, QWidget* c = nullptr) {
    auto* both = new QWidget(parent);
    auto* row = new QHBoxLayout(both);
    row->setContentsMargins(0, 0, 0, 0);
    for (QWidget* one : {a, b, c})
        if (one != nullptr) row->addWidget(one);
    row->addStretch(1);
    return both;
}

}  // namespace

ExportDialog::ExportDialog(std::vector<ExportItem> items, const QString& first_id, const QString& folder,
                           QWidget* parent)
    : QDialog(parent), items_(std::move(items)), folder_(folder.isEmpty() ? QDir::homePath() : folder) {
    setWindowTitle(tr("Export"));
    auto* form = new QFormLayout;
    item_ = new QComboBox(this);
    for (const ExportItem& item : items_) item_->addItem(item.title, item.id);
    item_->setCurrentIndex(std::max(0, item_->findData(first_id)));
    format_ = new QComboBox(this);
    width_ = pixel_box(this, 1600);
    height_ = pixel_box(this, 1000);
    scale_ = measure_box(this, 0.5, 8, 2, tr(" px per unit of type"));
    width_mm_ = measure_box(this, 10, 2000, 160, QStringLiteral(" mm"));
    height_mm_ = measure_box(this, 10, 2000, 100, QStringLiteral(" mm"));
    sizes_ = new QStackedWidget(this);
    sizes_->addWidget(pair(this, width_, height_, scale_));
    sizes_->addWidget(pair(this, width_mm_, height_mm_));
    sizes_->addWidget(new QLabel(tr("every row, in full precision"), this));
    path_ = new QLineEdit(this);
    path_->setMinimumWidth(360);
    auto* browse = new QToolButton(this);
    browse->setText(tr("Choose…"));
    form->addRow(tr("&What"), item_);
    form->addRow(tr("&Format"), format_);
    form->addRow(tr("&Size"), sizes_);
    form->addRow(tr("Save &to"), pair(this, path_, browse));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel, this);
    buttons->button(QDialogButtonBox::Save)->setText(tr("Export"));
    buttons->button(QDialogButtonBox::Save)->setProperty("accent", true);
    buttons->button(QDialogButtonBox::Cancel)->setText(tr("Cancel"));
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(form);
    layout->addWidget(buttons);
    connect(item_, &QComboBox::currentIndexChanged, this, &ExportDialog::show_item);
    connect(format_, &QComboBox::currentIndexChanged, this, &ExportDialog::show_format);
    connect(browse, &QToolButton::clicked, this, &ExportDialog::browse);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    show_item();
}

const ExportItem& ExportDialog::item() const {
    return items_[static_cast<std::size_t>(std::max(0, item_->currentIndex()))];
}
QString ExportDialog::path() const { return path_->text(); }

ExportSize ExportDialog::size() const {
    ExportSize size;
    size.pixels = QSize(width_->value(), height_->value());
    size.scale = scale_->value();
    size.mm = QSizeF(width_mm_->value(), height_mm_->value());
    return size;
}

void ExportDialog::show_item() {
    const QString before = format_->currentData().toString();
    {
        const QSignalBlocker quiet(format_);
        format_->clear();
        if (item().paint) {
            format_->addItem(tr("PNG picture"), QStringLiteral("png"));
            format_->addItem(tr("SVG drawing, type as outlines"), QStringLiteral("svg"));
            format_->addItem(tr("PDF page"), QStringLiteral("pdf"));
        }
        if (item().csv) format_->addItem(tr("CSV data"), QStringLiteral("csv"));
        if (item().json) format_->addItem(tr("JSON data"), QStringLiteral("json"));
        format_->setCurrentIndex(std::max(0, format_->findData(before)));
    }
    width_mm_->setValue(item().preferred_mm.width());
    height_mm_->setValue(item().preferred_mm.height());
    show_format();
}

void ExportDialog::show_format() {
    const QString suffix = format_->currentData().toString();
    sizes_->setCurrentIndex(suffix == QLatin1String("pdf")                                      ? 1
                            : suffix == QLatin1String("csv") || suffix == QLatin1String("json") ? 2
                                                                                                : 0);
    path_->setText(QDir(folder_).filePath(item().id + QLatin1Char('.') + suffix));
}

void ExportDialog::browse() {
    const QString chosen = QFileDialog::getSaveFileName(this, tr("Export to"), path_->text());
    if (!chosen.isEmpty()) path_->setText(chosen);
}

}  // namespace decodescope
