#include "app/gui_commands.h"

#include <fmt/format.h>

#include <QString>
#include <QtGlobal>

#include "app/gui/window_run.h"
#include "app/cli/output.h"
#include "engine/model/model.h"

namespace decodescope {
namespace {

// Stderr is read by people and scripts: what Qt says about a machine without a desktop session is no news to them.
void say_what_matters(QtMsgType type, const QMessageLogContext& context, const QString& message) {
    if (type == QtWarningMsg && (message.contains(QLatin1String("propagateSizeHints")) ||
                                 message.startsWith(QLatin1String("QStandardPaths: XDG_RUNTIME_DIR"))))
        return;
    print_message("{}\n", qFormatLogMessage(type, context, message).toStdString());
}

WindowArguments window_arguments(const Arguments& arguments) {
    WindowArguments window;
    window.registry = make_backend_registry(arguments.instruction_set);
    window.resource_folder = find_resources();
    window.model = arguments.model;
    window.backend = arguments.backend;
    window.threads = arguments.threads;
    window.weights = arguments.weights;
    window.caches = arguments.caches;
    window.kv_types = arguments.kv_types;
    window.language = arguments.language;
    window.theme = arguments.theme;
    return window;
}

ShotRequest shot_request(const Arguments& arguments) {
    ShotRequest request;
    request.output = arguments.output;
    request.width = arguments.width;
    request.height = arguments.height;
    request.scale = arguments.scale;
    if (!arguments.theme.empty()) request.theme = arguments.theme;
    if (!arguments.language.empty()) request.language = arguments.language;
    request.steps = arguments.steps;
    request.panel = arguments.panel;
    request.model = arguments.model;
    request.backend = arguments.backend;
    request.threads = arguments.threads;
    request.weights = arguments.weights;
    request.caches = arguments.caches;
    request.kv_types = arguments.kv_types;
    request.registry = make_backend_registry(arguments.instruction_set);
    request.resource_folder = find_resources();
    return request;
}

}  // namespace

std::vector<PanelListing> list_panels() {
    std::vector<PanelListing> list;
    for (const PanelInfo& panel : panel_infos()) list.push_back({panel.id, panel.title, panel.help});
    return list;
}

Status check_panel(const std::string& id) {
    if (id.empty()) return {};
    std::string known;
    for (const PanelListing& panel : list_panels()) {
        if (panel.id == id) return {};
        known += (known.empty() ? "" : ", ") + panel.id;
    }
    return make_error(ErrorKind::Argument, fmt::format("--panel: '{}' is not known.", id), "There are: " + known + ".");
}

bool has_display() { return display_answers().ok(); }

Status show_window(const Arguments& arguments, int argc, char** argv) {
    qInstallMessageHandler(say_what_matters);
    WindowArguments window = window_arguments(arguments);
    if (arguments.command == Command::Replay) return run_replay(argc, argv, std::move(window), arguments.recording);
    return run_window(argc, argv, window);
}

Status take_shot(const Arguments& arguments, std::stop_token stop) {
    qInstallMessageHandler(say_what_matters);
    ShotRequest request = shot_request(arguments);
    request.stop = std::move(stop);
    return shot(request);
}

Status draw_bench(const SweepResult& result, const Arguments& arguments, OutputSet& files) {
    qInstallMessageHandler(say_what_matters);
    return write_sweep_charts(result, arguments.output, "timing", files);
}

Status draw_compare(const CompareResult& result, const Arguments& arguments, OutputSet& files) {
    qInstallMessageHandler(say_what_matters);
    return write_compare_figure(result, arguments.output, "compare", files);
}

Status draw_demo(const DemoResult& result, const Arguments& arguments, OutputSet& files) {
    qInstallMessageHandler(say_what_matters);
    if (!result.sweep.rows.empty())
        DS_RETURN_IF_ERROR(write_sweep_charts(result.sweep, arguments.output, "timing", files));
    ShotRequest request = shot_request(arguments);
    request.output = arguments.output + "/window.png";
    request.width = 1440;
    request.height = 900;
    request.steps = result.recording->step_count() - 1;  // the end of the run
    return write_window_picture(result.recording, request, files);
}

}  // namespace decodescope
