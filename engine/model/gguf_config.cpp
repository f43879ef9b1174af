#include "engine/model/gguf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/model/config_reader.h"
#include "engine/model/gguf_fields.h"
#include "engine/support/numbers.h"

namespace decodescope {
namespace {

struct Architecture {
    std::string_view name;  // general.architecture
    Family family;
};
constexpr std::array<Architecture, 6> kArchitectures = {{{"llama", Family::Llama},
                                                         {"gpt2", Family::Gpt2},
                                                         {"qwen2", Family::Qwen2},
                                                         {"qwen3", Family::Qwen3},
                                                         {"gptneox", Family::GptNeoX},
                                                         {"gemma3", Family::Gemma3}}};

const GgufTensor* find_tensor(const GgufHeader& header, std::string_view name) {
    for (const GgufTensor& tensor : header.tensors)
        if (tensor.name == name) return &tensor;
    return nullptr;
}

class ConfigReader {
public:
    ConfigReader(const GgufHeader& header, std::span<const std::byte> file, const std::string& path, Family family,
                 std::string prefix)
        : header_(header), file_(file), fields_(header, path, std::move(prefix)) {
        config_.family = family;
    }

    Result<ModelConfig> run(const std::string& model_name) {
        config_.name = model_name;
        read_sizes();
        read_rotation();
        read_window();
        read_family();
        for (const char* key : {"vocab_size", "tensor_data_layout", "attention.causal"}) fields_.pass(key);
        if (fields_.optional_boolean("attention.causal") == std::optional(false))
            fields_.fail(ErrorKind::Unsupported, "attention that is not causal is not supported.");
        for (const char* key : {"expert_count", "expert_used_count"}) fields_.only(key, 0);
        fields_.nothing_left();
        DS_RETURN_IF_ERROR(fields_.status());
        DS_RETURN_IF_ERROR(validate(config_));
        return std::move(config_);
    }

private:
    void read_sizes() {
        ModelConfig& c = config_;
        c.layers = fields_.integer("block_count");
        c.hidden = fields_.integer("embedding_length");
        c.heads = fields_.integer("attention.head_count");
        c.kv_heads = fields_.optional_integer("attention.head_count_kv").value_or(c.heads);
        c.feed_forward = fields_.integer("feed_forward_length");
        c.context = fields_.integer("context_length");
        const char* epsilon = c.layer_norms() ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
        if (!fields_.has(epsilon)) fields_.fail(ErrorKind::Model, fmt::format("\"{}\" is missing.", epsilon));
        c.norm_epsilon = static_cast<float>(fields_.number(epsilon, 0));
        read_head_size();
        const GgufTensor* embedding = find_tensor(header_, "token_embd.weight");
        if (embedding == nullptr) return fields_.fail(ErrorKind::Model, "the tensor \"token_embd.weight\" is missing.");
        c.vocabulary = embedding->shape.size() == 2 ? embedding->shape.front() : 0;
        c.tied_head = find_tensor(header_, "output.weight") == nullptr;
        const auto given = fields_.optional_integer("vocab_size");
        if (given && *given != c.vocabulary)
            fields_.fail(ErrorKind::Model,
                         fmt::format("\"vocab_size\" is {}, and the embedding has {} rows.", *given, c.vocabulary));
    }

    void read_head_size() {
        ModelConfig& c = config_;
        const auto keys = fields_.optional_integer("attention.key_length");
        const auto values = fields_.optional_integer("attention.value_length");
        if (keys) c.head_dim = *keys;
        else if (c.heads > 0 && c.hidden % c.heads == 0) c.head_dim = c.hidden / c.heads;
        else
            fields_.fail(ErrorKind::Model,
                         fmt::format("\"embedding_length\" {} is no multiple of \"attention.head_count\" {}.", c.hidden,
                                     c.heads));
        if (values && *values != c.head_dim)
            fields_.fail(ErrorKind::Unsupported,
                         fmt::format("keys of {} and values of {} elements are not supported.", c.head_dim, *values));
    }

