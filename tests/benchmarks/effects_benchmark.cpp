// What watching costs, and what another program does to a token: captured attention against none, time stamps of every
// operation against none, and a foreign process that spins on one core. Shape of GPT-2 small, f16 weights, K and V in
// f16. What is compared takes turns token by token (the foreign process: by rounds, stopped and continued). Prints one
// JSON object; asserts nothing.
//   effects_benchmark [THREADS [capture|stamps|foreign]]
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/benchmarks/timed_session.h"

namespace decodescope {
namespace {

struct Pair {
    std::vector<double> without, with;

    // The median of ratios of neighbours: what slows the machine for longer slows both.
    double ratio() const {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < without.size(); ++i) ratios.push_back(with[i] / without[i]);
        return bench::median(ratios);
    }
    std::string json(std::int64_t length) const {
        return fmt::format("{{\"length\":{},\"without_ms\":{:.3f},\"with_ms\":{:.3f},\"ratio\":{:.4f}}}", length,
                           bench::median(without) / 1e3, bench::median(with) / 1e3, ratio());
    }
};

std::string capture(const LoadedModelPtr& model, std::int64_t length, int tokens) {
    const auto session = bench::session_at(model, length, true);
    Pair pair;
    for (int i = -4; i < tokens; ++i) {
        double micros[2];
        for (const bool on : {i % 2 == 0, i % 2 != 0}) {
            session->set_capture(on);
            micros[on] = bench::decode_micros(*session);
        }
        if (i < 0) continue;
        pair.without.push_back(micros[0]);
        pair.with.push_back(micros[1]);
    }
    return pair.json(length);
}

std::string stamps(const LoadedModelPtr& model, std::int64_t length, int tokens) {
    const std::unique_ptr<DecodeSession> sessions[] = {bench::session_at(model, length, true, false),
                                                       bench::session_at(model, length, true, true)};
    Pair pair;
    for (int i = -4; i < tokens; ++i) {
        double micros[2];
        for (const bool on : {i % 2 == 0, i % 2 != 0}) micros[on] = bench::decode_micros(*sessions[on]);
        if (i < 0) continue;
        pair.without.push_back(micros[0]);
        pair.with.push_back(micros[1]);
    }
    return pair.json(length);
}

double percentile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

std::string foreign(const LoadedModelPtr& model, std::int64_t length, int rounds) {
    constexpr int kTokens = 40;  // of a round
    const auto session = bench::session_at(model, length, true);
    const pid_t parent = getpid();
    const pid_t child = fork();
    DS_CHECK(child >= 0);
    if (child == 0)
        for (unsigned spins = 0;; ++spins)
            if (spins % (1u << 20) == 0 && getppid() != parent) _exit(0);
    Pair pair;
    for (int round = 0; round < rounds; ++round)
        for (const bool on : {false, true}) {
            kill(child, on ? SIGCONT : SIGSTOP);
            usleep(100000);
            bench::decode_micros(*session);
            for (int i = 0; i < kTokens; ++i) (on ? pair.with : pair.without).push_back(bench::decode_micros(*session));
        }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const double quiet = bench::median(pair.without), disturbed = bench::median(pair.with);
    return fmt::format("{{\"length\":{},\"quiet_ms\":{:.3f},\"foreign_ms\":{:.3f},\"ratio\":{:.3f},"
                       "\"quiet_p95_ms\":{:.3f},\"foreign_p95_ms\":{:.3f},\"foreign_longest_ms\":{:.3f}}}",
                       length, quiet / 1e3, disturbed / 1e3, disturbed / quiet, percentile(pair.without, 0.95) / 1e3,
                       percentile(pair.with, 0.95) / 1e3, percentile(pair.with, 1.0) / 1e3);
}

}  // namespace
}  // namespace decodescope

int main(int argc, char** argv) {
    using namespace decodescope;
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    const std::string only = argc > 2 ? argv[2] : "";
    const LoadedModelPtr model = bench::load("synthetic:gpt2-small,context=2304", WeightType::F16, threads);
    std::string parts;
    const auto add = [&](const char* name, const std::function<std::string()>& measure) {
        if (only.empty() || only == name) parts += fmt::format(",\n\"{}\":{}", name, measure());
    };
    add("capture", [&] { return "[" + capture(model, 256, 300) + ",\n " + capture(model, 2048, 300) + "]"; });
    add("stamps", [&] { return "[" + stamps(model, 256, 300) + ",\n " + stamps(model, 2048, 300) + "]"; });
    add("foreign", [&] { return "[" + foreign(model, 256, 6) + "]"; });
    fmt::print("{{\"threads\":{},\"instruction_set\":\"{}\"{}}}\n", model->backend->info().threads,
               model->backend->info().instruction_set, parts);
    return 0;
}
