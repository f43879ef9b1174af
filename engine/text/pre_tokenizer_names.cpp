#include "engine/text/pre_tokenizer_names.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace decodescope {

const char* const kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";
const char* const kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";

namespace {

const char* const kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class Cut { Gpt2, DigitsGpt2, Llama3, Qwen2, Tekken, Falcon, Default };

struct Row {
    std::string_view name;
    Cut cut;
    bool ignore_merges = false, adds_bos = false, composes = false;
};

constexpr std::array kRows = {
    Row{"gpt-2", Cut::Gpt2},           Row{"phi-2", Cut::Gpt2},          Row{"mpt", Cut::Gpt2},
    Row{"olmo", Cut::Gpt2},            Row{"starcoder", Cut::DigitsGpt2}, Row{"refact", Cut::DigitsGpt2},
    Row{"command-r", Cut::DigitsGpt2}, Row{"smollm", Cut::DigitsGpt2},   Row{"codeshell", Cut::DigitsGpt2},
    Row{"llama-bpe", Cut::Llama3, true, true}, Row{"llama3", Cut::Llama3, true, true},
    Row{"llama-v3", Cut::Llama3, true, true},  Row{"smaug-bpe", Cut::Llama3}, Row{"dbrx", Cut::Llama3},
    Row{"qwen2", Cut::Qwen2, false, false, true}, Row{"deepseek-r1-qwen", Cut::Qwen2, false, false, true},
    Row{"stablelm2", Cut::Qwen2},
    Row{"tekken", Cut::Tekken, true, true},    Row{"falcon", Cut::Falcon},    Row{"default", Cut::Default},
};

std::vector<SplitStep> steps_of(std::initializer_list<const char*> patterns) {
    std::vector<SplitStep> steps;
    for (const char* pattern : patterns) {
        SplitStep step;
        step.pattern = pattern;
        steps.push_back(std::move(step));
    }
    return steps;
}

std::vector<SplitStep> steps_of(Cut cut) {
    switch (cut) {
        case Cut::Gpt2: return steps_of({kGpt2Pattern});
        case Cut::DigitsGpt2: return steps_of({R"(\p{N})", kGpt2Pattern});
        case Cut::Llama3: return steps_of({kLlama3Pattern});
        case Cut::Qwen2: return steps_of({kQwen2Pattern});
        case Cut::Tekken: return steps_of({kTekkenPattern});
        case Cut::Falcon: return steps_of({R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Pattern, "[0-9][0-9][0-9]"});
        case Cut::Default: return steps_of({R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"});
    }
    return {};
}

}  // namespace

std::optional<NamedPreTokenizer> named_pre_tokenizer(std::string_view name) {
    if (name.empty()) name = "default";
    const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.name == name; });
    if (row == kRows.end()) return std::nullopt;
    return NamedPreTokenizer{steps_of(row->cut), row->ignore_merges, row->adds_bos, row->composes};
}

std::string pre_tokenizer_names() {
    std::string out;
    for (const Row& row : kRows) {
        if (!out.empty()) out += ", ";
        out += row.name;
    }
    return out;
}

}  // namespace decodescope