    void read_rotation() {
        ModelConfig& c = config_;
        if (c.learned_positions()) return;
        c.rope_theta = static_cast<float>(fields_.number("rope.freq_base", 10000.0));
        const std::int64_t rotary = fields_.optional_integer("rope.dimension_count").value_or(c.head_dim);
        constexpr std::int64_t kMostDimensions = 65536;  // see validate()
        if (rotary < 1 || rotary > kMostDimensions)
            return fields_.fail(ErrorKind::Model, fmt::format("heads of {} elements, {} of them with positions.",
                                                              c.head_dim, rotary));
        const bool part = c.family == Family::GptNeoX && rotary > 0 && rotary < c.head_dim && rotary % 2 == 0;
        if (rotary != c.head_dim && !part)
            return fields_.fail(
                ErrorKind::Unsupported,
                fmt::format("\"rope.dimension_count\" = {} of heads of size {} is not supported.", rotary, c.head_dim));
        if (part) c.rotary_dim = rotary;
        double factor = fields_.number("rope.scale_linear", 1.0);
        const std::string_view type = fields_.text("rope.scaling.type", "none");
        const double named = fields_.number("rope.scaling.factor", 1.0);
        if (type == "linear") factor = named;
        else if (type != "none")
            return fields_.fail(ErrorKind::Unsupported,
                                fmt::format("\"rope.scaling.type\" = \"{}\" is not supported, only linear.", type));
        for (const char* key : {"rope.scaling.original_context_length", "rope.scaling.finetuned"}) fields_.pass(key);
        if (!(factor > 0) || !std::isfinite(factor))
            return fields_.fail(ErrorKind::Model, fmt::format("\"rope.scaling.factor\" is {}.", format_number(factor)));
        if (factor != 1.0)
            c.rope_divisors.assign(static_cast<std::size_t>(rotary / 2), static_cast<float>(factor));
        read_frequency_factors(rotary);
    }

    // LLaMA 3's scaling comes as a tensor of what each frequency is divided by.
    void read_frequency_factors(std::int64_t rotary) {
        const GgufTensor* tensor = find_tensor(header_, "rope_freqs.weight");
        if (tensor == nullptr) return;
        if (tensor->type->name != "F32" || tensor->shape != std::vector<std::int64_t>{rotary / 2})
            return fields_.fail(ErrorKind::Unsupported,
                                fmt::format("the tensor \"rope_freqs.weight\" is no F32 vector of {}.", rotary / 2));
        std::vector<float> factors(static_cast<std::size_t>(rotary / 2));
        std::memcpy(factors.data(), file_.data() + header_.data_offset + tensor->begin,
                    static_cast<std::size_t>(tensor->bytes));
        for (std::size_t i = 0; i < factors.size(); ++i) {
            if (!(factors[i] > 0) || !std::isfinite(factors[i]))
                return fields_.fail(ErrorKind::Model, fmt::format("element {} of \"rope_freqs.weight\" is {}.", i,
                                                                  format_number(factors[i])));
            if (!config_.rope_divisors.empty()) factors[i] *= config_.rope_divisors[i];
        }
        config_.rope_divisors = std::move(factors);
    }

    void read_window() {
        if (config_.learned_positions() || config_.family == Family::GptNeoX) return;
        const auto window = fields_.optional_integer("attention.sliding_window");
        if (!window || *window == 0) return;
        if (*window < 0)
            return fields_.fail(ErrorKind::Model, fmt::format("\"attention.sliding_window\" is {}.", *window));
        config_.window = *window;
    }

