// The window: transport, tokens, message bar, docks, status line, and what happens between them.
#pragma once

#include <QWidget>
#include <functional>
#include <utility>

#include "ui/main_window/message_bar.h"
#include "ui/main_window/panel_host.h"
#include "ui/main_window/preferences.h"

namespace decodescope {

struct ExportSize;
class Presentation;
class PromptPopover;
class SettingsDesk;
class SettingsPopover;
class TransportBar;
class WindowActions;

class MainWindow : public QWidget {
    Q_OBJECT
public:
    // The session and selection outlive the window. `store` keeps layout and folders.
    MainWindow(SessionController* session, Selection* selection, PreferenceStore* store, const Preferences& preferences,
               QWidget* parent = nullptr);
    ~MainWindow() override;

    SessionController* session() const { return session_; }
    Selection* selection() const { return selection_; }
    PanelHost* host() const { return host_; }
    DockArea* docks() const { return docks_; }
    Presentation* presentation() const { return presentation_; }
    TransportBar* transport() const { return transport_; }
    StatusLine* status_line() const { return status_; }
    MessageBar* message_bar() const { return message_; }
    const Preferences& preferences() const { return preferences_; }

    void change_preferences(
        const Preferences& preferences);  // applied by whoever owns the window, see preferences_changed
    void reset_layout();
    void set_panel_shown(const QString& id, bool shown);
    bool panel_shown(const QString& id) const;
    void focus_panel(int index);
    void clear_or_leave();  // Esc
    void open_settings();
    void choose_model_folder();
    void choose_model_file();
    // Says what the model would need and loads it when that is accepted.
    void offer_model(const QString& path);
    // Says what this machine can do; outlives the window.
    void set_machine(MachineSpeed* machine);
    PreferenceStore* store() const { return store_; }
    void choose_recording();
    void choose_save();
    void choose_export(const QString& export_id);
    // Without the dialog; the result is said in the window.
    bool export_item(const ExportItem& item, const QString& path, const ExportSize& size);
    void step_presentation(int direction);  // Page Up, Page Down
    void say(const SessionMessage& message);
    void theme_changed();

Q_SIGNALS:
    void preferences_changed(const Preferences& preferences);

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void build();
    void connect_parts();
    void show_title();

    SessionController* session_;
    Selection* selection_;
    PreferenceStore* store_;
    MachineSpeed* machine_ = nullptr;
    Preferences preferences_;
    SettingsDesk* desk_ = nullptr;
    TransportBar* transport_ = nullptr;
    QWidget* strips_ = nullptr;
    MessageBar* message_ = nullptr;
    DockArea* docks_ = nullptr;
    StatusLine* status_ = nullptr;
    PanelHost* host_ = nullptr;
    Presentation* presentation_ = nullptr;
    WindowActions* actions_ = nullptr;
    SettingsPopover* settings_ = nullptr;
    PromptPopover* prompt_ = nullptr;
};

}  // namespace decodescope
