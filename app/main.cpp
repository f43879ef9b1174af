// Puts the parts together: parses the arguments, runs the command, turns errors into the last line on stderr.
#include <fmt/format.h>
#include <semaphore.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <stop_token>
#include <thread>

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "engine/support/utf8.h"
#ifdef DECODESCOPE_UI
#include "app/gui_commands.h"
#endif

namespace decodescope {
namespace {

int fail(const Error& error, int code) {
    flush_out();
    print_message("decodescope: error: {}\n", utf8_escaped(error.text()));
    return code;
}

// The exit code of a command; results that did not reach the reader are an error too.
int end_of(const Status& status) {
    if (!status.ok()) return fail(status.error(), 1);
    const Status printed = finish_out();
    return printed.ok() ? 0 : fail(printed.error(), 1);
}

// Posted by the handler, whichever thread the system lets run it: libraries start threads before main() that would be
// ended by a signal which main() alone had blocked.
sem_t signals;

// Ctrl-C asks the work to stop, so that files are left whole; the second one ends the program at once.
class Interrupts {
public:
    explicit Interrupts(std::stop_source& source) {
        sem_init(&signals, 0, 0);
        struct sigaction action {};
        action.sa_handler = [](int) { sem_post(&signals); };
        action.sa_flags = SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, &action, nullptr);
        sigaction(SIGTERM, &action, nullptr);
        // Waits for a signal until the program ends; it owns nothing that needs an orderly end.
        std::thread([source]() mutable {
            wait();
            const auto first = std::chrono::steady_clock::now();
            source.request_stop();
            // `timeout`, and some shells, send one signal to the program and to its group: that is one wish, not two.
            do wait();
            while (std::chrono::steady_clock::now() - first < std::chrono::milliseconds(300));
            std::_Exit(130);
        }).detach();
    }

private:
    static void wait() {
        while (sem_wait(&signals) != 0) {
        }
    }
};

std::vector<PanelListing> panels() {
#ifdef DECODESCOPE_UI
    return list_panels();
#else
    return {};
#endif
}

#ifndef DECODESCOPE_UI
// A build without Qt leaves the data files alone.
Status draw_bench(const SweepResult&, const Arguments&, OutputSet&) { return {}; }
Status draw_compare(const CompareResult&, const Arguments&, OutputSet&) { return {}; }
Status draw_demo(const DemoResult&, const Arguments&, OutputSet&) { return {}; }
#endif

// A set of files that is written whole or not at all.
template <class Measure, class Draw>
Status measure_and_draw(const Arguments& arguments, std::stop_token stop, Measure measure, Draw draw) {
    OutputSet files;
    auto result = measure(arguments, stop, files);
    if (!result) return result.error();
    DS_RETURN_IF_ERROR(draw(*result, arguments, files));
    const std::string names = files.names();
    DS_RETURN_IF_ERROR(files.commit());
    if (arguments.command == Command::Demo) print("Written to {}: {}\n", arguments.output, names);
    if (result->cancelled) print_message("decodescope: stopped; the files hold what was measured until then.\n");
    return {};
}

Status run_without_window(const Arguments& arguments, std::stop_token stop) {
    switch (arguments.command) {
        case Command::Generate: return run_generate(arguments, stop);
        case Command::Race: return run_race(arguments, stop);
        case Command::Info: return run_info(arguments);
        case Command::Doctor: return run_doctor(arguments, stop);
        case Command::List: return run_list(arguments, panels());
        case Command::Pool: return run_pool(arguments);
        case Command::Batch: return run_batch(arguments, stop);
#ifdef DECODESCOPE_UI
        case Command::Shot: return take_shot(arguments, stop);
#endif
        case Command::Bench: return measure_and_draw(arguments, stop, run_bench, draw_bench);
        case Command::Compare: return measure_and_draw(arguments, stop, run_compare_command, draw_compare);
        case Command::Demo: return measure_and_draw(arguments, stop, run_demo, draw_demo);
        default: break;
    }
    return make_error(ErrorKind::Unsupported, "this build has no window.", "Build with DECODESCOPE_UI=ON.");
}

int run(int argc, char** argv) {
    auto outcome = parse_arguments(argc, argv);
    if (!outcome) return fail(outcome.error(), 2);
    if (outcome->finished) {
        print("{}", outcome->text);
        return end_of(Status());
    }
    const Arguments& arguments = outcome->arguments;
    if (const std::string sentence = ignored_options(arguments); !sentence.empty())
        print_message("decodescope: {}\n", sentence);
#ifdef DECODESCOPE_UI
    if (const Status panel = check_panel(arguments.panel); !panel) return fail(panel.error(), 2);
    switch (arguments.command) {
        case Command::HasDisplay: return has_display() ? 0 : 1;
        case Command::Window:
        case Command::Replay: {
            const Status status = show_window(arguments, argc, argv);
            return end_of(status);
        }
        default: break;
    }
#else
    if (arguments.command == Command::HasDisplay) return 1;
#endif
    std::stop_source source;
    Interrupts interrupts(source);
    const Status status = run_without_window(arguments, source.get_token());
    return end_of(status);
}

}  // namespace
}  // namespace decodescope

int main(int argc, char** argv) {
    // One of the two places that catch: nothing that the libraries raise may end in an abort.
    try {
        decodescope::occupy_standard_streams();
        decodescope::keep_running_at_limits();
        return decodescope::run(argc, argv);
    } catch (const std::exception& exception) {
        std::fprintf(stderr, "decodescope: error: %s\n", exception.what());
        return 1;
    }
}
