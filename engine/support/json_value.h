// A parsed JSON document whose reader refuses what general JSON libraries let pass: duplicate keys, unbounded depth and
// unbounded counts. Numbers are read without the locale. Object members keep the order of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/api/status.h"

namespace decodescope {

class JsonValue {
public:
    enum class Kind : std::uint8_t { Null, Boolean, Integer, Real, String, Array, Object };
    using Member = std::pair<std::string, JsonValue>;

    JsonValue() = default;
    static JsonValue boolean(bool value);
    static JsonValue integer(std::int64_t value);
    static JsonValue real(double value);
    static JsonValue string(std::string value);
    static JsonValue array();
    static JsonValue object();

    Kind kind() const { return static_cast<Kind>(value_.index()); }
    bool is_null() const { return kind() == Kind::Null; }
    bool is_boolean() const { return kind() == Kind::Boolean; }
    bool is_integer() const { return kind() == Kind::Integer; }
    bool is_number() const { return kind() == Kind::Integer || kind() == Kind::Real; }
    bool is_string() const { return kind() == Kind::String; }
    bool is_array() const { return kind() == Kind::Array; }
    bool is_object() const { return kind() == Kind::Object; }

    // Each of these is meant for the kind that it names; for another kind it gives 0, false or an empty value.
    bool as_boolean() const { return is_boolean() && std::get<bool>(value_); }
    std::int64_t as_integer() const { return is_integer() ? std::get<std::int64_t>(value_) : 0; }
    double as_number() const;
    const std::string& as_string() const;
    const std::vector<JsonValue>& items() const;
    const std::vector<Member>& members() const;

    // Adding to a value that was made by array() or object().
    void append(JsonValue item) { std::get<std::vector<JsonValue>>(value_).push_back(std::move(item)); }
    void append(std::string key, JsonValue item) {
        std::get<std::vector<Member>>(value_).emplace_back(std::move(key), std::move(item));
    }

    // The member of this name, or null. Linear: for objects with few members.
    const JsonValue* find(std::string_view key) const;
    // As written in a message: `5`, `"silu"`, `an object`.
    std::string described() const;

private:
    // In the order of Kind.
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<JsonValue>, std::vector<Member>>
        value_;
};

struct JsonLimits {
    int depth = 64;
    std::int64_t values = 4'000'000;  // values and keys of the whole document
};

// `file` names the document in messages. Integers beyond 64 bits become Real.
Result<JsonValue> parse_json(std::string_view text, const std::string& file, const JsonLimits& limits = {});

}  // namespace decodescope
