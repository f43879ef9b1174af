#include "ui/main_window/transport_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "engine/cache/supported_pairs.h"
#include "engine/model/layer_kinds.h"
#include "ui/main_window/preferences.h"
#include "ui/widgets/quiet_box.h"
#include "ui/main_window/settings_desk.h"
#include "ui/main_window/speed_slider.h"
#include "ui/main_window/toggle_switch.h"
#include "ui/viewmodels/engine_words.h"
#include "ui/widgets/theme.h"

namespace decodescope {

namespace {

const QString kOwnText = QStringLiteral("\x01own");
const QString kRecorded = QStringLiteral("\x01recorded");
const QString kOtherModel = QStringLiteral("\x01other");

void select_data(QComboBox* box, const QString& data) {
    const QSignalBlocker quiet(box);
    box->setCurrentIndex(box->findData(data));
}

}  // namespace

TransportBar::TransportBar(SessionController* session, SettingsDesk* desk, QWidget* parent)
    : QWidget(parent), session_(session), desk_(desk) {
    setObjectName(QStringLiteral("transport"));
    auto* row = new QHBoxLayout(this);
    model_ = add_choice(*row, tr("&Model"), tr("The model that runs"), 21);
    device_ = add_choice(*row, tr("&Device"), tr("What computes"), 13);
    cache_ = add_choice(*row, tr("&Cache"), tr("How keys and values are kept; every token stays when you switch"), 20);
    prompt_ = add_choice(*row, tr("Prom&pt"), tr("What the model goes on from"), 24);
    row->addStretch(1);
    build_transport(*row);
    row->addStretch(1);
    build_end(*row);
    fill_models();
    fill_devices();
    fill_caches();
    connect(model_, &QComboBox::activated, this, [this](int index) {
        const QString id = model_->itemData(index).toString();
        if (id == kOtherModel) Q_EMIT other_model_requested();
        else desk_->change([&](SessionSettings& s) { s.model = id; });
        show_state();
    });
    connect(device_, &QComboBox::activated, this, [this](int index) {
        desk_->change([&](SessionSettings& s) { s.backend = device_->itemData(index).toString(); });
    });
    connect(cache_, &QComboBox::activated, this, [this](int index) {
        if (const auto spec = nearest_supported(choice_with(cache_->itemData(index).toString().toStdString())))
            desk_->change([&](SessionSettings& s) { s.cache = *spec; });
    });
    connect(prompt_, &QComboBox::activated, this, [this](int index) {
        const QString id = prompt_->itemData(index).toString();
        const ModelPtr model = session_->model();
        // Later: a key that chose it must not be typed into what opens.
        if (id == kOwnText)
            QMetaObject::invokeMethod(this, &TransportBar::own_text_requested, Qt::QueuedConnection);
        else if (model)
            for (const PromptPreset& preset : model->presets)
                if (QString::fromStdString(preset.id) == id)
                    desk_->change([&](SessionSettings& s) {
                        s.preset_id = id;
                        s.prompt = QString::fromStdString(preset.text);
                    });
        show_state();
    });
    connect(device_, &QuietBox::opening, session_, &SessionController::probe_backends);
    connect(session_, &SessionController::backends_probed, this, [this] {
        fill_devices();
        show_state();
    });
    connect(session_, &SessionController::state_changed, this, &TransportBar::show_state);
    connect(session_, &SessionController::view_changed, this, &TransportBar::show_moves);
    connect(session_, &SessionController::steps_arrived, this, &TransportBar::show_moves);
    connect(session_, &SessionController::recording_replaced, this, [this] {
        fill_prompts();
        show_state();
    });
    connect(session_, &SessionController::settings_changed, this, [this] {
        fill_prompts();
        show_state();
    });
    fill_prompts();
    apply_theme();
    show_state();
}

QWidget* TransportBar::prompt_anchor() const { return prompt_; }

QuietBox* TransportBar::add_choice(QHBoxLayout& row, const QString& title, const QString& help, int units) {
    auto* column = new QVBoxLayout;
    column->setSpacing(1);
    auto* note = new QLabel(title, this);
    note->setProperty("note", true);
    auto* box = new QuietBox(this);
    box->setToolTip(help);
    box->setAccessibleName(QString(title).remove(QLatin1Char('&')));
    box->setAccessibleDescription(help);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(6);
    box->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    note->setBuddy(box);
    widths_.emplace_back(box, units);
    column->addWidget(note);
    column->addWidget(box);
    row.addLayout(column, units);
    return box;
}

QPushButton* TransportBar::add_button(QHBoxLayout& row, const QString& text, const QString& name, const QString& help,
                                      void (SessionController::*slot)()) {
    auto* button = new QPushButton(text, this);
    button->setAccessibleName(name);
    button->setToolTip(help);
    button->setFocusPolicy(Qt::TabFocus);
    connect(button, &QPushButton::clicked, session_, slot);
    row.addWidget(button);
    return button;
}

void TransportBar::build_transport(QHBoxLayout& row) {
    start_ = add_button(row, QStringLiteral("|◀"), tr("To the first step"),
                        tr("To the first step (Home). At the first step: start again with the same prompt"),
                        &SessionController::toggle_play);
    disconnect(start_, &QPushButton::clicked, nullptr, nullptr);
    connect(start_, &QPushButton::clicked, this, [this] {
        if (session_->viewed_step() > 0) session_->view_step(0);
        else session_->reset();
    });
    back_ = add_button(row, QStringLiteral("◀"), tr("Step back"), tr("One step back: only the view moves (Left)"),
                       &SessionController::step_back);
    play_ = add_button(row, tr("▶ Play"), tr("Play or pause"), tr("Play or pause (Space)"),
                       &SessionController::toggle_play);
    play_->setProperty("accent", true);
    step_ = add_button(row, tr("Step ▶|"), tr("Step"),
                       tr("One step: shown again while the view is back, generated at the end (Right)"),
                       &SessionController::step_forward);
    end_ = add_button(row, tr("▶▶ End"), tr("Run to the end"), tr("Run to the end as fast as it goes (End)"),
                      &SessionController::run_to_end);
    speed_note_ = new QLabel(tr("speed"), this);
    speed_note_->setProperty("note", true);
    speed_ = new SpeedSlider(this);
    speed_->set_tokens_per_second(session_->tokens_per_second());
    speed_note_->setBuddy(speed_);
    connect(speed_, &SpeedSlider::speed_changed, session_, &SessionController::set_tokens_per_second);
    row.addWidget(speed_note_);
    row.addWidget(speed_);
}

void TransportBar::build_end(QHBoxLayout& row) {
    race_ = new ToggleSwitch(tr("Race"), this);
    race_->setToolTip(tr("Race: after each step the same tokens go once more through the whole model without a cache"));
    race_->setAccessibleDescription(race_->toolTip());
    connect(race_, &ToggleSwitch::clicked, session_, &SessionController::set_race);
    row.addWidget(race_);
    settings_ = new QPushButton(tr("Settings"), this);
    settings_->setToolTip(tr("Sampler, seed, KV format, weights, threads, capture, length (Ctrl+,)"));
    connect(settings_, &QPushButton::clicked, this, &TransportBar::settings_requested);
    row.addWidget(settings_);
    present_ = new QPushButton(tr("Present F11"), this);
    present_->setToolTip(tr("Large type and chosen panels, for a lecture hall (F11)"));
    connect(present_, &QPushButton::clicked, this, &TransportBar::present_requested);
    row.addWidget(present_);
    menu_ = new QToolButton(this);
    menu_->setText(QStringLiteral("☰"));
    menu_->setAccessibleName(tr("Menu"));
    menu_->setToolTip(tr("Menu (F10)"));
    menu_->setPopupMode(QToolButton::InstantPopup);
    row.addWidget(menu_);
}

void TransportBar::apply_theme() {
    const int grid = theme().grid();
    layout()->setContentsMargins(grid * 2, grid, grid * 2, grid);
    layout()->setSpacing(grid);
    for (const auto& [box, units] : widths_) {
        box->setMinimumWidth(grid * units / 2);
        box->setMaximumWidth(grid * units);
    }
    speed_->setMinimumWidth(grid * 7);
    speed_->setMaximumWidth(grid * 12);
    race_->updateGeometry();
}

// The names of what runs matter more than the word beside the slider, which the slider says itself on hover.
void TransportBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    speed_note_->setVisible(width() >= theme().grid() * 172);
    fit_labels();
}

