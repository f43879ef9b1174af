#include "ui/panels/compare/compare_panel.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QResizeEvent>
#include <QScrollArea>
#include <QTableWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/panels/compare/compare_form.h"
#include "ui/widgets/comparison_figure.h"
#include "ui/widgets/words_label.h"

namespace decodescope {

namespace {

constexpr int kNarrowGrids = 70;  // below it the texts stand below each other

class ComparePanel : public Panel {
    Q_DECLARE_TR_FUNCTIONS(ComparePanel)
public:
    ComparePanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        form_ = new CompareForm(context.session, this);
        layout->addWidget(form_);
        note_ = new WordsLabel(this);
        note_->setProperty("note", true);
        note_->setAccessibleName(tr("Progress and messages of the comparison"));
        note_->hide();
        layout->addWidget(note_);
        layout->addWidget(make_results(), 1);
        make_tools();
        connect(form_, &CompareForm::said, this, [this](const QString& sentence) { say(sentence); });
    }

    QString subtitle() const override { return tr("same prompt, same tokens, steps in turn"); }
    QString facts_line() const override {
        const auto result = context_.session->comparison();
        if (result == nullptr) return {};
        return tr("%1 configurations, %2 steps [measured]")
            .arg(result->lanes.size())
            .arg(std::max<std::size_t>(result->lanes.front().passes.size(), 1) - 1);
    }
    QWidget* header_tools() override { return tools_; }

    void present(const PanelContext& context, unsigned changes) override {
        context_ = context;
        export_button_->setVisible(!context.presentation);
        if (changes & (StateChanged | SettingsChanged | NewRecording | NewSteps)) form_->show_state();
        if ((changes & StateChanged) && !context.session->comparing()) say(QString());
        if (changes & (ComparisonChanged | ThemeChanged)) show_result();
    }

    std::vector<ExportItem> exports() override {
        const auto result = context_.session->comparison();
        if (result == nullptr) return {};
        ExportItem item;
        item.id = QStringLiteral("compare");
        item.title = tr("Configurations compared");
        item.facts = std::shared_ptr<const RunFacts>(result, &result->run);
        item.paint = [result](QPainter& painter, const QRectF& area) { paint_comparison(painter, area, *result); };
        item.csv = [result] { return compare_csv(*result); };
        item.json = [result] { return compare_json(*result); };
        return {item};
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        Panel::resizeEvent(event);
        arrange_texts();
    }

private:
    QWidget* make_results() {
        auto* page = new QWidget;
        auto* layout = new QVBoxLayout(page);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(theme().grid());
        sentences_ = new WordsLabel(page);
        sentences_->setProperty("small", true);
        sentences_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        sentences_->setAccessibleName(tr("The comparison in words"));
        figure_ = new ComparisonFigure(page);
        table_ = new QTableWidget(page);
        table_->setAccessibleName(tr("The comparison as a table"));
        table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
        table_->setShowGrid(false);
        table_->setFrameShape(QFrame::NoFrame);
        table_->setProperty("small", true);
        table_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
        table_->horizontalHeader()->setHighlightSections(false);
        table_->verticalHeader()->hide();
        table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
        texts_ = new QBoxLayout(QBoxLayout::LeftToRight);
        texts_->setSpacing(theme().grid() * 2);
        layout->addWidget(figure_);
        layout->addWidget(sentences_);
        layout->addWidget(table_);
        layout->addLayout(texts_);
        layout->addStretch(1);
        for (QWidget* empty : {static_cast<QWidget*>(sentences_), static_cast<QWidget*>(table_)}) empty->hide();
        auto* scroll = new QScrollArea(this);
        scroll->setWidget(page);
        scroll->setWidgetResizable(true);
        scroll->setFrameShape(QFrame::NoFrame);
        scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        scroll->setFocusPolicy(Qt::TabFocus);
        return scroll;
    }

    void make_tools() {
        tools_ = new QWidget;
        auto* row = new QHBoxLayout(tools_);
        row->setContentsMargins(0, 0, 0, 0);
        export_button_ = new QToolButton(tools_);
        export_button_->setText(tr("Export"));
        export_button_->setToolTip(tr("Save the figure or the table"));
        export_button_->setProperty("small", true);
        export_button_->setFocusPolicy(Qt::TabFocus);
        export_button_->setEnabled(false);
        row->addWidget(export_button_);
        connect(export_button_, &QToolButton::clicked, this,
                [this] { Q_EMIT export_requested(QStringLiteral("compare")); });
    }

