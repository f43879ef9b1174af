// `bench`: lengths x caches, medians, and the data files; the caller adds the pictures.
#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/commands.h"
#include "engine/support/numbers.h"
#include "kernels/cpu/machine_rates.h"

namespace decodescope {
namespace {

void print_result(const SweepResult& result) {
    fmt::print("{:>7} {:<24} {:<10} {:<9} {:>11} {:>10} {:>10} {:>12}\n", "length", "cache", "kv", "phase", "median ms",
               "min", "max", "KV used");
    for (const SweepRow& row : result.rows)
        fmt::print("{:>7} {:<24} {:<10} {:<9} {:>11.3f} {:>10.3f} {:>10.3f} {:>12}\n", row.length, row.cache,
                   row.kv_type, row.phase, row.median_ms, row.min_ms, row.max_ms, format_bytes(row.kv_bytes_used));
    for (const SpeedUp& s : result.speedup)
        fmt::print("at {} tokens the cache is {:.2f} times as fast ({:.2f} to {:.2f})\n", s.length, s.value, s.low,
                   s.high);
    for (const auto& fit : result.fits) {
        if (fit.fit.valid)
            fmt::print("{}: time grows as length^{:.2f} (residual {:.3f} in ln time)\n", fit.cache, fit.fit.exponent,
                       fit.fit.residual);
        else fmt::print("{}: no exponent: {}\n", fit.cache, fit.fit.reason);
    }
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

Result<SweepResult> run_bench(const Arguments& arguments, std::stop_token stop) {
    // The folder first: nobody wants to measure for minutes and then lose the figures.
    DS_RETURN_IF_ERROR(make_folder(arguments.output));
    DS_RETURN_IF_ERROR(write_file(arguments.output + "/timing.csv", ""));
    auto loaded = open_for(arguments, stop);
    if (!loaded) return loaded.error();
    const bool terminal = isatty(2) != 0;
    auto result = run_sweep(*loaded, request_for(arguments), [&](const SweepProgress& progress) {
        if (terminal) fmt::print(stderr, "\r\x1b[K{} of {}: {}", progress.done, progress.total, progress.what);
    }, stop);
    if (terminal) fmt::print(stderr, "\r\x1b[K");
    if (!result) return result.error();
    result->run.bandwidth_gb_s = measure_machine_rates((*loaded)->backend->info().threads, stop).read_gb_s_all;
    DS_RETURN_IF_ERROR(write_file(arguments.output + "/timing.csv", sweep_csv(*result)));
    DS_RETURN_IF_ERROR(write_file(arguments.output + "/timing.json", sweep_json(*result)));
    print_result(*result);
    return result;
}

}  // namespace decodescope
