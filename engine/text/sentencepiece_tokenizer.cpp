#include "engine/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "engine/support/hash.h"
#include "engine/support/utf8.h"
#include "engine/text/bpe_tokenizer.h"
#include "engine/text/normalizer.h"

namespace decodescope {
namespace {

constexpr std::string_view kSpaceSign = "\xE2\x96\x81";  // U+2581

Error refuse(const std::string& file, const std::string& reason) {
    return make_error(ErrorKind::Model, fmt::format("{}: {}", file, reason),
                      "The tokenizer is damaged or of another kind.");
}

}  // namespace

Result<std::shared_ptr<const SentencePieceTokenizer>> SentencePieceTokenizer::make(const EmbeddedVocabulary& vocabulary,
                                                                                   const std::string& file) {
    std::shared_ptr<SentencePieceTokenizer> out(new SentencePieceTokenizer);
    out->byte_ids_.fill(-1);
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
        DS_RETURN_IF_ERROR(out->add(static_cast<std::int32_t>(id), vocabulary, file));
    const auto some = [](std::int32_t id) { return id >= 0 ? std::optional(id) : std::nullopt; };
    out->bos_ = some(vocabulary.bos);
    out->eos_ = some(vocabulary.eos);
    out->unknown_ = vocabulary.unknown;
    out->adds_bos_ = vocabulary.add_bos.value_or(true) && out->bos_.has_value();
    out->adds_space_ = vocabulary.add_space_prefix.value_or(true);
    out->make_fingerprint(vocabulary);
    return std::shared_ptr<const SentencePieceTokenizer>(out);
}

Status SentencePieceTokenizer::add(std::int32_t id, const EmbeddedVocabulary& vocabulary, const std::string& file) {
    const auto at = static_cast<std::size_t>(id);
    const std::string& text = vocabulary.tokens[at];
    const auto type = static_cast<EmbeddedTokenType>(vocabulary.types[at]);
    types_.push_back(type);
    tokens_.push_back(text);
    switch (type) {
        case EmbeddedTokenType::Byte: return add_byte(id, text, file);
        case EmbeddedTokenType::Unknown:
        case EmbeddedTokenType::Control: added_.add(id, text, true); return {};
        case EmbeddedTokenType::UserDefined:
            added_.add(id, text, false);
            // Written with U+2581 it is not found in the text, but is still a result of merging.
            if (!text.empty()) merger_.add(text, id, vocabulary.scores[at], false);
            break;
        case EmbeddedTokenType::Normal:
        case EmbeddedTokenType::Unused: {
            if (text.empty()) break;
            const bool unused = type == EmbeddedTokenType::Unused;
            if (!merger_.add(text, id, vocabulary.scores[at], unused) && !unused)
                return refuse(file, fmt::format("the token \"{}\" is there twice, at last with the id {}.", text, id));
            break;
        }
    }
    tokens_.back() = replaced(text, kSpaceSign, " ");
    return {};
}

Status SentencePieceTokenizer::add_byte(std::int32_t id, const std::string& text, const std::string& file) {
    const auto byte = byte_of_token(text);
    if (!byte)
        return refuse(file, fmt::format("the token {} is a byte and is written \"{}\", not like <0x0A>.", id,
                                        utf8_escaped(text)));
    if (byte_ids_[*byte] >= 0)
        return refuse(file, fmt::format("the byte {} is there twice, with the ids {} and {}.", text,
                                        byte_ids_[*byte], id));
    byte_ids_[*byte] = id;
    tokens_.back() = std::string(1, static_cast<char>(*byte));
    return {};
}

void SentencePieceTokenizer::make_fingerprint(const EmbeddedVocabulary& vocabulary) {
    Hasher hasher;
    hasher.add_text(vocabulary.kind);
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
        hasher.add_text(vocabulary.tokens[id]);
        hasher.add_integer(std::bit_cast<std::uint32_t>(vocabulary.scores[id]));
        hasher.add_integer(static_cast<std::uint64_t>(vocabulary.types[id]));
    }
    hasher.add_integer((adds_bos_ ? 1u : 0u) + (adds_space_ ? 2u : 0u));
    fingerprint_ = hasher.text();
}

std::string_view SentencePieceTokenizer::token_bytes(std::int32_t id) const {
    return id >= 0 && id < size() ? std::string_view(tokens_[static_cast<std::size_t>(id)]) : std::string_view();
}

bool SentencePieceTokenizer::is_special(std::int32_t id) const {
    if (id < 0 || id >= size()) return false;
    const EmbeddedTokenType type = types_[static_cast<std::size_t>(id)];
    return type == EmbeddedTokenType::Control || type == EmbeddedTokenType::Unknown;
}

// Found in the text itself; a text behind it gets its own space.
bool SentencePieceTokenizer::is_added(std::int32_t id) const {
    return is_special(id) ||
           (id >= 0 && id < size() && types_[static_cast<std::size_t>(id)] == EmbeddedTokenType::UserDefined);
}

bool SentencePieceTokenizer::has_invented_space(std::optional<std::int32_t> previous, std::int32_t token) const {
    if (!adds_space_ || is_added(token) || (previous && !is_added(*previous))) return false;
    const std::string_view bytes = token_bytes(token);
    return !bytes.empty() && bytes[0] == ' ';
}

Status SentencePieceTokenizer::push_bytes(std::string_view character, std::vector<std::int32_t>& out) const {
    const auto token_of = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
    if (std::all_of(character.begin(), character.end(), [&](char c) { return token_of(c) >= 0; })) {
        for (const char c : character) out.push_back(token_of(c));
        return {};
    }
    if (unknown_ < 0)
        return make_error(ErrorKind::Argument,
                          fmt::format("The character \"{}\" has no token in this vocabulary.", utf8_escaped(character)),
                          "Use other characters or another model.");
    if (out.empty() || out.back() != unknown_) out.push_back(unknown_);  // one for a run of them
    return {};
}

Status SentencePieceTokenizer::encode_plain(std::string_view text, bool with_space, PieceMerger::Scratch& scratch,
                                            std::vector<std::int32_t>& out, const std::stop_token& stop) const {
    std::string written = with_space ? std::string(kSpaceSign) : std::string();
    written += replaced(text, " ", kSpaceSign);
    const PieceMerger::PieceSink sink = [&](std::int32_t id, std::string_view piece) -> Status {
        if (id < 0) return push_bytes(piece, out);
        out.push_back(id);
        return {};
    };
    return merger_.merge(written, scratch, sink, stop);
}

Result<std::vector<std::int32_t>> SentencePieceTokenizer::encode(std::string_view text, const EncodeOptions& options,
                                                                 std::stop_token stop) const {
    std::vector<std::int32_t> out;
    PieceMerger::Scratch scratch;
    DS_RETURN_IF_ERROR(added_.split(text, options.parse_special, [&](const AddedTokens::Part& part) -> Status {
        if (part.token >= 0) {
            out.push_back(part.token);
            return {};
        }
        const bool begins = part.text.data() == text.data();
        return encode_plain(part.text, adds_space_ && (!begins || options.add_space), scratch, out, stop);
    }));
    const bool has_bos = options.parse_special && !out.empty() && bos_ && out[0] == *bos_;
    if (options.add_bos && adds_bos_ && !has_bos) out.insert(out.begin(), *bos_);
    return out;
}

}  // namespace decodescope
