// The commands that draw, between the command line's arguments and the window's requests.
#pragma once

#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/commands.h"

namespace decodescope {

std::vector<PanelListing> list_panels();
// Argument error for an id that no panel has; empty is fine.
Status check_panel(const std::string& id);
bool has_display();
// The window, or a recording in it. Error, and nothing shown, without a display.
Status show_window(const Arguments& arguments, int argc, char** argv);
Status take_shot(const Arguments& arguments);
// timing.png, .svg and .pdf beside the data of `bench`.
Status draw_bench(const SweepResult& result, const std::string& folder);
// compare.png, .svg and .pdf beside the data of `compare`.
Status draw_compare(const CompareResult& result, const std::string& folder);
// The same of the sweep, and window.png, for `demo`.
Status draw_demo(const DemoResult& result, const Arguments& arguments);

}  // namespace decodescope
