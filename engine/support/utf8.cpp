#include "engine/support/utf8.h"

#include <fmt/format.h>

namespace decodescope {
namespace {

struct Lead {
    std::size_t length = 0;  // 0: no lead byte
    unsigned low = 0x80, high = 0xBF;  // of the second byte; excludes overlong forms and surrogates
};

Lead lead_of(unsigned byte) {
    if (byte >= 0xC2 && byte <= 0xDF) return {2};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};
    if (byte == 0xED) return {3, 0x80, 0x9F};
    if (byte >= 0xE1 && byte <= 0xEF) return {3};
    if (byte == 0xF0) return {4, 0x90, 0xBF};
    if (byte == 0xF4) return {4, 0x80, 0x8F};
    if (byte >= 0xF1 && byte <= 0xF3) return {4};
    return {};
}

// Characters that draw nothing or turn the writing direction of what follows.
bool is_invisible(std::uint32_t c) {
    return c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD || (c >= 0x200B && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

void append_escaped(std::string& out, std::uint32_t c) {
    switch (c) {
        case '\n': out += "\\n"; return;
        case '\r': out += "\\r"; return;
        case '\t': out += "\\t"; return;
        default: out += c < 0x80 ? fmt::format("\\x{:02X}", c) : fmt::format("\\u{:04X}", c);
    }
}

}  // namespace

Utf8Unit utf8_front(std::string_view text) {
    const unsigned first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return {Utf8Kind::Valid, 1, first};
    const Lead lead = lead_of(first);
    if (lead.length == 0) return {Utf8Kind::Invalid, 1, 0};
    std::uint32_t code_point = first & (0x7Fu >> lead.length);
    for (std::size_t i = 1; i < lead.length; ++i) {
        if (i == text.size()) return {Utf8Kind::Incomplete, i, 0};
        const unsigned byte = static_cast<unsigned char>(text[i]);
        const unsigned low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xBF;
        if (byte < low || byte > high) return {Utf8Kind::Invalid, i, 0};
        code_point = code_point << 6 | (byte & 0x3Fu);
    }
    return {Utf8Kind::Valid, lead.length, code_point};
}

std::size_t utf8_valid_prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (static_cast<unsigned char>(text[at]) < 0x80) {
            ++at;
            continue;
        }
        const Utf8Unit unit = utf8_front(text.substr(at));
        if (unit.kind != Utf8Kind::Valid) break;
        at += unit.bytes;
    }
    return at;
}

bool utf8_is_valid(std::string_view text) { return utf8_valid_prefix(text) == text.size(); }

void utf8_append(std::string& to, std::uint32_t code_point) {
    const auto put = [&to](std::uint32_t byte) { to.push_back(static_cast<char>(byte)); };
    if (code_point < 0x80) {
        put(code_point);
    } else if (code_point < 0x800) {
        put(0xC0 | code_point >> 6);
        put(0x80 | (code_point & 0x3F));
    } else if (code_point < 0x10000) {
        put(0xE0 | code_point >> 12);
        put(0x80 | (code_point >> 6 & 0x3F));
        put(0x80 | (code_point & 0x3F));
    } else {
        put(0xF0 | code_point >> 18);
        put(0x80 | (code_point >> 12 & 0x3F));
        put(0x80 | (code_point >> 6 & 0x3F));
        put(0x80 | (code_point & 0x3F));
    }
}

std::string utf8_repaired(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t valid = utf8_valid_prefix(text);
        out.append(text.substr(0, valid));
        text.remove_prefix(valid);
        if (text.empty()) break;
        out.append(kReplacementCharacter);
        text.remove_prefix(utf8_front(text).bytes);
    }
    return out;
}

std::string utf8_escaped(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const Utf8Unit unit = utf8_front(text);
        if (unit.kind != Utf8Kind::Valid) {
            for (const char byte : text.substr(0, unit.bytes))
                out += fmt::format("\\x{:02X}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        } else if (is_invisible(unit.code_point)) {
            append_escaped(out, unit.code_point);
        } else {
            out.append(text.substr(0, unit.bytes));
        }
        text.remove_prefix(unit.bytes);
    }
    return out;
}

}  // namespace decodescope
