// tokenizer.json of the Hugging Face tokenizers library -> ByteBpeParts.
#include <limits>

#include <fmt/format.h>

#include "engine/support/json_value.h"
#include "engine/text/load_tokenizer.h"

namespace decodescope {
namespace {

class Reader {
public:
    explicit Reader(std::string file) : file_(std::move(file)) {}

    Status read(const JsonValue& root) {
        if (!root.is_object()) return refuse("the file is no JSON object.");
        DS_RETURN_IF_ERROR(normalizer(root.find("normalizer")));
        DS_RETURN_IF_ERROR(model(root.find("model")));
        DS_RETURN_IF_ERROR(added_tokens(root.find("added_tokens")));
        DS_RETURN_IF_ERROR(pre_tokenizer(root.find("pre_tokenizer")));
        if (!byte_level_) return unsupported("pre_tokenizer without ByteLevel");
        DS_RETURN_IF_ERROR(decoder(root.find("decoder")));
        return post_processor(root.find("post_processor"));
    }
    ByteBpeParts& parts() { return parts_; }

private:
    Error refuse(const std::string& reason) const {
        return make_error(ErrorKind::Model, fmt::format("{}: {}", file_, reason),
                          "The tokenizer is damaged or of another kind.");
    }
    Error unsupported(const std::string& what) const {
        return make_error(ErrorKind::Unsupported, fmt::format("{}: {} is not supported.", file_, what),
                          "Byte-level BPE tokenizers, as of GPT-2 and LLaMA 3, are supported.");
    }
    static bool absent(const JsonValue* value) { return value == nullptr || value->is_null(); }
    static bool flag(const JsonValue& object, std::string_view key, bool fallback) {
        const JsonValue* value = object.find(key);
        return value != nullptr && value->is_boolean() ? value->as_boolean() : fallback;
    }
    static std::string text(const JsonValue& object, std::string_view key) {
        const JsonValue* value = object.find(key);
        return value != nullptr ? value->as_string() : std::string();
    }
    // The members of a "Sequence", or the value itself.
    static std::vector<const JsonValue*> sequence(const JsonValue& value, std::string_view key) {
        std::vector<const JsonValue*> out;
        const JsonValue* list = text(value, "type") == "Sequence" ? value.find(key) : nullptr;
        if (list == nullptr) return {&value};
        for (const JsonValue& item : list->items()) out.push_back(&item);
        return out;
    }

    Status normalizer(const JsonValue* value) {
        if (absent(value)) return {};
        for (const JsonValue* item : sequence(*value, "normalizers"))
            return unsupported(fmt::format("normalizer \"{}\"", text(*item, "type")));
        return {};
    }

    Status model(const JsonValue* value) {
        if (absent(value) || !value->is_object()) return refuse("\"model\" is missing.");
        const JsonValue* type = value->find("type");
        if (!absent(type) && type->as_string() != "BPE") return unsupported(fmt::format("model {}", type->described()));
        for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix", "unk_token"})
            if (!text(*value, key).empty())
                return unsupported(fmt::format("model option {} \"{}\"", key, text(*value, key)));
        if (flag(*value, "byte_fallback", false)) return unsupported("model option byte_fallback");
        if (const JsonValue* dropout = value->find("dropout"); !absent(dropout) && dropout->as_number() != 0.0)
            return unsupported("model option dropout");
        parts_.ignore_merges = flag(*value, "ignore_merges", false);
        DS_RETURN_IF_ERROR(vocabulary(value->find("vocab")));
        return merges(value->find("merges"));
    }

    Status vocabulary(const JsonValue* value) {
        if (absent(value) || !value->is_object()) return refuse("\"vocab\" is missing or no object.");
        parts_.vocabulary.reserve(value->members().size());
        for (const auto& [token, id] : value->members()) {
            if (!is_id(&id)) return refuse(fmt::format("the id of \"{}\" is {}.", token, id.described()));
            parts_.vocabulary.emplace_back(token, static_cast<std::int32_t>(id.as_integer()));
        }
        return {};
    }

    static bool is_id(const JsonValue* value) {
        return value != nullptr && value->is_integer() && value->as_integer() >= 0 &&
               value->as_integer() <= std::numeric_limits<std::int32_t>::max();
    }

    // Pairs are written "a b" by older versions and ["a", "b"] by newer ones.
    Status merges(const JsonValue* value) {
        if (absent(value) || !value->is_array()) return refuse("\"merges\" is missing or no list.");
        parts_.merges.reserve(value->items().size());
        for (const JsonValue& item : value->items()) {
            if (item.is_array() && item.items().size() == 2 && item.items()[0].is_string() &&
                item.items()[1].is_string()) {
                parts_.merges.emplace_back(item.items()[0].as_string(), item.items()[1].as_string());
                continue;
            }
            const std::string& line = item.as_string();
            const std::size_t space = line.find(' ');
            if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos)
                return refuse(fmt::format("merge {} is {}, no pair.", parts_.merges.size() + 1, item.described()));
            parts_.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
        }
        return {};
    }

    Status added_tokens(const JsonValue* value) {
        if (absent(value)) return {};
        for (const JsonValue& item : value->items()) {
            const JsonValue* id = item.find("id");
            if (!is_id(id) || text(item, "content").empty()) return refuse("an added token has no id or no content.");
            for (const char* key : {"single_word", "lstrip", "rstrip"})
                if (flag(item, key, false))
                    return unsupported(fmt::format("option {} of the added token \"{}\"", key, text(item, "content")));
            parts_.added.push_back({static_cast<std::int32_t>(id->as_integer()), text(item, "content"),
                                    flag(item, "special", false)});
        }
        return {};
    }

