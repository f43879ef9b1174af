#include "engine/support/json_value.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace decodescope {

JsonValue JsonValue::boolean(bool value) {
    JsonValue out;
    out.value_ = value;
    return out;
}

JsonValue JsonValue::integer(std::int64_t value) {
    JsonValue out;
    out.value_ = value;
    return out;
}

JsonValue JsonValue::real(double value) {
    JsonValue out;
    out.value_ = value;
    return out;
}

JsonValue JsonValue::string(std::string value) {
    JsonValue out;
    out.value_ = std::move(value);
    return out;
}

JsonValue JsonValue::array() {
    JsonValue out;
    out.value_ = std::vector<JsonValue>();
    return out;
}

JsonValue JsonValue::object() {
    JsonValue out;
    out.value_ = std::vector<Member>();
    return out;
}

double JsonValue::as_number() const {
    if (is_integer()) return static_cast<double>(std::get<std::int64_t>(value_));
    return kind() == Kind::Real ? std::get<double>(value_) : 0.0;
}

const std::string& JsonValue::as_string() const {
    static const std::string none;
    return is_string() ? std::get<std::string>(value_) : none;
}

const std::vector<JsonValue>& JsonValue::items() const {
    static const std::vector<JsonValue> none;
    return is_array() ? std::get<std::vector<JsonValue>>(value_) : none;
}

const std::vector<JsonValue::Member>& JsonValue::members() const {
    static const std::vector<Member> none;
    return is_object() ? std::get<std::vector<Member>>(value_) : none;
}

const JsonValue* JsonValue::find(std::string_view key) const {
    for (const Member& member : members())
        if (member.first == key) return &member.second;
    return nullptr;
}

std::string JsonValue::described() const {
    switch (kind()) {
        case Kind::Null: return "null";
        case Kind::Boolean: return as_boolean() ? "true" : "false";
        case Kind::Integer: return fmt::format("{}", as_integer());
        case Kind::Real: return fmt::format("{}", as_number());
        case Kind::String: return fmt::format("\"{}\"", as_string().substr(0, 80));
        case Kind::Array: return fmt::format("a list of {}", items().size());
        case Kind::Object: return "an object";
    }
    return {};
}

namespace {

// nlohmann's tokens arrive one by one, so that a repeated key is seen before any map could drop it.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
    Builder(std::string file, const JsonLimits& limits) : file_(std::move(file)), limits_(limits) {}

    bool null() override { return add(JsonValue()); }
    bool boolean(bool value) override { return add(JsonValue::boolean(value)); }
    bool number_integer(number_integer_t value) override { return add(JsonValue::integer(value)); }
    bool number_unsigned(number_unsigned_t value) override {
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return add(JsonValue::real(static_cast<double>(value)));
        return add(JsonValue::integer(static_cast<std::int64_t>(value)));
    }
    bool number_float(number_float_t, const string_t& written) override {
        // The tokenizer stores the decimal point of the current locale.
        std::string digits = written;
        for (char& c : digits)
            if (std::string_view("0123456789+-eE").find(c) == std::string_view::npos) c = '.';
        double value = 0;
        const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (end != digits.data() + digits.size()) return fail(fmt::format("\"{}\" is no number", written));
        if (code == std::errc::result_out_of_range) return fail(fmt::format("the number {} is out of range", written));
        return add(JsonValue::real(value));
    }
    bool string(string_t& value) override { return add(JsonValue::string(std::move(value))); }
    bool binary(binary_t&) override { return fail("binary values are no JSON"); }
    bool start_object(std::size_t) override { return open(JsonValue::object()); }
    bool start_array(std::size_t) override { return open(JsonValue::array()); }
    bool key(string_t& value) override {
        keys_.push_back(std::move(value));
        return count();
    }
    bool end_object() override { return no_duplicates(stack_.back()) && close(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        return fail(fmt::format("not valid JSON at byte {}", position));
    }

    JsonValue take() { return std::move(root_); }
    const std::string& message() const { return message_; }

private:
    bool fail(std::string message) {
        message_ = fmt::format("{}: {}.", file_, message);
        return false;
    }
    bool count() {
        return ++values_ <= limits_.values ? true : fail(fmt::format("more than {} values", limits_.values));
    }
    bool open(JsonValue value) {
        if (static_cast<int>(stack_.size()) >= limits_.depth)
            return fail(fmt::format("nested more than {} levels deep", limits_.depth));
        stack_.push_back(std::move(value));
        return count();
    }
    bool close() {
        JsonValue value = std::move(stack_.back());
        stack_.pop_back();
        return place(std::move(value));
    }
    bool add(JsonValue value) { return count() && place(std::move(value)); }
    bool place(JsonValue value) {
        if (stack_.empty()) {
            root_ = std::move(value);
        } else if (stack_.back().is_array()) {
            stack_.back().append(std::move(value));
        } else {
            stack_.back().append(std::move(keys_.back()), std::move(value));
            keys_.pop_back();
        }
        return true;
    }
    bool no_duplicates(const JsonValue& object) {
        std::vector<std::string_view> names;
        names.reserve(object.members().size());
        for (const JsonValue::Member& member : object.members()) names.push_back(member.first);
        std::sort(names.begin(), names.end());
        const auto twice = std::adjacent_find(names.begin(), names.end());
        return twice == names.end() ? true : fail(fmt::format("duplicate key \"{}\"", twice->substr(0, 200)));
    }

    std::string file_;
    JsonLimits limits_;
    std::int64_t values_ = 0;
    std::vector<JsonValue> stack_;
    std::vector<std::string> keys_;  // of the members whose values are being read
    JsonValue root_;
    std::string message_;
};

}  // namespace

Result<JsonValue> parse_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
    Builder builder(file, limits);
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
        return make_error(ErrorKind::Model, builder.message(),
                          "The file is damaged or was not written for this purpose.");
    return builder.take();
}

}  // namespace decodescope
