// The window's limits: first window under 1.5 s, first token under 0.3 s after it, longest gap of a 10 ms heartbeat in
// the GUI thread under 50 ms while running flat out to the full context, memory under 600 MB, GUI thread under 10 % of
// a core. Then the same run without the window, twice by turns: a token takes at most 1.1 times as long with it
// (without the recompute lane). Prints what it measured; asserts nothing. Run by hand with QT_QPA_PLATFORM=offscreen.
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
#include "engine/decode/generation.h"
#include "engine/model/model.h"
#include "tests/benchmarks/timed_session.h"
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

// Of the passes of one token each; the first ones find everything for the first time.
void add_step_micros(const RunRecording& recording, std::vector<double>& to) {
    constexpr int kFirst = 20;
    for (int i = kFirst; i < recording.step_count(); ++i) to.push_back(recording.step(i)->micros);
}

// What the window's engine does, on this thread while nothing is drawn.
void run_headless(const LoadedModelPtr& model, const SessionSettings& settings, std::vector<double>& to) {
    SessionConfig config;
    config.cache = settings.cache;
    config.kv = settings.kv;
    config.capture_attention = settings.capture;
    config.profile = settings.profile;
    std::shared_ptr<DecodeSession> decode = bench::value_or_exit(DecodeSession::create(model, config));
    GenerationConfig generation_config;
    generation_config.sampler = settings.sampler;
    generation_config.stop_at_eos = settings.stop_at_eos;
    auto recording = std::make_shared<RunRecording>(make_run_facts(*decode, settings.sampler), RecordingLimits{});
    Generation generation(decode, generation_config, recording);
    const auto prompt =
        bench::value_or_exit(model->model->tokenizer->encode(settings.prompt.toStdString(), EncodeOptions{}));
    DS_CHECK(generation.start(prompt, {}, {}).ok());
    while (!generation.finished()) DS_CHECK(generation.step({}).ok());
    add_step_micros(*recording, to);
}

void compare_with_headless(SessionController& session) {
    const SessionSettings settings = session.settings();
    const LoadedModelPtr model = bench::load(settings.model.toStdString(), settings.weights, settings.threads);
    std::vector<double> window, headless;
    for (int round = 0; round < 2; ++round) {
        if (round > 0) {
            session.reset();
            session.play();
            run_until(session, [&] { return session.finished() && session.step_count() > 1; }, 600000);
        }
        add_step_micros(*session.recording(), window);
        run_headless(model, settings, headless);
    }
    const double with = bench::median(window), without = bench::median(headless);
    fmt::print("a token takes {:.3f} ms with the window and {:.3f} ms without: {:.3f} times (medians of {} and {})\n",
               with / 1e3, without / 1e3, with / without, window.size(), headless.size());
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
    if (!race) compare_with_headless(session);
    return 0;
}
