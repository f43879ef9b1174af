// What a batch, pages and shared prefixes are worth, on the shapes of gpt2-small with f16 weights. Prints one JSON
// object; what is compared runs by turns, so that another program on the machine slows both. Run by hand.
//   batch_benchmark [threads [batch|paged|shared_prefix]]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "engine/decode/batch.h"
#include "engine/model/model.h"
#include "kernels/cpu/cpu_backend.h"

namespace decodescope {
namespace {

constexpr std::int64_t kPrompt = 32;

LoadedModelPtr load(int threads) {
    auto model = open_model("synthetic:gpt2-small,context=2304", OpenOptions{}, {}, {});
    DS_CHECK(model.ok());
    CpuBackendOptions options;
    options.threads = threads;
    auto backend = make_cpu_backend(options);
    DS_CHECK(backend.ok());
    auto loaded = load_model(*model, std::shared_ptr<Backend>(std::move(*backend)), WeightType::F16, {}, {});
    DS_CHECK(loaded.ok());
    return *loaded;
}

std::vector<std::int32_t> prompt_of(std::int64_t length, std::int64_t seed) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < length; ++i)
        tokens.push_back(static_cast<std::int32_t>((i * 7919 + seed * 104729 + 13) % 50000));
    return tokens;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double cpu_millis() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Wall time, and time of all threads on a processor: where other programs run, their ratio says more.
struct Times {
    std::vector<double> wall_ms, cpu_ms;

