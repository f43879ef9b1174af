// The commands that draw, between the command line's arguments and the window's requests.
#pragma once

#include <stop_token>
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
// A stop gives an error: there is no half of a picture.
Status take_shot(const Arguments& arguments, std::stop_token stop);
// timing.png, .svg and .pdf beside the data of `bench`.
Status draw_bench(const SweepResult& result, const Arguments& arguments, OutputSet& files);
// compare.png, .svg and .pdf beside the data of `compare`.
Status draw_compare(const CompareResult& result, const Arguments& arguments, OutputSet& files);
// The same of the sweep, and window.png, for `demo`.
Status draw_demo(const DemoResult& result, const Arguments& arguments, OutputSet& files);

}  // namespace decodescope
