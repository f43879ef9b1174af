#include "ui/panels/timing/timing_panel.h"

#include <QButtonGroup>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "engine/measure/commentary.h"
#include "ui/panels/timing/operation_page.h"
#include "ui/panels/timing/same_light.h"
#include "ui/panels/timing/sweep_page.h"
#include "ui/panels/timing/timing_chart.h"
#include "ui/viewmodels/timing_model.h"
#include "ui/viewmodels/timing_text.h"
#include "ui/widgets/chart_view.h"
#include "ui/widgets/words_label.h"

namespace decodescope {

namespace {

class TimingPanel : public Panel {
    Q_DECLARE_TR_FUNCTIONS(TimingPanel)
public:
    TimingPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        pages_ = new QStackedWidget(this);
        pages_->addWidget(make_live_page());
        sweep_ = new SweepPage(context.session, this);
        pages_->addWidget(sweep_);
        operations_ = new OperationPage(this);
        pages_->addWidget(operations_);
        layout->addWidget(pages_);
        tools_ = make_tools();
        connect_chart();
    }

    QWidget* header_tools() override { return tools_; }
    QString subtitle() const override {
        if (showing_sweep()) return tr("measured at chosen lengths");
        if (showing_operations()) return tr("where the step's time goes");
        return cumulated_->isChecked() ? tr("since the first step") : tr("live, both lanes");
    }

    void present(const PanelContext& context, unsigned changes) override {
        context_ = context;
        sweep_button_->setVisible(!context.presentation || showing_sweep());
        if (export_button_->property("away").toBool() != context.presentation) {
            export_button_->setProperty("away", context.presentation);
            Q_EMIT header_changed();
        }
        if (showing_sweep()) {
            sweep_->present(changes, log_->isChecked());
            return;
        }
        if (showing_operations()) {
            operations_->present(context, changes);
            return;
        }
        model_.update(context.recording.get(), context.recording && differs_by_design(context.recording->facts()));
        if (changes & ThemeChanged) chart_->theme_changed();
        show_chart();
        show_sentence();
    }

    std::vector<ExportItem> exports() override {
        model_.update(context_.recording.get(), false);
        std::vector<ExportItem> items;
        if (context_.recording) {
            items.push_back(item(QStringLiteral("timing-per-token"), tr("Time per token against length"), false));
            items.push_back(
                item(QStringLiteral("timing-cumulated"), tr("Time since the first step against length"), true));
        }
        for (ExportItem& sweep : sweep_->exports()) items.push_back(std::move(sweep));
        for (ExportItem& operations : operations_->exports(context_)) items.push_back(std::move(operations));
        return items;
    }

private:
    bool showing_sweep() const { return pages_->currentIndex() == 1; }
    bool showing_operations() const { return pages_->currentIndex() == 2; }

    QWidget* make_live_page() {
        auto* page = new QWidget(this);
        auto* layout = new QVBoxLayout(page);
        layout->setContentsMargins(0, 0, 0, 0);
        chart_ = new ChartView(page);
        chart_->setAccessibleName(tr("Time per token against length"));
        layout->addWidget(chart_, 1);
        auto* row = new QHBoxLayout;
        sentence_ = new WordsLabel(page);
        sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
        sentence_->setAccessibleName(tr("Speed-up and same answer, in words"));
        light_ = new SameLight(page);
        row->addWidget(sentence_, 1);
        row->addWidget(light_, 0, Qt::AlignTop);
        layout->addLayout(row);
        return page;
    }

    QToolButton* make_button(QWidget* parent, const QString& text, const QString& help, bool checkable) {
        auto* button = new QToolButton(parent);
        button->setText(text);
        button->setToolTip(help);
        button->setCheckable(checkable);
        button->setProperty("small", true);
        button->setFocusPolicy(Qt::TabFocus);
        parent->layout()->addWidget(button);
        return button;
    }

