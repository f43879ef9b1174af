#include "tests/support/gguf_model.h"

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "engine/model/bind_weights.h"
#include "engine/model/gguf_config.h"

namespace decodescope {
namespace {

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

const char* architecture(Family family) {
    switch (family) {
        case Family::Gpt2: return "gpt2";
        case Family::Qwen2: return "qwen2";
        case Family::Qwen3: return "qwen3";
        case Family::GptNeoX: return "gptneox";
        case Family::Gemma3: return "gemma3";
        default: return "llama";
    }
}

// Row r of the result is row `source(r)`.
template <class Source>
std::vector<float> take_rows(const std::vector<float>& values, std::int64_t rows, Source source) {
    const auto columns = static_cast<std::ptrdiff_t>(values.size()) / rows;
    std::vector<float> out;
    for (std::int64_t r = 0; r < rows; ++r)
        out.insert(out.end(), values.begin() + source(r) * columns, values.begin() + (source(r) + 1) * columns);
    return out;
}

std::vector<float> turned(const std::vector<float>& values, std::int64_t rows) {
    const std::int64_t columns = static_cast<std::int64_t>(values.size()) / rows;
    std::vector<float> out(values.size());
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
            out[static_cast<std::size_t>(c * rows + r)] = values[static_cast<std::size_t>(r * columns + c)];
    return out;
}

GgufFileTensor tensor_for(const ModelConfig& c, const FileTensor& from, const std::string& type) {
    GgufFileTensor out{gguf_tensor_name(c.family, from.name), "F32", from.shape, {}};
    std::vector<float> values = floats_of(from.bytes);
    const std::int64_t d = c.head_dim, rows = from.shape.front();
    const bool paired = c.family == Family::Llama || c.family == Family::Mistral;  // one architecture there
    if (paired && (contains(from.name, "q_proj") || contains(from.name, "k_proj")))
        values = take_rows(values, rows, [d](std::int64_t r) { return r / d * d + r % 2 * (d / 2) + r % d / 2; });
    if (c.family == Family::GptNeoX && contains(from.name, "query_key_value"))
        values = take_rows(values, rows, [&c, d](std::int64_t r) {
            const std::int64_t part = r / (c.heads * d), head = r / d % c.heads;
            return (head * 3 + part) * d + r % d;
        });
    if (c.family == Family::Gemma3 && contains(from.name, "norm.weight"))
        for (float& value : values) value += 1.0f;
    const bool conv = c.family == Family::Gpt2 && contains(from.name, ".h.") && from.shape.size() == 2;
    if (conv) {
        values = turned(values, rows);
        std::swap(out.shape[0], out.shape[1]);
    }
    if (out.shape.size() == 2 && out.name != "position_embd.weight") out.type = type;
    out.bytes = gguf_rows(out.type, values);
    return out;
}

void add_options(GgufFile& file, const ModelConfig& c, const std::string& p) {
    if (!c.learned_positions()) {
        file.real(p + "rope.freq_base", c.rope_theta);
        file.integer(p + "rope.dimension_count",
                     static_cast<std::uint32_t>(c.rotary_dim > 0 ? c.rotary_dim : c.head_dim));
    }
    if (c.window > 0) file.integer(p + "attention.sliding_window", static_cast<std::uint32_t>(c.window));
    if (c.family == Family::Gemma3) {
        std::int64_t pattern = 1;  // the first layer that sees everything
        while (c.is_local(pattern - 1)) ++pattern;
        file.integer(p + "attention.sliding_window_pattern", static_cast<std::uint32_t>(pattern));
        file.real(p + "rope.freq_base_swa", c.local_rope_theta);
    }
    if (c.family == Family::GptNeoX) file.boolean(p + "use_parallel_residual", c.parallel_blocks);
    if (c.family != Family::Llama || c.rope_divisors.empty()) return;
    file.tensors.push_back({"rope_freqs.weight",
                            "F32",
                            {static_cast<std::int64_t>(c.rope_divisors.size())},
                            bytes_of_floats(c.rope_divisors)});
}

}  // namespace

std::vector<float> floats_of(const std::string& bytes) {
    std::vector<float> out(bytes.size() / 4);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}

std::string bytes_of_floats(const std::vector<float>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4);
}

GgufFile gguf_of(const ModelConfig& c, const std::vector<FileTensor>& tensors, const std::string& type) {
    GgufFile file;
    const std::string p = std::string(architecture(c.family)) + ".";
    file.text("general.architecture", architecture(c.family));
    const std::map<std::string, std::int64_t> sizes = {{"block_count", c.layers},
                                                       {"embedding_length", c.hidden},
                                                       {"attention.head_count", c.heads},
                                                       {"attention.head_count_kv", c.kv_heads},
                                                       {"attention.key_length", c.head_dim},
                                                       {"attention.value_length", c.head_dim},
                                                       {"feed_forward_length", c.feed_forward},
                                                       {"context_length", c.context}};
    for (const auto& [key, value] : sizes) file.integer(p + key, static_cast<std::uint32_t>(value));
    file.real(p + (c.layer_norms() ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon"),
              c.norm_epsilon);
    add_options(file, c, p);
    for (const FileTensor& tensor : tensors) file.tensors.push_back(tensor_for(c, tensor, type));
    add_small_vocabulary(file, c.vocabulary);
    return file;
}

std::vector<FileTensor> random_tensors(const ModelConfig& config, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1.0; };
    std::vector<FileTensor> out;
    for (const ExpectedTensor& tensor : expected_tensors(config)) {
        std::size_t count = 1;
        for (const std::int64_t size : tensor.shape) count *= static_cast<std::size_t>(size);
        const bool norm = contains(tensor.name, "norm") && !contains(tensor.name, "bias");
        const double size = tensor.shape.size() == 1 ? 0.2
                            : tensor.inputs > 1      ? 2.5 / std::sqrt(static_cast<double>(tensor.inputs))
                                                     : 1.0;
        std::vector<float> values(count);
        for (float& value : values) value = static_cast<float>((norm ? 1.0 : 0.0) + size * unit());
        out.push_back({tensor.name, "F32", tensor.shape, bytes_of_floats(values)});
    }
    return out;
}

}  // namespace decodescope
