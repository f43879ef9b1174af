#include "ui/panels/model/model_panel.h"

#include <QCoreApplication>
#include <QLabel>
#include <QScrollArea>
#include <QStackedLayout>
#include <QVBoxLayout>

#include "ui/panels/model/model_view.h"
#include "ui/widgets/words_label.h"

namespace decodescope {
namespace {

class ModelPanel : public Panel {
    Q_DECLARE_TR_FUNCTIONS(ModelPanel)
public:
    ModelPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
        view_ = new ModelView;
        auto* scroll = new QScrollArea(this);
        scroll->setWidget(view_);
        scroll->setWidgetResizable(true);
        scroll->setFrameShape(QFrame::NoFrame);
        scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        scroll->setFocusPolicy(Qt::StrongFocus);  // arrow and page keys scroll
        scroll->setAccessibleName(tr("Model card"));
        auto* none = new WordsLabel(this);
        none->setText(tr("The shapes of the model appear here when one is loaded."));
        none->setProperty("quiet", true);
        none->setAlignment(Qt::AlignCenter);
        pages_ = new QStackedLayout(this);
        pages_->setContentsMargins(0, 0, 0, 0);
        pages_->addWidget(none);
        pages_->addWidget(scroll);
        setFocusProxy(scroll);
    }

    QString subtitle() const override { return tr("shapes, parameters and what the cache takes"); }
    QString facts_line() const override { return view_->card().name; }

    void present(const PanelContext& context, unsigned changes) override {
        const bool other = context.recording != context_.recording || (changes & NewRecording) != 0 || !shown_;
        context_ = context;
        if (other) take();
        if (changes & ThemeChanged) {
            view_->updateGeometry();
            view_->update();
        }
    }

    std::vector<ExportItem> exports() override {
        if (!context_.recording) return {};
        take();
        ExportItem item;
        item.id = QStringLiteral("model-card");
        item.title = tr("Model card");
        item.paint = [this](QPainter& painter, const QRectF& area) { view_->paint_card(painter, area); };
        item.csv = [this] { return to_csv(model_card_table(view_->card()), context_.recording->facts()); };
        item.json = [this] { return to_json(model_card_table(view_->card()), context_.recording->facts()); };
        item.preferred_mm = QSizeF(180, 180);
        return {item};
    }

private:
    void take() {
        shown_ = context_.recording != nullptr;
        pages_->setCurrentIndex(shown_ ? 1 : 0);
        if (!shown_) return;
        const RunFacts& facts = context_.recording->facts();
        const auto format = parse_kv_format(facts.kv_type);
        view_->set_card(model_card(facts.config, format.ok() ? *format : KvFormat{}));
        Q_EMIT header_changed();
    }

    ModelView* view_;
    QStackedLayout* pages_;
    bool shown_ = false;
};

}  // namespace

Panel* create_model_panel(const PanelContext& context, QWidget* parent) { return new ModelPanel(context, parent); }

}  // namespace decodescope
