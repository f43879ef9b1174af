// Byte-level BPE against the ids of the reference library, and the manners around it: TK-01 to TK-10.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

#include "engine/model/model.h"
#include "engine/text/load_tokenizer.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using Ids = std::vector<std::int32_t>;
using testing::HasSubstr;
using TokenizerPtr = std::shared_ptr<const Tokenizer>;

TokenizerPtr load(const std::string& folder) {
    auto tokenizer = load_tokenizer(folder, {});
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().text();
    return tokenizer ? *tokenizer : nullptr;
}
TokenizerPtr fixture(const std::string& name) { return load(fixture_path(name)); }

EncodeOptions parse_special() {
    EncodeOptions options;
    options.parse_special = true;
    return options;
}

Ids encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
    auto ids = tokenizer.encode(text, options);
    EXPECT_TRUE(ids.ok()) << ids.error().text();
    return ids ? *ids : Ids();
}

// The reference library always finds special tokens, so the text is parsed for them.
void compare(const Tokenizer& tokenizer, const nlohmann::json& strings, const nlohmann::json& ids) {
    ASSERT_EQ(strings.size(), ids.size());
    for (std::size_t i = 0; i < strings.size(); ++i) {
        const auto text = strings[i].get<std::string>();
        const Ids got = encode(tokenizer, text, parse_special());
        EXPECT_EQ(got, ids[i].get<Ids>()) << "string " << i << ": " << strings[i].dump();
        const Ids body = encode(tokenizer, text, {true, false});
        EXPECT_EQ(tokenizer.decode(body), text) << strings[i].dump();
    }
}

class ReferenceIds : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceIds, AreTheSame) {  // TK-01: every string of the case and 300 random ones, three ways to split
    const auto stored = nlohmann::json::parse(read_fixture("tokenizer_ids.json"));
    compare(*fixture("tokenizer-" + GetParam()), stored["strings"], stored[GetParam()]);
}

INSTANTIATE_TEST_SUITE_P(Splittings, ReferenceIds, testing::Values("gpt2", "llama3", "han"),
                         [](const auto& info) { return info.param; });

TEST(Tokenizer, BundledIdsAreThoseOfTheReferenceLibrary) {
    const auto stored = nlohmann::json::parse(read_fixture("bundled/ids.json"));
    compare(*load(DECODESCOPE_SOURCE_DIR "/resources/model/bundled"), stored["strings"], stored["ids"]);
}

// The same vocabulary as vocab.json and merges.txt, which have neither pre-tokenizer nor special tokens.
class TwoFiles : public testing::Test {
protected:
    TwoFiles() : vocab(read_fixture("tokenizer-gpt2/vocab.json")), merges(read_fixture("tokenizer-gpt2/merges.txt")) {}
    TokenizerPtr open() const {
        folder.write("vocab.json", vocab);
        folder.write("merges.txt", merges);
        return load(folder.path());
    }
    std::string vocab, merges;
    TemporaryFolder folder;
};

TEST_F(TwoFiles, GiveTheSameIds) {
    const TokenizerPtr two = open(), one = fixture("tokenizer-gpt2");
    const auto stored = nlohmann::json::parse(read_fixture("tokenizer_ids.json"));
    compare(*two, stored["strings"], stored["gpt2"]);
    EXPECT_EQ(two->size(), one->size());
    EXPECT_EQ(two->eos(), 599);
    EXPECT_EQ(two->bos(), 599);
    EXPECT_TRUE(two->is_special(599));
    EXPECT_FALSE(two->adds_bos());
}

TEST_F(TwoFiles, LineEndsVersionLineAndHashTokensAreHarmless) {  // TK-02
    ASSERT_EQ(merges.rfind("#version", 0), 0u);
    const Ids plain = encode(*open(), "#version # ## total += values[i];");
    std::string crlf;
    for (const char c : merges) crlf += c == '\n' ? "\r\n" : std::string(1, c);
    merges = crlf;
    EXPECT_EQ(encode(*open(), "#version # ## total += values[i];"), plain);
    // A merge of two hash signs is a merge, not a comment, also on the first line.
    auto tokens = nlohmann::json::parse(vocab);
    tokens["##"] = 600;
    vocab = tokens.dump();
    merges = "# #\r\n";
    EXPECT_EQ(encode(*open(), "##"), Ids{600});
    merges = "#version: 0.2\n# #\n";
    EXPECT_EQ(encode(*open(), "##"), Ids{600});
}

