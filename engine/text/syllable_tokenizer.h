// The tokenizer of synthetic models: every id has its own text, bytes and then made-up words of short syllables, so
// that nobody takes what such a model writes for language.
#pragma once

#include <string>
#include <vector>

#include "engine/text/tokenizer.h"

namespace decodescope {

// Ids 0 to 255 are the bytes; id 256 + n is a space and the n-th word. encode() gives the bytes of the text.
class SyllableTokenizer final : public Tokenizer {
public:
    explicit SyllableTokenizer(std::int32_t size);

    Result<std::vector<std::int32_t>> encode(std::string_view text, const EncodeOptions& options,
                                             std::stop_token stop = {}) const override;
    std::string_view token_bytes(std::int32_t id) const override;
    bool is_special(std::int32_t) const override { return false; }
    std::int32_t size() const override { return static_cast<std::int32_t>(tokens_.size()); }
    std::optional<std::int32_t> bos() const override { return std::nullopt; }
    std::optional<std::int32_t> eos() const override { return std::nullopt; }
    bool adds_bos() const override { return false; }
    std::string fingerprint() const override;

private:
    std::vector<std::string> tokens_;
};

}  // namespace decodescope
