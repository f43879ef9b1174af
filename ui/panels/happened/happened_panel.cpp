#include "ui/panels/happened/happened_panel.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/panels/happened/probability_bars.h"
#include "ui/panels/happened/stage_chips.h"
#include "ui/viewmodels/export_table.h"
#include "ui/viewmodels/happened_text.h"
#include "ui/viewmodels/stage_walk.h"
#include "ui/viewmodels/token_text.h"
#include "ui/widgets/words_label.h"

namespace decodescope {

namespace {

constexpr int kMomentMillis = 450;  // how long slow motion stays with a stage

class HappenedPanel : public Panel {
    Q_DECLARE_TR_FUNCTIONS(HappenedPanel)
public:
    HappenedPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(6);
        sentences_ = new WordsLabel(this);
        sentences_->setTextInteractionFlags(Qt::TextSelectableByMouse);
        sentences_->setAccessibleName(tr("The step in words"));
        chips_ = new StageChips(this);
        moment_ = new WordsLabel(this);
        moment_->setProperty("note", true);
        bars_ = new ProbabilityBars(this);
        layout->addWidget(sentences_);
        layout->addWidget(chips_);
        layout->addWidget(moment_);
        layout->addWidget(bars_, 1);
        slow_ = new QToolButton;
        slow_->setText(tr("slow motion"));
        slow_->setToolTip(tr("Replay this step stage by stage"));
        slow_->setCheckable(true);
        slow_->setProperty("small", true);
        slow_->setFocusPolicy(Qt::TabFocus);
        connect(slow_, &QToolButton::toggled, this, [this](bool on) { on ? start() : stop(); });
        connect(chips_, &StageChips::chosen, this, [this](int stage) { choose(stage); });
        connect(&timer_, &QTimer::timeout, this, [this] { show_moment(at_ + 1); });
        timer_.setInterval(kMomentMillis);
    }

    QWidget* header_tools() override { return slow_; }
    QString subtitle() const override {
        const auto step = facts();
        return step ? happened_subtitle(*step) : QString();
    }

    void present(const PanelContext& context, unsigned changes) override {
        const bool other_step = context.step != context_.step || context.recording != context_.recording;
        context_ = context;
        const auto step = facts();
        if (other_step) rest();
        slow_->setEnabled(step != nullptr);
        if (!step) {
            sentences_->setText(
                tr("What a step reads, writes and saves is told here. Press Space to play, or the right arrow key for "
                   "one step."));
            moment_->clear();
            bars_->set_bars({}, QString());
            return;
        }
        lines_ = happened_sentences(*context_.recording, context_.step);
        fit_sentences();
        if (walk_.empty()) moment_->setText(tr("Stages of the step: choose one, or watch them in slow motion."));
        bars_->set_bars(bars(*step), tr("Probabilities were not recorded for this step."));
        if (changes & ThemeChanged) chips_->update();
    }

    std::vector<ExportItem> exports() override {
        const auto step = facts();
        if (!step || step->top.empty()) return {};
        ExportItem item;
        item.id = QStringLiteral("next-token");
        item.title = tr("Probabilities of the next token");
        item.preferred_mm = QSizeF(120, 70);
        item.paint = [all = bars(*step)](QPainter& painter, const QRectF& area) {
            ProbabilityBars::paint(painter, area, all);
        };
        const auto table = [this, step] {
            ExportTable table{"probabilities of the next token, before temperature",
                              {"rank", "token", "text", "probability", "chosen"},
                              {}};
            for (std::size_t i = 0; i < step->top.size(); ++i)
                table.rows.push_back({static_cast<std::int64_t>(i + 1), std::int64_t{step->top[i].token},
                                      context_.recording->token_display(step->top[i].token),
                                      static_cast<double>(step->top[i].probability),
                                      step->top[i].token == step->sampled_token});
            return table;
        };
        item.csv = [this, table] { return to_csv(table(), context_.recording->facts()); };
        item.json = [this, table] { return to_json(table(), context_.recording->facts()); };
        return {item};
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        Panel::resizeEvent(event);
        fit_sentences();
    }

private:
    // As many sentences as leave room for the stages and two bars; the last ones drop out first.
    void fit_sentences() {
        if (facts() == nullptr) return;
        // In slow motion the line of a stage may take two; the sentences do not jump with each stage.
        const int stage_lines = walk_.empty() ? 1 : 2;
        const int below = chips_->sizeHint().height() + stage_lines * QFontMetrics(theme().note()).height() +
                          bars_->minimumSizeHint().height() + 3 * layout()->spacing();
        QStringList shown = lines_;
        constexpr int kLeast = 1;
        const QFontMetrics metrics(theme().body());
        const auto height = [&] {
            return metrics.boundingRect(QRect(0, 0, width(), 10000), Qt::TextWordWrap, shown.join(QStringLiteral("\n")))
                .height();
        };
        while (shown.size() > kLeast && height() + below > this->height()) shown.removeLast();
        sentences_->setText(shown.join(QStringLiteral("\n")));
        sentences_->setMinimumHeight(height());  // where room is short the bars shrink, never a line in the middle
        sentences_->setToolTip(shown.size() < lines_.size() ? lines_.join(QStringLiteral("\n")) : QString());
    }

