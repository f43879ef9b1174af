#include "engine/text/load_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "engine/support/file.h"
#include "engine/support/json_value.h"

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
        const JsonValue* add_bos = root->find("add_bos_token");
        if (two_files && add_bos != nullptr) parts.adds_bos = add_bos->as_boolean();
        const JsonValue* prefix = root->find("add_prefix_space");
        if (two_files && prefix != nullptr && prefix->as_boolean())
            for (SplitStep& step : parts.steps) step.prefix = std::string(1, ' ');
    } else if (two_files) {
        bos = eos = std::string(kGpt2Special);
    }
    if (!parts.bos && !bos.empty()) parts.bos = id_of(parts, bos);
    if (!parts.eos && !eos.empty()) parts.eos = id_of(parts, eos);
    if (!two_files) return {};
    // The two-file form marks no token as special; those named as such are.
    for (const std::string& name : {bos, eos}) {
        const auto id = id_of(parts, name);
        const bool known =
            std::any_of(parts.added.begin(), parts.added.end(), [&](const AddedToken& t) { return t.text == name; });
        if (id && !known) parts.added.push_back({*id, name, true});
    }
    return {};
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
        return make_error(ErrorKind::File,
                          fmt::format("{} has neither tokenizer.json nor vocab.json with merges.txt.", folder),
                          "Give the folder of a Hugging Face model with its tokenizer.");
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
