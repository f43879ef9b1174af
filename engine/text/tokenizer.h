// Text <-> token ids.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/status.h"

namespace decodescope {

struct EncodeOptions {
    bool parse_special = false;  // "<|endoftext|>" in the text becomes its id instead of plain characters
    bool add_bos = true;         // only where the tokenizer says so
    bool add_space = true;       // the space that LLaMA's tokenizer puts before a text; false: the text goes on
};

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    // Error when stopped or when the text is larger than 2^31 bytes.
    virtual Result<std::vector<std::int32_t>> encode(std::string_view text, const EncodeOptions& options,
                                                     std::stop_token stop = {}) const = 0;
    // Raw bytes of a token, which may be part of a character. Special tokens: their written form. Empty for ids without
    // a token.
    virtual std::string_view token_bytes(std::int32_t id) const = 0;
    virtual bool is_special(std::int32_t id) const = 0;
    virtual std::int32_t size() const = 0;  // ids 0 .. size-1
    virtual std::optional<std::int32_t> bos() const = 0;
    virtual std::optional<std::int32_t> eos() const = 0;
    virtual bool adds_bos() const = 0;
    virtual std::string fingerprint() const = 0;  // xxh64 of vocabulary, merges and special tokens
    // Whether the space that `token` begins with is not of the text but was put there by encode(): LLaMA's tokenizer
    // writes one before every text. `previous` is the token before it; nothing: it begins a sequence.
    virtual bool has_invented_space(std::optional<std::int32_t> previous, std::int32_t token) const {
        static_cast<void>(previous), static_cast<void>(token);
        return false;
    }

    // For chips and tables: special tokens as written, incomplete bytes as \xF0\x9F, control characters escaped, spaces
    // kept.
    std::string display(std::int32_t id) const;
    // Whole sequence from its beginning, without invented spaces; bytes that are no UTF-8 become U+FFFD.
    std::string decode(std::span<const std::int32_t> ids) const;
};

// Bytes held until a character is complete. From the beginning of a sequence, the concatenated pieces equal
// Tokenizer::decode of all tokens; a stream that starts later keeps the space of its first token.
class TextStream {
public:
    explicit TextStream(const Tokenizer& tokenizer, bool from_beginning = false)
        : tokenizer_(&tokenizer), knows_previous_(from_beginning) {}
    std::string push(std::int32_t token);  // text that became complete with this token
    std::string finish();                  // what is left, as U+FFFD; nothing stays pending

private:
    const Tokenizer* tokenizer_;
    bool knows_previous_;
    std::optional<std::int32_t> previous_;  // nothing at the beginning
    std::string held_;
};

}  // namespace decodescope
