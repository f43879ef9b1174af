// `compare`: up to four configurations on the same prompt, as a table and the data files; the caller adds the figure.
#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "engine/measure/compare_commentary.h"
#include "engine/support/numbers.h"
#include "engine/support/output_file.h"

namespace decodescope {
namespace {

std::string milliseconds(double micros, int count) { return count > 0 ? format_fixed(micros / 1000, 3) : "n/a"; }

std::string first_different(const CompareLane& lane) {
    return lane.first_different < 0 ? "none" : fmt::format("{}", lane.first_different + 1);
}

void print_table(const CompareResult& result) {
    std::size_t width = 13;
    for (const CompareLane& lane : result.lanes) width = std::max(width, lane.name.size());
    print("{:<{}} {:>10} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9}\n", "configuration", width + 3,
          "prefill ms", "step ms", "min", "max", "KV used", "KV peak", "copied", "logit diff", "max KL",
          "first diff");
    for (std::size_t i = 0; i < result.lanes.size(); ++i) {
        const CompareLane& lane = result.lanes[i];
        print("{:<{}} {:>10} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10} {:>10.2g} {:>9.2g} {:>9}\n",
              fmt::format("{}. {}", i + 1, lane.name), width + 3,
              milliseconds(lane.prefill_micros.median, lane.prefill_repeats),
              milliseconds(lane.decode_micros.median, lane.decode_steps),
              milliseconds(lane.decode_micros.lowest, lane.decode_steps),
              milliseconds(lane.decode_micros.highest, lane.decode_steps), format_bytes(lane.kv_bytes_used),
              format_bytes(lane.kv_bytes_peak), format_bytes(lane.kv_bytes_copied), lane.max_abs_logit_diff,
              lane.max_kl, first_different(lane));
    }
}

void print_result(const CompareResult& result) {
    print_table(result);
    print("\n");
    for (const Sentence& sentence : compare_commentary(result)) print("{}\n", sentence.english);
    for (std::size_t i = 0; i < result.lanes.size(); ++i) {
        const CompareLane& lane = result.lanes[i];
        // The text of the first says it for all that write the same.
        if (i == 0 || lane.first_different >= 0) print("\n{}. {}: {}\n", i + 1, lane.name, lane.text);
    }
}

CompareRequest request_for(const Arguments& arguments, std::vector<std::int32_t> prompt) {
    CompareRequest request;
    request.configs = arguments.configs;
    request.prompt = std::move(prompt);
    request.new_tokens = arguments.new_tokens;
    request.prefill_chunk = arguments.chunk;
    request.stop_at_eos = !arguments.ignore_eos;
    request.sampler = arguments.sampler;
    return request;
}

}  // namespace

Result<CompareResult> run_compare_command(const Arguments& arguments, std::stop_token stop, OutputSet& files) {
    // First of all: nobody wants to measure for minutes and then lose the figures. Older ones stay until then.
    DS_RETURN_IF_ERROR(check_outputs(arguments.output,
                                     {"compare.csv", "compare.json", "compare.png", "compare.svg", "compare.pdf"}));
    auto model = open_model_for(arguments, stop);
    if (!model) return model.error();
    auto prompt = prompt_tokens(arguments, **model, stop);
    if (!prompt) return prompt.error();
    if (!arguments.json) say_when_meaningless(**model);
    BackendRequest machine;
    machine.threads = arguments.threads;
    machine.instruction_set = arguments.instruction_set;
    const bool terminal = isatty(2) != 0;
    auto result = run_compare(*model, make_backend_registry(), machine, request_for(arguments, std::move(*prompt)), {},
                              [&](const CompareProgress& progress) {
        if (terminal) print_message("\r\x1b[K{} of {}: {}", progress.done, progress.total, progress.what);
    }, stop);
    if (terminal) print_message("\r\x1b[K");
    if (!result) return result.error();
    if (result->cancelled && result->lanes.front().passes.empty())
        return make_error(ErrorKind::Cancelled, "nothing had been compared yet; older results are unchanged.");
    const std::string json = compare_json(*result);
    if (arguments.json) print("{}", json);
    else print_result(*result);
    DS_RETURN_IF_ERROR(files.add(arguments.output + "/compare.csv", compare_csv(*result)));
    DS_RETURN_IF_ERROR(files.add(arguments.output + "/compare.json", json));
    return result;
}

}  // namespace decodescope
