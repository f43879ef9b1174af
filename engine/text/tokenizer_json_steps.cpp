#include "engine/text/tokenizer_json_steps.h"

#include <algorithm>

#include <fmt/format.h>

namespace decodescope {

using namespace tokenizer_json;

Error TokenizerJsonFile::refuse(const std::string& reason) const {
    return make_error(ErrorKind::Model, fmt::format("{}: {}", name, reason),
                      "The tokenizer is damaged or of another kind.");
}

Error TokenizerJsonFile::unsupported(const std::string& what) const {
    return make_error(ErrorKind::Unsupported, fmt::format("{}: {} is not supported.", name, what),
                      "BPE tokenizers as of GPT-2, LLaMA, Mistral, Qwen and Gemma are supported.");
}

namespace tokenizer_json {

bool absent(const JsonValue* value) { return value == nullptr || value->is_null(); }

bool flag(const JsonValue& object, std::string_view key, bool fallback) {
    const JsonValue* value = object.find(key);
    return value != nullptr && value->is_boolean() ? value->as_boolean() : fallback;
}

std::string text(const JsonValue& object, std::string_view key) {
    const JsonValue* value = object.find(key);
    return value != nullptr ? value->as_string() : std::string();
}

std::vector<const JsonValue*> sequence(const JsonValue& value, std::string_view key) {
    std::vector<const JsonValue*> out;
    const JsonValue* list = text(value, "type") == "Sequence" ? value.find(key) : nullptr;
    if (list == nullptr) return {&value};
    for (const JsonValue& item : list->items()) out.push_back(&item);
    return out;
}

}  // namespace tokenizer_json

namespace {

// "pattern": {"String": " "}; empty for a regular expression.
std::string literal_pattern(const JsonValue& item) {
    const JsonValue* pattern = item.find("pattern");
    return pattern != nullptr ? text(*pattern, "String") : std::string();
}

enum class Prepend { Always, First, Never };

// Older files say add_prefix_space, newer ones prepend_scheme. Nothing for another word.
std::optional<Prepend> prepend_of(const JsonValue& item) {
    const std::string scheme = text(item, "prepend_scheme");
    if (scheme.empty()) return flag(item, "add_prefix_space", true) ? Prepend::Always : Prepend::Never;
    if (scheme == "always") return Prepend::Always;
    if (scheme == "first") return Prepend::First;
    return scheme == "never" ? std::optional(Prepend::Never) : std::nullopt;
}

Status read_split(const TokenizerJsonFile& file, const JsonValue& item, BpeParts& parts) {
    SplitStep step;
    const JsonValue* pattern = item.find("pattern");
    const std::string regex = pattern != nullptr ? text(*pattern, "Regex") : std::string();
    step.literal = regex.empty();
    step.pattern = step.literal ? literal_pattern(item) : regex;
    if (step.pattern.empty()) return file.refuse("a Split has no pattern.");
    step.invert = flag(item, "invert", false);
    const std::string behavior = text(item, "behavior");
    if (behavior == "Isolated") {
        step.behavior = SplitBehavior::Isolated;
    } else if (behavior == "Removed") {
        step.behavior = SplitBehavior::Removed;
    } else if (behavior == "MergedWithPrevious") {
        step.behavior = SplitBehavior::MergedWithPrevious;
    } else if (behavior == "MergedWithNext") {
        step.behavior = SplitBehavior::MergedWithNext;
    } else if (behavior == "Contiguous") {
        step.behavior = SplitBehavior::Contiguous;
    } else {
        return file.unsupported(fmt::format("Split behavior \"{}\"", behavior));
    }
    parts.steps.push_back(std::move(step));
    return {};
}

// Spaces become U+2581, one is put in front, and the text is cut before each.
Status read_metaspace(const TokenizerJsonFile& file, const JsonValue& item, BpeParts& parts) {
    const auto prepend = prepend_of(item);
    if (!prepend)
        return file.unsupported(fmt::format("Metaspace prepend_scheme \"{}\"", text(item, "prepend_scheme")));
    SplitStep step;
    step.space = text(item, "replacement");
    if (step.space.empty()) return file.refuse("a Metaspace has no replacement.");
    if (*prepend != Prepend::Never) step.prefix = step.space;
    step.only_first = *prepend == Prepend::First;
    if (step.only_first && !parts.steps.empty())
        return file.unsupported("Metaspace prepend_scheme \"first\" behind another pre_tokenizer");
    step.literal = true;
    step.behavior = SplitBehavior::MergedWithNext;
    if (flag(item, "split", true)) step.pattern = step.space;
    parts.steps.push_back(std::move(step));
    return {};
}

SplitStep digits_step(const JsonValue& item) {
    SplitStep step;
    step.pattern = "\\p{N}";
    step.behavior = flag(item, "individual_digits", false) ? SplitBehavior::Isolated : SplitBehavior::Contiguous;
    return step;
}

// Whether the tokenizer puts a space before texts of its own: U+2581 in front.
InventedSpace invented_space(const BpeParts& parts) {
    for (const NormalizerStep& step : parts.normalizer)
        if (step.kind == NormalizerStep::Kind::Prepend) return InventedSpace::BehindTokens;
    for (const SplitStep& step : parts.steps)
        if (!step.prefix.empty() && !step.only_first) return InventedSpace::BehindTokens;
    return InventedSpace::AtBeginning;
}

}  // namespace

Status read_normalizer(const TokenizerJsonFile& file, const JsonValue* value, BpeParts& parts) {
    if (absent(value)) return {};
    for (const JsonValue* item : sequence(*value, "normalizers")) {
        const std::string type = text(*item, "type");
        if (type == "NFC") {
            parts.normalizer.push_back({NormalizerStep::Kind::Compose, {}, {}});
        } else if (type == "Prepend") {
            parts.normalizer.push_back({NormalizerStep::Kind::Prepend, {}, text(*item, "prepend")});
        } else if (type == "Replace") {
            const std::string from = literal_pattern(*item);
            if (from.empty()) return file.unsupported("normalizer \"Replace\" without a String");
            parts.normalizer.push_back({NormalizerStep::Kind::Replace, from, text(*item, "content")});
        } else {
            return file.unsupported(fmt::format("normalizer \"{}\"", type));
        }
    }
    return {};
}

Status read_pre_tokenizer(const TokenizerJsonFile& file, const JsonValue* value, BpeParts& parts) {
    bool byte_level = false;
    const auto items = absent(value) ? std::vector<const JsonValue*>() : sequence(*value, "pretokenizers");
    for (const JsonValue* item : items) {
        const std::string type = text(*item, "type");
        // Behind ByteLevel the characters are stand-ins, where a pattern would mean something else.
        if (byte_level) return file.unsupported(fmt::format("pre_tokenizer \"{}\" behind ByteLevel", type));
        if (type == "ByteLevel") {
            byte_level = true;
            SplitStep step;
            if (flag(*item, "use_regex", true)) step.pattern = kGpt2Pattern;
            if (flag(*item, "add_prefix_space", true)) step.prefix = std::string(1, ' ');
            parts.steps.push_back(std::move(step));
        } else if (type == "Split") {
            DS_RETURN_IF_ERROR(read_split(file, *item, parts));
        } else if (type == "Metaspace") {
            DS_RETURN_IF_ERROR(read_metaspace(file, *item, parts));
        } else if (type == "Digits") {
            parts.steps.push_back(digits_step(*item));
        } else {
            return file.unsupported(fmt::format("pre_tokenizer \"{}\"", type));
        }
    }
    if (!byte_level) parts.characters.emplace();
    return {};
}

Status read_decoder(const TokenizerJsonFile& file, const JsonValue* value, BpeParts& parts) {
    if (absent(value)) {
        if (!parts.characters) return {};
        // Its tokens would be joined with spaces.
        return file.unsupported("a vocabulary without ByteLevel and without a decoder");
    }
    bool strips = false;
    for (const JsonValue* item : sequence(*value, "decoders")) {
        const std::string type = text(*item, "type");
        if (!parts.characters) {
            if (type != "ByteLevel") return file.unsupported(fmt::format("decoder \"{}\" with ByteLevel", type));
        } else if (type == "ByteFallback") {
            parts.characters->decodes_bytes = true;
        } else if (type == "Replace" && !literal_pattern(*item).empty()) {
            parts.characters->replacements.emplace_back(literal_pattern(*item), text(*item, "content"));
        } else if (type == "Metaspace" && prepend_of(*item) && !text(*item, "replacement").empty()) {
            parts.characters->replacements.emplace_back(text(*item, "replacement"), " ");
            strips = strips || *prepend_of(*item) != Prepend::Never;
        } else if (type == "Strip" && text(*item, "content") == " ") {
            strips = true;
        } else if (type != "Fuse") {
            if (type == "ByteLevel") return file.unsupported("pre_tokenizer without ByteLevel but decoder with it");
            return file.unsupported(fmt::format("decoder \"{}\"", type));
        }
    }
    if (strips) parts.characters->invented_space = invented_space(parts);
    return {};
}

}  // namespace decodescope
