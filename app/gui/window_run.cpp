#include "app/gui/window_run.h"

#include <QApplication>
#include <QCoreApplication>
#include <QIcon>

#include "engine/measure/run_facts.h"
#include "engine/trace/recording_file.h"
#include "kernels/api/usable_cores.h"
#include "kernels/cpu/machine_rates.h"
#include "ui/main_window/shell.h"

namespace decodescope {

namespace {

void name_application() {
    QCoreApplication::setApplicationName(QStringLiteral("decodescope"));
    QCoreApplication::setApplicationVersion(QString::fromStdString(program_version()));
    QGuiApplication::setApplicationDisplayName(QStringLiteral("Decodescope"));
    QGuiApplication::setDesktopFileName(QStringLiteral("decodescope"));
}

Preferences fixed_preferences(const WindowArguments& arguments, Preferences preferences) {
    if (!arguments.language.empty()) preferences.language = QString::fromStdString(arguments.language);
    if (arguments.theme == "light") preferences.theme = ThemeChoice::Light;
    if (arguments.theme == "dark") preferences.theme = ThemeChoice::Dark;
    return preferences;
}

}  // namespace

Status run_window(int argc, char** argv, const WindowArguments& arguments) {
    DS_RETURN_IF_ERROR(display_answers());
    name_application();
    QApplication application(argc, argv);
    ShellOptions options;
    options.registry = arguments.registry;
    options.resource_folder = QString::fromStdString(arguments.resource_folder);
    options.measure_machine = [] {
        const MachineRates rates = measure_machine_rates(usable_cores(), {});
        return MachineCeiling{rates.read_gb_s_all, rates.gflops_all};
    };
    Shell shell(std::move(options));
    if (!arguments.language.empty() || !arguments.theme.empty())
        shell.apply_preferences(fixed_preferences(arguments, shell.window()->preferences()));
    OpeningRequest opening;
    opening.settings.model = QString::fromStdString(arguments.model);
    opening.settings.backend = QString::fromStdString(arguments.backend);
    opening.settings.threads = arguments.threads;
    opening.settings.weights = arguments.weights;
    if (!arguments.caches.empty()) opening.settings.cache = arguments.caches.front();
    if (!arguments.kv_types.empty()) opening.settings.kv = arguments.kv_types.front();
    opening.settings.prompt = QString::fromStdString(arguments.prompt);
    opening.recording = QString::fromStdString(arguments.recording);
    shell.window()->show();
    shell.open(opening);
    QApplication::exec();
    return {};
}

Status run_replay(int argc, char** argv, WindowArguments arguments, const std::string& path) {
    // Read once without a window: a file that cannot be shown ends the program with its reason.
    if (auto recording = load_recording(path, {}, {}); !recording) return recording.error();
    arguments.recording = path;
    return run_window(argc, argv, arguments);
}

std::vector<PanelInfo> panel_infos() {
    std::vector<PanelInfo> infos;
    for (const PanelDescriptor& panel : panel_catalogue())
        infos.push_back({panel.id.toStdString(), panel.title, panel.help});
    return infos;
}

}  // namespace decodescope
