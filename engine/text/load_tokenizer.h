// The tokenizer of a Hugging Face folder: tokenizer.json, or vocab.json with merges.txt and, for its class and added
// tokens, tokenizer_config.json. BPE only; what is of another kind is refused by its name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/text/bpe_tokenizer.h"
#include "engine/text/tokenizer.h"

namespace decodescope {

// What config.json says; the names in tokenizer_config.json are used where it says nothing.
struct TokenIds {
    std::optional<std::int64_t> bos, eos;
};

Result<std::shared_ptr<const Tokenizer>> load_tokenizer(const std::string& folder, const TokenIds& ids);

// The parts of both forms, for tests. `file` names the source in messages.
Result<BpeParts> read_tokenizer_json(std::string_view json, const std::string& file);
// merges.txt: one pair per line, separated by one space; LF or CRLF; a first line "#version" is skipped, other lines
// that begin with '#' are merges.
Result<BpeParts> read_vocab_and_merges(std::string_view vocab_json, std::string_view merges_text,
                                           const std::string& file);

}  // namespace decodescope
