#include "engine/model/config_reader.h"

#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/support/json_value.h"

namespace decodescope {
namespace {

constexpr const char* kHint = "LLaMA and GPT-2 models in the Hugging Face layout are supported.";

// Reads fields of one object; the first problem is kept and later reads give defaults.
class Fields {
public:
    Fields(const JsonValue& root, std::string file) : root_(root), file_(std::move(file)) {}

    const Status& status() const { return status_; }
    void fail(ErrorKind kind, const std::string& message) {
        if (status_.ok()) status_ = make_error(kind, fmt::format("{}: {}", file_, message), kHint);
    }

    // Null and absent are the same everywhere in these files.
    const JsonValue* present(std::string_view key) const {
        const JsonValue* value = root_.find(key);
        return value != nullptr && !value->is_null() ? value : nullptr;
    }

    std::optional<std::int64_t> optional_integer(std::string_view key) {
        const JsonValue* value = present(key);
        if (value == nullptr) return std::nullopt;
        if (value->is_integer()) return value->as_integer();
        fail(ErrorKind::Model, fmt::format("\"{}\" is {}, not a whole number.", key, value->described()));
        return std::nullopt;
    }

    std::int64_t integer(std::string_view key) {
        if (present(key) == nullptr) fail(ErrorKind::Model, fmt::format("\"{}\" is missing.", key));
        return optional_integer(key).value_or(0);
    }

    double number(std::string_view key, double fallback) {
        const JsonValue* value = present(key);
        if (value == nullptr) return fallback;
        if (value->is_number()) return value->as_number();
        fail(ErrorKind::Model, fmt::format("\"{}\" is {}, not a number.", key, value->described()));
        return fallback;
    }

    bool boolean(std::string_view key, bool fallback) {
        const JsonValue* value = present(key);
        if (value == nullptr) return fallback;
        if (value->is_boolean()) return value->as_boolean();
        fail(ErrorKind::Model, fmt::format("\"{}\" is {}, not true or false.", key, value->described()));
        return fallback;
    }

    // Only these values of a text option are implemented; absent counts as the first.
    void only(std::string_view key, std::initializer_list<std::string_view> allowed) {
        const JsonValue* value = present(key);
        if (value == nullptr) return;
        for (std::string_view text : allowed)
            if (value->is_string() && value->as_string() == text) return;
        fail(ErrorKind::Unsupported, fmt::format("\"{}\": {} is not supported, only \"{}\".", key, value->described(),
                                                 *allowed.begin()));
    }

    void only_boolean(std::string_view key, bool allowed) {
        if (boolean(key, allowed) != allowed)
            fail(ErrorKind::Unsupported, fmt::format("\"{}\": {} is not supported.", key, !allowed));
    }

