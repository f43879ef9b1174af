// The limits in time that the tests only count: run by hand, on a quiet machine. Each prints its figure; nothing is
// asserted.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "engine/decode/generation.h"
#include "engine/measure/cost_model.h"
#include "engine/measure/race.h"
#include "engine/model/model.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/machine_rates.h"

namespace decodescope {
namespace {

const ModelPtr& bundled() {
    static const ModelPtr model = [] {
        OpenOptions options;
        auto opened = open_model("bundled", options, {}, {});
        DS_CHECK(opened.ok());
        return *opened;
    }();
    return model;
}

LoadedModelPtr load(const std::string& spec, WeightType type = WeightType::AsInFile) {
    auto model = open_model(spec, OpenOptions{}, {}, {});
    DS_CHECK(model.ok());
    auto backend = make_cpu_backend(CpuBackendOptions{});
    DS_CHECK(backend.ok());
    auto loaded = load_model(*model, std::shared_ptr<Backend>(std::move(*backend)), type, {}, {});
    DS_CHECK(loaded.ok());
    return *loaded;
}

std::unique_ptr<DecodeSession> session_at(const LoadedModelPtr& model, std::int64_t length, bool capture) {
    SessionConfig config;
    config.expected_tokens = length + 4096;
    config.capture_attention = capture;
    config.cache = *parse_cache_spec("preallocated");
    config.expected_tokens = std::min(model->model->config.context, length + 256);
    auto session = DecodeSession::create(model, config);
    DS_CHECK(session.ok());
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < length; ++i)
        tokens.push_back(static_cast<std::int32_t>((i * 7919 + 13) % model->model->sampled_vocabulary));
    for (std::int64_t done = 0; done < length;) {
        const std::int64_t rows = std::min<std::int64_t>((*session)->max_pass_rows(), length - done);
        DS_CHECK((*session)->feed({tokens.data() + done, static_cast<std::size_t>(rows)}, {}).ok());
        done += rows;
    }
    return std::move(*session);
}

// TK-05: a megabyte of one character; the limit is 2 s each.
void tokenize_megabyte(benchmark::State& state, const char* unit) {
    std::string text;
    while (text.size() < (1u << 20)) text += unit;
    for (auto _ : state) benchmark::DoNotOptimize(bundled()->tokenizer->encode(text, EncodeOptions{}));
}
BENCHMARK_CAPTURE(tokenize_megabyte, letter, "a")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(tokenize_megabyte, underscore, "_")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(tokenize_megabyte, digit, "7")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(tokenize_megabyte, space, " ")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(tokenize_megabyte, emoji, "\xF0\x9F\x92\xA9")->Unit(benchmark::kMillisecond)->Iterations(1);

// One decode step of the bundled model: the argument is the length, then whether attention is captured (the limit is 5
// % at 1024).
void decode_bundled(benchmark::State& state) {
    static const LoadedModelPtr model = load("bundled");
    const std::int64_t length = state.range(0);
    const auto session = session_at(model, length, state.range(1) != 0);
    const std::array<std::int32_t, 1> token{5};
    for (auto _ : state) {
        DS_CHECK(session->feed(token, {}).ok());
        DS_CHECK(session->truncate(length).ok());
    }
}
BENCHMARK(decode_bundled)->ArgsProduct({{256, 512, 1024, 2000}, {0, 1}})->Unit(benchmark::kMicrosecond)->UseRealTime();

// One decode step of gpt2-small in f16, as a share of the plain read bandwidth of the same machine (at least 60 %).
void decode_gpt2_small(benchmark::State& state) {
    static const LoadedModelPtr model = load("synthetic:gpt2-small");
    static const MachineRates rates = measure_machine_rates(static_cast<int>(std::thread::hardware_concurrency()), {});
    const std::int64_t length = state.range(0);
    const auto session = session_at(model, length, state.range(1) != 0);
    const std::array<std::int32_t, 1> token{5};
    double micros = 0;
    std::int64_t bytes = 0;
    for (auto _ : state) {
        auto pass = session->feed(token, {});
        DS_CHECK(pass.ok());
        micros += pass->micros;
        bytes += pass->bytes;
        DS_CHECK(session->truncate(length).ok());
    }
    state.counters["GB/s"] = static_cast<double>(bytes) / micros / 1000.0;
    state.counters["share_of_read"] = static_cast<double>(bytes) / micros / 1000.0 / rates.read_gb_s_all;
}
BENCHMARK(decode_gpt2_small)->ArgsProduct({{64, 1024}, {0, 1}})->Unit(benchmark::kMillisecond)->UseRealTime();

// The recompute lane on gpt2-small, as a share of the machine's measured f32 rate.
void recompute_gpt2_small(benchmark::State& state) {
    static const LoadedModelPtr model = load("synthetic:gpt2-small");
    static const MachineRates rates = measure_machine_rates(static_cast<int>(std::thread::hardware_concurrency()), {});
    auto lane = RecomputeLane::create(model);
    DS_CHECK(lane.ok());
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(state.range(0)), 5);
    const std::vector<float> logits(static_cast<std::size_t>(model->program.vocabulary), 0.0f);
    double micros = 0;
    for (auto _ : state) {
        auto point = (*lane)->compare(tokens, logits, 1.0, {});
        DS_CHECK(point.ok());
        micros += point->recompute_micros;
    }
    const double flops =
        static_cast<double>(recompute_run_flops(model->program, model->model->config, state.range(0), 1));
    state.counters["GFLOP/s"] = flops * static_cast<double>(state.iterations()) / micros / 1000.0;
    state.counters["share_of_peak"] =
        flops * static_cast<double>(state.iterations()) / micros / 1000.0 / rates.gflops_all;
}
BENCHMARK(recompute_gpt2_small)->Arg(256)->Arg(512)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace decodescope

BENCHMARK_MAIN();