    QWidget* make_tools() {
        auto* tools = new QWidget;
        auto* row = new QHBoxLayout(tools);
        row->setContentsMargins(0, 0, 0, 0);
        row->setSpacing(4);
        per_token_ = make_button(tools, tr("per token"), tr("Time of each pass"), true);
        cumulated_ = make_button(tools, tr("cumulated"),
                                 tr("Time since the first step: here recompute turns quadratic and worse"), true);
        log_ = make_button(tools, tr("log"), tr("Logarithmic axes: a power of the length is a straight line"), true);
        sweep_button_ = make_button(tools, tr("Sweep…"), tr("Measure chosen lengths and caches with repeats"), true);
        export_button_ = make_button(tools, tr("Export"), tr("Save this chart or its data"), false);
        export_button_->setProperty("givesWay", true);  // the menu saves every chart
        // Made after it, so that it gives way later; in a narrow window the panel can be enlarged.
        operations_button_ = make_button(tools, tr("operations"),
                                         tr("Where the time of the viewed step goes, and what share that is of what this "
                                            "machine can do"), true);
        operations_button_->setProperty("givesWay", true);
        row->insertWidget(row->indexOf(export_button_), operations_button_);
        auto* group = new QButtonGroup(tools);
        group->addButton(per_token_);
        group->addButton(cumulated_);
        per_token_->setChecked(true);
        const auto again = [this] {
            pages_->setCurrentIndex(sweep_button_->isChecked() ? 1 : operations_button_->isChecked() ? 2 : 0);
            present(context_, EverythingChanged);
            Q_EMIT header_changed();
        };
        connect(group, &QButtonGroup::idClicked, this, [this, again] {
            sweep_button_->setChecked(false);
            operations_button_->setChecked(false);
            again();
        });
        connect(log_, &QToolButton::clicked, this, again);
        connect(sweep_button_, &QToolButton::clicked, this, [this, again] {
            operations_button_->setChecked(false);
            again();
        });
        connect(operations_button_, &QToolButton::clicked, this, [this, again] {
            sweep_button_->setChecked(false);
            again();
        });
        connect(export_button_, &QToolButton::clicked, this, [this] {
            Q_EMIT export_requested(showing_sweep()           ? QStringLiteral("timing-sweep")
                                    : showing_operations()    ? QStringLiteral("timing-operations")
                                    : cumulated_->isChecked() ? QStringLiteral("timing-cumulated")
                                                              : QStringLiteral("timing-per-token"));
        });
        return tools;
    }

    void connect_chart() {
        chart_->set_readout([this](double x) { return readout(x); });
        const auto point_at = [this](double x) {
            SelectionPoint point = context_.selection->pinned();
            const int rows = context_.recording ? context_.recording->row_count() : 0;
            point.position = std::clamp(static_cast<int>(std::lround(x)) - 1, 0, std::max(0, rows - 1));
            return point;
        };
        connect(chart_, &ChartView::hovered, this,
                [this, point_at](double x) { context_.selection->hover(point_at(x)); });
        connect(chart_, &ChartView::hover_ended, this, [this] { context_.selection->end_hover(); });
        connect(chart_, &ChartView::clicked, this,
                [this, point_at](double x) { context_.selection->pin(point_at(x)); });
    }

    // Values of the points nearest to a length.
    QString readout(double x) const {
        const auto nearest = [x](const TimingLane& lane) -> int {
            int best = -1;
            for (std::size_t i = 0; i < lane.size(); ++i)
                if (best < 0 ||
                    std::abs(lane.length[i] - x) < std::abs(lane.length[static_cast<std::size_t>(best)] - x))
                    best = static_cast<int>(i);
            return best;
        };
        const int c = nearest(model_.cached()), r = nearest(model_.recompute());
        QStringList parts;
        if (c >= 0)
            parts << tr("%1 tokens: %2 %3")
                         .arg(static_cast<int>(model_.cached().length[c]))
                         .arg(main_lane_name(model_), milliseconds(model_.cached().micros[c]));
        if (r >= 0)
            parts << tr("%1 tokens: recompute %2")
                         .arg(static_cast<int>(model_.recompute().length[r]))
                         .arg(milliseconds(model_.recompute().micros[r]));
        return parts.join(QStringLiteral("  ·  "));
    }

    ChartSpec spec(bool cumulated) const {
        return timing_chart(model_, model_.summary(context_.step), cumulated, log_->isChecked());
    }

    void show_chart() {
        ChartSpec next = spec(cumulated_->isChecked());
        if (context_.recording && context_.step >= 0 && context_.step + 1 < context_.recording->step_count()) {
            const auto facts = context_.recording->step(context_.step);
            next.marker_x = facts->first_row + facts->row_count;
        }
        chart_->set_spec(std::move(next));
    }

    void show_sentence() {
        const TimingSummary now = model_.summary(context_.step);
        const bool race = context_.session == nullptr || context_.session->race_enabled() || now.compared > 0;
        sentence_->setText(timing_sentence(now, race));
        light_->set_state(now.same);
    }

    ExportItem item(const QString& id, const QString& title, bool cumulated) {
        ExportItem item;
        item.id = id;
        item.title = title;
        item.paint = [this, cumulated](QPainter& painter, const QRectF& area) {
            ChartView view;
            view.set_spec(spec(cumulated));
            view.paint(painter, area);
        };
        item.csv = [this] { return to_csv(model_.table(), context_.recording->facts()); };
        item.json = [this] { return to_json(model_.table(), context_.recording->facts()); };
        return item;
    }

    TimingModel model_;
    QStackedWidget* pages_ = nullptr;
    ChartView* chart_ = nullptr;
    WordsLabel* sentence_ = nullptr;
    SameLight* light_ = nullptr;
    SweepPage* sweep_ = nullptr;
    OperationPage* operations_ = nullptr;
    QWidget* tools_ = nullptr;
    QToolButton *per_token_ = nullptr, *cumulated_ = nullptr, *log_ = nullptr, *sweep_button_ = nullptr,
                *operations_button_ = nullptr, *export_button_ = nullptr;
};

}  // namespace

Panel* create_timing_panel(const PanelContext& context, QWidget* parent) { return new TimingPanel(context, parent); }

}  // namespace decodescope
