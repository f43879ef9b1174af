#include "engine/text/tokenizer.h"

#include <fmt/format.h>

#include "engine/support/utf8.h"

namespace decodescope {
namespace {

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

// Moves what is complete at the front of `held` into the result; with `all`, also a cut-off end, as U+FFFD.
std::string drain(std::string& held, bool all) {
    std::string_view rest = held;
    std::string out;
    while (!rest.empty()) {
        const std::size_t valid = utf8_valid_prefix(rest);
        out.append(rest.substr(0, valid));
        rest.remove_prefix(valid);
        if (rest.empty()) break;
        const Utf8Unit unit = utf8_front(rest);
        if (unit.kind == Utf8Kind::Incomplete && !all) break;
        out.append(kReplacementCharacter);
        rest.remove_prefix(unit.bytes);
    }
    held.erase(0, held.size() - rest.size());
    return out;
}

}  // namespace

std::string Tokenizer::display(std::int32_t id) const {
    std::string_view bytes = token_bytes(id);
    if (is_special(id)) return std::string(bytes);
    std::string out;
    while (!bytes.empty()) {
        const Utf8Unit unit = utf8_front(bytes);
        if (unit.kind != Utf8Kind::Valid) {
            for (const char byte : bytes.substr(0, unit.bytes))
                out += fmt::format("\\x{:02X}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        } else if (is_invisible(unit.code_point)) {
            append_escaped(out, unit.code_point);
        } else {
            out.append(bytes.substr(0, unit.bytes));
        }
        bytes.remove_prefix(unit.bytes);
    }
    return out;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
    std::string bytes;
    for (const std::int32_t id : ids) bytes.append(token_bytes(id));
    return utf8_repaired(bytes);
}

std::string TextStream::push(std::int32_t token) {
    held_.append(tokenizer_->token_bytes(token));
    return drain(held_, false);
}

std::string TextStream::finish() { return drain(held_, true); }

}  // namespace decodescope
