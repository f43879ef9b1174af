// LLaMA's tokenizer from a SentencePiece vocabulary: the whole text is merged by scores, a space is the character
// U+2581, one is put before every text, and characters without a token become tokens of their bytes. Immutable after
// making; may be used from several threads.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/text/added_tokens.h"
#include "engine/text/embedded_vocabulary.h"
#include "engine/text/piece_merger.h"
#include "engine/text/tokenizer.h"

namespace decodescope {

class SentencePieceTokenizer final : public Tokenizer {
public:
    // `vocabulary` is of the kind "llama" and checked: types and scores for every token, ids inside.
    static Result<std::shared_ptr<const SentencePieceTokenizer>> make(const EmbeddedVocabulary& vocabulary,
                                                                      const std::string& file);

    Result<std::vector<std::int32_t>> encode(std::string_view text, const EncodeOptions& options,
                                             std::stop_token stop = {}) const override;
    std::string_view token_bytes(std::int32_t id) const override;
    bool is_special(std::int32_t id) const override;
    std::int32_t size() const override { return static_cast<std::int32_t>(tokens_.size()); }
    std::optional<std::int32_t> bos() const override { return bos_; }
    std::optional<std::int32_t> eos() const override { return eos_; }
    bool adds_bos() const override { return adds_bos_; }
    std::string fingerprint() const override { return fingerprint_; }
    bool has_invented_space(std::optional<std::int32_t> previous, std::int32_t token) const override;

private:
    SentencePieceTokenizer() = default;
    Status add(std::int32_t id, const EmbeddedVocabulary& vocabulary, const std::string& file);
    Status add_byte(std::int32_t id, const std::string& text, const std::string& file);
    void make_fingerprint(const EmbeddedVocabulary& vocabulary);
    bool is_added(std::int32_t id) const;
    Status encode_plain(std::string_view text, bool with_space, PieceMerger::Scratch& scratch,
                        std::vector<std::int32_t>& out, const std::stop_token& stop) const;
    Status push_bytes(std::string_view character, std::vector<std::int32_t>& out) const;

    std::vector<std::string> tokens_;  // bytes, by id
    std::vector<EmbeddedTokenType> types_;
    AddedTokens added_;
    PieceMerger merger_;
    std::array<std::int32_t, 256> byte_ids_;  // -1 without
    std::int32_t unknown_ = -1;
    bool adds_bos_ = false, adds_space_ = true;
    std::optional<std::int32_t> bos_, eos_;
    std::string fingerprint_;
};

}  // namespace decodescope
