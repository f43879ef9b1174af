#include "ui/panels/cache/cache_panel.h"

#include <QHBoxLayout>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/panels/cache/cache_view.h"
#include "ui/panels/cache/cell_view.h"
#include "ui/viewmodels/token_text.h"

namespace decodescope {
namespace {

class CachePanel : public Panel {
    Q_DECLARE_TR_FUNCTIONS(CachePanel)
public:
    CachePanel(const PanelContext& context, QWidget* parent)
        : Panel(context, parent), view_(new CacheView(context.selection, this)), cell_(new CellView(this)) {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(4);
        layout->addWidget(view_, 1);
        layout->addWidget(cell_, 0);
        cell_->hide();
        setFocusProxy(view_);
        connect(view_, &CacheView::cell_chosen, this, [this](int layer, int position) {
            if (context_.session != nullptr) context_.session->inspect(layer, position);
        });
        connect(view_, &CacheView::cleared, cell_, &QWidget::hide);
        connect(cell_, &CellView::closed, this, [this] {
            cell_->hide();
            view_->setFocus();
        });
        if (context.session != nullptr)
            connect(context.session, &SessionController::cell_inspected, this,
                    [this](const InspectedCell& cell) { show_cell(cell); });
    }

    QString subtitle() const override { return tr("layers down, positions right"); }
    QString facts_line() const override { return view_->story().facts_line(view_->view()); }

    QWidget* header_tools() override {
        auto* tools = new QWidget;
        auto* row = new QHBoxLayout(tools);
        row->setContentsMargins(0, 0, 0, 0);
        row->setSpacing(4);
        const auto button = [&](const QString& text, const QString& help, auto action) {
            auto* made = new QToolButton(tools);
            made->setText(text);
            made->setToolTip(help);
            made->setAccessibleName(help);
            made->setProperty("small", true);
            made->setFocusPolicy(Qt::StrongFocus);
            connect(made, &QToolButton::clicked, this, action);
            row->addWidget(made);
        };
        button(QStringLiteral("−"), tr("Zoom out (−)"), [this] { view_->zoom_by(1 / 1.4); });
        button(QStringLiteral("+"), tr("Zoom in (+)"), [this] { view_->zoom_by(1.4); });
        button(tr("fit"), tr("Everything in view (0)"), [this] { view_->fit(); });
        return tools;
    }

    void present(const PanelContext& context, unsigned changes) override {
        const bool replaced = (changes & NewRecording) != 0 || context.recording != context_.recording;
        context_ = context;
        view_->present(context, changes);
        // The numbers belong to the pinned cell; they go when it is cleared or the run is another one.
        if (replaced || ((changes & SelectionMoved) && !context.selection->position_pinned())) cell_->hide();
        else if ((changes & SelectionMoved) && !cell_->isHidden() && !context.selection->hovering()) follow_pin();
        if (facts_line() != shown_facts_) {
            shown_facts_ = facts_line();
            Q_EMIT header_changed();
        }
    }

    std::vector<ExportItem> exports() override {
        if (!context_.recording || context_.step < 0) return {};
        ExportItem item;
        item.id = QStringLiteral("cache-map");
        item.title = tr("KV cache: layers and positions");
        item.paint = [this](QPainter& painter, const QRectF& area) { view_->paint_map(painter, area); };
        const RecordingPtr recording = context_.recording;
        const int step = context_.step;
        item.csv = [recording, step] { return to_csv(cache_table(*recording, step), recording->facts()); };
        item.json = [recording, step] { return to_json(cache_table(*recording, step), recording->facts()); };
        return {item};
    }

protected:
    void resizeEvent(QResizeEvent*) override { cell_->set_available_height(std::max(60, height() * 11 / 20)); }

private:
    // The pin went elsewhere, perhaps in another panel: the numbers go with it.
    void follow_pin() {
        const SelectionPoint& pinned = context_.selection->pinned();
        const int position = view_->position_of(pinned.position);
        if (position < 0 || cell_->shows(pinned.layer, position) || context_.session == nullptr) return;
        if (context_.session->can(SessionAction::Inspect)) context_.session->inspect(pinned.layer, position);
        else cell_->hide();
    }

    void show_cell(const InspectedCell& cell) {
        QString token;
        int kv_head = 0;
        if (context_.recording) {
            const int row = view_->row_of(cell.position);
            if (row >= 0)
                token = token_label(context_.recording->row_display(row), context_.recording->row(row).special).spoken;
            const ModelConfig& config = context_.recording->facts().config;
            if (config.kv_heads > 0)
                kv_head = context_.selection->pinned().head /
                          std::max<int>(1, static_cast<int>(config.heads / config.kv_heads));
        }
        cell_->set_available_height(std::max(60, height() * 11 / 20));
        cell_->show_cell(cell, token, kv_head);
        cell_->show();
    }

    CacheView* view_;
    CellView* cell_;
    QString shown_facts_;
};

}  // namespace

Panel* create_cache_panel(const PanelContext& context, QWidget* parent) { return new CachePanel(context, parent); }

}  // namespace decodescope
