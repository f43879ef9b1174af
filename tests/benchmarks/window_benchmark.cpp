// The window's limits: first window under 1.5 s, first token under 0.3 s after it, longest gap of a 10 ms heartbeat in
// the GUI thread under 50 ms while running flat out to the full context, memory under 600 MB, GUI thread under 10 % of
// a core. Prints what it measured; asserts nothing. Run by hand with QT_QPA_PLATFORM=offscreen.
//     window_benchmark [cached|race] [MODEL] [TOKENS PER SECOND; 0 = flat out]
#include <fmt/format.h>
#include <time.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTimer>
#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

#include "app/cli/commands.h"
#include "engine/model/model.h"
#include "ui/main_window/shell.h"

namespace {

using namespace decodescope;

double thread_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// "VmHWM" or "VmRSS" of /proc/self/status, in MB of 1e6 bytes.
double memory_mb(const std::string& field) {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
        if (line.rfind(field + ":", 0) == 0)
            return 1024e-6 * static_cast<double>(std::stoll(line.substr(field.size() + 1)));
    return 0;
}

void run_until(SessionController& session, const std::function<bool()>& done, int patience_millis) {
    QEventLoop loop;
    QTimer look;
    QObject::connect(&look, &QTimer::timeout, &loop, [&] {
        if (done()) loop.quit();
    });
    look.start(5);
    QTimer::singleShot(patience_millis, &loop, &QEventLoop::quit);
    loop.exec();
    Q_UNUSED(session);
}

}  // namespace

int main(int argc, char** argv) {
    QElapsedTimer clock;
    clock.start();
    qputenv("QT_QPA_PLATFORM", qgetenv("QT_QPA_PLATFORM").isEmpty() ? "offscreen" : qgetenv("QT_QPA_PLATFORM"));
    QApplication application(argc, argv);
    ShellOptions options;
    options.registry = make_backend_registry();
    options.resource_folder = QString::fromStdString(find_resources());
    options.stored_preferences = false;
    Shell shell(std::move(options));
    shell.window()->resize(1440, 900);
    shell.window()->show();
    QCoreApplication::processEvents();
    const double window_seconds = clock.nsecsElapsed() * 1e-9;

    const bool race = argc > 1 && std::string(argv[1]) == "race";
    OpeningRequest opening;
    opening.tokens_per_second = 0;
    opening.settings.race = race;
    if (argc > 2) opening.settings.model = QString::fromUtf8(argv[2]);
    if (argc > 3) opening.tokens_per_second = QString::fromUtf8(argv[3]).toDouble();
    opening.settings.prompt = QStringLiteral("Once upon a time");
    opening.settings.new_tokens = 0;
    opening.settings.stop_at_eos = false;
    opening.play = true;
    shell.open(opening);
    SessionController& session = *shell.session();
    run_until(session, [&] { return session.step_count() > 0; }, 30000);
    fmt::print(stderr, "window {:.2f} s, {} steps\n", window_seconds, session.step_count());
    const double token_seconds = clock.nsecsElapsed() * 1e-9 - window_seconds;

    double longest = 0, last = clock.nsecsElapsed() * 1e-6;
    QTimer heart;
    heart.setTimerType(Qt::PreciseTimer);
    QObject::connect(&heart, &QTimer::timeout, [&] {
        const double now = clock.nsecsElapsed() * 1e-6;
        longest = std::max(longest, now - last);
        last = now;
    });
    heart.start(10);
    const auto seconds = [&] { return clock.nsecsElapsed() * 1e-9; };
    const double cpu_before = thread_seconds(), wall_before = seconds();
    // Every panel is drawn for the first time when the first step is there: that is the opening, counted apart.
    run_until(session, [&] { return session.finished() || seconds() > wall_before + 0.25; }, 600000);
    const double cpu_opened = thread_seconds(), wall_opened = seconds();
    // And once more in full when the last token is there; tokens have stopped then.
    double cpu_last = 0, wall_last = 0;
    QObject::connect(&session, &SessionController::state_changed, [&] {
        if (!session.finished() || wall_last > 0) return;
        cpu_last = thread_seconds();
        wall_last = seconds();
    });
    run_until(session, [&] { return session.finished(); }, 600000);
    const double cpu = thread_seconds() - cpu_before, wall = seconds() - wall_before;
    const double streaming = (cpu_last - cpu_opened) / std::max(wall_last - wall_opened, 1e-9);
    fmt::print("first window {:.2f} s, first token {:.2f} s later\n", window_seconds, token_seconds);
    fmt::print("{} steps in {:.1f} s ({} lane): longest heartbeat gap {:.1f} ms, GUI thread {:.1f} % of a core, {:.1f} % "
               "with the first and the last drawing of every panel\n",
               session.step_count(), wall, race ? "with the recompute" : "cached", longest, 100 * streaming,
               100 * cpu / wall);
    fmt::print("resident memory {:.0f} MB, highest {:.0f} MB\n", memory_mb("VmRSS"), memory_mb("VmHWM"));
    return 0;
}