    void read_family() {
        ModelConfig& c = config_;
        if (c.family == Family::GptNeoX) {
            c.parallel_blocks = fields_.optional_boolean("use_parallel_residual").value_or(true);
            return;
        }
        if (c.family != Family::Gemma3) return;
        // Every sixth layer attends to everything; the others, within the window, have another base.
        const std::int64_t pattern = fields_.optional_integer("attention.sliding_window_pattern").value_or(6);
        if (pattern < 1)
            return fields_.fail(ErrorKind::Model, fmt::format("\"attention.sliding_window_pattern\" is {}.", pattern));
        for (std::int64_t layer = 0; layer < std::min<std::int64_t>(c.layers, 4096); ++layer)
            c.local_layers.push_back((layer + 1) % pattern != 0);
        c.local_rope_theta = static_cast<float>(fields_.number("rope.freq_base_swa", 10000.0));
        c.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(c.hidden)));
        if (c.window == 0) return fields_.fail(ErrorKind::Model, "\"attention.sliding_window\" is missing.");
        // The largest of the published sizes scales its scores by the width per head instead of the head's own.
        constexpr std::int64_t kLayersOfLargest = 62;
        if (c.layers == kLayersOfLargest && c.heads > 0)
            c.query_scale =
                static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.hidden) / static_cast<double>(c.heads)));
        if (fields_.number("final_logit_softcapping", 0) != 0)
            fields_.fail(ErrorKind::Unsupported, "\"final_logit_softcapping\" is not supported.");
        fields_.pass("mm.tokens_per_image");
    }

    const GgufHeader& header_;
    std::span<const std::byte> file_;
    GgufFields fields_;
    ModelConfig config_;
};

std::string known_architectures() {
    std::string out;
    for (const Architecture& architecture : kArchitectures)
        out += (out.empty() ? "" : ", ") + std::string(architecture.name);
    return out;
}

}  // namespace

Result<ModelConfig> read_gguf_config(const GgufHeader& header, std::span<const std::byte> file, const std::string& path,
                                     const std::string& model_name) {
    GgufFields general(header, path, "general.");
    const std::string_view name = general.text("architecture", "");
    if (name.empty()) general.fail(ErrorKind::Model, "\"general.architecture\" is missing.");
    DS_RETURN_IF_ERROR(general.status());
    GgufFields split(header, path, "split.");
    if (split.optional_integer("count").value_or(1) > 1)
        return make_error(ErrorKind::Unsupported, fmt::format("{}: it is one part of a model in several files.", path),
                          "Join the parts into one file first.");
    const auto found = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                    [&](const Architecture& a) { return a.name == name; });
    if (found == kArchitectures.end())
        return make_error(ErrorKind::Unsupported,
                          fmt::format("{}: the architecture \"{}\" is not supported.", path, name.substr(0, 200)),
                          fmt::format("Supported are {}.", known_architectures()));
    return ConfigReader(header, file, path, found->family, std::string(name) + ".").run(model_name);
}

namespace {

using NamePair = std::pair<std::string_view, std::string_view>;  // in safetensors files, in GGUF files

constexpr std::array<NamePair, 14> kLlamaNames = {{{"embed_tokens", "token_embd"},
                                                   {"norm", "output_norm"},
                                                   {"lm_head", "output"},
                                                   {"input_layernorm", "attn_norm"},
                                                   {"self_attn.q_proj", "attn_q"},
                                                   {"self_attn.k_proj", "attn_k"},
                                                   {"self_attn.v_proj", "attn_v"},
                                                   {"self_attn.q_norm", "attn_q_norm"},
                                                   {"self_attn.k_norm", "attn_k_norm"},
                                                   {"self_attn.o_proj", "attn_output"},
                                                   {"post_attention_layernorm", "ffn_norm"},
                                                   {"mlp.gate_proj", "ffn_gate"},
                                                   {"mlp.up_proj", "ffn_up"},
                                                   {"mlp.down_proj", "ffn_down"}}};
constexpr std::array<NamePair, 3> kGemmaNames = {{{"post_attention_layernorm", "post_attention_norm"},
                                                  {"pre_feedforward_layernorm", "ffn_norm"},
                                                  {"post_feedforward_layernorm", "post_ffw_norm"}}};
constexpr std::array<NamePair, 10> kGpt2Names = {{{"wte", "token_embd"},
                                                  {"wpe", "position_embd"},
                                                  {"ln_f", "output_norm"},
                                                  {"lm_head", "output"},
                                                  {"ln_1", "attn_norm"},
                                                  {"attn.c_attn", "attn_qkv"},
                                                  {"attn.c_proj", "attn_output"},
                                                  {"ln_2", "ffn_norm"},
                                                  {"mlp.c_fc", "ffn_up"},
                                                  {"mlp.c_proj", "ffn_down"}}};
constexpr std::array<NamePair, 9> kNeoxNames = {{{"embed_in", "token_embd"},
                                                 {"final_layer_norm", "output_norm"},
                                                 {"embed_out", "output"},
                                                 {"input_layernorm", "attn_norm"},
                                                 {"attention.query_key_value", "attn_qkv"},
                                                 {"attention.dense", "attn_output"},
                                                 {"post_attention_layernorm", "ffn_norm"},
                                                 {"mlp.dense_h_to_4h", "ffn_up"},
                                                 {"mlp.dense_4h_to_h", "ffn_down"}}};

std::string_view translate(std::span<const NamePair> names, std::string_view stem) {
    for (const auto& [from, to] : names)
        if (from == stem) return to;
    return {};
}

std::string_view gguf_stem(Family family, std::string_view stem) {
    switch (family) {
        case Family::Gpt2: return translate(kGpt2Names, stem);
        case Family::GptNeoX: return translate(kNeoxNames, stem);
        case Family::Gemma3:
            if (const std::string_view found = translate(kGemmaNames, stem); !found.empty()) return found;
            return translate(kLlamaNames, stem);
        default: return translate(kLlamaNames, stem);
    }
}

}  // namespace

