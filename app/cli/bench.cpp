// `bench`: lengths x caches, medians, and the data files; the caller adds the pictures.
#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "engine/measure/sweep_commentary.h"
#include "engine/support/numbers.h"
#include "engine/support/output_file.h"

namespace decodescope {
namespace {

void print_result(const SweepResult& result) {
    print("{:>7} {:<24} {:<10} {:<9} {:>11} {:>10} {:>10} {:>12}\n", "length", "cache", "kv", "phase", "median ms",
          "min", "max", "KV used");
    for (const SweepRow& row : result.rows)
        print("{:>7} {:<24} {:<10} {:<9} {:>11.3f} {:>10.3f} {:>10.3f} {:>12}\n", row.length, row.cache,
              row.kv_type, row.phase, row.median_ms, row.min_ms, row.max_ms, format_bytes(row.kv_bytes_used));
    for (const SpeedUp& s : result.speedup)
        print("at {} tokens {} is {:.2f} times as fast as recompute ({:.2f} to {:.2f})\n", s.length,
              lane_name(result, s.cache, s.kv_type), s.value, s.low, s.high);
    // The gains were just said; where there is none, and what cannot be told apart, takes a sentence.
    for (const LengthCommentary& comment : sweep_commentary(result))
        for (const auto& [lane, sentence] : comment.sentences)
            if (sentence.id != "gain") print("{}{}{}\n", lane, lane.empty() ? "" : ": ", sentence.english);
    for (const std::string& note : result.notes) print("{}\n", note);
    for (const auto& fit : result.fits) {
        if (fit.fit.valid)
            print("{}: time grows as length^{:.2f} (residual {:.3f} in ln time)\n", fit.cache, fit.fit.exponent,
                  fit.fit.residual);
        else print("{}: no exponent: {}\n", fit.cache, fit.fit.reason);
    }
}

// --profile: where the time of the longest length goes, cache by cache; timing.json has every length.
void print_profile(const SweepResult& result) {
    if (result.profile.empty()) return;
    std::int64_t longest = 0;
    for (const OpTiming& op : result.profile) longest = std::max(longest, op.length);
    print("\noperations of a step at {} tokens, all layers together; this machine reads {:.1f} GB/s and computes {:.1f} "
          "GFLOP/s\n{:<24} {:<40} {:>11} {:>11} {:>8} {:>8}\n", longest, result.ceiling.read_gb_s,
          result.ceiling.gflop_s, "cache", "operation", "micros", "bytes", "GB/s", "share");
    for (const OpTiming& op : result.profile) {
        if (op.length != longest) continue;
        const auto share = share_of(op.use, result.ceiling);
        print("{:<24} {:<40} {:>11.1f} {:>11} {:>8} {:>8}\n", op.cache, op.use.stage, op.use.micros,
              op.use.cost ? format_bytes(op.use.cost->bytes) : "n/a",
              op.use.gb_s() > 0 ? fmt::format("{:.1f}", op.use.gb_s()) : "",
              share ? fmt::format("{:.0f} %{}", share->value * 100, share->of_flops ? " F" : "") : "");
    }
    print("share: of the read bandwidth, with F of the FLOP rate, whichever is nearer\n");
}

SweepRequest request_for(const Arguments& arguments) {
    SweepRequest request;
    request.lengths =
        arguments.lengths.empty() ? std::vector<std::int64_t>{64, 96, 128, 192, 256, 384} : arguments.lengths;
    request.caches = arguments.caches;
    if (request.caches.empty()) request.caches = {*parse_cache_spec("preallocated"), *parse_cache_spec("recompute")};
    if (!arguments.kv_types.empty()) request.kv_formats = arguments.kv_types;
    request.repeats = arguments.repeats;
    request.profile = arguments.profile;
    request.seed = arguments.sampler.seed;
    return request;
}

}  // namespace

Result<SweepResult> run_bench(const Arguments& arguments, std::stop_token stop, OutputSet& files) {
    // First of all: nobody wants to measure for minutes and then lose the figures. Older ones stay until then.
    DS_RETURN_IF_ERROR(check_outputs(arguments.output,
                                     {"timing.csv", "timing.json", "timing.png", "timing.svg", "timing.pdf"}));
    auto loaded = open_for(arguments, stop);
    if (!loaded) return loaded.error();
    const bool terminal = isatty(2) != 0;
    auto result = run_sweep(*loaded, request_for(arguments), [&](const SweepProgress& progress) {
        if (terminal) print_message("\r\x1b[K{} of {}: {}", progress.done, progress.total, progress.what);
    }, stop);
    if (terminal) print_message("\r\x1b[K");
    if (!result) return result.error();
    if (result->cancelled && result->rows.empty())
        return make_error(ErrorKind::Cancelled, "nothing had been measured yet; older results are unchanged.");
    result->ceiling = measured_ceiling(**loaded, {});
    result->run.bandwidth_gb_s = result->ceiling.read_gb_s;
    print_result(*result);
    print_profile(*result);
    DS_RETURN_IF_ERROR(files.add(arguments.output + "/timing.csv", sweep_csv(*result)));
    DS_RETURN_IF_ERROR(files.add(arguments.output + "/timing.json", sweep_json(*result)));
    return result;
}

}  // namespace decodescope
