#include "tests/support/tokenizer_input.h"

#include <string>

#include "engine/support/utf8.h"
#include "engine/text/load_tokenizer.h"

namespace decodescope {
namespace {

Result<BpeParts> read(std::string_view text) {
    const std::size_t zero = text.find('\0');
    if (zero == std::string_view::npos) return read_tokenizer_json(text, "fuzz");
    return read_vocab_and_merges(text.substr(0, zero), text.substr(zero + 1), "fuzz");
}

void use(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options) {
    const auto ids = tokenizer.encode(text, options);
    if (!ids) return;
    TextStream stream(tokenizer, true);
    std::string streamed;
    for (const std::int32_t id : *ids) {
        DS_CHECK(id >= 0 && id < tokenizer.size());
        streamed += stream.push(id);
    }
    streamed += stream.finish();
    DS_CHECK(streamed == tokenizer.decode(*ids));
    DS_CHECK(utf8_is_valid(streamed));
}

}  // namespace

void parse_tokenizer_input(std::span<const std::byte> bytes) {
    auto parts = read({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!parts) return;
    const auto tokenizer = BpeTokenizer::make(std::move(*parts), "fuzz");
    if (!tokenizer) return;
    for (const std::string_view text : {"ab a1\xe2\x96\x81\xff <s>e\xcc\x81\n", " a", ""})
        for (const bool on : {false, true}) use(**tokenizer, text, {on, on, on});
}

}  // namespace decodescope