    void say(const QString& sentence) {
        note_->setText(sentence);
        note_->setVisible(!sentence.isEmpty());
    }

    void show_result() {
        const auto result = context_.session->comparison();
        figure_->set_result(result);
        export_button_->setEnabled(result != nullptr);
        sentences_->setVisible(result != nullptr);
        table_->setVisible(result != nullptr);
        if (result == nullptr) return;
        QStringList lines = compare_sentences(*result);
        if (result->cancelled) lines.prepend(tr("Cancelled: what was measured before is shown."));
        sentences_->setText(lines.join(QLatin1Char('\n')));
        show_table(*result);
        show_texts(*result);
        Q_EMIT header_changed();
    }

    void show_table(const CompareResult& result) {
        const auto rows = compare_rows(result);
        table_->clear();
        table_->setRowCount(static_cast<int>(rows.size()));
        table_->setColumnCount(static_cast<int>(result.lanes.size()) + 1);
        QStringList names{QString()};
        for (std::size_t i = 0; i < result.lanes.size(); ++i)
            names << QStringLiteral("%1  %2").arg(i + 1).arg(QString::fromStdString(result.lanes[i].name));
        const auto put = [&](int row, int column, const QString& text, const QString& help) {
            auto* item = new QTableWidgetItem(text);
            item->setToolTip(help);
            if (column == 0) item->setForeground(theme().color(Role::QuietInk));
            table_->setItem(row, column, item);
        };
        for (int r = 0; r < table_->rowCount(); ++r) {
            const CompareTableRow& row = rows[static_cast<std::size_t>(r)];
            put(r, 0, row.title, row.help);
            for (int c = 0; c < row.values.size(); ++c) put(r, c + 1, row.values[c], row.values[c]);
        }
        table_->setHorizontalHeaderLabels(names);
        const int height = QFontMetrics(theme().note()).height() + 6;
        table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
        table_->verticalHeader()->setDefaultSectionSize(height);
        // All of its rows: what surrounds it scrolls.
        table_->setFixedHeight(table_->horizontalHeader()->sizeHint().height() + height * table_->rowCount() + 2);
    }

    void show_texts(const CompareResult& result) {
        while (QLayoutItem* item = texts_->takeAt(0)) {
            delete item->widget();
            delete item;
        }
        for (std::size_t i = 0; i < result.lanes.size(); ++i) {
            const CompareLane& lane = result.lanes[i];
            auto* text = new WordsLabel(table_->parentWidget());
            text->setTextFormat(Qt::RichText);
            text->setAlignment(Qt::AlignTop | Qt::AlignLeft);
            text->setTextInteractionFlags(Qt::TextSelectableByMouse);
            const bool same = i > 0 && lane.first_different < 0;
            const QString title = QStringLiteral("%1  %2").arg(i + 1).arg(QString::fromStdString(lane.name));
            text->setText(QStringLiteral("<b>%1</b>%2<br>%3")
                              .arg(title.toHtmlEscaped(),
                                   same ? QStringLiteral(" · ") + tr("the same tokens as 1").toHtmlEscaped() : QString(),
                                   marked_text(lane, theme().text(Role::Recompute))));
            text->setAccessibleName(tr("Text of configuration %1").arg(i + 1));
            texts_->addWidget(text, 1);
        }
        arrange_texts();
    }

    void arrange_texts() {
        texts_->setDirection(width() < theme().grid() * kNarrowGrids ? QBoxLayout::TopToBottom
                                                                    : QBoxLayout::LeftToRight);
    }

    CompareForm* form_ = nullptr;
    WordsLabel *note_ = nullptr, *sentences_ = nullptr;
    ComparisonFigure* figure_ = nullptr;
    QTableWidget* table_ = nullptr;
    QBoxLayout* texts_ = nullptr;
    QWidget* tools_ = nullptr;
    QToolButton* export_button_ = nullptr;
};

}  // namespace

Panel* create_compare_panel(const PanelContext& context, QWidget* parent) { return new ComparePanel(context, parent); }

}  // namespace decodescope
