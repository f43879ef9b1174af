#include "ui/panels/memory/memory_panel.h"

#include <QButtonGroup>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QStackedLayout>
#include <QToolButton>
#include <QVBoxLayout>
#include <cmath>

#include "ui/panels/memory/what_if_page.h"
#include "ui/viewmodels/format.h"
#include "ui/viewmodels/memory_model.h"
#include "ui/viewmodels/memory_text.h"
#include "ui/widgets/chart_view.h"
#include "ui/widgets/words_label.h"

namespace decodescope {

namespace {

constexpr double kSmallShare = 0.1;  // a cache smaller than this share of everything is shown on its own at first

class MemoryPanel : public Panel {
    Q_DECLARE_TR_FUNCTIONS(MemoryPanel)
public:
    MemoryPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
        auto* over_run = new QWidget(this);
        auto* layout = new QHBoxLayout(over_run);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(16);
        chart_ = new ChartView(over_run);
        chart_->setAccessibleName(tr("Bytes by purpose over the run"));
        words_ = new WordsLabel;
        words_->setProperty("small", true);
        words_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
        words_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        words_->setAccessibleName(tr("Formula and counted bytes"));
        auto* scroll = new QScrollArea(this);
        scroll->setWidget(words_);
        scroll->setWidgetResizable(true);
        scroll->setFrameShape(QFrame::NoFrame);
        scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        scroll->setFocusPolicy(Qt::TabFocus);
        layout->addWidget(chart_, 4);
        layout->addWidget(scroll, 5);  // a formula with its numbers on one line
        what_if_ = new WhatIfPage(this);
        pages_ = new QStackedLayout(this);
        pages_->addWidget(over_run);
        pages_->addWidget(what_if_);
        tools_ = make_tools();
        chart_->set_readout([this](double x) { return readout(x); });
    }

    QString subtitle() const override {
        return what_if_button_->isChecked() ? tr("what a cache would take") : tr("as the allocator counted it");
    }
    QWidget* header_tools() override { return tools_; }

    void present(const PanelContext& context, unsigned changes) override {
        context_ = context;
        model_.update(context.recording.get());
        what_if_->present(context, changes);
        pages_->setCurrentWidget(what_if_button_->isChecked() ? static_cast<QWidget*>(what_if_) : pages_->widget(0));
        if (what_if_button_->isChecked()) return;
        if (changes & NewRecording) chosen_ = false;
        if (!chosen_) {
            const double share = model_.cache_share();
            (share > 0 && share < kSmallShare ? cache_only_ : everything_)->setChecked(true);
        }
        if (changes & ThemeChanged) chart_->theme_changed();
        ChartSpec next = spec(cache_only_->isChecked());
        if (context.recording && context.step >= 0 && context.step + 1 < context.recording->step_count()) {
            const auto facts = context.recording->step(context.step);
            next.marker_x = facts->first_row + facts->row_count;
        }
        chart_->set_spec(std::move(next));
        show_words();
    }

    std::vector<ExportItem> exports() override {
        if (!context_.recording) return {};
        model_.update(context_.recording.get());
        ExportItem item;
        item.id = QStringLiteral("memory");
        item.title = tr("Memory over the run");
        item.paint = [this](QPainter& painter, const QRectF& area) {
            ChartView view;
            view.set_spec(spec(cache_only_->isChecked()));
            view.paint(painter, area);
        };
        item.csv = [this] { return to_csv(model_.table(), context_.recording->facts()); };
        item.json = [this] { return to_json(model_.table(), context_.recording->facts()); };
        if (!what_if_->ready()) return {item};
        ExportItem what_if;
        what_if.id = QStringLiteral("what-if");
        what_if.title = tr("What a cache would take");
        what_if.csv = [this] { return to_csv(what_if_->table(), context_.recording->facts()); };
        what_if.json = [this] { return to_json(what_if_->table(), context_.recording->facts()); };
        return {item, what_if};
    }

private:
    QWidget* make_tools() {
        auto* tools = new QWidget;
        auto* row = new QHBoxLayout(tools);
        row->setContentsMargins(0, 0, 0, 0);
        row->setSpacing(4);
        auto* group = new QButtonGroup(tools);
        const auto make = [&](const QString& text, const QString& help) {
            auto* button = new QToolButton(tools);
            button->setText(text);
            button->setToolTip(help);
            button->setCheckable(true);
            button->setProperty("small", true);
            button->setFocusPolicy(Qt::TabFocus);
            row->addWidget(button);
            group->addButton(button);
            return button;
        };
        everything_ = make(tr("everything"), tr("Weights, activations and cache, stacked"));
        cache_only_ = make(tr("cache only"), tr("The cache alone, so that a small one can be seen"));
        what_if_button_ = make(tr("what if"), tr("The cache of this and of known models at 1k to 1M tokens"));
        everything_->setChecked(true);
        connect(group, &QButtonGroup::idClicked, this, [this] {
            chosen_ = true;
            present(context_, StateChanged);
            Q_EMIT header_changed();
        });
        return tools;
    }

