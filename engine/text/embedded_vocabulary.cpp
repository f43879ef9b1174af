#include "engine/text/embedded_vocabulary.h"

#include <cmath>

#include <fmt/format.h>

#include "engine/support/utf8.h"
#include "engine/text/bpe_tokenizer.h"
#include "engine/text/pre_tokenizer_names.h"
#include "engine/text/sentencepiece_tokenizer.h"

namespace decodescope {
namespace {

Error refuse(const std::string& file, const std::string& reason) {
    return make_error(ErrorKind::Model, fmt::format("{}: {}", file, reason),
                      "The tokenizer is damaged or of another kind.");
}

// Tokens and what is stored beside them; types that are missing are filled in.
Status check_arrays(EmbeddedVocabulary& v, const std::string& file) {
    constexpr std::size_t kLargest = std::size_t{1} << 20;
    if (v.tokens.empty()) return refuse(file, "the vocabulary is empty.");
    if (v.tokens.size() > kLargest)
        return refuse(file, fmt::format("the vocabulary has {} tokens, more than {}.", v.tokens.size(), kLargest));
    if (v.types.empty())
        for (const std::string& text : v.tokens)
            v.types.push_back(static_cast<std::int32_t>(
                v.kind == "llama" && byte_of_token(text) ? EmbeddedTokenType::Byte : EmbeddedTokenType::Normal));
    if (v.types.size() != v.tokens.size())
        return refuse(file, fmt::format("there are {} tokens and {} token types.", v.tokens.size(), v.types.size()));
    for (std::size_t id = 0; id < v.types.size(); ++id) {
        if (v.types[id] == 0) v.types[id] = static_cast<std::int32_t>(EmbeddedTokenType::Normal);  // "undefined"
        if (v.types[id] < 1 || v.types[id] > 6)
            return refuse(file, fmt::format("the token {} has the type {}, which is none.", id, v.types[id]));
    }
    return {};
}

Status check_ids(const EmbeddedVocabulary& v, const std::string& file) {
    const std::pair<const char*, std::int32_t> ids[] = {{"bos", v.bos}, {"eos", v.eos}, {"unknown", v.unknown}};
    for (const auto& [name, id] : ids)
        if (id < -1 || (id >= 0 && static_cast<std::size_t>(id) >= v.tokens.size()))
            return refuse(file, fmt::format("{}_token_id is {}, the vocabulary has {} tokens.", name, id,
                                            v.tokens.size()));
    return {};
}

Status check_scores(const EmbeddedVocabulary& v, const std::string& file) {
    if (v.scores.size() != v.tokens.size())
        return refuse(file, fmt::format("there are {} tokens and {} scores.", v.tokens.size(), v.scores.size()));
    for (std::size_t id = 0; id < v.scores.size(); ++id)
        if (!std::isfinite(v.scores[id]))
            return refuse(file, fmt::format("the score of the token {} (\"{}\") is no finite number.", id,
                                            utf8_escaped(v.tokens[id])));
    return {};
}

Status split_merges(const EmbeddedVocabulary& v, const std::string& file, BpeParts& parts) {
    parts.merges.reserve(v.merges.size());
    for (const std::string& line : v.merges) {
        // Behind the first sign: in old files that may itself be a space.
        const std::size_t space = line.find(' ', 1);
        if (space == std::string::npos || space + 1 == line.size())
            return refuse(file, fmt::format("merge {} is \"{}\", no pair.", parts.merges.size() + 1,
                                            utf8_escaped(line)));
        parts.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
    return {};
}

Result<std::shared_ptr<const Tokenizer>> make_byte_level(const EmbeddedVocabulary& v, const std::string& file) {
    auto named = named_pre_tokenizer(v.pre);
    if (!named)
        return make_error(ErrorKind::Unsupported,
                          fmt::format("{}: the pre-tokenizer \"{}\" is not supported.", file, utf8_escaped(v.pre)),
                          "Known are " + pre_tokenizer_names() + ".");
    BpeParts parts;
    parts.steps = std::move(named->steps);
    parts.ignore_merges = named->ignore_merges;
    if (named->composes) parts.normalizer = {{NormalizerStep::Kind::Compose, {}, {}}};
    for (std::size_t at = 0; at < v.tokens.size(); ++at) {
        const auto id = static_cast<std::int32_t>(at);
        const auto type = static_cast<EmbeddedTokenType>(v.types[at]);
        if (v.tokens[at].empty()) continue;  // an id without a token
        parts.vocabulary.emplace_back(v.tokens[at], id);
        if (type == EmbeddedTokenType::Control || type == EmbeddedTokenType::Unknown)
            parts.added.push_back({id, v.tokens[at], true});
        if (type == EmbeddedTokenType::UserDefined) parts.added.push_back({id, v.tokens[at], false});
    }
    DS_RETURN_IF_ERROR(split_merges(v, file, parts));
    if (v.bos >= 0) parts.bos = v.bos;
    if (v.eos >= 0) parts.eos = v.eos;
    parts.adds_bos = v.add_bos.value_or(named->adds_bos);
    auto tokenizer = BpeTokenizer::make(std::move(parts), file);
    if (!tokenizer) return tokenizer.error();
    return std::shared_ptr<const Tokenizer>(*tokenizer);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> make_embedded_tokenizer(EmbeddedVocabulary vocabulary,
                                                                 const std::string& file) {
    if (vocabulary.kind != "llama" && vocabulary.kind != "gpt2")
        return make_error(ErrorKind::Unsupported,
                          fmt::format("{}: the tokenizer \"{}\" is not supported.", file,
                                      utf8_escaped(vocabulary.kind)),
                          "Known are llama (SentencePiece BPE) and gpt2 (byte-level BPE).");
    DS_RETURN_IF_ERROR(check_arrays(vocabulary, file));
    DS_RETURN_IF_ERROR(check_ids(vocabulary, file));
    if (vocabulary.kind == "gpt2") return make_byte_level(vocabulary, file);
    DS_RETURN_IF_ERROR(check_scores(vocabulary, file));
    auto tokenizer = SentencePieceTokenizer::make(vocabulary, file);
    if (!tokenizer) return tokenizer.error();
    return std::shared_ptr<const Tokenizer>(*tokenizer);
}

}  // namespace decodescope
