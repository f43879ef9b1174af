// The vocabulary that a GGUF file carries in its metadata, and the tokenizer of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/text/tokenizer.h"

namespace decodescope {

// The values of tokenizer.ggml.token_type.
enum class EmbeddedTokenType : std::int32_t {
    Normal = 1,
    Unknown = 2,      // stands for characters without a token
    Control = 3,      // found in text only with parse_special
    UserDefined = 4,  // found in text always, whole
    Unused = 5,       // a step of merging at most, never a result
    Byte = 6,         // written <0x0A>
};

// The keys of tokenizer.ggml.*, named beside each member. Arrays are by token id.
struct EmbeddedVocabulary {
    std::string kind;                     // model: "llama" (SentencePiece BPE) or "gpt2" (byte-level BPE)
    std::string pre;                      // pre, for "gpt2": how text is cut; empty as "default"
    std::vector<std::string> tokens;      // tokens
    std::vector<float> scores;            // scores; needed for "llama": the higher is merged first
    std::vector<std::int32_t> types;      // token_type; empty: all normal, and <0x0A> and the like bytes
    std::vector<std::string> merges;      // merges, for "gpt2": "left right"
    std::int32_t bos = -1;                // bos_token_id; -1: none
    std::int32_t eos = -1;                // eos_token_id; -1: none
    std::int32_t unknown = -1;            // unknown_token_id; -1: none
    std::optional<bool> add_bos;          // add_bos_token; without it as the kind and `pre` do
    std::optional<bool> add_space_prefix; // add_space_prefix, for "llama"; without it a space is added
};

// Unsupported, by name: another kind or `pre`. Model: arrays of different lengths, a score that is no finite number, an
// id outside the vocabulary, a token twice, a byte that is not written as two hexadecimal digits, a merge of tokens
// that are not there. `file` names the source in messages.
Result<std::shared_ptr<const Tokenizer>> make_embedded_tokenizer(EmbeddedVocabulary vocabulary,
                                                                 const std::string& file = "The GGUF file");

}  // namespace decodescope
