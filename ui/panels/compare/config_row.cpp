#include "ui/panels/compare/config_row.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QResizeEvent>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/model/weight_type.h"
#include "ui/viewmodels/engine_words.h"
#include "ui/widgets/quiet_box.h"
#include "ui/widgets/strategy_form.h"
#include "ui/widgets/theme.h"

namespace decodescope {

namespace {

void select_data(QComboBox* box, const QString& data) { box->setCurrentIndex(std::max(0, box->findData(data))); }

}  // namespace

ConfigRow::ConfigRow(const BackendRegistry& registry, QWidget* parent)
    : QWidget(parent), number_(new QLabel(this)), popover_(new QFrame(this, Qt::Popup)) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(theme().grid() / 2);
    number_->setFixedWidth(theme().grid() * 2);
    row->addWidget(number_);
    cache_ = add_box(tr("Cache"), tr("How keys and values are kept"), 16);
    parameters_ = new QToolButton(this);
    parameters_->setProperty("small", true);
    parameters_->setFocusPolicy(Qt::TabFocus);
    parameters_->setAccessibleName(tr("Parameters of the cache"));
    parameters_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    row->addWidget(parameters_, 13);
    k_ = add_box(tr("K stored as"), tr("How keys are stored"), 11);
    v_ = add_box(tr("V stored as"), tr("How values are stored"), 11);
    weights_ = add_box(tr("Weights"), tr("What the weights are stored as"), 11);
    backend_ = add_box(tr("Device"), tr("What computes"), 9);
    remove_ = new QToolButton(this);
    remove_->setText(QStringLiteral("✕"));
    remove_->setProperty("small", true);
    remove_->setFocusPolicy(Qt::TabFocus);
    remove_->setToolTip(tr("Leave this configuration out"));
    remove_->setAccessibleName(remove_->toolTip());
    row->addWidget(remove_);
    popover_->setProperty("card", true);
    popover_->setAccessibleName(tr("Parameters of the cache"));
    auto* card = new QVBoxLayout(popover_);
    form_ = new StrategyForm(popover_);
    card->addWidget(form_);
    popover_->installEventFilter(this);
    fill(registry);
    connect(remove_, &QToolButton::clicked, this, &ConfigRow::remove_requested);
    connect(cache_, &QComboBox::activated, this, &ConfigRow::choose_cache);
    connect(parameters_, &QToolButton::clicked, this, &ConfigRow::open_parameters);
}

QComboBox* ConfigRow::add_box(const QString& name, const QString& help, int units) {
    auto* box = new QuietBox(this);
    box->setAccessibleName(name);
    box->setToolTip(help);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(2);
    box->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    static_cast<QHBoxLayout*>(layout())->addWidget(box, units);
    return box;
}

void ConfigRow::fill(const BackendRegistry& registry) {
    for (const StrategyDescriptor& strategy : strategy_catalogue()) {
        cache_->addItem(translated(strategy.title), QString::fromStdString(strategy.id));
        cache_->setItemData(cache_->count() - 1, translated(strategy.explanation), Qt::ToolTipRole);
    }
    for (const QString& type : kv_type_choices()) {
        k_->addItem(QStringLiteral("K ") + type, type);
        v_->addItem(QStringLiteral("V ") + type, type);
    }
    weights_->addItem(tr("as in the file"), QString());
    for (const std::string& name : weight_type_names())
        weights_->addItem(QString::fromStdString(name), QString::fromStdString(name));
    for (const BackendEntry& entry : registry.entries()) {
        backend_->addItem(QString::fromStdString(entry.title), QString::fromStdString(entry.id));
        if (entry.available) continue;
        backend_->setItemData(backend_->count() - 1, QString::fromStdString(entry.reason), Qt::ToolTipRole);
        backend_->setItemData(backend_->count() - 1, 0, Qt::UserRole - 1);  // cannot be chosen
    }
}

void ConfigRow::set_number(int number, bool removable) {
    number_->setText(QString::number(number));
    number_->setToolTip(number == 1 ? tr("The others are compared with this one") : QString());
    remove_->setEnabled(removable);
}

void ConfigRow::set_choice(const CompareChoice& choice) {
    select_data(cache_, QString::fromStdString(choice.cache.id));
    form_->set_spec(choice.cache);
    select_data(k_, choice.k);
    select_data(v_, choice.v);
    select_data(weights_, choice.weights);
    if (backend_->findData(choice.backend) < 0) backend_->addItem(choice.backend, choice.backend);
    select_data(backend_, choice.backend);
    show_parameters();
}

CompareChoice ConfigRow::choice() const {
    CompareChoice choice;
    choice.cache = form_->spec();
    choice.k = k_->currentData().toString();
    choice.v = v_->currentData().toString();
    choice.weights = weights_->currentData().toString();
    choice.backend = backend_->currentData().toString();
    return choice;
}

void ConfigRow::choose_cache() {
    if (const auto spec = parse_cache_spec(cache_->currentData().toString().toStdString())) form_->set_spec(*spec);
    show_parameters();
}

void ConfigRow::open_parameters() {
    popover_->adjustSize();
    popover_->move(parameters_->mapToGlobal(QPoint(0, parameters_->height())));
    popover_->show();
}

// "page=4", or that all are as they come.
void ConfigRow::show_parameters() {
    const CacheSpec spec = form_->spec();
    const QString text = QString::fromStdString(to_string(spec)).section(QLatin1Char(':'), 1);
    const StrategyDescriptor* strategy = find_strategy(spec.id);
    const bool any = strategy != nullptr && !strategy->parameters.empty();
    parameters_->setEnabled(any);
    const QString shown = !any ? QStringLiteral("—") : text.isEmpty() ? tr("defaults") : text;
    parameters_text_ = shown;
    fit_parameters();
    parameters_->setToolTip(any ? tr("Parameters of the cache: %1").arg(shown) : tr("This cache has no parameters"));
}

void ConfigRow::fit_parameters() {
    const int room = parameters_->width() - theme().grid() * 2;
    parameters_->setText(QFontMetrics(theme().note()).elidedText(parameters_text_, Qt::ElideRight, std::max(room, 8)));
}

void ConfigRow::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    layout()->activate();  // so that the button has its width
    fit_parameters();
}

bool ConfigRow::eventFilter(QObject* object, QEvent* event) {
    if (object == popover_ && event->type() == QEvent::Hide) show_parameters();
    return QWidget::eventFilter(object, event);
}

}  // namespace decodescope
