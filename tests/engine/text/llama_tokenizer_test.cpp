// LLaMA's tokenizers against the ids of the reference libraries: a SentencePiece vocabulary by its scores, the same as
// merges in the forms that LLaMA 2, Mistral and Gemma write, and Qwen's byte-level one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/text/embedded_vocabulary.h"
#include "engine/text/load_tokenizer.h"
#include "engine/text/normalizer.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;
using TokenizerPtr = std::shared_ptr<const Tokenizer>;

constexpr const char* kSpace = "\u2581";

const json& stored() {
    static const json values = json::parse(read_fixture("llama_ids.json"));
    return values;
}

EmbeddedVocabulary vocabulary() {
    const json values = json::parse(read_fixture("tokenizer-llama/vocabulary.json"));
    EmbeddedVocabulary v;
    v.kind = "llama";
    v.tokens = values["tokens"].get<std::vector<std::string>>();
    v.scores = values["scores"].get<std::vector<float>>();
    v.types = values["types"].get<std::vector<std::int32_t>>();
    v.unknown = 0, v.bos = 1, v.eos = 2;
    return v;
}

TokenizerPtr by_scores(const EmbeddedVocabulary& v = vocabulary()) {
    auto tokenizer = make_embedded_tokenizer(v, "t.gguf");
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().text();
    return tokenizer ? *tokenizer : nullptr;
}

TokenizerPtr from_json(const json& document) {
    auto parts = read_tokenizer_json(document.dump(), "t.json");
    EXPECT_TRUE(parts.ok()) << parts.error().text();
    if (!parts) return nullptr;
    auto tokenizer = BpeTokenizer::make(std::move(*parts), "t.json");
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().text();
    return tokenizer ? *tokenizer : nullptr;
}

json llama_json() { return json::parse(read_fixture("tokenizer-llama/tokenizer.json")); }

// The forms that the script wrote ids of.
json form(const std::string& name) {
    json document = llama_json();
    const json metaspace = {{"type", "Metaspace"}, {"replacement", kSpace}};
    if (name == "first" || name == "always") {
        document["normalizer"] = nullptr;
        document["pre_tokenizer"] = metaspace;
        document["pre_tokenizer"]["prepend_scheme"] = name;
        document["pre_tokenizer"]["split"] = name == "always";
    }
    if (name == "replace") {
        document["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}};
        document["pre_tokenizer"] = {
            {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
        document["decoder"]["decoders"].erase(3);  // Strip
    }
    return document;
}

Ids encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
    auto ids = tokenizer.encode(text, options);
    EXPECT_TRUE(ids.ok()) << ids.error().text();
    return ids ? *ids : Ids();
}

std::string streamed(const Tokenizer& tokenizer, const Ids& ids) {
    TextStream stream(tokenizer, true);
    std::string out;
    for (const std::int32_t id : ids) out += stream.push(id);
    return out + stream.finish();
}

// The reference finds special tokens always and adds BOS even where the text begins with it.
void compare(const Tokenizer& tokenizer, const std::string& name, bool bos_stored, bool decodes) {
    const json& ids = stored()[name];
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto text = stored()["strings"][i].get<std::string>();
        Ids expected = ids[i].get<Ids>();
        if (bos_stored) expected.erase(expected.begin());
        const Ids got = encode(tokenizer, text, {true, false});
        EXPECT_EQ(got, expected) << name << ": " << stored()["strings"][i].dump();
        if (decodes || (text[0] != ' ' && i < stored()["plain"].get<std::size_t>())) {
            EXPECT_EQ(tokenizer.decode(got), text) << name;
        }
        EXPECT_EQ(streamed(tokenizer, got), tokenizer.decode(got)) << name;
    }
}

TEST(LlamaTokenizer, ScoresGiveTheIdsOfSentencePiece) { compare(*by_scores(), "sentencepiece", false, true); }

class LlamaForms : public testing::TestWithParam<std::string> {};
TEST_P(LlamaForms, GiveTheIdsOfTheReferenceLibrary) {
    const TokenizerPtr t = from_json(form(GetParam()));
    // Metaspace adds no sign where there is a space already, so that the space is lost.
    compare(*t, GetParam(), true, GetParam() == "prepend" || GetParam() == "replace");
}
INSTANTIATE_TEST_SUITE_P(Json, LlamaForms, testing::Values("prepend", "first", "always", "replace"),
                         [](const auto& info) { return info.param; });

TEST(LlamaTokenizer, ScoresAndMergesAgree) {  // a model as GGUF and as a folder
    const TokenizerPtr scores = by_scores(), merges = from_json(llama_json());
    for (std::size_t i = 0; i < stored()["plain"].get<std::size_t>(); ++i) {
        const auto text = stored()["strings"][i].get<std::string>();
        EXPECT_EQ(encode(*scores, text), encode(*merges, text)) << text;
    }
}

TEST(QwenTokenizer, SplitsAndComposesAsTheReferenceLibrary) {
    const TokenizerPtr t = from_json(json::parse(read_fixture("tokenizer-qwen/tokenizer.json")));
    const json& ids = stored()["qwen"];
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto text = stored()["strings"][i].get<std::string>();
        const Ids got = encode(*t, text, {true, true});
        EXPECT_EQ(got, ids[i].get<Ids>()) << stored()["strings"][i].dump();
        EXPECT_EQ(composed(t->decode(got)), composed(text));
    }
    // Written apart in the file, it is found in text of both forms.
    EXPECT_EQ(encode(*t, "caf\u00e9").size(), 1u);
    EXPECT_EQ(encode(*t, "cafe\u0301").size(), 1u);
}

