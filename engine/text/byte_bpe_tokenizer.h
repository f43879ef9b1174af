// Byte-level BPE: special tokens, splitting, merging. Immutable after making; may be used from several threads.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/text/byte_pair_merger.h"
#include "engine/text/splitter.h"
#include "engine/text/tokenizer.h"

namespace decodescope {

struct AddedToken {
    std::int32_t id = 0;
    std::string text;      // as written
    bool special = false;  // found in text only with parse_special; the others always
};

// Everything that the files of a byte-level BPE say.
struct ByteBpeParts {
    // Written in the byte alphabet; ids need not be dense.
    std::vector<std::pair<std::string, std::int32_t>> vocabulary;
    std::vector<std::pair<std::string, std::string>> merges;  // in order of rank, in the byte alphabet
    std::vector<AddedToken> added;
    std::vector<SplitStep> steps;
    bool ignore_merges = false;  // a pre-token that is in the vocabulary is taken whole
    bool adds_bos = false;
    std::optional<std::int32_t> bos, eos;
};

class ByteBpeTokenizer final : public Tokenizer {
public:
    // `file` names the source in messages. Refused: ids that are negative, doubled or beyond 2^20, merges of tokens
    // that are not in the vocabulary.
    static Result<std::shared_ptr<const ByteBpeTokenizer>> make(ByteBpeParts parts, const std::string& file);

    Result<std::vector<std::int32_t>> encode(std::string_view text, const EncodeOptions& options,
                                             std::stop_token stop = {}) const override;
    std::string_view token_bytes(std::int32_t id) const override;
    bool is_special(std::int32_t id) const override;
    std::int32_t size() const override { return static_cast<std::int32_t>(tokens_.size()); }
    std::optional<std::int32_t> bos() const override { return bos_; }
    std::optional<std::int32_t> eos() const override { return eos_; }
    bool adds_bos() const override { return adds_bos_; }
    std::string fingerprint() const override { return fingerprint_; }

private:
    ByteBpeTokenizer() = default;
    Status add_vocabulary(const ByteBpeParts& parts, const std::string& file);
    Status add_added(const ByteBpeParts& parts, const std::string& file);
    Status add_merges(const ByteBpeParts& parts, const std::string& file);
    void make_fingerprint(const ByteBpeParts& parts);
    // The longest added token at the front of `text`, or null.
    const AddedToken* added_at(std::string_view text, bool parse_special) const;
    Status encode_plain(std::string_view text, BytePairMerger::Scratch& scratch, std::vector<std::int32_t>& out,
                        const std::stop_token& stop) const;

    std::vector<std::string> tokens_;  // bytes, by id
    std::vector<bool> special_;
    std::array<std::vector<AddedToken>, 256> added_;  // by first byte, longest first
    BytePairMerger merger_;
    std::shared_ptr<const Splitter> splitter_;
    std::unordered_map<std::string_view, std::int32_t> whole_;  // views into tokens_; only with ignore_merges
    bool adds_bos_ = false;
    std::optional<std::int32_t> bos_, eos_;
    std::string fingerprint_;
};

}  // namespace decodescope
