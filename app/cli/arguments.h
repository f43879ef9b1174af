// What the command line says, as plain values. Everything that can be decided from the arguments alone is checked here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cache/kv_format.h"
#include "engine/cache/strategy_descriptor.h"
#include "engine/measure/compare_config.h"
#include "engine/measure/race.h"
#include "engine/text/sampler.h"
#include "kernels/api/backend.h"
#include "kernels/api/status.h"

namespace decodescope {

enum class Command {
    Window, Generate, Race, Bench, Demo, Shot, Replay, Info, Doctor, List, Pool, Batch, Compare, HasDisplay
};

struct Arguments {
    Command command = Command::Window;

    // The model and where it runs.
    std::string model = "bundled";
    std::string backend = "cpu";
    std::string instruction_set;      // empty = the best of this machine
    int threads = 0;                  // 0 = all
    WeightType weights = WeightType::AsInFile;
    std::vector<CacheSpec> caches;    // empty = the command's default
    std::vector<KvFormat> kv_types;

    // The prompt: exactly one of three.
    bool has_prompt = false;
    std::string prompt;               // as bytes; from -p or --prompt-file
    std::string prompt_file;
    bool has_tokens = false;
    std::vector<std::int32_t> tokens;
    bool parse_special = false;
    std::int64_t new_tokens = 64;
    std::int64_t chunk = 0;           // 0 = chosen by the session
    SamplerConfig sampler;
    bool ignore_eos = false;

    bool json = false;
    std::string trace_file;
    std::string output;               // -o: a folder, or shot's file
    RaceSchedule schedule;

    std::vector<std::int64_t> lengths;  // bench
    int repeats = 5;
    bool profile = false;

    std::vector<CompareConfig> configs; // compare; empty = growing, preallocated and paged

    std::string script;                 // pool --script FILE
    std::string prompts_file;           // batch --prompts FILE

    std::string list_what;              // caches, formats, panels, models, backends

    int width = 1280, height = 800;     // shot
    double scale = 1.0;
    std::string theme, language, panel; // empty = as on the system; shot: light, en
    int steps = 48;
    std::string recording;              // replay FILE
};

struct ParseOutcome {
    Arguments arguments;
    bool finished = false;  // help or version: `text` goes to stdout and the program ends with 0
    std::string text;
};

const char* examples(Command command);

// One sentence about options that make no difference in this run, or nothing.
std::string ignored_options(const Arguments& arguments);

// Kind Argument for everything that is refused: exit code 2.
Result<ParseOutcome> parse_arguments(int argc, const char* const* argv);

}  // namespace decodescope
