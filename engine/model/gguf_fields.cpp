#include "engine/model/gguf_fields.h"

#include <fmt/format.h>

namespace decodescope {

void GgufFields::fail(ErrorKind kind, const std::string& message) {
    if (status_.ok())
        status_ = make_error(kind, fmt::format("{}: {}", file_, message),
                             "LLaMA, Mistral, Qwen2, Qwen3, GPT-2, GPT-NeoX and Gemma 3 models are supported.");
}

const GgufValue* GgufFields::find(std::string_view key) {
    const std::string whole = prefix_ + std::string(key);
    asked_.insert(whole);
    const auto found = header_.metadata.find(whole);
    return found == header_.metadata.end() ? nullptr : &found->second;
}

template <class T>
const T* GgufFields::get(std::string_view key, const char* what) {
    const GgufValue* value = find(key);
    if (value == nullptr) return nullptr;
    const T* typed = std::get_if<T>(&value->value);
    if (typed == nullptr)
        fail(ErrorKind::Model, fmt::format("\"{}{}\" is {}, not {}.", prefix_, key, value->described(), what));
    return typed;
}

std::optional<std::int64_t> GgufFields::optional_integer(std::string_view key) {
    const auto* value = get<std::int64_t>(key, "a whole number");
    return value == nullptr ? std::nullopt : std::optional(*value);
}

std::int64_t GgufFields::integer(std::string_view key) {
    if (!has(key)) fail(ErrorKind::Model, fmt::format("\"{}{}\" is missing.", prefix_, key));
    return optional_integer(key).value_or(0);
}

double GgufFields::number(std::string_view key, double fallback) {
    const GgufValue* value = find(key);
    if (value == nullptr) return fallback;
    if (const auto* whole = std::get_if<std::int64_t>(&value->value)) return static_cast<double>(*whole);
    const auto* real = get<double>(key, "a number");
    return real == nullptr ? fallback : *real;
}

std::optional<bool> GgufFields::optional_boolean(std::string_view key) {
    const auto* value = get<bool>(key, "true or false");
    return value == nullptr ? std::nullopt : std::optional(*value);
}

std::string_view GgufFields::text(std::string_view key, std::string_view fallback) {
    const auto* value = get<std::string_view>(key, "a text");
    return value == nullptr ? fallback : *value;
}

const std::vector<std::string_view>* GgufFields::texts(std::string_view key) {
    return get<std::vector<std::string_view>>(key, "an array of texts");
}

const GgufNumbers* GgufFields::numbers(std::string_view key) { return get<GgufNumbers>(key, "an array of numbers"); }

void GgufFields::only(std::string_view key, std::int64_t value) {
    const auto given = optional_integer(key);
    if (given && *given != value)
        fail(ErrorKind::Unsupported,
             fmt::format("\"{}{}\" = {} is not supported, only {}.", prefix_, key, *given, value));
}

void GgufFields::nothing_left() {
    for (const auto& [key, value] : header_.metadata)
        if (key.substr(0, prefix_.size()) == prefix_ && asked_.count(key) == 0)
            fail(ErrorKind::Unsupported, fmt::format("\"{}\" = {} is not supported.", key, value.described()));
}

}  // namespace decodescope