    void add(const std::function<void()>& work) {
        const auto start = std::chrono::steady_clock::now();
        const double cpu = cpu_millis();
        work();
        cpu_ms.push_back(cpu_millis() - cpu);
        wall_ms.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    double wall() const { return median(wall_ms); }
    double cpu() const { return median(cpu_ms); }
};

SessionConfig session_config(const std::string& cache, std::int64_t tokens) {
    SessionConfig config;
    config.cache = *parse_cache_spec(cache);
    config.expected_tokens = tokens;
    return config;
}

std::unique_ptr<Batch> batch_of(const LoadedModelPtr& model, std::int64_t sequences, std::int64_t new_tokens) {
    BatchConfig config;
    config.session = session_config("paged:page=16", sequences * (kPrompt + new_tokens + 16));
    auto batch = Batch::create(model, config);
    DS_CHECK(batch.ok());
    GenerationConfig generation;
    generation.new_tokens = new_tokens;
    generation.stop_at_eos = false;
    for (std::int64_t s = 0; s < sequences; ++s) DS_CHECK((*batch)->add(prompt_of(kPrompt, s), generation).ok());
    while ((*batch)->tokens(sequences - 1).size() == static_cast<std::size_t>(kPrompt))
        DS_CHECK((*batch)->step({}).ok());
    return std::move(*batch);
}

// Whole decode steps, sampling and recording included.
std::string batch_against_one(const LoadedModelPtr& model, int steps) {
    std::string rows;
    const auto one = batch_of(model, 1, steps + 2);
    for (const std::int64_t size : {2, 4, 8, 16}) {
        const auto many = batch_of(model, size, steps + 2);
        Times one_times, times;
        for (int i = 0; i < steps / 4; ++i) {
            one_times.add([&] { DS_CHECK(one->step({}).ok()); });
            times.add([&] { DS_CHECK(many->step({}).ok()); });
        }
        const auto sequences = static_cast<double>(size);
        rows += fmt::format(
            "{}\n {{\"sequences\":{},\"one_ms\":{:.3f},\"step_ms\":{:.3f},\"tokens_per_second_ratio\":{:.2f},"
            "\"cpu_time_ratio\":{:.2f}}}",
            rows.empty() ? "" : ",", size, one_times.wall(), times.wall(), one_times.wall() / times.wall() * sequences,
            one_times.cpu() / times.cpu() * sequences);
    }
    return "[" + rows + "]";
}

std::unique_ptr<DecodeSession> session_at(const LoadedModelPtr& model, const std::string& cache, std::int64_t length,
                                          std::int64_t room) {
    auto session = DecodeSession::create(model, session_config(cache, length + room));
    DS_CHECK(session.ok());
    const auto tokens = prompt_of(length, 1);
    for (std::int64_t done = 0; done < length;) {
        const std::int64_t rows = std::min((*session)->max_pass_rows(), length - done);
        DS_CHECK((*session)->feed(std::span(tokens).subspan(done, rows), {}).ok());
        done += rows;
    }
    return std::move(*session);
}

// One decode step at 2048 tokens in the cache. Pages lie in the order of a pool that has been used for a while.
std::string paged_against_preallocated(const LoadedModelPtr& model, int steps) {
    constexpr std::int64_t kLength = 2048;
    const auto plain = session_at(model, "preallocated", kLength, steps + 1);
    const auto paged = session_at(model, "paged:page=16", kLength, steps + 1);
    Times plain_times, paged_times;
    const std::int32_t token = 5;
    for (int i = 0; i < steps; ++i) {
        plain_times.add([&] { DS_CHECK(plain->feed({&token, 1}, {}).ok()); });
        paged_times.add([&] { DS_CHECK(paged->feed({&token, 1}, {}).ok()); });
    }
    return fmt::format(
        "{{\"tokens\":{},\"preallocated_ms\":{:.3f},\"paged_ms\":{:.3f},\"ratio\":{:.3f},"
        "\"cpu_time_ratio\":{:.3f}}}",
        kLength, plain_times.wall(), paged_times.wall(), paged_times.wall() / plain_times.wall(),
        paged_times.cpu() / plain_times.cpu());
}

// Time to the first token of two conversations that begin with the same 1024 tokens.
std::string shared_prefix(const LoadedModelPtr& model, int repeats) {
    constexpr std::int64_t kShared = 1024;
    Times first, second;
    for (int i = 0; i < repeats; ++i) {
        SessionConfig config = session_config("paged:page=16", 2 * kShared);
        config.prefixes = std::make_shared<PrefixCache>();
        GenerationConfig generation_config;
        generation_config.new_tokens = 2;
        std::vector<std::shared_ptr<DecodeSession>> sessions;
        for (Times* times : {&first, &second}) {
            auto prompt = prompt_of(kShared, 3);
            for (const std::int32_t token : prompt_of(8, static_cast<std::int64_t>(times == &second) + 9))
                prompt.push_back(token);
            auto session = DecodeSession::create(model, config);
            DS_CHECK(session.ok());
            sessions.push_back(std::move(*session));
            Generation generation(sessions.back(), generation_config, nullptr);
            times->add([&] { DS_CHECK(generation.start(prompt, {}, {}).ok()); });
        }
    }
    return fmt::format(
        "{{\"shared_tokens\":{},\"first_ms\":{:.2f},\"second_ms\":{:.2f},\"ratio\":{:.1f},"
        "\"cpu_time_ratio\":{:.1f}}}",
        kShared, first.wall(), second.wall(), first.wall() / second.wall(), first.cpu() / second.cpu());
}

}  // namespace
}  // namespace decodescope

int main(int argc, char** argv) {
    using namespace decodescope;
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    const std::string only = argc > 2 ? argv[2] : "";
    const LoadedModelPtr model = load(threads);
    std::string parts;
    const auto add = [&](const char* name, const std::function<std::string()>& measure) {
        if (only.empty() || only == name) parts += fmt::format(",\n\"{}\":{}", name, measure());
    };
    add("batch", [&] { return batch_against_one(model, 80); });
    add("paged", [&] { return paged_against_preallocated(model, 60); });
    add("shared_prefix", [&] { return shared_prefix(model, 3); });
    fmt::print("{{\"model\":\"synthetic:gpt2-small\",\"weights\":\"f16\",\"threads\":{},\"instruction_set\":\"{}\""
               "{}}}\n",
               model->backend->info().threads, model->backend->info().instruction_set, parts);
    return 0;
}
