// Reads the fields of config.json.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/support/json_value.h"
#include "kernels/api/status.h"

namespace decodescope {

inline constexpr const char* kSupportedModels =
    "LLaMA, Mistral, Qwen2, Qwen3, GPT-2, GPT-NeoX and Gemma 3 (text) models are supported, as "
    "Hugging Face folders and as GGUF files.";

// Reads fields of one object; the first problem is kept and later reads give defaults.
class Fields {
public:
    Fields(const JsonValue& root, std::string file) : root_(root), file_(std::move(file)) {}

    const Status& status() const { return status_; }
    void fail(ErrorKind kind, const std::string& message) {
        if (status_.ok()) status_ = make_error(kind, fmt::format("{}: {}", file_, message), kSupportedModels);
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

}  // namespace decodescope
