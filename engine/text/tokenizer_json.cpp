// tokenizer.json of the Hugging Face tokenizers library -> BpeParts.
#include <limits>

#include <fmt/format.h>

#include "engine/support/json_value.h"
#include "engine/text/load_tokenizer.h"
#include "engine/text/tokenizer_json_steps.h"

namespace decodescope {
namespace {

using namespace tokenizer_json;

class Reader {
public:
    explicit Reader(const TokenizerJsonFile& file) : file_(file) {}

    Status read(const JsonValue& root) {
        if (!root.is_object()) return refuse("the file is no JSON object.");
        DS_RETURN_IF_ERROR(read_normalizer(file_, root.find("normalizer"), parts_));
        DS_RETURN_IF_ERROR(read_pre_tokenizer(file_, root.find("pre_tokenizer"), parts_));
        DS_RETURN_IF_ERROR(read_decoder(file_, root.find("decoder"), parts_));
        DS_RETURN_IF_ERROR(model(root.find("model")));
        DS_RETURN_IF_ERROR(added_tokens(root.find("added_tokens")));
        return post_processor(root.find("post_processor"));
    }
    BpeParts& parts() { return parts_; }

private:
    Status model(const JsonValue* value) {
        if (absent(value) || !value->is_object()) return refuse("\"model\" is missing.");
        const JsonValue* type = value->find("type");
        if (!absent(type) && type->as_string() != "BPE") return unsupported(fmt::format("model {}", type->described()));
        for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
            if (!text(*value, key).empty())
                return unsupported(fmt::format("model option {} \"{}\"", key, text(*value, key)));
        parts_.unknown = text(*value, "unk_token");
        const bool byte_fallback = flag(*value, "byte_fallback", false);
        const bool fuse_unknown = flag(*value, "fuse_unk", false);
        if (parts_.characters) {
            parts_.characters->byte_fallback = byte_fallback;
            parts_.characters->fuse_unknown = fuse_unknown;
        } else if (byte_fallback) {
            return unsupported("model option byte_fallback with ByteLevel");
        } else if (!parts_.unknown.empty() && fuse_unknown) {
            return unsupported("model option fuse_unk with ByteLevel");
        }
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
            const bool special = flag(item, "special", false);
            parts_.added.push_back({static_cast<std::int32_t>(id->as_integer()), text(item, "content"), special,
                                    flag(item, "normalized", !special)});
        }
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

    Error refuse(const std::string& reason) const { return file_.refuse(reason); }
    Error unsupported(const std::string& what) const { return file_.unsupported(what); }

    const TokenizerJsonFile& file_;
    BpeParts parts_;
};

}  // namespace

Result<BpeParts> read_tokenizer_json(std::string_view json, const std::string& file) {
    auto root = parse_json(json, file);
    if (!root) return root.error();
    const TokenizerJsonFile source{file};
    Reader reader(source);
    DS_RETURN_IF_ERROR(reader.read(*root));
    return std::move(reader.parts());
}

}  // namespace decodescope