TEST(LlamaTokenizer, TK08_BosAndSpaceComeOnceAndNotInALaterTurn) {
    for (const TokenizerPtr& t : {by_scores(), from_json(llama_json())}) {
        ASSERT_TRUE(t->adds_bos());
        for (const std::string text : {"Hello", " Hello", "  Hello ", "", "\u4f60 \U0001F600", "a\n b"}) {
            const Ids ids = encode(*t, text);
            EXPECT_EQ(std::count(ids.begin(), ids.end(), 1), 1);
            EXPECT_EQ(t->decode(ids), "<s>" + text);
            EXPECT_EQ(encode(*t, "<s>" + text, {true, true}), ids) << "typed and parsed: not doubled";
            const Ids later = encode(*t, text, {false, false, false});
            std::string bytes;
            for (const std::int32_t id : later) bytes += t->token_bytes(id);
            EXPECT_EQ(bytes, text) << "no invented space";
            // A stream that starts within a sequence keeps its first space.
            TextStream stream(*t);
            std::string kept;
            for (const std::int32_t id : encode(*t, text, {false, false})) kept += stream.push(id);
            EXPECT_EQ(kept, text.empty() ? "" : " " + text);
        }
        const Ids plain = encode(*t, "<s>Hello");
        EXPECT_EQ(std::count(plain.begin(), plain.end(), 1), 1) << "typed but not parsed";
        EXPECT_EQ(t->decode(plain), "<s><s>Hello");
    }
}

