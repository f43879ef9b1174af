#include "engine/text/load_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "engine/support/file.h"
#include "engine/support/json_value.h"
#include "engine/text/pre_tokenizer_names.h"

namespace decodescope {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFileLimit = 256 << 20;  // bytes
constexpr std::string_view kGpt2Special = "<|endoftext|>";  // both BOS and EOS where no file says otherwise

Error refuse(const std::string& file, const std::string& reason) {
    return make_error(ErrorKind::Model, fmt::format("{}: {}", file, reason),
                      "The tokenizer is damaged or of another kind.");
}

std::optional<std::int32_t> as_id(std::int64_t value) {
    if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    return static_cast<std::int32_t>(value);
}

std::optional<std::int32_t> id_of(const BpeParts& parts, const std::string& text) {
    for (const AddedToken& token : parts.added)
        if (token.text == text) return token.id;
    for (const auto& [written, id] : parts.vocabulary)
        if (written == text) return id;
    return std::nullopt;
}

// "bos_token": "<s>" or {"content": "<s>", ...}; empty when absent.
std::string token_name(const JsonValue& root, std::string_view key) {
    const JsonValue* value = root.find(key);
    if (value != nullptr && value->is_object()) value = value->find("content");
    return value != nullptr ? value->as_string() : std::string();
}

// How a tokenizer of two files cuts text is known by its class alone.
Status use_class(const std::string& name, const std::string& path, BpeParts& parts) {
    if (name.empty() || name.rfind("GPT2Tokenizer", 0) == 0) return {};
    if (name.rfind("Qwen2Tokenizer", 0) != 0)
        return make_error(ErrorKind::Unsupported,
                          fmt::format("{}: tokenizer_class \"{}\" without a tokenizer.json is not supported.", path,
                                      name),
                          "Save the tokenizer with a recent version of transformers, which writes tokenizer.json.");
    parts.normalizer = {{NormalizerStep::Kind::Compose, {}, {}}};
    for (SplitStep& step : parts.steps) step.pattern = kQwen2Pattern;
    return {};
}

// "added_tokens_decoder": {"50256": {"content": "<|endoftext|>", "special": true, ...}}
Status read_added_tokens(const JsonValue* table, const std::string& path, BpeParts& parts) {
    if (table == nullptr) return {};
    for (const auto& [key, value] : table->members()) {
        std::int32_t id = -1;
        const auto read = std::from_chars(key.data(), key.data() + key.size(), id);
        const std::string content = token_name(value, "content");
        if (read.ec != std::errc() || read.ptr != key.data() + key.size() || id < 0 || content.empty())
            return refuse(path, fmt::format("the added token \"{}\" has no id or no content.", key));
        for (const char* option : {"single_word", "lstrip", "rstrip"})
            if (const JsonValue* on = value.find(option); on != nullptr && on->as_boolean())
                return make_error(ErrorKind::Unsupported,
                                  fmt::format("{}: option {} of the added token \"{}\" is not supported.", path,
                                              option, content));
        const JsonValue* special = value.find("special");
        const JsonValue* written = value.find("normalized");
        parts.added.push_back({id, content, special != nullptr && special->as_boolean(),
                               written != nullptr && written->as_boolean()});
    }
    return {};
}

// What tokenizer_config.json says of a tokenizer of two files.
Status read_two_file_config(const JsonValue& root, const std::string& path, BpeParts& parts) {
    DS_RETURN_IF_ERROR(use_class(token_name(root, "tokenizer_class"), path, parts));
    DS_RETURN_IF_ERROR(read_added_tokens(root.find("added_tokens_decoder"), path, parts));
    const JsonValue* add_bos = root.find("add_bos_token");
    if (add_bos != nullptr) parts.adds_bos = add_bos->as_boolean();
    const JsonValue* prefix = root.find("add_prefix_space");
    if (prefix != nullptr && prefix->as_boolean())
        for (SplitStep& step : parts.steps) step.prefix = std::string(1, ' ');
    return {};
}

// The names of the special tokens and, for the two-file form, whether BOS is added.
Status read_tokenizer_config(const std::string& folder, bool two_files, BpeParts& parts) {
    const std::string path = (fs::path(folder) / "tokenizer_config.json").string();
    std::string bos, eos;
    if (file_exists(path)) {
        auto text = read_file(path, kFileLimit);
        if (!text) return text.error();
        auto root = parse_json(*text, path);
        if (!root) return root.error();
        bos = token_name(*root, "bos_token");
        eos = token_name(*root, "eos_token");
        if (two_files) DS_RETURN_IF_ERROR(read_two_file_config(*root, path, parts));
    } else if (two_files) {
        bos = eos = std::string(kGpt2Special);
    }
    if (!parts.bos && !bos.empty()) parts.bos = id_of(parts, bos);
    if (!parts.eos && !eos.empty()) parts.eos = id_of(parts, eos);
    if (!two_files) return {};
    // The two-file form need not mark its special tokens; those named as such are.
    for (const std::string& name : {bos, eos}) {
        const auto id = id_of(parts, name);
        const bool known =
            std::any_of(parts.added.begin(), parts.added.end(), [&](const AddedToken& t) { return t.text == name; });
        if (id && !known) parts.added.push_back({*id, name, true});
    }
    return {};
}

// Neither form of a tokenizer is in the folder.
Error no_tokenizer(const std::string& folder, bool sentencepiece) {
    if (sentencepiece)
        return make_error(ErrorKind::Unsupported,
                          fmt::format("{}: tokenizer.model (SentencePiece) is not supported.", folder),
                          "Take a folder with tokenizer.json, which transformers writes when a fast tokenizer is "
                          "saved, or the model as a GGUF file.");
    return make_error(ErrorKind::File,
                      fmt::format("{} has neither tokenizer.json nor vocab.json with merges.txt.", folder),
                      "Give the folder of a Hugging Face model with its tokenizer.");
}

}  // namespace

