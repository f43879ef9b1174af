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

    // For chips and tables: special tokens as written, incomplete bytes as \xF0\x9F, control characters escaped, spaces
    // kept.
    std::string display(std::int32_t id) const;
    // Whole sequence; bytes that are no UTF-8 become U+FFFD.
    std::string decode(std::span<const std::int32_t> ids) const;
};

// Bytes held until a character is complete; concatenated pieces equal Tokenizer::decode of all tokens.
class TextStream {
public:
    explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
    std::string push(std::int32_t token);  // text that became complete with this token
    std::string finish();                  // what is left, as U+FFFD; nothing stays pending

private:
    const Tokenizer* tokenizer_;
    std::string held_;
};

}  // namespace decodescope
