#include "ui/panels/timing/operation_page.h"

#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/viewmodels/format.h"

namespace decodescope {

namespace {

enum Column { kName, kTime, kPart, kBytes, kRate, kShare, kColumns };

// The part of the time as a bar with its number beside it.
class PartDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const double part = index.data(Qt::UserRole).toDouble();
        const int words = option.fontMetrics.horizontalAdvance(QStringLiteral("100 % "));
        QRect bar = option.rect.adjusted(4, 4, -words - 4, -4);
        painter->setPen(theme().color(Role::QuietInk));
        painter->setFont(option.font);
        painter->drawText(option.rect.adjusted(0, 0, -4, 0), Qt::AlignRight | Qt::AlignVCenter,
                          index.data(Qt::DisplayRole).toString());
        if (bar.width() < 4) return;
        bar.setWidth(std::max(1, static_cast<int>(bar.width() * part)));
        painter->fillRect(bar, theme().color(Role::Cached));
    }
};

}  // namespace

OperationPage::OperationPage(QWidget* parent) : QWidget(parent) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    table_ = new QTableWidget(0, kColumns, this);
    table_->setAccessibleName(tr("Operations of the viewed step, the longest first"));
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setShowGrid(false);
    table_->setFrameShape(QFrame::NoFrame);
    table_->setProperty("small", true);
    table_->verticalHeader()->hide();
    table_->setHorizontalHeaderLabels({tr("operation"), tr("time"), tr("part"), tr("bytes"), tr("GB/s"), tr("of the limit")});
    table_->horizontalHeader()->setMinimumSectionSize(16);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    table_->horizontalHeaderItem(kName)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeaderItem(kTime)->setToolTip(tr("Measured, all layers together"));
    table_->horizontalHeaderItem(kPart)->setToolTip(tr("Of the time of all operations"));
    table_->horizontalHeaderItem(kBytes)->setToolTip(tr("Derived from the shapes: weights once, K and V read and written"));
    table_->horizontalHeaderItem(kShare)->setToolTip(
        tr("Of what this machine can do: reading memory, or, marked F, floating-point operations, whichever is nearer. "
           "More than 100 %: what is read lies in a processor's cache"));
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setSectionResizeMode(kName, QHeaderView::Stretch);
    table_->horizontalHeader()->setSectionResizeMode(kPart, QHeaderView::Fixed);
    table_->setItemDelegateForColumn(kPart, new PartDelegate(table_));
    note_ = new QLabel(this);
    note_->setProperty("note", true);
    note_->setWordWrap(true);
    layout->addWidget(table_, 1);
    layout->addWidget(note_);
}

void OperationPage::present(const PanelContext& context, unsigned changes) {
    std::optional<MachineCeiling> ceiling;
    bool later = false;
    const bool live = context.session != nullptr && context.session->state() != SessionState::Replay;
    if (context.machine != nullptr && live) {
        // Beside a working engine both figures would suffer.
        if (context.session->state() == SessionState::Ready) context.machine->ask();
        ceiling = context.machine->known();
        later = !ceiling && context.machine->can_measure();
    }
    // While tokens come the view moves on, and each step is another table; nothing is made twice for one that stays.
    const bool same = context.recording == recording_ && context.step == shown_.step && ceiling.has_value() == measured_;
    recording_ = context.recording;
    measured_ = ceiling.has_value();
    if (!same) shown_ = context.recording ? operation_table(*context.recording, context.step,
                                                 live ? context.session->program() : StepProgram(), ceiling)
                               : OperationTable();
    if (!same || (changes & ThemeChanged) != 0) show_rows();
    const bool profiled = context.session != nullptr && (!live || context.session->settings().profile);
    note_->setText(operation_sentence(shown_, profiled, ceiling, later));
}

void OperationPage::show_rows() {
    table_->setRowCount(static_cast<int>(shown_.rows_by_time.size()));
    table_->setColumnWidth(kPart, theme().grid() * 12);
    table_->verticalHeader()->setDefaultSectionSize(QFontMetrics(theme().note()).height() + 6);
    const auto put = [this](int row, int column, const QString& text, Qt::Alignment side = Qt::AlignRight) {
        QTableWidgetItem* item = table_->item(row, column);
        if (item == nullptr) table_->setItem(row, column, item = new QTableWidgetItem);
        item->setText(text);
        item->setTextAlignment(side | Qt::AlignVCenter);
        return item;
    };
    for (int r = 0; r < table_->rowCount(); ++r) {
        const OperationRow& row = shown_.rows_by_time[static_cast<std::size_t>(r)];
        const QString name = QString::fromStdString(row.use.stage), nothing = QStringLiteral("–");
        put(r, kName, name, Qt::AlignLeft)->setToolTip(name);
        put(r, kTime, format_micros(row.use.micros));
        put(r, kPart, QStringLiteral("%1 %").arg(row.part * 100, 0, 'f', 0))->setData(Qt::UserRole, row.part);
        put(r, kBytes, row.use.cost ? format_bytes(row.use.cost->bytes) : tr("not known"));
        put(r, kRate, row.use.gb_s() > 0 ? QString::number(row.use.gb_s(), 'f', 1) : nothing);
        put(r, kShare, row.share ? QStringLiteral("%1 %").arg(row.share->value * 100, 0, 'f', 0) +
                                       (row.share->of_flops ? QStringLiteral(" F") : QString())
                                 : nothing);
    }
}

std::vector<ExportItem> OperationPage::exports(const PanelContext& context) const {
    if (!context.recording || shown_.rows_by_time.empty()) return {};
    ExportItem item;
    item.id = QStringLiteral("timing-operations");
    item.title = tr("Operations of a step");
    item.csv = [this, run = context.recording] { return to_csv(operation_export(shown_), run->facts()); };
    item.json = [this, run = context.recording] { return to_json(operation_export(shown_), run->facts()); };
    return {item};
}

}  // namespace decodescope