TEST(LlamaTokenizer, TK06_PlainTextNeverBecomesASpecialToken) {
    // Pieces from which "<s>" could be merged, with the best scores, and the same as merges.
    EmbeddedVocabulary v = vocabulary();
    for (const char* text : {"<", "s", ">", "<s", "s>"}) {
        if (std::find(v.tokens.begin(), v.tokens.end(), text) != v.tokens.end()) continue;
        v.tokens.push_back(text);
        v.scores.push_back(10);
        v.types.push_back(1);
    }
    const TokenizerPtr scores = by_scores(v);
    json document = llama_json();
    json& model = document["model"];
    std::int32_t next = static_cast<std::int32_t>(model["vocab"].size()) + 10;
    for (const char* text : {"<", "s", ">", "<s"})
        if (!model["vocab"].contains(text)) model["vocab"][text] = next++;
    model["merges"].insert(model["merges"].begin(), {json::array({"<", "s"}), json::array({"<s", ">"})});
    const TokenizerPtr merges = from_json(document);
    for (const TokenizerPtr& t : {scores, merges}) {
        const Ids ids = encode(*t, "a<s>b", {false, false});
        EXPECT_EQ(std::count(ids.begin(), ids.end(), 1), 0);
        EXPECT_EQ(t->decode(ids), "a<s>b");
        const Ids parsed = encode(*t, "a<s>b", {true, false});
        EXPECT_EQ(std::count(parsed.begin(), parsed.end(), 1), 1);
        EXPECT_EQ(t->decode(parsed), "a<s>b");
        EXPECT_TRUE(t->is_special(1));
        EXPECT_EQ(t->display(1), "<s>");  // TK-07
    }
}

TEST(LlamaTokenizer, TK03_ByteTokensAreHeldUntilACharacterIsComplete) {
    for (const TokenizerPtr& t : {by_scores(), from_json(llama_json())}) {
        const Ids ids = encode(*t, "\U0001F600", {false, false, false});
        ASSERT_EQ(ids.size(), 4u);
        TextStream stream(*t);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(stream.push(ids[static_cast<std::size_t>(i)]), "");
        EXPECT_EQ(stream.push(ids[3]), "\U0001F600");
        EXPECT_EQ(t->display(ids[0]), "\\xF0");
        // TK-04: bytes that are no text are kept, and drain when they cannot be completed.
        for (const std::string bytes : {"\xff", "\xc3(", "a\xe2\x82", "\xed\xa0\x80", "\xe2\x96\x81 \xe2\x96"}) {
            std::string back;
            for (const std::int32_t id : encode(*t, bytes, {false, false, false})) back += t->token_bytes(id);
            EXPECT_EQ(back, replaced(bytes, kSpace, " "));
        }
        EXPECT_EQ(stream.push(ids[0]), "");
        EXPECT_EQ(stream.finish(), "\uFFFD");
    }
}

TEST(LlamaTokenizer, CharactersWithoutAnyTokenAreUnknown) {
    EmbeddedVocabulary v = vocabulary();
    v.tokens[3 + 0xF0] = "[byte]";  // no longer all bytes of an emoji
    v.types[3 + 0xF0] = 1;
    EXPECT_EQ(encode(*by_scores(v), "\U0001F600\U0001F601a", {false, false, false}).front(), 0);
    EXPECT_EQ(encode(*by_scores(v), "\U0001F600\U0001F601", {false, false, false}), Ids{0}) << "one for the run";
    v.unknown = -1;
    const auto refused = by_scores(v)->encode("\U0001F600", {});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, testing::HasSubstr("\U0001F600"));
}

TEST(Normalizer, ComposesByTheDefinition) {
    EXPECT_EQ(composed("plain \u00e9"), "plain \u00e9");
    EXPECT_EQ(composed("e\u0301"), "\u00e9");
    EXPECT_EQ(composed("e\u0302\u0323"), "\u1ec7") << "the mark of the lower class first";
    EXPECT_EQ(composed("a\u0328\u0327\u0301"), "\u0105\u0327\u0301");
    EXPECT_EQ(composed("\u1100\u1161\u11a8"), "\uac01");
    EXPECT_EQ(composed("\uac00\u11a8"), "\uac01");
    EXPECT_EQ(composed("\u212b"), "\u00c5");
    EXPECT_EQ(composed("\u0958"), "\u0915\u093c") << "kept apart";
    EXPECT_EQ(composed("a\xff\u0301\xe2\x82"), "a\xff\u0301\xe2\x82") << "wrong bytes stay and separate";
    EXPECT_EQ(composed("\u0301a"), "\u0301a");
}

}  // namespace
}  // namespace decodescope
