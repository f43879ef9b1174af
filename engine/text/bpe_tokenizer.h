// Byte-pair encoding as a tokenizer.json describes it: added tokens, normalizing, splitting, merging. The symbols that
// are merged are bytes (GPT-2, LLaMA 3, Qwen) or characters (LLaMA 2, Mistral, Gemma). Immutable after making; may be
// used from several threads.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/text/added_tokens.h"
#include "engine/text/byte_pair_merger.h"
#include "engine/text/normalizer.h"
#include "engine/text/splitter.h"
#include "engine/text/tokenizer.h"

namespace decodescope {

// Before which texts encode() puts a space of its own that decode() takes off.
enum class InventedSpace : std::uint8_t {
    Never,
    AtBeginning,  // of a sequence, also behind BOS
    BehindTokens, // also behind every added token
};

// A vocabulary of characters, as LLaMA 2 has it. A space is the character U+2581 there.
struct CharacterRules {
    bool byte_fallback = false;  // a character without a token becomes the tokens <0x0A> of its bytes
    bool decodes_bytes = false;  // and these are read as bytes again
    bool fuse_unknown = false;   // characters without a token that follow each other become one
    // What becomes what when a token is read; U+2581 a space.
    std::vector<std::pair<std::string, std::string>> replacements;
    InventedSpace invented_space = InventedSpace::Never;
};

// Everything that the files of a BPE say.
struct BpeParts {
    // Written in the byte alphabet or, with `characters`, as they are; ids need not be dense.
    std::vector<std::pair<std::string, std::int32_t>> vocabulary;
    std::vector<std::pair<std::string, std::string>> merges;  // in order of rank, written as the vocabulary
    std::vector<AddedToken> added;
    std::vector<NormalizerStep> normalizer;
    std::vector<SplitStep> steps;
    std::optional<CharacterRules> characters;  // nothing: bytes
    std::string unknown;         // the token of what has none; empty: that is an error
    bool ignore_merges = false;  // a pre-token that is in the vocabulary is taken whole
    bool adds_bos = false;
    std::optional<std::int32_t> bos, eos;
};

class BpeTokenizer final : public Tokenizer {
public:
    // `file` names the source in messages. Refused: ids that are negative, doubled or beyond 2^20, merges of tokens
    // that are not in the vocabulary.
    static Result<std::shared_ptr<const BpeTokenizer>> make(BpeParts parts, const std::string& file);

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
    // What one call of encode() needs.
    struct Run {
        const EncodeOptions& options;
        const std::stop_token& stop;
        std::vector<std::int32_t> out, symbols;
        BytePairMerger::Scratch scratch;
    };

    BpeTokenizer() = default;
    Status add_vocabulary(const BpeParts& parts, const std::string& file);
    void add_symbol(const std::string& text, std::int32_t id);
    Status add_added(const BpeParts& parts, const std::string& file);
    Status add_merges(const BpeParts& parts, const std::string& file);
    void add_whole(const BpeParts& parts);
    void make_fingerprint(const BpeParts& parts);
    std::string bytes_of(const std::string& text) const;
    bool is_added(std::int32_t id) const { return id >= 0 && id < size() && added_[static_cast<std::size_t>(id)]; }
    Status encode_segment(std::string_view text, bool begins, Run& run) const;
    Status encode_plain(std::string_view text, bool begins, Run& run) const;
    Status merge_characters(std::string_view piece, Run& run) const;
    Status push_unknown(std::string_view character, Run& run) const;

    std::vector<std::string> tokens_;  // bytes, by id
    std::vector<bool> special_, added_;
    AddedTokens raw_added_, normalized_added_;  // found before and behind the normalizer
    std::vector<NormalizerStep> normalizer_;
    BytePairMerger merger_;
    std::shared_ptr<const Splitter> splitter_;
    TextMap<std::int32_t> whole_;  // only with ignore_merges
    std::optional<CharacterRules> characters_;
    std::unordered_map<std::uint32_t, std::int32_t> character_ids_;  // by code point
    std::array<std::int32_t, 256> fallback_;                         // the tokens <0x00> to <0xFF>, -1 without
    std::int32_t unknown_ = -1;
    bool adds_bos_ = false;
    std::optional<std::int32_t> bos_, eos_;
    std::string fingerprint_;
};

// The byte of a token "<0x0A>": exactly two hexadecimal digits.
std::optional<std::uint8_t> byte_of_token(std::string_view text);

}  // namespace decodescope
