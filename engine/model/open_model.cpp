#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "engine/model/bind_weights.h"
#include "engine/model/config_reader.h"
#include "engine/model/gguf.h"
#include "engine/model/gguf_config.h"
#include "engine/model/gguf_weights.h"
#include "engine/model/model.h"
#include "engine/model/model_card.h"
#include "engine/model/prepare_tensors.h"
#include "engine/model/synthetic.h"
#include "engine/model/tensor_set.h"
#include "engine/support/file.h"
#include "engine/support/hash.h"
#include "engine/support/json_value.h"
#include "engine/support/numbers.h"
#include "engine/text/embedded_vocabulary.h"
#include "engine/text/load_tokenizer.h"
#include "engine/text/syllable_tokenizer.h"

namespace decodescope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSyntheticPrefix = "synthetic:";
constexpr std::int64_t kConfigLimit = 4 << 20, kTokenizerConfigLimit = 64 << 20;  // bytes

std::string identity_of(const ModelConfig& c, const std::string& weights_fingerprint, const Tokenizer& tokenizer) {
    Hasher hasher;
    for (const std::int64_t value :
         {static_cast<std::int64_t>(c.family), c.layers, c.hidden, c.heads, c.kv_heads, c.head_dim, c.feed_forward,
          c.vocabulary, c.context, static_cast<std::int64_t>(c.tied_head)})
        hasher.add_integer(static_cast<std::uint64_t>(value));
    hasher.add_text(format_number(c.norm_epsilon));
    hasher.add_text(format_number(c.rope_theta));
    for (const std::int64_t value : {c.rotary_dim, c.window, static_cast<std::int64_t>(c.parallel_blocks)})
        hasher.add_integer(static_cast<std::uint64_t>(value));
    for (const bool local : c.local_layers) hasher.add_integer(local ? 1 : 0);
    for (const float number : {c.local_rope_theta, c.query_scale, c.embedding_scale})
        hasher.add_text(format_number(number));
    for (const float divisor : c.rope_divisors) hasher.add_text(format_number(divisor));
    hasher.add_text(weights_fingerprint);
    hasher.add_text(tokenizer.fingerprint());
    return hasher.text();
}

Status take_weights(Model& model, const TensorSet& set) {
    auto bound = bind_weights(model.config, set);
    if (!bound) return bound.error();
    model.config.file_type = bound->file_type;
    model.weights = std::move(bound->table);
    model.index = std::move(bound->index);
    model.identity = identity_of(model.config, set.fingerprint, *model.tokenizer);
    return {};
}

std::int64_t available_memory(const OpenOptions& options) {
    return options.available_memory_bytes > 0 ? options.available_memory_bytes : available_memory_bytes();
}

Result<ModelPtr> open_synthetic(const std::string& spec, const OpenOptions& options, const ProgressFn& progress,
                                std::stop_token stop) {
    auto config = synthetic_config(std::string_view(spec).substr(kSyntheticPrefix.size()));
    if (!config) return config.error();
    // Once as generated, once in the layout of the backend.
    const std::int64_t weights = synthetic_weight_bytes(*config);
    const std::int64_t needed = 2 * weights;
    const std::int64_t available = available_memory(options);
    if (available > 0 && needed > available)
        return make_error(
            ErrorKind::Memory,
            fmt::format("{} needs {} ({} bytes: its weights as made and as the backend keeps them); {} ({} bytes) "
                        "are available.",
                        spec, format_bytes(needed), needed, format_bytes(available), available),
            "Close other programs or take a smaller model.");
    auto model = std::make_shared<Model>();
    model->source = spec;
    model->config = *config;
    model->meaningless_text = true;
    model->tokenizer = std::make_shared<SyllableTokenizer>(static_cast<std::int32_t>(config->vocabulary));
    model->sampled_vocabulary = config->vocabulary;
    model->presets = general_presets();
    auto set = synthetic_weights(*config, progress, stop);
    if (!set) return set.error();
    DS_RETURN_IF_ERROR(take_weights(*model, *set));
    return ModelPtr(model);
}

