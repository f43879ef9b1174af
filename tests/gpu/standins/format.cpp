#include <fmt/format.h>

#include <algorithm>

namespace fmt::standin {
namespace {

template <class T>
std::string shortest(T value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
}

std::string digits(unsigned long long value, bool negative, const Spec& spec) {
    char text[72];
    const int base = spec.type == 'x' || spec.type == 'X' ? 16 : 10;
    const auto end = std::to_chars(text, text + sizeof text, value, base);
    std::string out(text, end.ptr);
    if (spec.type == 'X') std::transform(out.begin(), out.end(), out.begin(), [](char c) {
        return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    const auto width = static_cast<std::size_t>(std::max(spec.width - (negative ? 1 : 0), 0));
    if (spec.zeros && out.size() < width) out.insert(0, width - out.size(), '0');
    return negative ? "-" + out : out;
}

std::string real(double value, const Spec& spec) {
    if (spec.type == 0 && spec.precision < 0) return shortest(value);
    char text[512];
    const auto form = spec.type == 'f' ? std::chars_format::fixed
                      : spec.type == 'e' ? std::chars_format::scientific : std::chars_format::general;
    if (!std::isfinite(value)) return shortest(value);
    const auto end = std::to_chars(text, text + sizeof text, value, form, spec.precision < 0 ? 6 : spec.precision);
    return {text, end.ptr};
}

std::string text_of(const Value& value, const Spec& spec) {
    if (const auto* n = std::get_if<long long>(&value)) {
        const auto magnitude = static_cast<unsigned long long>(*n);
        return digits(*n < 0 ? 0 - magnitude : magnitude, *n < 0, spec);
    }
    if (const auto* n = std::get_if<unsigned long long>(&value)) return digits(*n, false, spec);
    if (const auto* x = std::get_if<double>(&value)) return real(*x, spec);
    if (const auto* x = std::get_if<float>(&value))
        return spec.type == 0 && spec.precision < 0 ? shortest(*x) : real(static_cast<double>(*x), spec);
    return std::get<std::string>(value);
}

std::string padded(std::string text, const Value& value, const Spec& spec) {
    const auto width = static_cast<std::size_t>(std::max(spec.width, 0));
    if (text.size() >= width) return text;
    const bool is_text = std::holds_alternative<std::string>(value);
    const char align = spec.align != 0 ? spec.align : is_text ? '<' : '>';
    const std::size_t missing = width - text.size();
    const std::size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
    return std::string(before, spec.fill) + text + std::string(missing - before, spec.fill);
}

class Formatter {
public:
    Formatter(std::string_view pattern, const std::vector<Value>& values) : rest_(pattern), values_(values) {}

    std::string run() {
        std::string out;
        while (!rest_.empty()) {
            const char c = take();
            if ((c == '{' || c == '}') && !rest_.empty() && rest_.front() == c) out += take();
            else if (c == '{') out += field();
            else out += c;
        }
        return out;
    }

private:
    char take() {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }
    const Value& next() {
        static const Value none = std::string("(missing)");
        return index_ < values_.size() ? values_[index_++] : none;
    }
    int number() {
        if (!rest_.empty() && rest_.front() == '{') {  // nested: the number is an argument
            rest_.remove_prefix(std::min<std::size_t>(2, rest_.size()));
            const Value& value = next();
            if (const auto* n = std::get_if<long long>(&value)) return static_cast<int>(*n);
            if (const auto* n = std::get_if<unsigned long long>(&value)) return static_cast<int>(*n);
            return 0;
        }
        int n = 0;
        while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') n = 10 * n + (take() - '0');
        return n;
    }
    std::string field() {
        const Value& value = next();
        Spec spec;
        if (!rest_.empty() && rest_.front() == ':') {
            take();
            const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
            if (rest_.size() > 1 && is_align(rest_[1])) {
                spec.fill = take();
                spec.align = take();
            } else if (!rest_.empty() && is_align(rest_.front())) {
                spec.align = take();
            }
            if (!rest_.empty() && rest_.front() == '0') {
                spec.zeros = true;
                take();
            }
            spec.width = number();
            if (!rest_.empty() && rest_.front() == '.') {
                take();
                spec.precision = number();
            }
            if (!rest_.empty() && rest_.front() != '}') spec.type = take();
        }
        if (!rest_.empty()) take();  // the closing brace
        return padded(text_of(value, spec), value, spec);
    }

    std::string_view rest_;
    const std::vector<Value>& values_;
    std::size_t index_ = 0;
};

}  // namespace

std::string format_values(std::string_view pattern, const std::vector<Value>& values) {
    return Formatter(pattern, values).run();
}

}  // namespace fmt::standin