    // An option that must be absent, null, or false.
    void absent(std::string_view key) {
        const JsonValue* value = present(key);
        if (value != nullptr && !(value->is_boolean() && !value->as_boolean()))
            fail(ErrorKind::Unsupported, fmt::format("\"{}\": {} is not supported.", key, value->described()));
    }

private:
    const JsonValue& root_;
    std::string file_;
    Status status_;
};

// "rope_scaling" or "rope_parameters": only the plain kind is implemented. Gives theta where the object has it.
void read_rope_object(Fields& fields, std::string_view key, double& theta) {
    const JsonValue* object = fields.present(key);
    if (object == nullptr) return;
    if (!object->is_object())
        return fields.fail(ErrorKind::Model, fmt::format("\"{}\" is {}, not an object.", key, object->described()));
    const JsonValue* type = object->find("rope_type");
    if (type == nullptr) type = object->find("type");
    const bool plain = key == "rope_parameters" && type == nullptr;
    if (!plain && (type == nullptr || !type->is_string() || type->as_string() != "default"))
        return fields.fail(ErrorKind::Unsupported,
                           fmt::format("\"{}\" of type {} is not supported.", key,
                                       type == nullptr ? "(none given)" : type->described()));
    const JsonValue* value = object->find("rope_theta");
    if (value == nullptr) return;
    if (!value->is_number()) return fields.fail(ErrorKind::Model, "\"rope_theta\" is not a number.");
    theta = value->as_number();
}

void read_llama(Fields& fields, ModelConfig& config) {
    config.family = Family::Llama;
    config.layers = fields.integer("num_hidden_layers");
    config.hidden = fields.integer("hidden_size");
    config.heads = fields.integer("num_attention_heads");
    config.kv_heads = fields.optional_integer("num_key_value_heads").value_or(config.heads);
    config.feed_forward = fields.integer("intermediate_size");
    config.context = fields.optional_integer("max_position_embeddings").value_or(2048);
    config.norm_epsilon = static_cast<float>(fields.number("rms_norm_eps", 1e-6));
    config.tied_head = fields.boolean("tie_word_embeddings", false);
    double theta = fields.number("rope_theta", 10000.0);
    read_rope_object(fields, "rope_scaling", theta);
    read_rope_object(fields, "rope_parameters", theta);
    config.rope_theta = static_cast<float>(theta);
    if (const auto head_dim = fields.optional_integer("head_dim")) {
        config.head_dim = *head_dim;
    } else if (config.heads > 0 && config.hidden % config.heads == 0) {
        config.head_dim = config.hidden / config.heads;
    } else {
        fields.fail(ErrorKind::Model, fmt::format("\"hidden_size\" {} is no multiple of \"num_attention_heads\" {}.",
                                                  config.hidden, config.heads));
    }
    fields.only("hidden_act", {"silu", "swish"});
    for (const char* key : {"attention_bias", "mlp_bias", "use_sliding_window"}) fields.only_boolean(key, false);
    for (const char* key : {"sliding_window", "num_local_experts", "quantization_config", "layer_types"})
        fields.absent(key);
    if (fields.number("partial_rotary_factor", 1.0) != 1.0)
        fields.fail(ErrorKind::Unsupported, "\"partial_rotary_factor\" other than 1 is not supported.");
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
    if (name == "LlamaForCausalLM") return "llama";
    if (name == "GPT2LMHeadModel") return "gpt2";
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
        return make_error(ErrorKind::Model, fmt::format("The model \"{}\" {}", config.name, what), kHint);
    };
    for (const auto& [name, value] : sizes)
        if (value < 1 || value > kLargest)
            return refuse(fmt::format("has {} = {}; 1 to {} is possible.", name, value, kLargest));
    if (config.layers > 4096 || config.heads > 65536 || config.head_dim > 65536)
        return refuse(fmt::format("has {} layers, {} heads of size {}, more than any real model.", config.layers,
                                  config.heads, config.head_dim));
    if (config.context < 1 || config.context > kLargest)
        return refuse(fmt::format("has {} positions; 1 to {} is possible.", config.context, kLargest));
    if (config.heads % config.kv_heads != 0)
        return refuse(fmt::format("has {} query heads, not a multiple of its {} key-value heads.", config.heads,
                                  config.kv_heads));
    if (config.family == Family::Llama && config.head_dim % 2 != 0)
        return refuse(fmt::format("has heads of size {}; rotary positions need an even size.", config.head_dim));
    if (config.family == Family::Llama && !(config.rope_theta > 0 && std::isfinite(config.rope_theta)))
        return refuse(fmt::format("has rope_theta = {}; a positive number is needed.", config.rope_theta));
    if (!(config.norm_epsilon >= 0 && config.norm_epsilon < 1))
        return refuse(fmt::format("has a norm epsilon of {}; 0 to 1 is possible.", config.norm_epsilon));
    return {};
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
    if (type == "llama") {
        check_architecture(fields, *root, type, "LlamaForCausalLM");
        read_llama(fields, out.config);
    } else if (type == "gpt2") {
        check_architecture(fields, *root, type, "GPT2LMHeadModel");
        read_gpt2(fields, out.config);
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
