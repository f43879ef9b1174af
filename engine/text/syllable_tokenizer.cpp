#include "engine/text/syllable_tokenizer.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/support/hash.h"

namespace decodescope {
namespace {

constexpr std::string_view kConsonants = "bdfghjklmnprstvwyz";
constexpr std::string_view kVowels = "aeiou";
constexpr std::int32_t kSyllables = static_cast<std::int32_t>(kConsonants.size() * kVowels.size());

// A space and a word. Words come in the order of their length, so that no two numbers give the same one.
std::string spaced_word(std::int32_t number) {
    std::string out;
    for (std::int64_t n = number; n >= 0; n = n / kSyllables - 1) {
        const auto syllable = static_cast<std::size_t>(n % kSyllables);
        out.insert(out.begin(), {kConsonants[syllable / kVowels.size()], kVowels[syllable % kVowels.size()]});
    }
    out.insert(out.begin(), ' ');
    return out;
}

}  // namespace

SyllableTokenizer::SyllableTokenizer(std::int32_t size) {
    tokens_.reserve(static_cast<std::size_t>(std::max(size, 0)));
    for (std::int32_t id = 0; id < size; ++id)
        tokens_.push_back(id < 256 ? std::string(1, static_cast<char>(id)) : spaced_word(id - 256));
}

Result<std::vector<std::int32_t>> SyllableTokenizer::encode(std::string_view text, const EncodeOptions&,
                                                            std::stop_token stop) const {
    std::vector<std::int32_t> out;
    out.reserve(text.size());
    for (const char c : text) {
        const std::int32_t id = static_cast<unsigned char>(c);
        if (id >= size())
            return make_error(ErrorKind::Argument,
                              fmt::format("The byte 0x{:02X} is outside the vocabulary of {}.", id, size()));
        if ((out.size() & 0xFFFFF) == 0 && stop.stop_requested())
            return make_error(ErrorKind::Cancelled, "Tokenizing was cancelled.");
        out.push_back(id);
    }
    return out;
}

std::string_view SyllableTokenizer::token_bytes(std::int32_t id) const {
    return id >= 0 && id < size() ? std::string_view(tokens_[static_cast<std::size_t>(id)]) : std::string_view();
}

std::string SyllableTokenizer::fingerprint() const { return hash_text(hash64(fmt::format("syllables {}", size()))); }

}  // namespace decodescope