// Plain text must never give an id beyond the embedding's rows; special tokens there (Gemma's of images) are refused
// when they are fed. Rows without a token are padding that must never be sampled.
Status check_tokenizer(Model& model, const std::string& source, const std::vector<std::int64_t>& end_ids) {
    const std::int64_t size = model.tokenizer->size();
    for (std::int64_t id = model.config.vocabulary; id < size; ++id)
        if (!model.tokenizer->is_special(static_cast<std::int32_t>(id)))
            return make_error(ErrorKind::Model,
                              fmt::format("{}: the tokenizer has ids up to {}, the embedding {} rows.", source,
                                          size - 1, model.config.vocabulary),
                              "The tokenizer and the weights do not belong together.");
    model.sampled_vocabulary = std::min(size, model.config.vocabulary);
    // Ids beyond the tokenizer can never be met.
    std::vector<std::int32_t>& ends = model.config.end_tokens;
    for (const std::int64_t id : end_ids) {
        const bool met = id >= 0 && id < model.sampled_vocabulary;
        if (met && std::find(ends.begin(), ends.end(), id) == ends.end()) ends.push_back(static_cast<std::int32_t>(id));
    }
    if (const auto eos = model.tokenizer->eos(); eos && ends.empty()) ends.push_back(*eos);
    return {};
}

Status take_tokenizer(Model& model, const std::string& folder, const ConfigFile& file) {
    TokenIds ids;
    ids.bos = file.bos_token_id;
    if (!file.eos_token_ids.empty()) ids.eos = file.eos_token_ids.front();
    auto tokenizer = load_tokenizer(folder, ids);
    if (!tokenizer) return tokenizer.error();
    model.tokenizer = *tokenizer;
    return check_tokenizer(model, folder, file.eos_token_ids);
}

// Ends that only generation_config.json names are ends as well.
Status add_generation_ends(const std::string& folder, ConfigFile& file) {
    const std::string path = (fs::path(folder) / "generation_config.json").string();
    if (!file_exists(path)) return {};
    auto text = read_file(path, kConfigLimit);
    if (!text) return text.error();
    const auto ids = read_end_ids(*text, path);
    if (!ids) return ids.error();
    file.eos_token_ids.insert(file.eos_token_ids.end(), ids->begin(), ids->end());
    return {};
}

// tokenizer_config.json, which the tokenizer has been read from already, or a file of its own.
bool has_chat_template(const std::string& folder) {
    for (const char* name : {"chat_template.jinja", "chat_template.json"})
        if (file_exists((fs::path(folder) / name).string())) return true;
    const std::string path = (fs::path(folder) / "tokenizer_config.json").string();
    if (!file_exists(path)) return false;
    const auto text = read_file(path, kTokenizerConfigLimit);
    if (!text) return false;
    const auto root = parse_json(*text, path);
    if (!root || !root->is_object()) return false;
    const JsonValue* value = root->find("chat_template");
    return value != nullptr && (!value->as_string().empty() || (value->is_array() && !value->items().empty()));
}

// With `prepare.count_only` only the config of the model may be used.
Result<ModelPtr> open_folder(const std::string& spec, const std::string& folder, const std::string& name,
                             const PrepareOptions& prepare) {
    const std::string config_path = (fs::path(folder) / "config.json").string();
    auto text = read_file(config_path, kConfigLimit);
    if (!text) return text.error();
    auto file = read_config(*text, config_path, name);
    if (!file) return file.error();
    DS_RETURN_IF_ERROR(add_generation_ends(folder, *file));
    auto model = std::make_shared<Model>();
    model->source = spec;
    model->config = file->config;
    DS_RETURN_IF_ERROR(take_tokenizer(*model, folder, *file));
    model->config.chat_template = has_chat_template(folder);
    auto set = open_weights(folder);
    if (!set) return set.error();
    const auto copied = prepare_tensors(model->config, *set, prepare);
    if (!copied) return copied.error();
    DS_RETURN_IF_ERROR(take_weights(*model, *set));
    auto roles = read_head_roles(folder, model->config);
    if (!roles) return roles.error();
    model->head_roles = std::move(*roles);
    model->config.widened_bytes = *copied;
    auto presets = read_presets(folder);
    if (!presets) return presets.error();
    model->presets = std::move(*presets);
    return ModelPtr(model);
}

