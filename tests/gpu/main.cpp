// gpu_check [--quick] [--small] [MODULE]: runs the CUDA backend on a real device against the reference: every conformance
// row, whole conversations for every strategy and format, then the table of times. --small: a few rows of each group and
// nothing else, for compute-sanitizer. Exit code 0: all right; 1: something differs; 77: there is no usable device.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/reference/reference_backend.h"
#include "tests/gpu/check.h"
#include "tests/support/conformance.h"
#include "tests/support/session_cases.h"
#include "tests/support/tiny_models.h"

namespace decodescope::gpu {
namespace {

constexpr std::int64_t kExactProductRows = 8;  // see conformance::Allowance

void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

Device open_device(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) stop_with(fmt::format("The module cannot be opened: {}.", dlerror()));
    const auto entry = reinterpret_cast<BackendModuleFn>(dlsym(library, kBackendModuleSymbol));
    if (entry == nullptr || entry()->version != kBackendModuleVersion) stop_with("This is not a module of this version.");
    Device device;
    device.module = entry();
    const ModuleReport report = device.module->probe();
    for (const DeviceReport& one : report.devices)
        say(fmt::format("device {}: {}{}{}", one.index, one.name, one.reason.empty() ? "" : ": ", one.reason));
    for (const DeviceReport& one : report.devices)
        if (one.reason.empty()) {
            device.index = one.index;
            return device;
        }
    say("not run: " + report.reason);
    std::exit(77);
}

int check_rows(const Device& device, bool small) {
    const auto backend = device.backend();
    int failures = 0, rows = 0;
    for (const conformance::Group& group : conformance::groups()) {
        const std::size_t stride = small ? std::max<std::size_t>(group.rows.size() / 4, 1) : 1;
        for (std::size_t i = 0; i < group.rows.size(); i += stride) {
            const std::string text = conformance::check(*backend, group.rows[i], {kExactProductRows});
            ++rows;
            if (text.empty()) continue;
            ++failures;
            say(fmt::format("FAILED {}: {}: {}", group.name, group.rows[i].name, text));
        }
    }
    say(fmt::format("conformance: {} rows, {} failed", rows, failures));
    return failures;
}

// Logits of every row, fed in chunks.
std::vector<float> feed(const LoadedModelPtr& model, const SessionCase& c, const std::vector<std::int32_t>& tokens) {
    const auto session = open_session(model, c.cache, c.kv, [](SessionConfig& config) { config.all_logits = true; });
    std::vector<float> logits;
    for (std::size_t done = 0; done < tokens.size();) {
        const auto rows = std::min({tokens.size() - done, static_cast<std::size_t>(c.chunk),
                                    static_cast<std::size_t>(session->max_pass_rows())});
        auto pass = session->feed(std::span(tokens).subspan(done, rows), {});
        if (!pass) stop_with(fmt::format("{} {}: {}", c.cache, c.kv, pass.error().text()));
        logits.insert(logits.end(), pass->all_logits.begin(), pass->all_logits.end());
        done += rows;
    }
    return logits;
}

double relative(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 1e-3, difference = a.size() == b.size() ? 0.0 : HUGE_VAL;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (!std::isfinite(a[i])) return HUGE_VAL;
        largest = std::max(largest, std::abs(static_cast<double>(b[i])));
        difference = std::max(difference, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return difference / largest;
}

LoadedModelPtr load(const ModelPtr& model, std::shared_ptr<Backend> backend, WeightType type = WeightType::AsInFile) {
    auto loaded = load_model(model, std::move(backend), type, {}, {});
    if (!loaded) stop_with(loaded.error().text());
    return *loaded;
}

int check_conversations(const Device& device) {
    const ModelPtr models[] = {make_tiny_gpt2(), make_tiny_llama()};
    const std::shared_ptr<Backend> reference = make_reference_backend(), gpu = device.backend();
    const LoadedModelPtr truth[] = {load(models[0], reference), load(models[1], reference)};
    const LoadedModelPtr tried[] = {load(models[0], gpu), load(models[1], gpu)};
    int failures = 0, count = 0;
    for (const SessionCase& c : session_cases()) {
        const std::size_t which = c.llama ? 1 : 0;
        const auto tokens = random_tokens(23, models[which]->config.vocabulary, 31);
        const double error = relative(feed(tried[which], c, tokens), feed(truth[which], c, tokens));
        ++count;
        if (error <= session_tolerance(c.kv)) continue;
        ++failures;
        say(fmt::format("FAILED {} {} chunk {}: off by {:.1e}", c.cache, c.kv, c.chunk, error));
    }
    // int8 weights: decode reads them as they are, a prefill of more rows than kExactProductRows takes them in f16.
    constexpr double kInt8Tolerance = 5e-3;
    for (const ModelPtr& model : models)
        for (const std::int64_t chunk : {1, 5, 23}) {
            const SessionCase c{"paged:page=4", "f16", chunk, true};
            const auto tokens = random_tokens(23, model->config.vocabulary, 32);
            const double error = relative(feed(load(model, gpu, WeightType::Int8), c, tokens),
                                          feed(load(model, reference, WeightType::Int8), c, tokens));
            ++count;
            if (error <= kInt8Tolerance) continue;
            ++failures;
            say(fmt::format("FAILED int8 weights, chunk {}: off by {:.1e}", chunk, error));
        }
    say(fmt::format("conversations: {}, {} failed", count, failures));
    return failures;
}

}  // namespace

void stop_with(const std::string& sentence) {
    std::fprintf(stderr, "gpu_check: error: %s\n", sentence.c_str());
    std::exit(1);
}

std::shared_ptr<Backend> Device::backend(bool graphs) const {
    ModuleRequest request;
    request.device = index;
    request.graphs = graphs;
    auto made = module->create(request);
    if (!made) stop_with(made.error().text());
    return std::shared_ptr<Backend>(std::move(*made));
}

std::unique_ptr<DecodeSession> open_session(const LoadedModelPtr& model, const std::string& cache, const std::string& kv,
                                            const std::function<void(SessionConfig&)>& change) {
    SessionConfig config;
    auto spec = parse_cache_spec(cache);
    auto format = parse_kv_format(kv);
    if (!spec || !format) stop_with("A cache or a format is not known.");
    config.cache = *spec;
    config.kv = *format;
    if (change) change(config);
    auto session = DecodeSession::create(model, config);
    if (!session) stop_with(session.error().text());
    return std::move(*session);
}

}  // namespace decodescope::gpu

int main(int argc, char** argv) {
    using namespace decodescope::gpu;
    bool quick = false, small = false;
    std::string module = "./libdecodescope_cuda.so";
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--quick") == 0) quick = true;
        else if (std::strcmp(argv[i], "--small") == 0) small = true;
        else module = argv[i];
    }
    const Device device = open_device(module);
    const int failures = check_rows(device, small) + (small ? 0 : check_conversations(device));
    if (!small) print_rates(device, quick);
    return failures == 0 ? 0 : 1;
}