// The least width is the one with signs instead of words.
QSize TransportBar::minimumSizeHint() const { return {theme().grid() * 110, layout()->minimumSize().height()}; }

void TransportBar::fit_labels() {
    show_labels(false);
    if (layout()->minimumSize().width() > width()) show_labels(true);
}

void TransportBar::show_labels(bool short_ones) {
    short_labels_ = short_ones;
    step_->setText(short_ones ? QStringLiteral("▶|") : tr("Step ▶|"));
    end_->setText(short_ones ? QStringLiteral("▶▶") : tr("▶▶ End"));
    present_->setText(short_ones ? QStringLiteral("F11") : tr("Present F11"));
    show_play();
}

void TransportBar::show_play() {
    if (session_->playing()) play_->setText(short_labels_ ? QStringLiteral("❚❚") : tr("❚❚ Pause"));
    else play_->setText(short_labels_ ? QStringLiteral("▶") : tr("▶ Play"));
}

void TransportBar::fill_models() {
    for (const ModelInfo& info : known_models()) {
        model_->addItem(translated(info.title), QString::fromStdString(info.spec));
        model_->setItemData(model_->count() - 1, translated(info.description), Qt::ToolTipRole);
    }
    model_->addItem(tr("Model folder…"), kOtherModel);
}

void TransportBar::fill_devices() {
    const QSignalBlocker quiet(device_);
    device_->clear();
    for (const BackendEntry& entry : session_->registry().entries()) {
        device_->addItem(QString::fromStdString(entry.title), QString::fromStdString(entry.id));
        const int index = device_->count() - 1;
        if (entry.available) continue;
        device_->setItemData(index, QString::fromStdString(entry.reason), Qt::ToolTipRole);
        device_->setItemData(index, 0, Qt::UserRole - 1);  // cannot be chosen; the reason is its tool tip
    }
}

