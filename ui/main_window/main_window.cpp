#include "ui/main_window/main_window.h"

#include <QCloseEvent>
#include <QFileInfo>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/main_window/key_guard.h"
#include "ui/main_window/presentation.h"
#include "ui/main_window/settings_desk.h"
#include "ui/main_window/settings_popover.h"
#include "ui/main_window/transport_bar.h"
#include "ui/main_window/window_actions.h"

namespace decodescope {

namespace {

// The bands above and below the docks, and the small buttons of cards: what the general style does not know.
QString window_style() {
    const Theme& t = theme();
    const int grid = t.grid();
    return QStringLiteral(
               "#transport, #panel-ribbon { background: %1; border-bottom: 1px solid %2; }"
               "#transport QPushButton { padding-left: %9px; padding-right: %9px; }"
               "#transport QComboBox { padding-left: 6px; padding-right: 0px; }"
               "#status-line { background: %1; border-top: 1px solid %2; }"
               "QLabel[small=\"true\"], QTableWidget[small=\"true\"], QTableWidget[small=\"true\"] QHeaderView { "
               "font-size: %6px; }"
               "QToolButton[small=\"true\"] { padding: %3px %4px; min-height: %5px; font-size: %6px; }"
               "QToolButton[small=\"true\"]:focus { padding: %7px %8px; }")
        .arg(t.color(Role::Card).name(), t.color(Role::Line).name())
        .arg(grid / 4)
        .arg(grid)
        .arg(grid * 2)
        .arg(t.note().pixelSize())
        .arg(std::max(0, grid / 4 - 1))
        .arg(grid - 1)
        .arg(grid);
}

}  // namespace

MainWindow::MainWindow(SessionController* session, Selection* selection, PreferenceStore* store,
                       const Preferences& preferences, QWidget* parent)
    : QWidget(parent), session_(session), selection_(selection), store_(store), preferences_(preferences) {
    setObjectName(QStringLiteral("window"));
    setAcceptDrops(true);
    setFocusPolicy(Qt::ClickFocus);  // a click beside everything gives the keys back to the window
    setFocus();
    build();
    connect_parts();
    theme_changed();
    show_title();
    docks_->reset_layout();
    if (const QByteArray layout = store_->layout(); !layout.isEmpty()) docks_->restore_layout(layout);
    for (const PanelHost::Entry& entry : host_->entries())
        if (entry.strip != nullptr) entry.strip->setVisible(!preferences_.strips_hidden.contains(entry.descriptor.id));
}

MainWindow::~MainWindow() = default;

void MainWindow::set_machine(MachineSpeed* machine) {
    machine_ = machine;
    host_->set_machine(machine);
}

void MainWindow::build() {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    desk_ = new SettingsDesk(session_, this);
    transport_ = new TransportBar(session_, desk_, this);
    transport_->setAttribute(Qt::WA_StyledBackground);
    strips_ = new QWidget(this);
    auto* strips = new QVBoxLayout(strips_);
    strips->setContentsMargins(0, 0, 0, 0);
    strips->setSpacing(0);
    for (QWidget* band : {static_cast<QWidget*>(transport_), strips_})
        band->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    message_ = new MessageBar(this);
    docks_ = new DockArea(this);
    status_ = new StatusLine(session_, this);
    status_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    host_ = new PanelHost(session_, selection_, docks_, strips_);
    layout->addWidget(transport_);
    layout->addWidget(strips_);
    layout->addWidget(message_);
    layout->addWidget(docks_, 1);
    layout->addWidget(status_);
    presentation_ = new Presentation(this, transport_, strips_, status_);
    actions_ = new WindowActions(this);
    transport_->menu_button()->setMenu(actions_->menu());
    settings_ = new SettingsPopover(session_, desk_, this);
    prompt_ = new PromptPopover(session_, desk_, this);
    new KeyGuard(this);
}

void MainWindow::connect_parts() {
    connect(transport_, &TransportBar::present_requested, this, [this] { presentation_->set_active(true); });
    connect(transport_, &TransportBar::settings_requested, this, &MainWindow::open_settings);
    connect(transport_, &TransportBar::own_text_requested, this,
            [this] { prompt_->open_at(transport_->prompt_anchor()); });
    connect(transport_, &TransportBar::other_model_requested, this, &MainWindow::choose_model_folder);
    connect(host_, &PanelHost::alone_requested, this, [this](const QString& id) { presentation_->set_alone(id); });
    connect(host_, &PanelHost::export_requested, this, &MainWindow::choose_export);
    connect(session_, &SessionController::message, this, &MainWindow::say);
    connect(session_, &SessionController::recording_saved, this,
            [this](const QString& path) {
                // Remembered once something was written there, not before.
                store_->save_folder(QStringLiteral("recording"), QFileInfo(path).absolutePath());
                status_->say(tr("saved %1").arg(QFileInfo(path).fileName()));
            });
    connect(session_, &SessionController::recording_replaced, this, &MainWindow::show_title);
}

void MainWindow::show_title() {
    const RecordingPtr recording = session_->recording();
    const QString name = recording ? QString::fromStdString(recording->facts().model_name) : QString();
    // Desktops put the program's name behind it.
    setWindowTitle(name.isEmpty() ? QStringLiteral("Decodescope") : name);
}

void MainWindow::change_preferences(const Preferences& preferences) {
    preferences_ = preferences;
    store_->save(preferences_);
    Q_EMIT preferences_changed(preferences_);
}

void MainWindow::theme_changed() {
    setStyleSheet(window_style());
    transport_->apply_theme();
    status_->apply_theme();
    docks_->apply_theme();
    host_->mark(ThemeChanged);
    update();
}

void MainWindow::reset_layout() {
    presentation_->set_active(false);
    presentation_->set_alone(QString());
    if (!preferences_.strips_hidden.isEmpty()) {
        preferences_.strips_hidden.clear();
        store_->save(preferences_);
    }
    for (const PanelHost::Entry& entry : host_->entries())
        if (entry.strip != nullptr) entry.strip->show();
    docks_->reset_layout();
    store_->save_layout(QByteArray());
}

void MainWindow::set_panel_shown(const QString& id, bool shown) {
    const PanelHost::Entry* entry = host_->find(id);
    if (entry == nullptr) return;
    entry->frame()->setVisible(shown);
    if (shown && entry->card != nullptr) entry->card->raise();
    if (entry->strip == nullptr) return;
    preferences_.strips_hidden.removeAll(id);
    if (!shown) preferences_.strips_hidden << id;
    store_->save(preferences_);
}

bool MainWindow::panel_shown(const QString& id) const {
    const PanelHost::Entry* entry = host_->find(id);
    return entry != nullptr && !entry->frame()->isHidden();
}

void MainWindow::focus_panel(int index) {
    if (index >= static_cast<int>(host_->entries().size())) return;
    const PanelHost::Entry& entry = host_->entries()[static_cast<std::size_t>(index)];
    if (!presentation_->active()) set_panel_shown(entry.descriptor.id, true);
    if (entry.card != nullptr) entry.card->raise();
    QWidget* target = entry.panel;
    if (target->focusPolicy() == Qt::NoFocus)
        for (QWidget* child : entry.frame()->findChildren<QWidget*>())
            if (child->focusPolicy() != Qt::NoFocus && child->isVisible()) {
                target = child;
                break;
            }
    target->setFocus(Qt::ShortcutFocusReason);
}

void MainWindow::clear_or_leave() {
    if (selection_->position_pinned() || selection_->pinned().query >= 0 || selection_->hovering()) selection_->clear();
    else if (!message_->isHidden()) message_->hide();
    else if (!presentation_->alone().isEmpty()) presentation_->set_alone(QString());
    else presentation_->set_active(false);
}

void MainWindow::step_presentation(int direction) {
    if (direction < 0) {
        if (session_->can(SessionAction::StepBack)) session_->step_back();
    } else if (session_->can(SessionAction::StepForward)) {
        session_->step_forward();
    }
}

void MainWindow::open_settings() { settings_->open_at(transport_->settings_button()); }

void MainWindow::say(const SessionMessage& message) {
    if (message.kind == SessionMessage::Kind::Info) {
        if (!presentation_->active()) status_->say(message.text);
        return;
    }
    message_->show_message(message);
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (!presentation_->active() && presentation_->alone().isEmpty()) {
        store_->save_layout(docks_->layout_state());
        store_->save_geometry(saveGeometry());
    }
    session_->cancel();
    event->accept();
}

}  // namespace decodescope
