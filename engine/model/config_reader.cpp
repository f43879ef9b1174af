#include "engine/model/config_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/model/config_fields.h"
#include "engine/support/json_value.h"

namespace decodescope {
namespace {

// A number of an object that must be there.
double number_in(Fields& fields, const JsonValue& object, std::string_view where, std::string_view key) {
    const JsonValue* value = object.find(key);
    if (value != nullptr && value->is_number() && value->as_number() > 0 && std::isfinite(value->as_number()))
        return value->as_number();
    fields.fail(ErrorKind::Model, fmt::format("\"{}\" has {} as \"{}\"; a positive number is needed.", where,
                                              value == nullptr ? "nothing" : value->described(), key));
    return 1.0;
}

// LLaMA 3's: wavelengths beyond what the model was first trained on are stretched by `factor`, short ones are kept, and
// those between change from one to the other.
void set_llama3_divisors(Fields& fields, const JsonValue& object, std::string_view key, ModelConfig& config,
                         double theta, std::int64_t rotary) {
    const double factor = number_in(fields, object, key, "factor");
    const double low = number_in(fields, object, key, "low_freq_factor");
    const double high = number_in(fields, object, key, "high_freq_factor");
    const double trained = number_in(fields, object, key, "original_max_position_embeddings");
    if (!(high > low))
        return fields.fail(ErrorKind::Model,
                           fmt::format("\"{}\": \"high_freq_factor\" is not above the low one.", key));
    for (std::int64_t i = 0; i < rotary / 2; ++i) {
        const double wavelength = 2 * 3.14159265358979323846 *
                                  std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(rotary));
        double divisor = wavelength > trained / low ? factor : 1.0;
        if (wavelength <= trained / low && wavelength >= trained / high) {
            const double smooth = (trained / wavelength - low) / (high - low);
            divisor = 1.0 / ((1.0 - smooth) / factor + smooth);
        }
        config.rope_divisors.push_back(static_cast<float>(divisor));
    }
}

// "rope_scaling" or "rope_parameters": the plain kind, linear and llama3. Gives theta where the object has it.
void read_rope_object(Fields& fields, std::string_view key, ModelConfig& config, double& theta) {
    const JsonValue* object = fields.present(key);
    if (object == nullptr) return;
    if (!object->is_object())
        return fields.fail(ErrorKind::Model, fmt::format("\"{}\" is {}, not an object.", key, object->described()));
    if (const JsonValue* value = object->find("rope_theta")) {
        if (!value->is_number()) return fields.fail(ErrorKind::Model, "\"rope_theta\" is not a number.");
        theta = value->as_number();
    }
    const JsonValue* type = object->find("rope_type");
    if (type == nullptr) type = object->find("type");
    const bool plain = key == "rope_parameters" && type == nullptr;
    if (plain || (type != nullptr && type->as_string() == "default")) return;
    const std::int64_t rotary =
        std::clamp<std::int64_t>(config.rotary_dim > 0 ? config.rotary_dim : config.head_dim, 0, 65536);
    if (type != nullptr && type->as_string() == "linear") {
        config.rope_divisors.assign(static_cast<std::size_t>(rotary / 2),
                                    static_cast<float>(number_in(fields, *object, key, "factor")));
        return;
    }
    if (type != nullptr && type->as_string() == "llama3")
        return set_llama3_divisors(fields, *object, key, config, theta, rotary);
    fields.fail(ErrorKind::Unsupported, fmt::format("\"{}\" of type {} is not supported.", key,
                                                    type == nullptr ? "(none given)" : type->described()));
}

void read_rope(Fields& fields, ModelConfig& config) {
    double theta = fields.number("rope_theta", 10000.0);
    read_rope_object(fields, "rope_scaling", config, theta);
    read_rope_object(fields, "rope_parameters", config, theta);
    config.rope_theta = static_cast<float>(theta);
}

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
    read_rope(fields, config);
    for (const char* key : {"num_local_experts", "num_experts", "quantization_config"}) fields.absent(key);
    if (fields.number("partial_rotary_factor", 1.0) != 1.0)
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
    const double part = fields.number("rotary_pct", fields.number("partial_rotary_factor", 0.25));
    const auto rotary = static_cast<std::int64_t>(static_cast<double>(config.head_dim) * part);
    if (!(part > 0 && part <= 1) || rotary < 2 || rotary % 2 != 0)
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
    config.rope_theta = static_cast<float>(fields.number("rope_theta", 1000000.0));
    config.local_rope_theta = static_cast<float>(fields.number("rope_local_base_freq", 10000.0));
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
    config.feed_forward = fields.optional_integer("n_inner").value_or(4 * config.hidden);
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