    ChartSpec spec(bool cache_only) const {
        ChartSpec spec;
        spec.x_title = tr("tokens in the sequence");
        spec.empty_text = model_.size() > 0 ? tr("Without a cache there is nothing to draw here.")
                                            : tr("Step or play: memory by purpose appears here.");
        std::vector<double> base(model_.size(), 0.0);
        double largest = 0;
        for (std::size_t i = 0; i < model_.size(); ++i) {
            const double cache = model_.kv_used()[i] + model_.kv_empty()[i];
            largest = std::max(largest, cache_only ? cache : cache + model_.weights()[i] + model_.activations()[i]);
        }
        const ByteUnit unit = byte_unit(largest);
        spec.y_title = unit.name;
        const auto add = [&](const QString& label, Role role, const std::vector<double>& bytes) {
            ChartSeries series{.label = label, .role = role, .fill = true, .x = model_.length(), .base = base};
            bool any = false;
            for (std::size_t i = 0; i < bytes.size(); ++i) {
                base[i] += bytes[i] / unit.bytes;
                any = any || bytes[i] > 0;
            }
            series.y = base;
            if (any) spec.series.push_back(std::move(series));
        };
        if (!cache_only) {
            add(tr("weights"), Role::Prompt, model_.weights());
            add(tr("activations"), Role::Generated, model_.activations());
        }
        add(tr("KV used"), Role::K, model_.kv_used());
        add(tr("KV empty"), Role::Reserved, model_.kv_empty());
        return spec;
    }

    QString readout(double x) const {
        int best = -1;
        for (std::size_t i = 0; i < model_.size(); ++i)
            if (best < 0 ||
                std::abs(model_.length()[i] - x) < std::abs(model_.length()[static_cast<std::size_t>(best)] - x))
                best = static_cast<int>(i);
        if (best < 0) return {};
        const auto i = static_cast<std::size_t>(best);
        return tr("%1 tokens: KV used %2 of %3")
            .arg(static_cast<int>(model_.length()[i]))
            .arg(format_bytes(static_cast<std::int64_t>(model_.kv_used()[i])),
                 format_bytes(static_cast<std::int64_t>(model_.kv_used()[i] + model_.kv_empty()[i])));
    }

    void show_words() {
        if (!context_.recording || context_.step < 0) {
            words_->setText(tr("The formula with its numbers appears with the first step: press Space."));
            return;
        }
        words_->setText(memory_words(context_.recording->facts(), *context_.recording->step(context_.step),
                                     theme().text(Role::QuietInk), cache_only_->isChecked()));
    }

    MemoryModel model_;
    ChartView* chart_ = nullptr;
    WordsLabel* words_ = nullptr;
    QWidget* tools_ = nullptr;
    QToolButton *everything_ = nullptr, *cache_only_ = nullptr, *what_if_button_ = nullptr;
    WhatIfPage* what_if_ = nullptr;
    QStackedLayout* pages_ = nullptr;
    bool chosen_ = false;
};

}  // namespace

Panel* create_memory_panel(const PanelContext& context, QWidget* parent) { return new MemoryPanel(context, parent); }

}  // namespace decodescope
