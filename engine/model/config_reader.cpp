#include "engine/model/config_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/model/config_fields.h"
#include "engine/model/config_rope.h"
#include "engine/support/json_value.h"

namespace decodescope {
namespace {

void derive_head_dim(Fields& fields, ModelConfig& config) {
    if (const auto head_dim = fields.optional_integer("head_dim")) {
        config.head_dim = *head_dim;
    } else if (config.heads > 0 && config.hidden % config.heads == 0) {
        config.head_dim = config.hidden / config.heads;
    } else {
        fields.fail(ErrorKind::Model, fmt::format("\"hidden_size\" {} is no multiple of \"num_attention_heads\" {}.",
                                                  config.hidden, config.heads));
    }
}

// Sizes and options that every family after LLaMA's pattern has.
void read_llama_like(Fields& fields, ModelConfig& config) {
    config.layers = fields.integer("num_hidden_layers");
    config.hidden = fields.integer("hidden_size");
    config.heads = fields.integer("num_attention_heads");
    config.kv_heads = fields.optional_integer("num_key_value_heads").value_or(config.heads);
    config.feed_forward = fields.integer("intermediate_size");
    config.context = fields.optional_integer("max_position_embeddings").value_or(2048);
    config.norm_epsilon = static_cast<float>(fields.number("rms_norm_eps", 1e-6));
    config.tied_head = fields.boolean("tie_word_embeddings", config.family == Family::Gemma3);
    derive_head_dim(fields, config);
    read_rope(fields, config, config.family == Family::Gemma3 ? 1000000.0 : 10000.0);
    for (const char* key : {"num_local_experts", "num_experts", "quantization_config"}) fields.absent(key);
    if (rotary_part(fields, 1.0) != 1.0)
        fields.fail(ErrorKind::Unsupported, "\"partial_rotary_factor\" other than 1 is not supported.");
}

// "layer_types": full attention in every layer; anything else is refused where the family has no other.
void read_layer_types(Fields& fields, ModelConfig& config, bool may_be_local) {
    const JsonValue* list = fields.present("layer_types");
    if (list == nullptr) return;
    config.local_layers.clear();
    bool any = false;
    for (const JsonValue& type : list->items()) {
        const bool local = type.as_string() == "sliding_attention";
        if (!local && type.as_string() != "full_attention")
            return fields.fail(ErrorKind::Unsupported,
                               fmt::format("\"layer_types\": {} is not supported.", type.described()));
        any = any || local;
        config.local_layers.push_back(local);
    }
    if (static_cast<std::int64_t>(config.local_layers.size()) != config.layers)
        return fields.fail(ErrorKind::Model, fmt::format("\"layer_types\" has {} entries for {} layers.",
                                                         config.local_layers.size(), config.layers));
    if (any && !may_be_local)
        fields.fail(ErrorKind::Unsupported, "\"layer_types\": \"sliding_attention\" is not supported here.");
    if (!any) config.local_layers.clear(), config.window = 0;
}

void read_window(Fields& fields, ModelConfig& config) {
    const std::int64_t window = fields.optional_integer("sliding_window").value_or(0);
    if (window < 0 || (window == 0 && fields.present("sliding_window") != nullptr))
        return fields.fail(ErrorKind::Model, fmt::format("\"sliding_window\" is {}.", window));
    config.window = window;
}

void read_llama(Fields& fields, ModelConfig& config) {
    config.family = Family::Llama;
    read_llama_like(fields, config);
    fields.only("hidden_act", {"silu", "swish"});
    for (const char* key : {"attention_bias", "mlp_bias", "use_sliding_window"}) fields.only_boolean(key, false);
    for (const char* key : {"sliding_window", "layer_types"}) fields.absent(key);
}

void read_mistral(Fields& fields, ModelConfig& config) {
    config.family = Family::Mistral;
    read_llama_like(fields, config);
    fields.only("hidden_act", {"silu", "swish"});
    for (const char* key : {"attention_bias", "mlp_bias"}) fields.only_boolean(key, false);
    read_window(fields, config);
    read_layer_types(fields, config, true);
}

// A window is written in the files of models that do not use it.
void read_qwen(Fields& fields, ModelConfig& config, Family family) {
    config.family = family;
    read_llama_like(fields, config);
    fields.only("hidden_act", {"silu", "swish"});
    for (const char* key : {"mlp_bias", "use_sliding_window", "use_mrope"}) fields.only_boolean(key, false);
    if (family == Family::Qwen3) fields.only_boolean("attention_bias", false);
    read_layer_types(fields, config, false);
}

void read_neox(Fields& fields, ModelConfig& config) {
    config.family = Family::GptNeoX;
    config.layers = fields.integer("num_hidden_layers");
    config.hidden = fields.integer("hidden_size");
    config.heads = config.kv_heads = fields.integer("num_attention_heads");
    config.feed_forward = fields.integer("intermediate_size");
    config.context = fields.optional_integer("max_position_embeddings").value_or(2048);
    config.norm_epsilon = static_cast<float>(fields.number("layer_norm_eps", 1e-5));
    config.tied_head = fields.boolean("tie_word_embeddings", false);
    config.parallel_blocks = fields.boolean("use_parallel_residual", true);
    derive_head_dim(fields, config);
    const double part = fields.number("rotary_pct", rotary_part(fields, 0.25));
    const bool possible = part > 0 && part <= 1;
    const auto rotary = possible ? static_cast<std::int64_t>(static_cast<double>(config.head_dim) * part) : 0;
    if (rotary < 2 || rotary % 2 != 0)
        return fields.fail(
            ErrorKind::Unsupported,
            fmt::format("\"rotary_pct\" {} of heads of size {} is not supported.", part, config.head_dim));
    if (rotary != config.head_dim) config.rotary_dim = rotary;
    read_rope(fields, config);
    if (fields.present("rope_theta") == nullptr && fields.present("rope_parameters") == nullptr)
        config.rope_theta = static_cast<float>(fields.number("rotary_emb_base", 10000.0));
    fields.only("hidden_act", {"gelu"});
    fields.only_boolean("attention_bias", true);
    fields.absent("quantization_config");
}

void read_gemma3(Fields& fields, ModelConfig& config) {
    config.family = Family::Gemma3;
    if (fields.present("head_dim") == nullptr) fields.fail(ErrorKind::Model, "\"head_dim\" is missing.");
    config.local_rope_theta = static_cast<float>(fields.number("rope_local_base_freq", 10000.0));
    read_llama_like(fields, config);
    for (const char* key : {"hidden_activation", "hidden_act"}) fields.only(key, {"gelu_pytorch_tanh"});
    fields.only_boolean("attention_bias", false);
    for (const char* key : {"final_logit_softcapping", "attn_logit_softcapping", "use_bidirectional_attention"})
        fields.absent(key);
    read_window(fields, config);
    const std::int64_t pattern = fields.optional_integer("sliding_window_pattern").value_or(6);
    if (pattern < 1) return fields.fail(ErrorKind::Model, fmt::format("\"sliding_window_pattern\" is {}.", pattern));
    for (std::int64_t layer = 0; layer < std::min<std::int64_t>(config.layers, 4096); ++layer)
        config.local_layers.push_back((layer + 1) % pattern != 0);
    read_layer_types(fields, config, true);
    config.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config.hidden)));
    const double scalar = fields.number("query_pre_attn_scalar", 256);
    if (!(scalar > 0)) return fields.fail(ErrorKind::Model, "\"query_pre_attn_scalar\" is not positive.");
    config.query_scale = static_cast<float>(1.0 / std::sqrt(scalar));
}

