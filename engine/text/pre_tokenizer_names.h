// The ways to cut text that GGUF files name in tokenizer.ggml.pre.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/splitter.h"

namespace decodescope {

// The patterns as the tokenizer.json files of these models write them.
extern const char* const kLlama3Pattern;
extern const char* const kQwen2Pattern;

struct NamedPreTokenizer {
    std::vector<SplitStep> steps;
    bool ignore_merges = false;  // what is in the vocabulary is taken whole
    bool adds_bos = false;       // where the file does not say
    bool composes = false;       // text is brought into NFC first, as the models' own tokenizer.json says
};

// Nothing for a name that is not known. An empty name is "default".
std::optional<NamedPreTokenizer> named_pre_tokenizer(std::string_view name);
// "gpt-2, llama-bpe, ...": for messages.
std::string pre_tokenizer_names();

}  // namespace decodescope