// Ends of a text: of the whole, and of a turn where the file names one.
std::vector<std::int64_t> gguf_end_ids(const GgufHeader& header) {
    std::vector<std::int64_t> ids;
    for (const char* key :
         {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
        const auto found = header.metadata.find(key);
        if (found == header.metadata.end()) continue;
        if (const auto* id = std::get_if<std::int64_t>(&found->second.value)) ids.push_back(*id);
    }
    return ids;
}

// With GgufMemory::CountOnly the model has no data where they would have to be widened: only its config may be used.
Result<ModelPtr> open_gguf(const std::string& path, const OpenOptions& options, GgufMemory memory,
                           const ProgressFn& progress, std::stop_token stop) {
    auto file = FileMap::open(path);
    if (!file) return file.error();
    const auto header = read_gguf((*file)->bytes(), path);
    if (!header) return header.error();
    auto config = read_gguf_config(*header, (*file)->bytes(), path, fs::path(path).stem().string());
    if (!config) return config.error();
    auto vocabulary = read_gguf_vocabulary(*header, path);
    if (!vocabulary) return vocabulary.error();
    auto tokenizer = make_embedded_tokenizer(std::move(*vocabulary), path);
    if (!tokenizer) return tokenizer.error();
    auto model = std::make_shared<Model>();
    model->source = path;
    model->config = std::move(*config);
    model->tokenizer = *tokenizer;
    model->presets = general_presets();
    model->config.chat_template = header->metadata.count("tokenizer.chat_template") > 0;
    DS_RETURN_IF_ERROR(check_tokenizer(*model, path, gguf_end_ids(*header)));
    const std::int64_t available = available_memory(options);
    auto weights = gguf_weights(*header, *file, model->config, memory, available, progress, stop);
    if (!weights) return weights.error();
    DS_RETURN_IF_ERROR(take_weights(*model, weights->set));
    model->config.widened_bytes = weights->widened_bytes;
    if (weights->stored_as != "F32" && weights->stored_as != "F16" && weights->stored_as != "BF16")
        model->config.stored_as = weights->stored_as;
    if (!model->config.stored_as.empty()) model->config.kept_bytes = weights->kept_bytes;
    return ModelPtr(model);
}

std::string bundled_folder(const OpenOptions& options) {
    const std::string resources = options.resource_folder.empty() ? find_resources() : options.resource_folder;
    return resources.empty() ? std::string() : (fs::path(resources) / "model" / "bundled").string();
}

// By its first bytes: names say little.
bool is_gguf(const std::string& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return false;
    std::ifstream in(path, std::ios::binary);
    char magic[4] = {};
    in.read(magic, sizeof magic);
    return in && std::string_view(magic, sizeof magic) == "GGUF";
}

std::string folder_name(const std::string& path) {
    fs::path clean = fs::path(path).lexically_normal();
    if (!clean.has_filename()) clean = clean.parent_path();
    return clean.filename().string();
}

}  // namespace

Result<ModelPtr> open_model(const std::string& spec, const OpenOptions& options, const ProgressFn& progress,
                            std::stop_token stop) {
    if (spec == "bundled") {
        const std::string folder = bundled_folder(options);
        if (folder.empty())
            return make_error(ErrorKind::File, "The folder with the bundled model was not found.",
                              "Set DECODESCOPE_RESOURCES to the program's resources folder.");
        return open_folder(spec, folder, "bundled", {});
    }
    if (spec.rfind(kSyntheticPrefix, 0) == 0) return open_synthetic(spec, options, progress, stop);
    std::error_code error;
    const fs::file_status status = fs::status(fs::path(spec), error);
    if (fs::is_directory(status)) return open_folder(spec, spec, folder_name(spec), {false, available_memory(options), stop});
    if (!fs::exists(status))
        return make_error(ErrorKind::File, fmt::format("There is no model \"{}\".", spec),
                          "Give bundled, synthetic:NAME, the folder of a Hugging Face model or a GGUF file.");
    if (is_gguf(spec)) return open_gguf(spec, options, GgufMemory::Widen, progress, stop);
    return make_error(ErrorKind::Unsupported, fmt::format("{} is a file, and no GGUF file.", spec),
                      "Give a GGUF file, or the folder with config.json and model.safetensors.");
}

Result<ModelConfig> describe_model(const std::string& spec, const OpenOptions& options) {
    if (spec.rfind(kSyntheticPrefix, 0) == 0) {
        auto config = synthetic_config(std::string_view(spec).substr(kSyntheticPrefix.size()));
        if (config) config->file_type = ElementType::F16;
        return config;
    }
    if (is_gguf(spec)) {
        auto model = open_gguf(spec, options, GgufMemory::CountOnly, {}, {});
        if (!model) return model.error();
        return (*model)->config;
    }
    std::error_code error;
    // A folder's tensors are mapped: opening it costs little, and what it says is then checked against them.
    auto model = fs::is_directory(fs::path(spec), error) ? open_folder(spec, spec, folder_name(spec), {true, 0, {}})
                                                         : open_model(spec, options, {}, {});
    if (!model) return model.error();
    return (*model)->config;
}

std::vector<ModelInfo> known_models() {
    std::vector<ModelInfo> out = {
        {"bundled", "Bundled model", "a small LLaMA that writes short stories in English and Chinese"}};
    for (ModelInfo& info : synthetic_models()) out.push_back(std::move(info));
    return out;
}

}  // namespace decodescope