void read_gpt2(Fields& fields, ModelConfig& config) {
    config.family = Family::Gpt2;
    config.layers = fields.integer("n_layer");
    config.hidden = fields.integer("n_embd");
    config.heads = fields.integer("n_head");
    config.kv_heads = config.heads;
    const auto inner = fields.optional_integer("n_inner");
    constexpr std::int64_t kSane = std::int64_t{1} << 32;  // larger ones are refused below
    config.feed_forward = inner ? *inner : 4 * std::clamp<std::int64_t>(config.hidden, 0, kSane);
    // Old files call the number of positions n_ctx.
    const auto positions = fields.optional_integer("n_positions");
    config.context = positions ? *positions : fields.integer("n_ctx");
    config.norm_epsilon = static_cast<float>(fields.number("layer_norm_epsilon", 1e-5));
    config.tied_head = fields.boolean("tie_word_embeddings", true);
    if (config.heads > 0 && config.hidden % config.heads == 0) {
        config.head_dim = config.hidden / config.heads;
    } else {
        fields.fail(ErrorKind::Model,
                    fmt::format("\"n_embd\" {} is no multiple of \"n_head\" {}.", config.hidden, config.heads));
    }
    fields.only("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
    fields.only_boolean("scale_attn_weights", true);
    for (const char* key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"}) fields.only_boolean(key, false);
    fields.absent("quantization_config");
}

struct Kind {
    std::string_view type, class_name;
    void (*read)(Fields& fields, ModelConfig& config);
};
constexpr std::array<Kind, 7> kKinds = {{
    {"llama", "LlamaForCausalLM", read_llama},
    {"gpt2", "GPT2LMHeadModel", read_gpt2},
    {"mistral", "MistralForCausalLM", read_mistral},
    {"qwen2", "Qwen2ForCausalLM", [](Fields& f, ModelConfig& c) { read_qwen(f, c, Family::Qwen2); }},
    {"qwen3", "Qwen3ForCausalLM", [](Fields& f, ModelConfig& c) { read_qwen(f, c, Family::Qwen3); }},
    {"gpt_neox", "GPTNeoXForCausalLM", read_neox},
    {"gemma3_text", "Gemma3ForCausalLM", read_gemma3},
}};

// The class named in "architectures", if any; a second name or another class is refused.
void check_architecture(Fields& fields, const JsonValue& root, std::string_view model_type,
                        std::string_view class_name) {
    const JsonValue* list = root.find("architectures");
    if (list == nullptr || list->is_null()) return;
    const bool fits = list->is_array() && list->items().size() == 1 && list->items()[0].as_string() == class_name;
    if (fits) return;
    const std::string given =
        list->is_array() && !list->items().empty() ? list->items()[0].described() : list->described();
    fields.fail(ErrorKind::Unsupported, fmt::format("the architecture {} (model_type \"{}\") is not supported.", given,
                                                    model_type));
}

std::string model_type_of(const JsonValue& root) {
    if (const JsonValue* type = root.find("model_type"); type != nullptr && type->is_string()) return type->as_string();
    const JsonValue* list = root.find("architectures");
    if (list == nullptr || !list->is_array() || list->items().empty()) return {};
    const std::string& name = list->items()[0].as_string();
    for (const Kind& kind : kKinds)
        if (name == kind.class_name) return std::string(kind.type);
    return name;
}

// A token id, or a list of them.
std::vector<std::int64_t> token_ids(Fields& fields, const JsonValue& root, std::string_view key) {
    const JsonValue* value = root.find(key);
    if (value == nullptr || value->is_null()) return {};
    std::vector<std::int64_t> ids;
    const auto take = [&](const JsonValue& id) {
        if (id.is_integer()) return ids.push_back(id.as_integer());
        fields.fail(ErrorKind::Model, fmt::format("\"{}\" is {}, not a token id.", key, id.described()));
    };
    if (!value->is_array()) take(*value);
    for (const JsonValue& id : value->items()) take(id);
    return ids;
}

}  // namespace

namespace {

// What scales or divides must be a positive number; 0 where the family does not use it.
std::string wrong_scale(const ModelConfig& config) {
    const std::pair<const char*, float> scales[] = {{"base of local rotations", config.local_rope_theta},
                                                    {"query scale", config.query_scale},
                                                    {"embedding scale", config.embedding_scale}};
    for (const auto& [name, value] : scales)
        if (!(value >= 0) || !std::isfinite(value)) return fmt::format("has {} as its {}.", value, name);
    for (const float divisor : config.rope_divisors)
        if (!(divisor > 0) || !std::isfinite(divisor)) return fmt::format("has {} as a divisor of rotations.", divisor);
    if (config.family == Family::Gemma3 && config.local_rope_theta == 0) return "has no base of local rotations.";
    return {};
}

}  // namespace

Status validate(const ModelConfig& config) {
    // The limits keep every product of two sizes and the layers far below 2^63.
    constexpr std::int64_t kLargest = 1 << 24;
    const std::array<std::pair<const char*, std::int64_t>, 7> sizes = {{{"layers", config.layers},
                                                                        {"hidden size", config.hidden},
                                                                        {"heads", config.heads},
                                                                        {"key-value heads", config.kv_heads},
                                                                        {"head size", config.head_dim},
                                                                        {"feed-forward size", config.feed_forward},
                                                                        {"vocabulary", config.vocabulary}}};
    const auto refuse = [&](const std::string& what) {
        return make_error(ErrorKind::Model, fmt::format("The model \"{}\" {}", config.name, what), kSupportedModels);
    };
    for (const auto& [name, value] : sizes)
        if (value < 1 || value > kLargest)
            return refuse(fmt::format("has {} = {}; 1 to {} is possible.", name, value, kLargest));
    if (config.layers > 4096 || config.heads > 65536 || config.head_dim > 65536)
        return refuse(fmt::format("has {} layers, {} heads of size {}, more than any real model.", config.layers,
                                  config.heads, config.head_dim));
    if (config.window < 0 || config.window > kLargest)
        return refuse(fmt::format("has a window of {} positions; up to {} is possible.", config.window, kLargest));
    if (config.context < 1 || config.context > kLargest)
        return refuse(fmt::format("has {} positions; 1 to {} is possible.", config.context, kLargest));
    if (config.heads % config.kv_heads != 0)
        return refuse(fmt::format("has {} query heads, not a multiple of its {} key-value heads.", config.heads,
                                  config.kv_heads));
    if (!config.learned_positions() && config.head_dim % 2 != 0)
        return refuse(fmt::format("has heads of size {}; rotary positions need an even size.", config.head_dim));
    if (!config.learned_positions() && !(config.rope_theta > 0 && std::isfinite(config.rope_theta)))
        return refuse(fmt::format("has rope_theta = {}; a positive number is needed.", config.rope_theta));
    if (config.window == 0 && std::find(config.local_layers.begin(), config.local_layers.end(), true) !=
                                  config.local_layers.end())
        return refuse("has layers that attend to a window, and no window.");
    if (const std::string wrong = wrong_scale(config); !wrong.empty()) return refuse(wrong);
    if (!(config.norm_epsilon >= 0 && config.norm_epsilon < 1))
        return refuse(fmt::format("has a norm epsilon of {}; 0 to 1 is possible.", config.norm_epsilon));
    return {};
}

Result<std::vector<std::int64_t>> read_end_ids(std::string_view json, const std::string& file) {
    JsonLimits limits;
    limits.values = 100'000;
    auto root = parse_json(json, file, limits);
    if (!root) return root.error();
    Fields fields(*root, file);
    std::vector<std::int64_t> ids = token_ids(fields, *root, "eos_token_id");
    DS_RETURN_IF_ERROR(fields.status());
    return ids;
}

Result<ConfigFile> read_config(std::string_view json, const std::string& file, const std::string& model_name) {
    JsonLimits limits;
    limits.values = 100'000;
    auto root = parse_json(json, file, limits);
    if (!root) return root.error();
    Fields fields(*root, file);
    if (!root->is_object()) fields.fail(ErrorKind::Model, "the file is no JSON object.");
    ConfigFile out;
    out.config.name = model_name;
    const std::string type = model_type_of(*root);
    const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.type == type; });
    if (kind != kKinds.end()) {
        check_architecture(fields, *root, type, kind->class_name);
        kind->read(fields, out.config);
    } else {
        check_architecture(fields, *root, type, "");
        fields.fail(ErrorKind::Unsupported, type.empty()
                                                ? "\"model_type\" is missing."
                                                : fmt::format("the model_type \"{}\" is not supported.", type));
    }
    out.config.vocabulary = fields.integer("vocab_size");
    const auto first = token_ids(fields, *root, "bos_token_id");
    if (!first.empty()) out.bos_token_id = first.front();
    out.eos_token_ids = token_ids(fields, *root, "eos_token_id");
    DS_RETURN_IF_ERROR(fields.status());
    DS_RETURN_IF_ERROR(validate(out.config));
    return out;
}

}  // namespace decodescope
