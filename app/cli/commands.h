// The commands that need no window. Each returns an error (exit code 1) or nothing; results go to stdout, progress to
// stderr.
#pragma once

#include <functional>
#include <initializer_list>
#include <stop_token>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "engine/backend/backend_registry.h"
#include "engine/decode/generation.h"
#include "engine/measure/compare.h"
#include "engine/measure/sweep.h"
#include "engine/support/output_file.h"
#include "kernels/api/status.h"

namespace decodescope {

struct PanelListing {
    std::string id, title, help;
};

// The backends of this build, and for those that do not work here the sentence why not.
// `instruction_set`: of the cpu backend where a request names none; empty = the best of this machine.
BackendRegistry make_backend_registry(const std::string& instruction_set = {});

// The model alone, and with backend and weights, as the arguments say; progress on stderr when it is a terminal.
Result<ModelPtr> open_model_for(const Arguments& arguments, std::stop_token stop);
Result<LoadedModelPtr> open_for(const Arguments& arguments, std::stop_token stop);
// The prompt as token ids, checked against the vocabulary.
Result<std::vector<std::int32_t>> prompt_tokens(const Arguments& arguments, const Model& model, std::stop_token stop);
CacheSpec cache_or_default(const Arguments& arguments);
KvFormat kv_or_default(const Arguments& arguments);
// Names for --weights as shown in results.
std::string weights_name(const LoadedModel& model);

// The facts of a run with this many tokens in its prompt.
RunFacts facts_of_run(const DecodeSession& session, const SamplerConfig& sampler, std::size_t prompt_tokens);
// Of this machine with the threads that the model runs on, in 1e9 bytes per second; takes a few hundred milliseconds.
MachineCeiling measured_ceiling(const LoadedModel& model, std::stop_token stop);
// One line on stderr for a model whose weights are random, whatever form the results have.
void say_when_meaningless(const Model& model);

Status run_generate(const Arguments& arguments, std::stop_token stop);
Status run_race(const Arguments& arguments, std::stop_token stop);
Status run_info(const Arguments& arguments);
Status run_doctor(const Arguments& arguments, std::stop_token stop);
Status run_list(const Arguments& arguments, const std::vector<PanelListing>& panels);
Status run_pool(const Arguments& arguments);
Status run_batch(const Arguments& arguments, std::stop_token stop);
// Measures and writes timing.csv and timing.json; the caller adds the pictures to the same files and commits them.
Result<SweepResult> run_bench(const Arguments& arguments, std::stop_token stop, OutputSet& files);
// The same with compare.csv and compare.json.
Result<CompareResult> run_compare_command(const Arguments& arguments, std::stop_token stop, OutputSet& files);
// The opening demonstration in the terminal: a live table of both lanes; leaves run.json, run.dscope and the timing
// data in the folder.
struct DemoResult {
    std::shared_ptr<RunRecording> recording;
    SweepResult sweep;       // no rows: stopped before it began, and there are no timing files
    bool cancelled = false;  // what had been measured until then is kept
};
Result<DemoResult> run_demo(const Arguments& arguments, std::stop_token stop, OutputSet& files);

// Makes the folder where it is missing, and finds out whether files of these names can be written in it.
Status check_outputs(const std::string& folder, std::initializer_list<const char*> names);

}  // namespace decodescope
