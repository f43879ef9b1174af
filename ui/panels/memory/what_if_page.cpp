#include "ui/panels/memory/what_if_page.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPointer>
#include <QTableWidget>
#include <QThreadPool>
#include <QVBoxLayout>

#include "engine/support/file.h"
#include "ui/session/session_controller.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/words_label.h"

namespace decodescope {

WhatIfPage::WhatIfPage(QWidget* parent) : QWidget(parent), memory_bytes_(available_memory_bytes()) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    auto* row = new QHBoxLayout;
    const auto add = [&](const QString& title, const QString& name) {
        auto* label = new QLabel(title, this);
        auto* box = new QComboBox(this);
        box->setAccessibleName(name);
        box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
        label->setBuddy(box);
        row->addWidget(label);
        row->addWidget(box);
        connect(box, &QComboBox::activated, this, [this] {
            wanted_model_ = model_->currentIndex() == 0 ? QString() : model_->currentText();
            show_cells();
        });
        return box;
    };
    model_ = add(tr("Shape"), tr("Model whose cache is computed"));
    format_ = add(tr("K and V"), tr("Format of K and V"));
    for (const KvFormat& format : what_if_formats()) format_->addItem(QString::fromStdString(to_string(format)));
    format_->setCurrentText(QStringLiteral("f16"));
    row->addStretch(1);
    table_ = new QTableWidget(this);
    table_->setAccessibleName(tr("Bytes of the cache: strategies down, tokens to the right"));
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setShowGrid(false);
    table_->setProperty("small", true);
    table_->setFrameShape(QFrame::NoFrame);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table_->setProperty("dense", true);
    words_ = new WordsLabel(this);
    words_->setProperty("note", true);
    layout->addLayout(row);
    layout->addWidget(table_, 1);
    layout->addWidget(words_);
    fill_models();
}

void WhatIfPage::fill_models() {
    shapes_.clear();
    if (context_.recording) shapes_.push_back(kv_model_shape(context_.recording->facts().config));
    for (const KvModelShape& known : published_shapes()) shapes_.push_back(known);
    shapes_.push_back(article_example());
    model_->clear();
    for (const KvModelShape& shape : shapes_) model_->addItem(QString::fromStdString(shape.name));
    if (const int at = model_->findText(wanted_model_); at > 0) model_->setCurrentIndex(at);
}

void WhatIfPage::present(const PanelContext& context, unsigned changes) {
    const bool other = (changes & NewRecording) != 0 || context.recording != context_.recording;
    context_ = context;
    if (other) fill_models();
    if (!isVisible()) return;
    ask();
    if (other || (changes & ThemeChanged)) show_cells();
}

void WhatIfPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    ask();
    show_cells();
}

void WhatIfPage::ask() {
    const CacheSpec chosen = context_.session != nullptr ? context_.session->settings().cache : CacheSpec{};
    if (asked_ || (slots_ && chosen == chosen_)) return;
    asked_ = true;
    QThreadPool::globalInstance()->start([chosen, page = QPointer<WhatIfPage>(this)] {
        auto slots = std::make_shared<const WhatIfSlots>(what_if_slots(chosen));
        QMetaObject::invokeMethod(
            qApp,
            [page, slots, chosen] {
                if (page) page->take(slots, chosen);
            },
            Qt::QueuedConnection);
    });
}

void WhatIfPage::take(std::shared_ptr<const WhatIfSlots> slots, const CacheSpec& chosen) {
    slots_ = std::move(slots);
    chosen_ = chosen;
    asked_ = false;
    show_cells();
}

KvModelShape WhatIfPage::shape() const {
    const int at = model_->currentIndex();
    return at < 0 ? article_example() : shapes_[static_cast<std::size_t>(at)];
}

KvFormat WhatIfPage::format() const {
    return what_if_formats()[static_cast<std::size_t>(std::max(0, format_->currentIndex()))];
}

void WhatIfPage::show_cells() {
    if (!slots_) {
        words_->setText(tr("Asking every strategy what it would keep …"));
        return;
    }
    const auto cells = what_if_cells(*slots_, shape(), format(), memory_bytes_);
    QStringList columns, rows;
    for (const std::int64_t tokens : what_if_lengths()) columns << what_if_column_name(tokens);
    for (const CacheSpec& cache : slots_->caches) rows << what_if_row_name(cache);
    table_->setRowCount(static_cast<int>(rows.size()));
    table_->setColumnCount(static_cast<int>(columns.size()));
    table_->setHorizontalHeaderLabels(columns);
    table_->setVerticalHeaderLabels(rows);
    const Theme& t = theme();
    const int line = QFontMetrics(t.note()).height() + 4;
    table_->verticalHeader()->setMinimumSectionSize(line);
    table_->verticalHeader()->setDefaultSectionSize(line);
    table_->horizontalHeader()->setFixedHeight(line);
    for (int r = 0; r < rows.size(); ++r)
        for (int c = 0; c < columns.size(); ++c) {
            const WhatIfCell& cell = cells[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
            auto* item = new QTableWidgetItem(cell.text);
            item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
            item->setToolTip(cell.tip);
            item->setData(Qt::AccessibleDescriptionRole, cell.tip);
            if (!cell.fits) {
                item->setBackground(t.color(Role::Reserved));
                item->setForeground(t.color(Role::QuietInk));
            }
            table_->setItem(r, c, item);
        }
    const QString words = what_if_words(shape(), memory_bytes_);
    words_->setText(words);
    table_->setAccessibleDescription(words);
    model_->setToolTip(words);
    fit_words();
}

// In a low panel the rows matter more than the sentence, which the choice of the shape then tells.
void WhatIfPage::fit_words() {
    const int needed = model_->sizeHint().height() + table_->horizontalHeader()->height() +
                       table_->rowCount() * table_->verticalHeader()->defaultSectionSize();
    words_->setVisible(height() >= needed + words_->heightForWidth(width()) + 2 * layout()->spacing());
}

void WhatIfPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_words();
}

ExportTable WhatIfPage::table() const { return what_if_table(*slots_, shape(), memory_bytes_); }

}  // namespace decodescope
