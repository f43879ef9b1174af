// The parts of a tokenizer.json that say what happens around merging: normalizer, pre_tokenizer and decoder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/support/json_value.h"
#include "engine/text/bpe_tokenizer.h"

namespace decodescope {

// Names the file in messages.
struct TokenizerJsonFile {
    std::string name;
    Error refuse(const std::string& reason) const;
    Error unsupported(const std::string& what) const;
};

namespace tokenizer_json {

bool absent(const JsonValue* value);
bool flag(const JsonValue& object, std::string_view key, bool fallback);
std::string text(const JsonValue& object, std::string_view key);
// The members of a "Sequence", or the value itself.
std::vector<const JsonValue*> sequence(const JsonValue& value, std::string_view key);

}  // namespace tokenizer_json

Status read_normalizer(const TokenizerJsonFile& file, const JsonValue* value, BpeParts& parts);
// Sets `parts.characters` when there is no ByteLevel.
Status read_pre_tokenizer(const TokenizerJsonFile& file, const JsonValue* value, BpeParts& parts);
Status read_decoder(const TokenizerJsonFile& file, const JsonValue* value, BpeParts& parts);

}  // namespace decodescope
