// Times of decode steps and their share of the device's own copy rate, in one run. Times of steps are the device's, by
// events; those of the whole call, host included, stand beside them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/gpu/check.h"
#include "tests/support/tiny_models.h"

namespace decodescope::gpu {
namespace {

using Clock = std::chrono::steady_clock;

double micros_since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

void check(const Status& status) {
    if (!status.ok()) stop_with(status.error().text());
}

// 1e9 bytes per second read plus written, the best of five.
double copy_rate(Backend& backend) {
    constexpr std::size_t kBytes = std::size_t{512} << 20;
    constexpr int kCopies = 8;
    auto from = backend.allocate(kBytes, MemoryPurpose::Staging), to = backend.allocate(kBytes, MemoryPurpose::Staging);
    if (!from || !to) stop_with("There is no memory to measure copies with.");
    std::byte last[4];
    double best = 0;
    for (int run = 0; run < 5; ++run) {
        check(backend.download(**to, 0, last));
        const auto start = Clock::now();
        for (int i = 0; i < kCopies; ++i) check(backend.copy(**from, 0, kBytes, **to, 0, kBytes, kBytes, 1));
        check(backend.download(**to, 0, last));
        best = std::max(best, 2.0 * kCopies * static_cast<double>(kBytes) / micros_since(start) / 1000.0);
    }
    return best;
}

struct Figures {
    double device_micros = 0, host_micros = 0, bytes = 0;
};

// Medians over `steps` single tokens after a prefill of `length`, the first ones left out.
Figures decode(const LoadedModelPtr& model, std::int64_t length, bool capture, int steps) {
    const std::int64_t capacity = length + 8 + steps;
    auto session = open_session(model, fmt::format("preallocated:capacity={}", capacity), "f16",
                                [&](SessionConfig& config) { config.capture_attention = false; });
    const auto tokens = random_tokens(length + 8 + steps, model->model->config.vocabulary, 5);
    std::size_t done = 0;
    while (done < static_cast<std::size_t>(length)) {
        const auto rows = std::min({static_cast<std::size_t>(length) - done, std::size_t{1024},
                                    static_cast<std::size_t>(session->max_pass_rows())});
        auto pass = session->feed(std::span(tokens).subspan(done, rows), {});
        if (!pass) stop_with(pass.error().text());
        done += rows;
    }
    session->set_capture(capture);
    std::vector<double> device, host;
    Figures figures;
    for (int i = 0; i < 8 + steps; ++i) {
        const auto start = Clock::now();
        auto pass = session->feed(std::span(tokens).subspan(done++, 1), {});
        if (!pass) stop_with(pass.error().text());
        if (i < 8) continue;
        host.push_back(micros_since(start));
        device.push_back(pass->micros);
        figures.bytes = static_cast<double>(pass->bytes);
    }
    figures.device_micros = median(device);
    figures.host_micros = median(host);
    return figures;
}

// One pass over `length` tokens, as recomputing does for every new one.
double recompute_micros(const LoadedModelPtr& model, std::int64_t length) {
    const auto tokens = random_tokens(length + 3, model->model->config.vocabulary, 6);
    auto session = open_session(model, "recompute", "f32");
    std::vector<double> times;
    std::size_t done = 0;
    while (done < static_cast<std::size_t>(length)) {
        const auto rows = std::min(static_cast<std::size_t>(length) - done,
                                   static_cast<std::size_t>(session->max_pass_rows()));
        auto pass = session->feed(std::span(tokens).subspan(done, rows), {});
        if (!pass) stop_with(pass.error().text());
        done += rows;
    }
    for (int i = 0; i < 3; ++i) {
        auto pass = session->feed(std::span(tokens).subspan(done++, 1), {});
        if (!pass) stop_with(pass.error().text());
        times.push_back(pass->micros);
    }
    return median(times);
}

void print(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

void print_model(const Device& device, const std::string& name, const std::vector<std::int64_t>& lengths, int steps,
                 double copy_gb_s) {
    auto model = open_model(fmt::format("synthetic:{},context=8400", name), OpenOptions{}, {}, {});
    if (!model) {
        print(fmt::format("| {} | not run: {} |", name, model.error().text()));
        return;
    }
    LoadedModelPtr loaded[2];
    for (const bool graphs : {true, false}) {
        auto made = load_model(*model, device.backend(graphs), WeightType::F16, {}, {});
        if (!made) {
            print(fmt::format("| {} | not run: {} |", name, made.error().text()));
            return;
        }
        loaded[graphs ? 0 : 1] = *made;
    }
    for (const std::int64_t length : lengths) {
        const Figures graph = decode(loaded[0], length, false, steps), plain = decode(loaded[1], length, false, steps),
                      captured = decode(loaded[0], length, true, steps);
        const double rate = graph.bytes / graph.device_micros / 1000.0;
        print(fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.0f} | {:.0f} % | {:.0f} |", name, length,
                          graph.device_micros, graph.host_micros, plain.device_micros, captured.device_micros, rate,
                          100.0 * rate / copy_gb_s, recompute_micros(loaded[0], length)));
    }
}

}  // namespace

void print_rates(const Device& device, bool quick) {
    const double copy_gb_s = copy_rate(*device.backend());
    print(fmt::format("copy rate: {:.0f} GB/s read and written", copy_gb_s));
    print("| model, f16 | tokens | decode µs, graph | with the host | no graph | captured | GB/s | of the copy rate | "
          "recompute µs |");
    print("|---|---|---|---|---|---|---|---|---|");
    const std::vector<std::int64_t> lengths = quick ? std::vector<std::int64_t>{256, 1024}
                                                    : std::vector<std::int64_t>{256, 1024, 2048, 8192};
    const std::vector<std::string> models = quick ? std::vector<std::string>{"gpt2-small"}
                                                  : std::vector<std::string>{"gpt2-small", "llama-160m", "tinyllama-1.1b"};
    for (const std::string& name : models) print_model(device, name, lengths, quick ? 16 : 32, copy_gb_s);
}

}  // namespace decodescope::gpu