std::string gguf_tensor_name(Family family, const std::string& name) {
    std::string_view rest = name;
    for (const std::string_view prefix : {"model.", "transformer.", "gpt_neox."})
        if (rest.substr(0, prefix.size()) == prefix) rest.remove_prefix(prefix.size());
    std::string block;
    for (const std::string_view list : {"layers.", "h."}) {
        if (rest.substr(0, list.size()) != list) continue;
        rest.remove_prefix(list.size());
        const std::size_t dot = rest.find('.');
        if (dot == std::string_view::npos) return name;
        block = fmt::format("blk.{}.", rest.substr(0, dot));
        rest.remove_prefix(dot + 1);
        break;
    }
    const std::size_t dot = rest.rfind('.');
    if (dot == std::string_view::npos) return name;
    const std::string_view stem = gguf_stem(family, rest.substr(0, dot));
    return stem.empty() ? name : fmt::format("{}{}{}", block, stem, rest.substr(dot));
}

namespace {

std::int32_t token_id(GgufFields& fields, std::string_view key) {
    const std::int64_t id = fields.optional_integer(key).value_or(-1);
    if (id >= -1 && id <= std::numeric_limits<std::int32_t>::max()) return static_cast<std::int32_t>(id);
    fields.fail(ErrorKind::Model, fmt::format("\"tokenizer.ggml.{}\" is {}.", key, id));
    return -1;
}

void copy_texts(const std::vector<std::string_view>* from, std::vector<std::string>& to) {
    if (from != nullptr) to.assign(from->begin(), from->end());
}

}  // namespace

Result<EmbeddedVocabulary> read_gguf_vocabulary(const GgufHeader& header, const std::string& path) {
    GgufFields fields(header, path, "tokenizer.ggml.");
    EmbeddedVocabulary out;
    out.kind = fields.text("model", "");
    out.pre = fields.text("pre", "");
    copy_texts(fields.texts("tokens"), out.tokens);
    if (fields.has("merges")) copy_texts(fields.texts("merges"), out.merges);
    if (out.tokens.empty()) fields.fail(ErrorKind::Model, "there is no vocabulary (\"tokenizer.ggml.tokens\").");
    if (const GgufNumbers* scores = fields.numbers("scores"))
        for (std::int64_t i = 0; i < scores->count; ++i)
            out.scores.push_back(static_cast<float>(gguf_number(*scores, i)));
    if (const GgufNumbers* types = fields.numbers("token_type"))
        for (std::int64_t i = 0; i < types->count; ++i) {
            const double type = gguf_number(*types, i);
            out.types.push_back(type >= 0 && type < 1000 ? static_cast<std::int32_t>(type) : 0);
        }
    out.bos = token_id(fields, "bos_token_id");
    out.eos = token_id(fields, "eos_token_id");
    out.unknown = token_id(fields, "unknown_token_id");
    out.add_bos = fields.optional_boolean("add_bos_token");
    out.add_space_prefix = fields.optional_boolean("add_space_prefix");
    DS_RETURN_IF_ERROR(fields.status());
    return out;
}

}  // namespace decodescope
