#include "engine/model/synthetic.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <new>
#include <thread>

#include <fmt/format.h>

#include "engine/model/bind_weights.h"
#include "engine/support/hash.h"
#include "engine/support/numbers.h"
#include "kernels/api/half.h"
#include "kernels/api/usable_cores.h"

namespace decodescope {
namespace {

struct Shape {
    const char* name;
    const char* title;
    Family family;
    std::int64_t layers, hidden, heads, kv_heads, feed_forward, vocabulary, context;
};

constexpr std::array<Shape, 4> kShapes = {{
    {"gpt2-small", "GPT-2 small, random weights", Family::Gpt2, 12, 768, 12, 12, 3072, 50257, 1024},
    {"gpt2-medium", "GPT-2 medium, random weights", Family::Gpt2, 24, 1024, 16, 16, 4096, 50257, 1024},
    {"llama-160m", "LLaMA 160M, random weights", Family::Llama, 12, 768, 12, 12, 3072, 32000, 2048},
    {"tinyllama-1.1b", "TinyLlama 1.1B, random weights", Family::Llama, 22, 2048, 32, 4, 5632, 32000, 2048},
}};
constexpr std::int64_t kLongestContext = 65536;

ModelConfig config_of(const Shape& shape) {
    ModelConfig config;
    config.family = shape.family;
    config.name = shape.name;
    config.layers = shape.layers;
    config.hidden = shape.hidden;
    config.heads = shape.heads;
    config.kv_heads = shape.kv_heads;
    config.head_dim = shape.hidden / shape.heads;
    config.feed_forward = shape.feed_forward;
    config.vocabulary = shape.vocabulary;
    config.context = shape.context;
    config.tied_head = shape.family == Family::Gpt2;
    config.file_type = ElementType::F16;
    return config;
}

std::string known_names() {
    std::string out;
    for (const Shape& shape : kShapes) out += (out.empty() ? "" : ", ") + std::string(shape.name);
    return out;
}

// splitmix64 of a counter: every value can be computed on its own.
std::uint64_t mix(std::uint64_t counter) {
    std::uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// The sum of four random bytes is close to normal and, unlike logarithms, the same everywhere.
constexpr int kSums = 4 * 255 + 1;
constexpr double kSumDeviation = 147.80053;  // sqrt(4 * (256^2 - 1) / 12)
using SumTable = std::array<std::uint16_t, kSums>;

SumTable sum_table(double mean, double deviation) {
    SumTable table;
    for (int sum = 0; sum < kSums; ++sum)
        table[static_cast<std::size_t>(sum)] =
            f32_to_f16(static_cast<float>(mean + deviation * (sum - (kSums - 1) / 2.0) / kSumDeviation));
    return table;
}

std::uint32_t byte_sum(std::uint32_t bits) {
    const std::uint32_t pairs = (bits & 0x00FF00FFu) + (bits >> 8 & 0x00FF00FFu);
    return (pairs + (pairs >> 16)) & 0x7FFu;
}

struct Job {
    std::uint16_t* data = nullptr;
    std::int64_t elements = 0;
    std::uint64_t first = 0;  // counter of element 0; two elements share one
    SumTable table;
};

void fill(const Job& job, std::int64_t begin, std::int64_t end) {  // begin is even
    for (std::int64_t i = begin; i < end; i += 2) {
        const std::uint64_t bits = mix(job.first + static_cast<std::uint64_t>(i / 2));
        job.data[i] = job.table[byte_sum(static_cast<std::uint32_t>(bits))];
        if (i + 1 < end) job.data[i + 1] = job.table[byte_sum(static_cast<std::uint32_t>(bits >> 32))];
    }
}

// Scales for which every block adds about as much as the one before and the logits have a deviation of about one.
Job job_of(const ModelConfig& config, const ExpectedTensor& tensor, int number) {
    const auto contains = [&](const char* part) { return tensor.name.find(part) != std::string::npos; };
    double mean = 0, deviation = 0.02;
    if (tensor.shape.size() == 1) {
        const bool norm_weight = (contains("norm") || contains("ln_")) && !contains("bias");
        mean = norm_weight ? 1.0 : 0.0;
    } else if (contains("embed_tokens") || contains("wte")) {
        deviation = 1.0 / std::sqrt(static_cast<double>(config.hidden));
    } else if (tensor.inputs > 1) {
        deviation = 1.0 / std::sqrt(static_cast<double>(tensor.inputs));
        const bool adds_to_stream = contains("o_proj") || contains("down_proj") || contains("c_proj");
        if (adds_to_stream) deviation /= std::sqrt(2.0 * static_cast<double>(config.layers));
    }
    Job job;
    job.elements = 1;
    for (const std::int64_t size : tensor.shape) job.elements *= size;
    job.first = static_cast<std::uint64_t>(number + 1) << 36;
    job.table = sum_table(mean, deviation);
    return job;
}

// Fills the pieces of all jobs on as many threads as there are cores. False when stopped.
bool fill_all(const std::vector<Job>& jobs, const ProgressFn& progress, std::stop_token stop) {
    constexpr std::int64_t kPiece = 1 << 19;  // elements; about a millisecond
    struct Piece {
        const Job* job;
        std::int64_t begin;
    };
    std::vector<Piece> pieces;
    for (const Job& job : jobs)
        for (std::int64_t begin = 0; begin < job.elements; begin += kPiece) pieces.push_back({&job, begin});
    std::atomic<std::size_t> next{0};
    const auto work = [&](bool report) {
        for (std::size_t i = next++; i < pieces.size() && !stop.stop_requested(); i = next++) {
            fill(*pieces[i].job, pieces[i].begin, std::min(pieces[i].begin + kPiece, pieces[i].job->elements));
            if (report && progress)
                progress(static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(pieces.size()));
        }
    };
    const int cores = std::min(usable_cores(), 16);
    std::vector<std::jthread> helpers;
    for (int i = 1; i < cores; ++i) helpers.emplace_back(work, false);
    work(true);
    helpers.clear();  // joins
    if (stop.stop_requested()) return false;
    // The other threads may have taken every piece before this one had its turn: the end is said whoever did the work.
    if (progress) progress(static_cast<std::int64_t>(pieces.size()), static_cast<std::int64_t>(pieces.size()));
    return true;
}

struct FreeAligned {
    void operator()(std::uint16_t* data) const { ::operator delete(data, std::align_val_t(64)); }
};

constexpr std::int64_t kPadding = 32;  // elements: every tensor begins at a multiple of 64 bytes
std::int64_t padded(std::int64_t elements) { return (elements + kPadding - 1) / kPadding * kPadding; }

Result<ModelConfig> apply_option(ModelConfig config, std::string_view option) {
    const std::size_t equals = option.find('=');
    if (option.substr(0, equals) != "context" || equals == std::string_view::npos)
        return make_error(ErrorKind::Argument, fmt::format("A synthetic model has no option \"{}\".", option),
                          "Write context=N after a comma.");
    const auto context = parse_integer(option.substr(equals + 1));
    if (!context || *context < 1 || *context > kLongestContext)
        return make_error(ErrorKind::Argument, fmt::format("The context \"{}\" is no number from 1 to {}.",
                                                           option.substr(equals + 1), kLongestContext));
    config.context = *context;
    return config;
}

}  // namespace

Result<ModelConfig> synthetic_config(std::string_view spec) {
    const std::string_view name = spec.substr(0, spec.find(','));
    const auto shape = std::find_if(kShapes.begin(), kShapes.end(), [&](const Shape& s) { return s.name == name; });
    if (shape == kShapes.end())
        return make_error(ErrorKind::Argument, fmt::format("There is no synthetic model \"{}\".", name),
                          fmt::format("Known are {}.", known_names()));
    ModelConfig config = config_of(*shape);
    std::string_view rest = spec.substr(name.size());
    while (!rest.empty()) {
        rest.remove_prefix(1);  // the comma
        const std::string_view option = rest.substr(0, rest.find(','));
        auto changed = apply_option(config, option);
        if (!changed) return changed.error();
        config = *changed;
        rest.remove_prefix(option.size());
    }
    return config;
}

std::vector<ModelInfo> synthetic_models() {
    std::vector<ModelInfo> out;
    for (const Shape& shape : kShapes) {
        const ModelConfig config = config_of(shape);
        out.push_back(
            {fmt::format("synthetic:{}", shape.name), shape.title,
             fmt::format("{} layers, width {}, {} heads, {} key-value heads, {:.0f} M parameters, {} of weights in "
                         "f16; for timing, its text means nothing",
                         config.layers, config.hidden, config.heads, config.kv_heads,
                         static_cast<double>(config.parameters()) / 1e6,
                         format_bytes(synthetic_weight_bytes(config)))});
    }
    return out;
}

std::int64_t synthetic_weight_bytes(const ModelConfig& config) { return 2 * config.parameters(); }

Result<TensorSet> synthetic_weights(const ModelConfig& config, const ProgressFn& progress, std::stop_token stop) {
    const std::vector<ExpectedTensor> expected = expected_tensors(config);
    std::vector<Job> jobs;
    std::int64_t total = 0;
    for (const ExpectedTensor& tensor : expected) {
        jobs.push_back(job_of(config, tensor, static_cast<int>(jobs.size())));
        total += padded(jobs.back().elements);
    }
    const auto bytes = static_cast<std::size_t>(total) * sizeof(std::uint16_t);
    auto* memory = static_cast<std::uint16_t*>(::operator new(bytes, std::align_val_t(64), std::nothrow));
    if (memory == nullptr)
        return make_error(ErrorKind::Memory, fmt::format("{} for the weights of {} cannot be allocated.",
                                                         format_bytes(static_cast<std::int64_t>(bytes)), config.name));
    TensorSet out;
    out.owner = std::shared_ptr<std::uint16_t>(memory, FreeAligned());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].data = memory;
        out.tensors.emplace(expected[i].name, Tensor{"F16", expected[i].shape, memory, 2 * jobs[i].elements});
        memory += padded(jobs[i].elements);
    }
    if (!fill_all(jobs, progress, stop))
        return make_error(ErrorKind::Cancelled, fmt::format("Making the weights of {} was cancelled.", config.name));
    Hasher hasher;
    hasher.add_text("synthetic weights 1");
    hasher.add_text(config.name);
    hasher.add_integer(static_cast<std::uint64_t>(config.context));
    out.fingerprint = hasher.text();
    return out;
}

}  // namespace decodescope
