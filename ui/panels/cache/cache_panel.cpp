#include "ui/panels/cache/cache_panel.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <utility>

#include "ui/panels/cache/cache_view.h"
#include "ui/panels/cache/cell_view.h"
#include "ui/panels/cache/placement_map.h"
#include "ui/viewmodels/token_text.h"

namespace decodescope {
namespace {

class CachePanel : public Panel {
    Q_DECLARE_TR_FUNCTIONS(CachePanel)
public:
    CachePanel(const PanelContext& context, QWidget* parent)
        : Panel(context, parent),
          pages_(new QStackedWidget(this)),
          view_(new CacheView(context.selection, this)),
          map_(new PlacementMap(context.selection, this)),
          cell_(new CellView(this)) {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(4);
        pages_->addWidget(view_);
        pages_->addWidget(map_);
        layout->addWidget(pages_, 1);
        layout->addWidget(cell_, 0);
        cell_->hide();
        setFocusProxy(pages_);
        pages_->setFocusProxy(view_);
        connect(view_, &CacheView::cell_chosen, this, [this](int layer, int position) {
            if (context_.session != nullptr) context_.session->inspect(layer, position);
        });
        connect(view_, &CacheView::cleared, cell_, &QWidget::hide);
        connect(map_, &PlacementMap::cleared, cell_, &QWidget::hide);
        connect(cell_, &CellView::closed, this, [this] {
            cell_->hide();
            view_->setFocus();
        });
        if (context.session != nullptr)
            connect(context.session, &SessionController::cell_inspected, this,
                    [this](const InspectedCell& cell) { show_cell(cell); });
    }

    QString subtitle() const override {
        if (!showing_map()) return tr("layers down, positions right");
        const Placement& state = map_->track().state();
        return state.known && context_.recording ? memory_words(state, context_.recording->facts().config.layers)
                                                 : tr("positions above, memory below");
    }
    QString facts_line() const override {
        return showing_map() ? map_->story().facts_line(map_->view()) : view_->story().facts_line(view_->view());
    }

    QWidget* header_tools() override {
        auto* tools = new QWidget;
        auto* row = new QHBoxLayout(tools);
        row->setContentsMargins(0, 0, 0, 0);
        row->setSpacing(4);
        const auto button = [&](const QString& text, const QString& help, auto action, bool checkable = false) {
            auto* made = new QToolButton(tools);
            made->setCheckable(checkable);
            made->setText(text);
            made->setToolTip(help);
            made->setAccessibleName(help);
            made->setProperty("small", true);
            made->setFocusPolicy(Qt::StrongFocus);
            connect(made, &QToolButton::clicked, this, action);
            row->addWidget(made);
            return made;
        };
        auto* group = new QButtonGroup(tools);
        auto* layers = button(tr("layers"), tr("Keys and values, layer by layer"), [this] { show_page(0); }, true);
        auto* map = button(tr("map"), tr("Cache map: where each token lies in memory, and who owns it"),
                           [this] { show_page(1); }, true);
        group->addButton(layers);
        group->addButton(map);
        layers->setChecked(true);
        row->addSpacing(4);
        button(QStringLiteral("−"), tr("Zoom out (−)"), [this] { zoom_by(1 / 1.4); });
        button(QStringLiteral("+"), tr("Zoom in (+)"), [this] { zoom_by(1.4); });
        button(tr("fit"), tr("Everything in view (0)"), [this] { showing_map() ? map_->fit() : view_->fit(); });
        return tools;
    }

    void present(const PanelContext& context, unsigned changes) override {
        const bool replaced = (changes & NewRecording) != 0 || context.recording != context_.recording;
        context_ = context;
        // The page that is not seen catches up when it is shown.
        if (!showing_map()) view_->present(context, std::exchange(missed_, 0u) | changes);
        else map_->present(context, changes);
        if (showing_map()) missed_ |= changes;
        // The numbers belong to the pinned cell; they go when it is cleared or the run is another one.
        if (replaced || ((changes & SelectionMoved) && !context.selection->position_pinned())) cell_->hide();
        else if ((changes & SelectionMoved) && !cell_->isHidden() && !context.selection->hovering()) follow_pin();
        if (const QString now = subtitle() + facts_line(); now != shown_header_) {
            shown_header_ = now;
            Q_EMIT header_changed();
        }
    }

    std::vector<ExportItem> exports() override {
        if (!context_.recording || context_.step < 0) return {};
        if (showing_map()) view_->present(context_, std::exchange(missed_, 0u));
        else map_->present(context_, 0u);
        ExportItem item;
        item.id = QStringLiteral("cache-map");
        item.title = tr("KV cache: layers and positions");
        item.paint = [this](QPainter& painter, const QRectF& area) { view_->paint_map(painter, area); };
        const RecordingPtr recording = context_.recording;
        const int step = context_.step;
        item.csv = [recording, step] { return to_csv(cache_table(*recording, step), recording->facts()); };
        item.json = [recording, step] { return to_json(cache_table(*recording, step), recording->facts()); };
        ExportItem map;
        map.id = QStringLiteral("cache-memory");
        map.title = tr("Cache map: positions and memory");
        map.paint = [this](QPainter& painter, const QRectF& area) { map_->paint_map(painter, area); };
        map.csv = [recording, step] { return to_csv(placement_table(*recording, step), recording->facts()); };
        map.json = [recording, step] { return to_json(placement_table(*recording, step), recording->facts()); };
        return {item, map};
    }

protected:
    void resizeEvent(QResizeEvent*) override { cell_->set_available_height(std::max(60, height() * 11 / 20)); }

private:
    bool showing_map() const { return pages_->currentIndex() == 1; }

    void show_page(int page) {
        pages_->setCurrentIndex(page);
        pages_->setFocusProxy(page == 1 ? static_cast<QWidget*>(map_) : view_);
        if (page == 1) cell_->hide();
        present(context_, 0u);
    }

    void zoom_by(double factor) {
        if (showing_map()) map_->zoom_by(factor);
        else view_->zoom_by(factor);
    }

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

    QStackedWidget* pages_;
    CacheView* view_;
    PlacementMap* map_;
    CellView* cell_;
    unsigned missed_ = 0;  // changes that the page with the layers has not seen
    QString shown_header_;
};

}  // namespace

Panel* create_cache_panel(const PanelContext& context, QWidget* parent) { return new CachePanel(context, parent); }

}  // namespace decodescope
