// The commands that need no window. Each returns an error (exit code 1) or nothing; results go to stdout, progress to
// stderr.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "engine/backend/backend_registry.h"
#include "engine/decode/generation.h"
#include "engine/measure/sweep.h"
#include "kernels/api/status.h"

namespace decodescope {

struct PanelListing {
    std::string id, title, help;
};

// The backends of this build, and for those that do not work here the sentence why not.
BackendRegistry make_backend_registry();

// Model, backend and weights as the arguments say; progress on stderr when it is a terminal.
Result<LoadedModelPtr> open_for(const Arguments& arguments, std::stop_token stop);
// The prompt as token ids, checked against the vocabulary.
Result<std::vector<std::int32_t>> prompt_tokens(const Arguments& arguments, const Model& model, std::stop_token stop);
CacheSpec cache_or_default(const Arguments& arguments);
KvFormat kv_or_default(const Arguments& arguments);
// Names for --weights as shown in results.
std::string weights_name(const LoadedModel& model);

Status run_generate(const Arguments& arguments, std::stop_token stop);
Status run_race(const Arguments& arguments, std::stop_token stop);
Status run_info(const Arguments& arguments);
Status run_doctor(const Arguments& arguments, std::stop_token stop);
Status run_list(const Arguments& arguments, const std::vector<PanelListing>& panels);
// Measures and writes timing.csv and timing.json; the caller adds the pictures.
Result<SweepResult> run_bench(const Arguments& arguments, std::stop_token stop);
// The opening demonstration in the terminal: a live table of both lanes; leaves run.json, run.dscope and the timing
// data in the folder.
struct DemoResult {
    std::shared_ptr<RunRecording> recording;
    SweepResult sweep;
};
Result<DemoResult> run_demo(const Arguments& arguments, std::stop_token stop);

// Writes a whole file through a temporary name beside it. File error, with the system's reason, when it cannot.
Status write_file(const std::string& path, const std::string& content);
Status make_folder(const std::string& path);

}  // namespace decodescope
