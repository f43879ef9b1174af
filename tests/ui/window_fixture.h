// The real window over the invented engine or over a recording, with settings of its own.
#pragma once

#include <QRegularExpression>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "tests/session/fake_engine.h"
#include "tests/support/fake_run.h"
#include "ui/main_window/presentation.h"
#include "ui/main_window/shell.h"

namespace decodescope::testing {

constexpr int kPatience = 60'000;  // until a wait counts as hanging; nothing is asserted about time

// Whatever Qt warns of in this test function is a failure, but for what it says of machines without a desktop.
inline void fail_on_warnings() {
    QTest::failOnWarning(
        QRegularExpression(QStringLiteral("^(?!This plugin does not support |QStandardPaths: |Detected locale )")));
}

struct WindowFixture {
    explicit WindowFixture(const QString& language = QStringLiteral("en"), const QString& settings_file = QString(),
                           const std::vector<BackendEntry>& backends = {}) {
        ShellOptions options;
        options.preferences.language = language;
        options.preferences.theme = ThemeChoice::Light;
        options.stored_preferences = false;
        options.settings_file = settings_file;
        for (const BackendEntry& entry : backends) options.registry.add(entry);
        options.driver = std::make_unique<FakeDriver>(controls);
        shell = std::make_unique<Shell>(std::move(options));
        shell->window()->resize(1280, 800);
        shell->window()->show();
    }

    std::shared_ptr<FakeControls> controls = std::make_shared<FakeControls>();
    std::unique_ptr<Shell> shell;

    MainWindow* window() { return shell->window(); }
    SessionController* session() { return shell->session(); }
    bool wait(const std::function<bool()>& done) { return QTest::qWaitFor(done, kPatience); }
    bool start() {
        OpeningRequest opening;
        opening.settings.prompt = QStringLiteral("hello");
        opening.settings.race = false;
        opening.play = false;
        opening.tokens_per_second = 0;
        shell->open(opening);
        return wait([this] { return session()->step_count() > 0 && session()->state() == SessionState::Ready; });
    }
    // A recording of an invented run, read back from a file.
    bool open_fake_run(const FakeRunOptions& options, QTemporaryDir& folder) {
        const QString path = folder.filePath(QStringLiteral("run.dscope"));
        if (!save_recording(*make_fake_run(options), path.toStdString(), {}, {})) return false;
        session()->open_recording(path);
        return wait([this] { return session()->state() == SessionState::Replay && session()->step_count() > 0; });
    }
    void key(Qt::Key which, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QTest::keyClick(window(), which, modifiers);
    }
};

}  // namespace decodescope::testing
