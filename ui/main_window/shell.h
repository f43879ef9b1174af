// The program behind the window: session, selection, preferences, translator, and the window itself, which is made anew
// when the language changes while the run goes on.
#pragma once

#include <QObject>
#include <QTranslator>
#include <functional>
#include <memory>

#include "ui/main_window/main_window.h"
#include "ui/session/engine_driver.h"

namespace decodescope {

struct ShellOptions {
    BackendRegistry registry;
    QString resource_folder;
    Preferences preferences;  // what is shown when nothing is stored
    bool stored_preferences = true;
    std::function<MachineCeiling()> measure_machine;  // see MachineSpeed
    QString settings_file;                 // tests: this file in place of the person's own
    std::unique_ptr<EngineDriver> driver;  // tests: another way to the engine
};

// What happens at the start.
struct OpeningRequest {
    SessionSettings settings;      // with an empty prompt: the first preset of the language
    QString recording;             // a file in place of a model
    double tokens_per_second = 4;  // 0 = as fast as it goes
    bool play = true;
};

class Shell : public QObject {
    Q_OBJECT
public:
    explicit Shell(ShellOptions options, QObject* parent = nullptr);
    ~Shell() override;

    void open(const OpeningRequest& request);
    MainWindow* window() const { return window_.get(); }
    SessionController* session() { return session_.get(); }
    Selection* selection() { return &selection_; }
    void apply_preferences(const Preferences& preferences);
    QString language() const { return language_; }
    // Whether the opening has come as far as it can: the prompt is fed, or there is none to feed.
    bool opened() const { return stage_ == Opening::Done; }

Q_SIGNALS:
    void window_replaced();

private:
    void make_window();
    void load_language(const QString& language);
    void go_on_opening();
    void choose_head();

    PreferenceStore store_;
    Preferences preferences_;
    MachineSpeed machine_;
    std::unique_ptr<SessionController> session_;
    Selection selection_;
    QTranslator translator_, qt_translator_;
    QString language_;
    std::string seen_model_;
    std::unique_ptr<MainWindow> window_;
    OpeningRequest opening_;
    enum class Opening { Done, Loading, Prefilling } stage_ = Opening::Done;
};

}  // namespace decodescope
