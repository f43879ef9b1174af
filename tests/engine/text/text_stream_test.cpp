// Streaming: bytes held until a character is complete; the pieces equal the whole (TK-03, TK-04). UTF-8 helpers.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

#include "engine/support/utf8.h"
#include "engine/text/load_tokenizer.h"
#include "engine/text/syllable_tokenizer.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

std::shared_ptr<const Tokenizer> fixture() { return *load_tokenizer(fixture_path("tokenizer-gpt2"), {}); }

std::string streamed(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
    TextStream stream(tokenizer);
    std::string out;
    for (const std::int32_t id : ids) out += stream.push(id);
    return out + stream.finish();
}

TEST(TextStream, HoldsACharacterUntilItIsComplete) {  // TK-03
    const SyllableTokenizer bytes(256);
    TextStream stream(bytes);
    EXPECT_EQ(stream.push(0xF0), "");
    EXPECT_EQ(stream.push(0x9F), "");
    EXPECT_EQ(stream.push(0x98), "");
    EXPECT_EQ(stream.push(0x80), "\U0001F600");
    EXPECT_EQ(stream.push('a'), "a");
    EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, BytesThatCannotCompleteAreShownAtOnce) {  // TK-04
    const SyllableTokenizer bytes(256);
    TextStream stream(bytes);
    EXPECT_EQ(stream.push(0xFF), "\uFFFD");
    EXPECT_EQ(stream.push(0xC3), "");
    EXPECT_EQ(stream.push('('), "\uFFFD(");
    EXPECT_EQ(stream.push(0xE2), "");
    EXPECT_EQ(stream.push(0x82), "");
    EXPECT_EQ(stream.finish(), "\uFFFD");
    EXPECT_EQ(stream.finish(), "") << "nothing stays pending";
    EXPECT_EQ(stream.push(0xED), "");
    EXPECT_EQ(stream.push(0xA0), "\uFFFD\uFFFD") << "no surrogates";
    EXPECT_EQ(stream.push('x'), "x");
}

TEST(TextStream, PiecesEqualTheWhole) {  // TK-03 over every stored string, and over random ids
    const auto tokenizer = fixture();
    const auto stored = nlohmann::json::parse(read_fixture("tokenizer_ids.json"));
    for (std::size_t i = 0; i < stored["strings"].size(); ++i) {
        const auto ids = stored["gpt2"][i].get<std::vector<std::int32_t>>();
        EXPECT_EQ(streamed(*tokenizer, ids), stored["strings"][i].get<std::string>());
    }
    std::uint32_t state = 1;
    for (int run = 0; run < 300; ++run) {
        std::vector<std::int32_t> ids;
        for (int i = 0; i < 40; ++i) {
            state = state * 1664525u + 1013904223u;
            ids.push_back(static_cast<std::int32_t>(state >> 16) % 600);
        }
        const std::string text = tokenizer->decode(ids);
        EXPECT_EQ(streamed(*tokenizer, ids), text);
        EXPECT_TRUE(utf8_is_valid(text));
    }
}

TEST(Utf8, UnitsFollowTheStandard) {
    const auto kind = [](std::string_view text) { return utf8_front(text).kind; };
    EXPECT_EQ(kind("a"), Utf8Kind::Valid);
    EXPECT_EQ(kind("\xC3"), Utf8Kind::Incomplete);
    EXPECT_EQ(kind("\xC0\x80"), Utf8Kind::Invalid) << "overlong";
    EXPECT_EQ(kind("\xE0\x80\x80"), Utf8Kind::Invalid) << "overlong";
    EXPECT_EQ(kind("\xF4\x90\x80\x80"), Utf8Kind::Invalid) << "above U+10FFFF";
    EXPECT_EQ(kind("\xED\xA0\x80"), Utf8Kind::Invalid) << "surrogate";
    EXPECT_EQ(kind("\x80"), Utf8Kind::Invalid);
    EXPECT_EQ(utf8_front("\U0001F600").code_point, 0x1F600u);
    // The example of the standard, section 3.9: maximal subparts.
    EXPECT_EQ(utf8_repaired("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
              "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
    std::string built;
    for (const std::uint32_t c : {0x24u, 0xA2u, 0x20ACu, 0x10348u}) utf8_append(built, c);
    EXPECT_EQ(built, "\u0024\u00A2\u20AC\U00010348");
}

TEST(SyllableTokenizer, TextsAreDistinctAndDecodeNeverFails) {
    const SyllableTokenizer tokenizer(50257);
    EXPECT_EQ(tokenizer.size(), 50257);
    std::set<std::string_view> seen;
    for (std::int32_t id = 0; id < tokenizer.size(); ++id) seen.insert(tokenizer.token_bytes(id));
    EXPECT_EQ(seen.size(), 50257u);
    EXPECT_EQ(tokenizer.token_bytes(256), " ba");
    EXPECT_EQ(tokenizer.token_bytes(256 + 90), " baba");
    const std::vector<std::int32_t> ids = {256, 300, 50256, 255, 50257, -1};
    EXPECT_TRUE(utf8_is_valid(tokenizer.decode(ids)));
    EXPECT_EQ(*tokenizer.encode("\u00e9a", {}), (std::vector<std::int32_t>{0xC3, 0xA9, 'a'}));
    EXPECT_EQ(tokenizer.eos(), std::nullopt);
}

}  // namespace
}  // namespace decodescope