    Status pre_tokenizer(const JsonValue* value) {
        if (absent(value)) return {};
        for (const JsonValue* item : sequence(*value, "pretokenizers")) {
            const std::string type = text(*item, "type");
            // Behind ByteLevel the characters are stand-ins, where a pattern would mean something else.
            if (byte_level_) return unsupported(fmt::format("pre_tokenizer \"{}\" behind ByteLevel", type));
            if (type == "ByteLevel") {
                byte_level_ = true;
                SplitStep step;
                if (flag(*item, "use_regex", true)) step.pattern = kGpt2Pattern;
                step.prefix_space = flag(*item, "add_prefix_space", true);
                parts_.steps.push_back(std::move(step));
            } else if (type == "Split") {
                DS_RETURN_IF_ERROR(split(*item));
            } else if (type == "Digits") {
                SplitStep step;
                step.pattern = "\\p{N}";
                step.behavior =
                    flag(*item, "individual_digits", false) ? SplitBehavior::Isolated : SplitBehavior::Contiguous;
                parts_.steps.push_back(std::move(step));
            } else {
                return unsupported(fmt::format("pre_tokenizer \"{}\"", type));
            }
        }
        return {};
    }

    Status split(const JsonValue& item) {
        SplitStep step;
        const JsonValue* pattern = item.find("pattern");
        const JsonValue* regex = pattern != nullptr ? pattern->find("Regex") : nullptr;
        const JsonValue* string = pattern != nullptr ? pattern->find("String") : nullptr;
        step.literal = regex == nullptr;
        const JsonValue* written = regex != nullptr ? regex : string;
        if (written == nullptr || written->as_string().empty()) return refuse("a Split has no pattern.");
        step.pattern = written->as_string();
        step.invert = flag(item, "invert", false);
        const std::string behavior = text(item, "behavior");
        if (behavior == "Isolated") {
            step.behavior = SplitBehavior::Isolated;
        } else if (behavior == "Removed") {
            step.behavior = SplitBehavior::Removed;
        } else if (behavior == "MergedWithPrevious") {
            step.behavior = SplitBehavior::MergedWithPrevious;
        } else if (behavior == "Contiguous") {
            step.behavior = SplitBehavior::Contiguous;
        } else {
            return unsupported(fmt::format("Split behavior \"{}\"", behavior));
        }
        parts_.steps.push_back(std::move(step));
        return {};
    }

    Status decoder(const JsonValue* value) {
        if (absent(value)) return {};
        for (const JsonValue* item : sequence(*value, "decoders"))
            if (text(*item, "type") != "ByteLevel")
                return unsupported(fmt::format("decoder \"{}\"", text(*item, "type")));
        return {};
    }

    Status post_processor(const JsonValue* value) {
        if (absent(value)) return {};
        for (const JsonValue* item : sequence(*value, "processors")) {
            const std::string type = text(*item, "type");
            if (type == "ByteLevel") continue;  // moves offsets only
            if (type != "TemplateProcessing") return unsupported(fmt::format("post_processor \"{}\"", type));
            DS_RETURN_IF_ERROR(template_processing(*item));
        }
        return {};
    }

    // "single": at most one special token, in front of the text.
    Status template_processing(const JsonValue& item) {
        const JsonValue* single = item.find("single");
        if (absent(single) || !single->is_array()) return refuse("TemplateProcessing has no list \"single\".");
        bool text_seen = false;
        std::string name;
        for (const JsonValue& piece : single->items()) {
            if (piece.find("Sequence") != nullptr) {
                text_seen = true;
                continue;
            }
            const JsonValue* special = piece.find("SpecialToken");
            if (special == nullptr) return refuse("TemplateProcessing has a piece of an unknown kind.");
            if (text_seen)
                return unsupported(fmt::format("a template that adds \"{}\" behind the text", text(*special, "id")));
            if (!name.empty()) return unsupported("a template that adds two tokens before the text");
            name = text(*special, "id");
        }
        if (!text_seen) return refuse("TemplateProcessing has no place for the text.");
        return name.empty() ? Status() : use_bos(item, name);
    }

    // "special_tokens": {"<s>": {"id": "<s>", "ids": [1], ...}}
    Status use_bos(const JsonValue& item, const std::string& name) {
        const JsonValue* table = item.find("special_tokens");
        const JsonValue* entry = table != nullptr ? table->find(name) : nullptr;
        const JsonValue* ids = entry != nullptr ? entry->find("ids") : nullptr;
        if (ids == nullptr || ids->items().size() != 1 || !is_id(&ids->items()[0]))
            return refuse(fmt::format("TemplateProcessing has no id for \"{}\".", name));
        parts_.bos = static_cast<std::int32_t>(ids->items()[0].as_integer());
        parts_.adds_bos = true;
        return {};
    }

    std::string file_;
    ByteBpeParts parts_;
    bool byte_level_ = false;
};

}  // namespace

Result<ByteBpeParts> read_tokenizer_json(std::string_view json, const std::string& file) {
    auto root = parse_json(json, file);
    if (!root) return root.error();
    Reader reader(file);
    DS_RETURN_IF_ERROR(reader.read(*root));
    return std::move(reader.parts());
}

}  // namespace decodescope