void TransportBar::fill_caches() {
    for (const StrategyDescriptor& strategy : strategy_catalogue()) {
        cache_->addItem(translated(strategy.title), QString::fromStdString(strategy.id));
    }
    show_supported_caches();
}

// With the parameters that were last asked for.
RunChoice TransportBar::choice_with(const std::string& strategy) const {
    RunChoice choice;
    if (const ModelPtr model = session_->model()) {
        choice.family = model->config.family;
        choice.local_layers = local_kind(model->config).layers > 0;
    }
    choice.cache = desk_->cache_of(strategy);
    choice.kv = desk_->wanted().kv;
    const std::vector<BackendEntry>& known = session_->registry().entries();
    for (const BackendEntry& entry : known)
        if (entry.id == desk_->wanted().backend.toStdString()) choice.backend = entry.id;
    return choice;
}

// A strategy that cannot have the chosen format, or the model, cannot be chosen; its tool tip says why. Where another
// value of a parameter would do, it is chosen with that one.
void TransportBar::show_supported_caches() {
    for (int index = 0; index < cache_->count(); ++index) {
        const StrategyDescriptor* strategy = find_strategy(cache_->itemData(index).toString().toStdString());
        if (strategy == nullptr) continue;
        const RunChoice choice = choice_with(strategy->id);
        const UnsupportedPair* pair = find_unsupported(choice);
        const auto possible = nearest_supported(choice);
        QString tip = translated(pair != nullptr ? std::string(pair->reason) : strategy->explanation);
        if (pair != nullptr && possible)
            tip = tr("%1 It is chosen as %2.").arg(tip, QString::fromStdString(to_string(*possible)));
        cache_->setItemData(index, tip, Qt::ToolTipRole);
        cache_->setItemData(index, possible ? QVariant() : QVariant(0), Qt::UserRole - 1);
    }
}

void TransportBar::fill_prompts() {
    const QSignalBlocker quiet(prompt_);
    prompt_->clear();
    if (const ModelPtr model = session_->model())
        for (const PromptPreset& preset : model->presets) {
            prompt_->addItem(QString::fromStdString(preset.title), QString::fromStdString(preset.id));
            prompt_->setItemData(prompt_->count() - 1, QString::fromStdString(preset.what), Qt::ToolTipRole);
        }
    prompt_->addItem(tr("Own text…"), kOwnText);
    // A recording holds the tokens of its prompt; which preset they came from is not known.
    if (session_->state() == SessionState::Replay) prompt_->addItem(tr("As recorded"), kRecorded);
}

void TransportBar::show_state() {
    const SessionSettings& settings = desk_->wanted();
    const bool replay = session_->state() == SessionState::Replay;
    if (model_->findData(settings.model) < 0) {
        const QString name = settings.model.section(QLatin1Char('/'), -1);
        model_->insertItem(0, name.isEmpty() ? settings.model : name, settings.model);
    }
    select_data(model_, settings.model);
    select_data(device_, settings.backend);
    select_data(cache_, QString::fromStdString(settings.cache.id));
    show_supported_caches();
    if ((prompt_->findData(kRecorded) >= 0) != replay) fill_prompts();
    const QString preset = settings.preset_id.isEmpty() ? kOwnText : settings.preset_id;
    select_data(prompt_, replay ? kRecorded : preset);
    const bool configure = session_->can(SessionAction::Configure);
    model_->setEnabled(session_->can(SessionAction::Open));
    device_->setEnabled(configure && !replay);
    cache_->setEnabled(configure && !replay);
    prompt_->setEnabled(configure && !replay);
    show_play();
    race_->setChecked(session_->race_enabled());
    race_->setEnabled(configure && !replay);
    show_moves();
}

// What a new step or a moved view can change: asked for with every step, so nothing else is.
void TransportBar::show_moves() {
    start_->setEnabled(session_->viewed_step() > 0 || session_->can(SessionAction::Reset));
    back_->setEnabled(session_->can(SessionAction::StepBack));
    play_->setEnabled(session_->can(SessionAction::Play) || session_->can(SessionAction::Pause));
    step_->setEnabled(session_->can(SessionAction::StepForward));
    end_->setEnabled(session_->can(SessionAction::RunToEnd));
}

}  // namespace decodescope