TEST_F(TwoFiles, DamageIsNamed) {
    const auto refusal = [&] {
        folder.write("vocab.json", vocab);
        folder.write("merges.txt", merges);
        const auto tokenizer = load_tokenizer(folder.path(), {});
        return tokenizer ? "accepted" : tokenizer.error().message;
    };
    const std::string good = merges;
    merges = "#version\nh e l\n";
    EXPECT_THAT(refusal(), HasSubstr("line 2 of merges.txt, \"h e l\""));
    merges = "#version\nabc\n";
    EXPECT_THAT(refusal(), HasSubstr("no pair"));
    merges = "#version\nqqqq q\n";
    EXPECT_THAT(refusal(), HasSubstr("\"qqqq\" and \"q\""));
    merges = good;
    vocab = R"({"a": 0, "b": 0})";
    EXPECT_THAT(refusal(), HasSubstr("same id 0"));
    vocab = R"({"a": -1})";
    EXPECT_THAT(refusal(), HasSubstr("the id of \"a\" is -1"));
    vocab = R"({"a": 0, "a": 1})";
    EXPECT_THAT(refusal(), HasSubstr("duplicate key"));
    vocab = R"({"a": 2147483647})";
    EXPECT_THAT(refusal(), HasSubstr("2147483647 is beyond"));
    vocab = "{}";
    EXPECT_THAT(refusal(), HasSubstr("vocabulary is empty"));
}

TEST(Tokenizer, CarriageReturnsAndMarksAreKept) {  // TK-02: no newline translation, the byte-order mark is text
    const TokenizerPtr t = fixture("tokenizer-gpt2");
    for (const std::string text : {"a\r\nb", "line1\r\nline2\r\n", "\xEF\xBB\xBFtext", "\r"})
        EXPECT_EQ(t->decode(encode(*t, text)), text);
    EXPECT_EQ(encode(*t, "\r\n").size(), 2u);
}

TEST(Tokenizer, SpecialTextIsPlainUnlessAskedFor) {  // TK-06
    const TokenizerPtr t = fixture("tokenizer-gpt2");
    const std::string end = "<|endoftext|>";
    const Ids plain = encode(*t, end);
    EXPECT_GT(plain.size(), 3u);
    EXPECT_EQ(std::count(plain.begin(), plain.end(), 599), 0);
    EXPECT_EQ(t->decode(plain), end);
    EXPECT_EQ(encode(*t, end, parse_special()), Ids{599});
    const Ids both = encode(*t, "a" + end + "b", parse_special());
    ASSERT_EQ(both.size(), 3u);
    EXPECT_EQ(both[1], 599);
    EXPECT_EQ(t->decode(both), "a" + end + "b");
    // An added token that is not special is found always.
    const TokenizerPtr tool = fixture("tokenizer-llama3");
    const Ids with_tool = encode(*tool, "a<tool>b", {false, false});
    ASSERT_EQ(with_tool.size(), 3u);
    EXPECT_EQ(tool->token_bytes(with_tool[1]), "<tool>");
    EXPECT_FALSE(tool->is_special(with_tool[1]));
}

TEST(Tokenizer, SpecialTokensAreShownAndKnownById) {  // TK-07
    const TokenizerPtr t = fixture("tokenizer-gpt2");
    EXPECT_EQ(t->display(599), "<|endoftext|>");
    EXPECT_TRUE(t->is_special(599));
    EXPECT_FALSE(t->is_special(0));
    EXPECT_FALSE(t->is_special(-1));
    EXPECT_FALSE(t->is_special(600));
    EXPECT_EQ(t->token_bytes(600), "");
    EXPECT_EQ(t->token_bytes(-1), "");
    EXPECT_EQ(t->size(), 600);
}

