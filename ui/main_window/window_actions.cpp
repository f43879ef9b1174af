#include "ui/main_window/window_actions.h"

#include <QAction>
#include <QActionGroup>
#include <QCoreApplication>
#include <QFileInfo>
#include <QMenu>
#include <QToolButton>
#include <algorithm>

#include "ui/main_window/help_pages.h"
#include "ui/main_window/main_window.h"
#include "ui/main_window/presentation.h"
#include "ui/main_window/transport_bar.h"

namespace decodescope {

namespace {
constexpr double kTypeStep = 1.1, kSmallestType = 0.7, kLargestType = 2.0;
}

WindowActions::WindowActions(MainWindow* window) : QObject(window), window_(window), menu_(new QMenu(window)) {
    build_file(menu_->addMenu(tr("&File")));
    build_run(menu_->addMenu(tr("&Run")));
    build_view(menu_->addMenu(tr("&View")));
    build_help(menu_->addMenu(tr("&Help")));
    build_keys();
    SessionController* session = window_->session();
    connect(session, &SessionController::state_changed, this, &WindowActions::show_state);
    connect(session, &SessionController::view_changed, this, &WindowActions::show_state);
    connect(session, &SessionController::recording_replaced, this, &WindowActions::show_state);
    connect(session, &SessionController::steps_arrived, this, &WindowActions::show_state);
    connect(window_->presentation(), &Presentation::changed, this, &WindowActions::show_state);
    show_state();
}

QAction* WindowActions::add(QMenu* menu, const QString& text, const QString& keys, const std::function<void()>& run) {
    QAction* action = menu->addAction(text);
    if (!keys.isEmpty()) action->setShortcut(QKeySequence(keys));
    connect(action, &QAction::triggered, window_, run);
    window_->addAction(action);
    all_ << action;
    return action;
}

QAction* WindowActions::add_key(const QString& text, const QList<QKeySequence>& keys,
                                const std::function<void()>& run) {
    auto* action = new QAction(text, this);
    action->setShortcuts(keys);
    connect(action, &QAction::triggered, window_, run);
    window_->addAction(action);
    all_ << action;
    return action;
}

void WindowActions::build_file(QMenu* menu) {
    open_model_ = add(menu, tr("Open &model folder…"), QStringLiteral("Ctrl+Shift+O"),
                      [this] { window_->choose_model_folder(); });
    open_model_file_ = add(menu, tr("Open model &file…"), QString(), [this] { window_->choose_model_file(); });
    recent_ = menu->addMenu(tr("&Recent models"));
    connect(recent_, &QMenu::aboutToShow, this, &WindowActions::fill_recent);
    // An empty menu says so by being switched off; what was opened meanwhile is known when the menu above it opens.
    connect(menu, &QMenu::aboutToShow, this, [this] {
        recent_->setEnabled(!window_->store()->recent_models().isEmpty() &&
                            window_->session()->can(SessionAction::Open));
    });
    open_recording_ =
        add(menu, tr("&Open recording…"), QStringLiteral("Ctrl+O"), [this] { window_->choose_recording(); });
    save_ = add(menu, tr("&Save recording…"), QStringLiteral("Ctrl+S"), [this] { window_->choose_save(); });
    menu->addSeparator();
    export_ = add(menu, tr("&Export…"), QStringLiteral("Ctrl+E"), [this] { window_->choose_export(QString()); });
    menu->addSeparator();
    add(menu, tr("&Quit"), QStringLiteral("Ctrl+Q"), [this] { window_->close(); });
}

void WindowActions::fill_recent() {
    recent_->clear();
    for (const QString& path : window_->store()->recent_models()) {
        QAction* action = recent_->addAction(QFileInfo(path).fileName(), [this, path] { window_->offer_model(path); });
        action->setToolTip(path);
    }
    recent_->setToolTipsVisible(true);
}

void WindowActions::build_run(QMenu* menu) {
    SessionController* session = window_->session();
    reset_ = add(menu, tr("&Start again"), QStringLiteral("Ctrl+R"), [session] { session->reset(); });
    continue_ = add(menu, tr("&Continue from here"), QStringLiteral("Ctrl+Return"),
                    [session] { session->continue_from_here(); });
    continue_->setToolTip(tr("Drops what comes after the viewed step and goes on from there"));
    fork_ = add(menu, tr("&Fork here"), QStringLiteral("Ctrl+Shift+Return"), [session] { session->fork_here(); });
    fork_->setToolTip(
        tr("Goes on from the viewed step in a branch; the run so far keeps its pages, shared where the text is equal"));
    branches_ = menu->addMenu(tr("&Branches"));
    connect(branches_, &QMenu::aboutToShow, this, &WindowActions::fill_branches);
    cancel_ = add(menu, tr("C&ancel what runs"), QStringLiteral("Ctrl+."), [session] { session->cancel(); });
    menu->addSeparator();
    add(menu, tr("Se&ttings of the run…"), QStringLiteral("Ctrl+,"), [this] { window_->open_settings(); });
}

// One entry for each run of the session that a fork has left, and for the one that is shown.
void WindowActions::fill_branches() {
    SessionController* session = window_->session();
    branches_->clear();
    for (const SessionBranch& branch : session->branches()) {
        const int tokens = branch.shown && session->recording() ? session->recording()->row_count() : branch.tokens;
        const QString name = branch.shown ? tr("%1 · shown, %2 tokens").arg(branch.number).arg(tokens)
                                          : tr("%1 · %2 tokens · …%3").arg(branch.number).arg(tokens).arg(branch.ending);
        QAction* action = branches_->addAction(QString(name).replace(QLatin1Char('&'), QLatin1String("&&")));
        action->setCheckable(true);
        action->setChecked(branch.shown);
        action->setEnabled(!branch.shown && session->can(SessionAction::SwitchBranch));
        connect(action, &QAction::triggered, session, [session, number = branch.number] {
            session->switch_branch(number);
        });
    }
}

void WindowActions::build_view(QMenu* menu) {
    present_ = add(menu, tr("&Presentation"), QStringLiteral("F11"),
                   [this] { window_->presentation()->set_active(!window_->presentation()->active()); });
    present_->setCheckable(true);
    build_panels(menu);
    build_looks(menu);
    menu->addSeparator();
    add(menu, tr("&Reset layout"), QString(), [this] { window_->reset_layout(); });
}

void WindowActions::build_panels(QMenu* menu) {
    QMenu* shown = menu->addMenu(tr("Pa&nels"));
    QMenu* presented = menu->addMenu(tr("Panels in the presentati&on"));
    int number = 0;
    for (const PanelHost::Entry& entry : window_->host()->entries()) {
        const QString id = entry.descriptor.id, title = QCoreApplication::translate("panels", entry.descriptor.title);
        QAction* show = add(shown, title, QString(), [] {});
        show->setCheckable(true);
        show->setToolTip(QCoreApplication::translate("panels", entry.descriptor.help));
        connect(show, &QAction::toggled, window_, [this, id](bool on) { window_->set_panel_shown(id, on); });
        connect(shown, &QMenu::aboutToShow, show, [this, show, id] {
            const QSignalBlocker quiet(show);
            show->setChecked(window_->panel_shown(id));
        });
        QAction* present = add(presented, title, QString(), [] {});
        present->setCheckable(true);
        connect(presented, &QMenu::aboutToShow, present, [this, present, id] {
            const QSignalBlocker quiet(present);
            present->setChecked(window_->presentation()->panels().contains(id));
        });
        connect(present, &QAction::toggled, window_, [this, id](bool on) {
            Preferences changed = window_->preferences();
            changed.presentation_panels = window_->presentation()->panels();
            changed.presentation_panels.removeAll(id);
            if (on) changed.presentation_panels << id;
            window_->change_preferences(changed);
        });
        const int index = number++;
        if (index < 9)
            add_key(tr("Go to %1").arg(title), {QKeySequence(QStringLiteral("Alt+%1").arg(index + 1))},
                    [this, index] { window_->focus_panel(index); });
    }
}

void WindowActions::build_looks(QMenu* menu) {
    const auto choice = [&](QMenu* into, const QString& title, QActionGroup* group,
                            const std::function<bool(const Preferences&)>& is,
                            const std::function<void(Preferences&)>& set) {
        QAction* action = add(into, title, QString(), [this, set] {
            Preferences changed = window_->preferences();
            set(changed);
            window_->change_preferences(changed);
        });
        action->setCheckable(true);
        group->addAction(action);
        connect(into, &QMenu::aboutToShow, action,
                [this, action, is] { action->setChecked(is(window_->preferences())); });
    };
    QMenu* look = menu->addMenu(tr("&Theme"));
    auto* themes = new QActionGroup(look);
    const std::pair<ThemeChoice, QString> looks[] = {{ThemeChoice::Light, tr("&Light")},
                                                     {ThemeChoice::Dark, tr("&Dark")},
                                                     {ThemeChoice::System, tr("As the &system")}};
    for (const auto& [theme, title] : looks)
        choice(
            look, title, themes, [theme = theme](const Preferences& p) { return p.theme == theme; },
            [theme = theme](Preferences& p) { p.theme = theme; });
    QMenu* speech = menu->addMenu(tr("&Language"));
    auto* languages = new QActionGroup(speech);
    // Each language is named in itself, so that it can be found in any.
    const std::pair<QString, QString> names[] = {{QString(), tr("As the s&ystem")},
                                                 {QStringLiteral("en"), QStringLiteral("English")},
                                                 {QStringLiteral("zh_CN"), QStringLiteral("中文")}};
    for (const auto& [code, title] : names)
        choice(
            speech, title, languages, [code = code](const Preferences& p) { return p.language == code; },
            [code = code](Preferences& p) { p.language = code; });
    const auto scale = [this](double factor) {
        Preferences changed = window_->preferences();
        changed.type_scale = factor == 0 ? 1.0 : std::clamp(changed.type_scale * factor, kSmallestType, kLargestType);
        window_->change_preferences(changed);
    };
    QMenu* type = menu->addMenu(tr("T&ype"));
    QAction* larger = add(type, tr("&Larger"), QString(), [scale] { scale(kTypeStep); });
    larger->setShortcuts({QKeySequence(QStringLiteral("Ctrl++")), QKeySequence(QStringLiteral("Ctrl+="))});
    add(type, tr("&Smaller"), QStringLiteral("Ctrl+-"), [scale] { scale(1 / kTypeStep); });
    add(type, tr("&Normal"), QStringLiteral("Ctrl+0"), [scale] { scale(0); });
}

void WindowActions::build_help(QMenu* menu) {
    add(menu, tr("&Glossary"), QStringLiteral("F1"), [this] { show_help(HelpPage::Glossary, window_); });
    add(menu, tr("&Keyboard"), QString(), [this] { show_help(HelpPage::Keyboard, window_); });
    add(menu, tr("&About Decodescope"), QString(), [this] { show_help(HelpPage::About, window_); });
}

void WindowActions::build_keys() {
    SessionController* session = window_->session();
    add_key(tr("Play or pause"), {Qt::Key_Space}, [session] { session->toggle_play(); });
    add_key(tr("Step back"), {Qt::Key_Left}, [session] {
        if (session->can(SessionAction::StepBack)) session->step_back();
    });
    add_key(tr("Step"), {Qt::Key_Right}, [session] {
        if (session->can(SessionAction::StepForward)) session->step_forward();
    });
    add_key(tr("To the first step"), {Qt::Key_Home}, [session] {
        if (session->step_count() > 0) session->view_step(0);
    });
    add_key(tr("To the newest step, then to the end"), {Qt::Key_End}, [session] {
        if (session->viewed_step() + 1 < session->step_count()) session->view_step(session->step_count() - 1);
        else if (session->can(SessionAction::RunToEnd)) session->run_to_end();
    });
    add_key(tr("Clear or leave"), {Qt::Key_Escape}, [this] { window_->clear_or_leave(); });
    add_key(tr("Page back"), {Qt::Key_PageUp}, [this] { window_->step_presentation(-1); });
    add_key(tr("Page on"), {Qt::Key_PageDown}, [this] { window_->step_presentation(1); });
    add_key(tr("Menu"), {Qt::Key_F10}, [this] {
        const QToolButton* button = window_->transport()->menu_button();
        menu_->popup(button->isVisible() ? button->mapToGlobal(QPoint(0, button->height()))
                                         : window_->mapToGlobal(QPoint(0, 0)));
    });
}

void WindowActions::show_state() {
    const SessionController* session = window_->session();
    open_model_->setEnabled(session->can(SessionAction::Open));
    open_model_file_->setEnabled(session->can(SessionAction::Open));
    open_recording_->setEnabled(session->can(SessionAction::OpenRecording));
    save_->setEnabled(session->can(SessionAction::SaveRecording));
    export_->setEnabled(session->recording() != nullptr);
    reset_->setEnabled(session->can(SessionAction::Reset));
    continue_->setEnabled(session->can(SessionAction::ContinueFromHere));
    fork_->setEnabled(session->can(SessionAction::ForkHere));
    branches_->setEnabled(session->branches().size() > 1);
    cancel_->setEnabled(session->can(SessionAction::CancelWork));
    present_->setChecked(window_->presentation()->active());
}

}  // namespace decodescope
