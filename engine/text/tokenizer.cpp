#include "engine/text/tokenizer.h"

#include "engine/support/utf8.h"

namespace decodescope {
namespace {

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
    const std::string_view bytes = token_bytes(id);
    if (is_special(id)) return std::string(bytes);
    return utf8_escaped(bytes);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
    std::string bytes;
    std::optional<std::int32_t> previous;
    for (const std::int32_t id : ids) {
        bytes.append(token_bytes(id).substr(has_invented_space(previous, id) ? 1 : 0));
        previous = id;
    }
    return utf8_repaired(bytes);
}

std::string TextStream::push(std::int32_t token) {
    const bool invented = knows_previous_ && tokenizer_->has_invented_space(previous_, token);
    held_.append(tokenizer_->token_bytes(token).substr(invented ? 1 : 0));
    knows_previous_ = true;
    previous_ = token;
    return drain(held_, false);
}

std::string TextStream::finish() { return drain(held_, true); }

}  // namespace decodescope
