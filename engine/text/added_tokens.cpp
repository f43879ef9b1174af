#include "engine/text/added_tokens.h"

#include <algorithm>

namespace decodescope {
namespace {

void insert_length(std::vector<std::size_t>& lengths, std::size_t length) {
    const auto at = std::lower_bound(lengths.begin(), lengths.end(), length, std::greater<>());
    if (at == lengths.end() || *at != length) lengths.insert(at, length);
}

}  // namespace

void AddedTokens::add(std::int32_t id, std::string_view text, bool special) {
    if (text.empty() || !tokens_.try_emplace(std::string(text), Entry{id, special}).second) return;
    const auto first = static_cast<unsigned char>(text[0]);
    insert_length(all_[first], text.size());
    if (!special) insert_length(plain_[first], text.size());
}

std::size_t AddedTokens::token_at(std::string_view text, bool parse_special, std::int32_t& token) const {
    const Lengths& lengths = parse_special ? all_ : plain_;
    for (const std::size_t length : lengths[static_cast<unsigned char>(text[0])]) {
        if (length > text.size()) continue;
        const auto found = tokens_.find(text.substr(0, length));
        if (found == tokens_.end() || (found->second.special && !parse_special)) continue;
        token = found->second.id;
        return length;
    }
    return 0;
}

Status AddedTokens::split(std::string_view text, bool parse_special, const PartSink& sink) const {
    std::size_t plain = 0;  // where the text since the last token begins
    for (std::size_t at = 0; at < text.size();) {
        std::int32_t token = -1;
        const std::size_t length = tokens_.empty() ? 0 : token_at(text.substr(at), parse_special, token);
        if (length == 0) {
            at = tokens_.empty() ? text.size() : at + 1;
            continue;
        }
        if (at > plain) DS_RETURN_IF_ERROR(sink({text.substr(plain, at - plain)}));
        DS_RETURN_IF_ERROR(sink({text.substr(at, length), token}));
        plain = at += length;
    }
    return plain < text.size() ? sink({text.substr(plain)}) : Status();
}

}  // namespace decodescope
