// The parts of the command line that need Qt: the window, pictures of it, and the charts of a sweep.
#pragma once

#include <stop_token>
#include <string>

#include "engine/backend/backend_registry.h"
#include "engine/cache/kv_format.h"
#include "engine/cache/strategy_descriptor.h"
#include "engine/measure/compare.h"
#include "engine/measure/sweep.h"
#include "engine/support/output_file.h"
#include "engine/trace/run_recording.h"
#include "kernels/api/status.h"

namespace decodescope {

// Whether a window can be shown: the display that the environment names answers, and Qt's plugin for it can be opened.
// Nothing of Qt's GUI is started. Error of kind Device with one sentence when not. A platform chosen with
// QT_QPA_PLATFORM is taken at its word when it needs no display.
Status display_answers();

struct WindowArguments {
    BackendRegistry registry;
    std::string resource_folder;
    std::string model = "bundled", backend = "cpu";
    int threads = 0;
    WeightType weights = WeightType::AsInFile;
    std::vector<CacheSpec> caches;   // the first one is used; empty: the default
    std::vector<KvFormat> kv_types;  // likewise
    std::string prompt;             // empty: the opening demonstration
    std::string recording;          // a .dscope file in place of a model
    std::string language, theme;    // empty: as chosen in the window
};

// Shows the window and returns when it is closed. Error (and nothing shown) without a display.
Status run_window(int argc, char** argv, const WindowArguments& arguments);
// `replay`: the same with a recording, which is read before the window is made, so that a damaged file is refused at
// once.
Status run_replay(int argc, char** argv, WindowArguments arguments, const std::string& path);

struct ShotRequest {
    std::string output;  // PNG, width·scale x height·scale pixels
    int width = 1280, height = 800;
    double scale = 1.0;
    std::string theme = "light", language = "en";
    int steps = 48;
    std::string panel;      // alone in the window; empty: the whole window
    std::string recording;  // from a file; else `model` is run
    std::string model = "bundled", backend = "cpu";
    int threads = 0;
    WeightType weights = WeightType::AsInFile;
    std::vector<CacheSpec> caches;
    std::vector<KvFormat> kv_types;
    std::string prompt;  // empty: the first preset of the language
    BackendRegistry registry;
    std::string resource_folder;
    std::stop_token stop;
};
// Offscreen, the real window, ignoring what a person has stored. Makes a QApplication if there is none. Cancelled when
// a stop is asked for before the picture is there; an older file stays.
Status shot(const ShotRequest& request);
// The same of a run that is in memory, as one of several files.
Status write_window_picture(RecordingPtr recording, const ShotRequest& request, OutputSet& files);

// basename.png, .svg and .pdf in the folder, drawn offscreen.
Status write_sweep_charts(const SweepResult& result, const std::string& folder, const std::string& basename,
                          OutputSet& files);

// The same of a comparison.
Status write_compare_figure(const CompareResult& result, const std::string& folder, const std::string& basename,
                            OutputSet& files);

// For `list panels`.
struct PanelInfo {
    std::string id, title, help;
};
std::vector<PanelInfo> panel_infos();

}  // namespace decodescope