Result<BpeParts> read_vocab_and_merges(std::string_view vocab_json, std::string_view merges_text,
                                           const std::string& file) {
    BpeParts parts;
    auto root = parse_json(vocab_json, file);
    if (!root) return root.error();
    if (!root->is_object()) return refuse(file, "vocab.json is no object.");
    for (const auto& [token, value] : root->members()) {
        const auto id = value.is_integer() ? as_id(value.as_integer()) : std::nullopt;
        if (!id) return refuse(file, fmt::format("the id of \"{}\" is {}.", token, value.described()));
        parts.vocabulary.emplace_back(token, *id);
    }
    std::int64_t number = 0;
    while (!merges_text.empty()) {
        ++number;
        const std::size_t end = merges_text.find('\n');
        std::string_view line = merges_text.substr(0, end);
        merges_text.remove_prefix(end == std::string_view::npos ? merges_text.size() : end + 1);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.empty() || (number == 1 && line.rfind("#version", 0) == 0)) continue;
        const std::size_t space = line.find(' ');
        const bool pair = space != std::string_view::npos && space > 0 && space + 1 < line.size() &&
                          line.find(' ', space + 1) == std::string_view::npos;
        if (!pair)
            return refuse(file, fmt::format("line {} of merges.txt, \"{}\", is no pair.", number, line.substr(0, 80)));
        parts.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
    parts.steps.push_back(gpt2_step());
    return parts;
}

Result<std::shared_ptr<const Tokenizer>> load_tokenizer(const std::string& folder, const TokenIds& ids) {
    const auto path = [&](const char* name) { return (fs::path(folder) / name).string(); };
    const bool one_file = file_exists(path("tokenizer.json"));
    if (!one_file && !(file_exists(path("vocab.json")) && file_exists(path("merges.txt"))))
        return no_tokenizer(folder, file_exists(path("tokenizer.model")));
    const std::string named = one_file ? path("tokenizer.json") : folder;
    Result<BpeParts> parts = BpeParts();
    if (one_file) {
        auto text = read_file(path("tokenizer.json"), kFileLimit);
        if (!text) return text.error();
        parts = read_tokenizer_json(*text, named);
    } else {
        auto vocabulary = read_file(path("vocab.json"), kFileLimit);
        if (!vocabulary) return vocabulary.error();
        auto merges = read_file(path("merges.txt"), kFileLimit);
        if (!merges) return merges.error();
        parts = read_vocab_and_merges(*vocabulary, *merges, named);
    }
    if (!parts) return parts.error();
    // The id that a template adds goes before what config.json says; it is the one that the text begins with.
    if (!parts->bos && ids.bos) parts->bos = as_id(*ids.bos);
    if (!parts->eos && ids.eos) parts->eos = as_id(*ids.eos);
    DS_RETURN_IF_ERROR(read_tokenizer_config(folder, !one_file, *parts));
    auto tokenizer = BpeTokenizer::make(std::move(*parts), named);
    if (!tokenizer) return tokenizer.error();
    return std::shared_ptr<const Tokenizer>(*tokenizer);
}

}  // namespace decodescope