    std::shared_ptr<const StepFacts> facts() const {
        if (!context_.recording || context_.step < 0 || context_.step >= context_.recording->step_count())
            return nullptr;
        return context_.recording->step(context_.step);
    }

    std::vector<ProbabilityBar> bars(const StepFacts& step) const {
        std::vector<ProbabilityBar> all;
        for (const TokenProbability& one : step.top)
            all.push_back({token_label(context_.recording->token_display(one.token), false).text, one.probability,
                           one.token == step.sampled_token});
        return all;
    }

    void start() {
        const auto step = facts();
        if (!step) return;
        if (context_.session != nullptr && context_.session->can(SessionAction::Pause)) context_.session->pause();
        walk_ = stage_walk(context_.recording->facts(), *step);
        show_moment(0);
        timer_.start();
    }

    void stop() {
        timer_.stop();
        if (context_.selection != nullptr) context_.selection->end_hover();
    }

    // Back to no stage lit: another step is viewed.
    void rest() {
        slow_->setChecked(false);
        stop();
        walk_.clear();
        at_ = -1;
        chips_->set_lit(-1);
    }

    // A chip shows its stage in the selected layer and stays there.
    void choose(int stage) {
        const auto step = facts();
        if (!step) return;
        slow_->setChecked(false);
        walk_ = stage_walk(context_.recording->facts(), *step);
        const int layer = context_.selection->effective().layer;
        for (std::size_t i = 0; i < walk_.size(); ++i)
            if (static_cast<int>(walk_[i].stage) == stage && (walk_[i].layer < 0 || walk_[i].layer == layer))
                return show_moment(static_cast<int>(i));
        moment_->setText(tr("%1: not part of this step.").arg(walk_stage_name(static_cast<WalkStage>(stage))));
        chips_->set_lit(stage);
    }

    void show_moment(int index) {
        const auto step = facts();
        if (!step || index >= static_cast<int>(walk_.size())) {
            slow_->setChecked(false);
            return;
        }
        at_ = index;
        const WalkMoment& moment = walk_[static_cast<std::size_t>(index)];
        chips_->set_lit(static_cast<int>(moment.stage));
        moment_->setText(walk_sentence(context_.recording->facts(), *step, moment));
        fit_sentences();
        if (!slow_->isChecked() || moment.layer < 0) return;
        // The other panels follow the layer as if it were hovered.
        SelectionPoint point = context_.selection->pinned();
        point.layer = moment.layer;
        context_.selection->hover(point);
    }

    WordsLabel *sentences_ = nullptr, *moment_ = nullptr;
    StageChips* chips_ = nullptr;
    ProbabilityBars* bars_ = nullptr;
    QToolButton* slow_ = nullptr;
    QTimer timer_;
    QStringList lines_;
    std::vector<WalkMoment> walk_;
    int at_ = -1;
};

}  // namespace

Panel* create_happened_panel(const PanelContext& context, QWidget* parent) {
    return new HappenedPanel(context, parent);
}

}  // namespace decodescope
