#include "ui/panels/attention/attention_panel.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/panels/attention/map_view.h"
#include "ui/panels/attention/overview_view.h"
#include "ui/viewmodels/attention_export.h"
#include "ui/widgets/glossary.h"

namespace decodescope {
namespace {

constexpr float kThreshold = 0.02f;
constexpr int kLeastOverview = 130;  // pixels across

class AttentionPanel : public Panel {
    Q_DECLARE_TR_FUNCTIONS(AttentionPanel)
public:
    AttentionPanel(const PanelContext& context, QWidget* parent)
        : Panel(context, parent),
          overview_(new OverviewView(context.selection, this)),
          map_(new MapView(context.selection, this)) {
        auto* layout = new QHBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(12);
        side_ = new QWidget(this);
        auto* column = new QVBoxLayout(side_);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(4);
        column->addWidget(overview_, 1);
        hint_ = make_label(tr("layers × heads: click to choose"), "note");
        hint_->setWordWrap(true);
        role_ = make_label({}, nullptr);
        role_->setWordWrap(true);
        mean_ = make_box(tr("mean over heads"), QStringLiteral("mean-over-heads"));
        hide_ = make_box(tr("hide below 0.02"), QStringLiteral("threshold"));
        for (QWidget* widget : std::initializer_list<QWidget*>{hint_, role_, mean_, hide_}) column->addWidget(widget);
        layout->addWidget(side_, 0);
        layout->addWidget(map_, 1);
        setFocusProxy(map_);
        colour_role();
        connect(mean_, &QCheckBox::toggled, this, [this](bool on) {
            map_->set_mean(on);
            overview_->set_mean(on);
            show_role();
        });
        connect(hide_, &QCheckBox::toggled, this, [this](bool on) {
            map_->set_threshold(on ? kThreshold : 0);
            overview_->set_threshold(on ? kThreshold : 0);
        });
    }

    QString subtitle() const override {
        return tr("rows: token being computed; columns: token it reads from; one fixed scale 0 to 1");
    }

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
        button(QStringLiteral("−"), tr("Zoom out (−)"), [this] { map_->zoom_by(1 / 1.4); });
        button(QStringLiteral("+"), tr("Zoom in (+)"), [this] { map_->zoom_by(1.4); });
        button(tr("fit"), tr("Everything in view (0)"), [this] { map_->fit(); });
        return tools;
    }

    void present(const PanelContext& context, unsigned changes) override {
        context_ = context;
        if (context.recording) {
            const ModelConfig& config = context.recording->facts().config;
            const SelectionPoint& point = context.selection->pinned();
            if (point.layer >= config.layers || point.head >= config.heads)
                context.selection->clamp(static_cast<int>(config.layers), static_cast<int>(config.heads));
        }
        const bool any = context.recording && context.step >= 0;
        side_->setVisible(any);
        overview_->present(context, changes);
        map_->present(context, changes);
        if (changes & ThemeChanged) colour_role();
        if (changes & (NewRecording | SelectionMoved | ThemeChanged)) {
            show_role();
            place();
        }
    }

    std::vector<ExportItem> exports() override {
        if (!context_.recording || context_.step < 0) return {};
        const SelectionPoint point = context_.selection->pinned();
        const int head = mean_->isChecked() ? -1 : point.head, layer = point.layer, rows = map_->view().row_limit;
        const RecordingPtr recording = context_.recording;
        ExportItem map;
        map.id = QStringLiteral("attention-map");
        map.title = head < 0 ? tr("Attention of layer %1, mean over heads").arg(layer)
                             : tr("Attention of layer %1, head %2").arg(layer).arg(head);
        map.paint = [this](QPainter& painter, const QRectF& area) { map_->paint_whole(painter, area); };
        map.csv = [recording, layer, head, rows] { return attention_map_csv(*recording, layer, head, rows); };
        map.json = [recording, layer, head, rows] { return attention_map_json(*recording, layer, head, rows); };
        map.preferred_mm = QSizeF(160, 120);
        ExportItem overview;
        overview.id = QStringLiteral("attention-overview");
        overview.title = tr("Attention of all heads");
        overview.paint = [this](QPainter& painter, const QRectF& area) { overview_->paint_whole(painter, area); };
        overview.preferred_mm = QSizeF(120, 120);
        return {map, overview};
    }

protected:
    void resizeEvent(QResizeEvent*) override { place(); }

private:
    QLabel* make_label(const QString& text, const char* look) {
        auto* label = new QLabel(text, side_);
        if (look != nullptr) label->setProperty(look, true);
        return label;
    }

    QCheckBox* make_box(const QString& text, const QString& term) {
        auto* box = new QCheckBox(text, side_);
        explain(box, term);
        return box;
    }

    // What the words and boxes leave for the overview when the column is `width` wide.
    int overview_room(int width) const {
        int room = height() - 8;
        for (QWidget* widget : std::initializer_list<QWidget*>{hint_, role_, mean_, hide_}) {
            if (widget->isHidden()) continue;
            room -= (widget->hasHeightForWidth() ? widget->heightForWidth(width) : widget->sizeHint().height()) + 4;
        }
        return room;
    }

    // The overview is as wide as its grid needs at the height there is; where type is large, words give way to it.
    void place() {
        const double s = theme().type_scale();
        const int most = static_cast<int>(std::clamp(width() * 0.3, 120.0, 320.0 * s));
        for (QLabel* words : {hint_, role_}) words->show();
        for (QLabel* words : {hint_, role_})
            if (overview_->grid_height(kLeastOverview) > overview_room(most)) words->hide();
        const int room = overview_room(most);
        int width = most;
        while (width > kLeastOverview && overview_->grid_height(width) > room) width -= 4;
        // Never narrower than the words of its boxes, unless that took half of the panel.
        const int words = std::min(std::max(mean_->sizeHint().width(), hide_->sizeHint().width()), this->width() / 2);
        side_->setFixedWidth(std::max({width, words, static_cast<int>(std::min<double>(most, 168 * s))}));
    }

    QString role_words(const HeadRole& role) const {
        if (role.role == "induction") return tr("finds the earlier mention (induction, from the model card)");
        if (role.role == "previous") return tr("reads the token before (from the model card)");
        if (role.role == "first") return tr("rests on the first token (from the model card)");
        return tr("no single role on the model card");
    }

    void show_role() {
        const SelectionPoint& point = context_.selection->effective();
        QString text = QStringLiteral("L%1 H%2").arg(point.layer).arg(point.head), term;
        if (mean_->isChecked()) {
            text = tr("L%1: mean over its heads").arg(point.layer);
            term = QStringLiteral("mean-over-heads");
        } else if (context_.recording) {
            for (const HeadRole& role : context_.recording->facts().head_roles) {
                if (role.layer != point.layer || role.head != point.head) continue;
                text += QStringLiteral(": ") + role_words(role);
                term = QString::fromStdString(role.role);
            }
        }
        role_->setText(text);
        role_->setToolTip(term.isEmpty() ? QString() : glossary(term));
    }

    // A style sheet of its own is costly to set, so only when the theme is another one.
    void colour_role() {
        role_->setStyleSheet(QStringLiteral("color: %1; font-size: %2px;")
                                 .arg(theme().text(Role::Generated).name())
                                 .arg(theme().note().pixelSize()));
    }

    OverviewView* overview_;
    MapView* map_;
    QWidget* side_;
    QLabel *hint_, *role_;
    QCheckBox *mean_, *hide_;
};

}  // namespace

Panel* create_attention_panel(const PanelContext& context, QWidget* parent) {
    return new AttentionPanel(context, parent);
}

}  // namespace decodescope
