// The ids of GPT-2's own vocabulary for strings that simple splitters get wrong: TK-01, TK-02, TK-06. The fixture holds
// the part of that vocabulary that these strings can use, with the real ids (fixtures/make_gpt2_subset.py).
#include <gtest/gtest.h>

#include "engine/text/load_tokenizer.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using namespace std::string_literals;
using Ids = std::vector<std::int32_t>;
using TokenizerPtr = std::shared_ptr<const Tokenizer>;

constexpr std::int32_t kEnd = 50256;

TokenizerPtr load(const std::string& folder) {
    auto tokenizer = load_tokenizer(folder, {});
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().text();
    return tokenizer ? *tokenizer : nullptr;
}

Ids encode(const Tokenizer& tokenizer, std::string_view text, bool special = false) {
    EncodeOptions options;
    options.parse_special = special;
    const auto ids = tokenizer.encode(text, options);
    EXPECT_TRUE(ids.ok()) << ids.error().text();
    return ids ? *ids : Ids();
}

struct Golden {
    std::string text;
    Ids ids;
};

const std::vector<Golden>& golden() {
    static const std::vector<Golden> rows = {
        {"", {}},
        {"Hello world", {15496, 995}},
        {" Hello world", {18435, 995}},
        {"Hello world ", {15496, 995, 220}},
        {"Hello  world", {15496, 220, 995}},
        {"a   b", {64, 220, 220, 275}},
        {"    return x", {220, 220, 220, 1441, 2124}},
        {"\tfoo", {197, 21943}},
        {"I'll can't we've he's I'd I'm they're",
         {40, 1183, 460, 470, 356, 1053, 339, 338, 314, 1549, 314, 1101, 484, 821}},
        {"I'LL CAN'T", {40, 6, 3069, 15628, 6, 51}},
        {"don\u2019t", {9099, 447, 247, 83}},
        {"In 2024, 3.14159", {818, 48609, 11, 513, 13, 1415, 19707}},
        {"abc123def", {39305, 10163, 4299}},
        {"caf\u00e9", {66, 1878, 2634}},
        {"cafe\u0301", {66, 8635, 136, 223}},
        {"你好世界", {19526, 254, 25001, 121, 10310, 244, 45911, 234}},
        {"😀", {47249, 222}},
        {"\U0001F1FA\U0001F1F8", {8582, 229, 118, 8582, 229, 116}},
        {"a\u00a0b", {64, 1849, 65}},
        {"a\u3000b", {64, 5099, 222, 65}},
        {"a\u200bb", {64, 9525, 65}},
        {"x\u00b2", {87, 31185}},
        {"\u2163", {158, 227, 96}},
        {"a\0b"s, {64, 188, 65}},
        {"!!!...???", {10185, 986, 28358}},
        {std::string(100, 'a'), Ids(25, 24794)},
        {std::string(64, '_'), {27193}},
        {"The meaning of life is:", {464, 3616, 286, 1204, 318, 25}},
        // TK-02: no byte is dropped or added at a line's end; the byte-order mark is text like any other.
        {"a\r\nb", {64, 201, 198, 65}},
        {"line1\r\nline2\r\n", {1370, 16, 201, 198, 1370, 17, 201, 198}},
        {"\ufeff", {171, 119, 123}},
    };
    return rows;
}

void check_all(const Tokenizer& tokenizer) {
    for (const Golden& row : golden()) {
        EXPECT_EQ(encode(tokenizer, row.text), row.ids) << testing::PrintToString(row.text);
        EXPECT_EQ(tokenizer.decode(row.ids), row.text);
    }
    EXPECT_EQ(encode(tokenizer, "\U0001F468\u200d\U0001F469\u200d\U0001F467").size(), 10u);
    EXPECT_EQ(encode(tokenizer, "\u0928\u092e\u0938\u094d\u0924\u0947").size(), 12u);
}

TEST(Gpt2Golden, IdsAreThoseOfGpt2) { check_all(*load(fixture_path("tokenizer-gpt2-golden"))); }  // TK-01, TK-02

TEST(Gpt2Golden, FilesWithCarriageReturnsAreTheSame) {  // TK-02
    const auto with_carriage_returns = [](const std::string& text) {
        std::string out;
        for (const char c : text) out += c == '\n' ? "\r\n" : std::string(1, c);
        return out;
    };
    TemporaryFolder folder;
    for (const char* name : {"vocab.json", "merges.txt"})
        folder.write(name, with_carriage_returns(read_fixture(std::string("tokenizer-gpt2-golden/") + name)));
    check_all(*load(folder.path()));
}

TEST(Gpt2Golden, SpecialTextIsPlainUnlessAskedFor) {  // TK-06
    const TokenizerPtr t = load(fixture_path("tokenizer-gpt2-golden"));
    const Ids plain = {27, 91, 437, 1659, 5239, 91, 29};
    EXPECT_EQ(encode(*t, "<|endoftext|>"), plain);
    EXPECT_EQ(encode(*t, "<|endoftext|>", true), Ids{kEnd});
    EXPECT_EQ(encode(*t, "a<|endoftext|>b", true), (Ids{64, kEnd, 65}));
    const Ids inside = encode(*t, "a<|endoftext|>b");
    EXPECT_EQ(inside, (Ids{64, 27, 91, 437, 1659, 5239, 91, 29, 65}));
    EXPECT_EQ(t->decode(inside), "a<|endoftext|>b");
    EXPECT_FALSE(EncodeOptions{}.parse_special);
    EXPECT_EQ(t->eos(), kEnd);
}

}  // namespace
}  // namespace decodescope