TEST(Tokenizer, BosIsAddedOnceAndOnlyWhenAskedFor) {  // TK-08
    const TokenizerPtr t = fixture("tokenizer-llama3");
    ASSERT_TRUE(t->adds_bos());
    const std::int32_t bos = *t->bos();
    EXPECT_EQ(t->token_bytes(bos), "<|begin_of_text|>");
    const Ids ids = encode(*t, "Hello");
    EXPECT_EQ(ids[0], bos);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), bos), 1);
    const Ids typed = encode(*t, "<|begin_of_text|>Hello", parse_special());
    EXPECT_EQ(typed, ids) << "typed and parsed: not doubled";
    const Ids plain = encode(*t, "<|begin_of_text|>Hello");
    EXPECT_EQ(plain[0], bos) << "typed but not parsed: plain text behind the real one";
    EXPECT_EQ(std::count(plain.begin(), plain.end(), bos), 1);
    EXPECT_EQ(encode(*t, ""), Ids{bos});
    for (const std::string text : {"Hello", " Hello", "  Hello ", ""}) {
        const Ids second = encode(*t, text, {false, false});
        EXPECT_EQ(std::count(second.begin(), second.end(), bos), 0);
        EXPECT_EQ(t->decode(second), text) << "no invented space";
    }
}

TEST(Tokenizer, EmptyTextHasNoTokens) {  // TK-09: refusing it is the session's business
    EXPECT_TRUE(encode(*fixture("tokenizer-gpt2"), "").empty());
    EXPECT_EQ(fixture("tokenizer-gpt2")->decode({}), "");
}

TEST(Tokenizer, BytesThatAreNoUtf8AreKept) {  // TK-04
    const TokenizerPtr t = fixture("tokenizer-gpt2");
    std::string all;
    for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
    for (const std::string& bytes :
         {std::string("\xff"), std::string("\xc3("), std::string("a\xe2\x82"), std::string("\xed\xa0\x80"), all}) {
        std::string back;
        for (const std::int32_t id : encode(*t, bytes)) back += t->token_bytes(id);
        EXPECT_EQ(back, bytes);
    }
    EXPECT_EQ(t->decode(encode(*t, "\xff")), "\uFFFD");
    EXPECT_EQ(t->decode(encode(*t, "\xc3(")), "\uFFFD(");
    EXPECT_EQ(t->decode(encode(*t, "\xe2\x82")), "\uFFFD");
}

TEST(Tokenizer, BytesWithoutATokenAreNamed) {
    const ModelPtr model = open_fixture("l3");
    EXPECT_EQ(encode(*model->tokenizer, "a b\n").size(), 4u);
    const auto ids = model->tokenizer->encode("\u00e9", {});
    ASSERT_FALSE(ids.ok());
    EXPECT_EQ(ids.error().kind, ErrorKind::Argument);
    EXPECT_THAT(ids.error().message, HasSubstr("0xC3"));
}

TEST(Tokenizer, DisplayShowsWhatCannotBeDrawn) {
    const TokenizerPtr t = fixture("tokenizer-gpt2");
    const auto shown = [&](std::string_view byte) { return t->display(encode(*t, byte)[0]); };
    EXPECT_EQ(shown("\n"), "\\n");
    EXPECT_EQ(shown("\t"), "\\t");
    EXPECT_EQ(shown(std::string_view("\0", 1)), "\\x00");
    EXPECT_EQ(shown("\x7f"), "\\x7F");
    EXPECT_EQ(shown("\xf0"), "\\xF0");
    EXPECT_EQ(shown(" "), " ");
    EXPECT_EQ(shown("a"), "a");
}

TEST(Tokenizer, FingerprintsTellVocabulariesApart) {
    EXPECT_EQ(fixture("tokenizer-gpt2")->fingerprint(), fixture("tokenizer-gpt2")->fingerprint());
    EXPECT_NE(fixture("tokenizer-gpt2")->fingerprint(), fixture("tokenizer-han")->fingerprint());
    EXPECT_NE(fixture("tokenizer-gpt2")->fingerprint(), fixture("tokenizer-llama3")->fingerprint());
    // One option that changes ids.
    auto json = nlohmann::json::parse(read_fixture("tokenizer-gpt2/tokenizer.json"));
    const auto fingerprint = [&json] {
        return BpeTokenizer::make(std::move(*read_tokenizer_json(json.dump(), "t")), "t").value()->fingerprint();
    };
    const auto before = fingerprint();
    json["model"]["ignore_merges"] = true;
    EXPECT_NE(fingerprint(), before);
}

}  // namespace
}  // namespace decodescope
