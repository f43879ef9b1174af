// Which parts of a tokenizer.json are understood, and that the others are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/text/byte_alphabet.h"
#include "engine/text/load_tokenizer.h"

namespace decodescope {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

json document() {
    json vocab;
    for (int byte = 0; byte < 256; ++byte) vocab[stand_ins_of_bytes(std::string(1, static_cast<char>(byte)))] = byte;
    vocab["ab"] = 256;
    vocab["abc"] = 257;
    vocab["\u0120a"] = 258;
    json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
    return {{"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"a b", "ab c", "\u0120 a"}}}},
            {"added_tokens", json::array()},
            {"normalizer", nullptr},
            {"pre_tokenizer", level},
            {"post_processor", nullptr},
            {"decoder", {{"type", "ByteLevel"}}}};
}

std::string refusal(const json& value) {
    auto parts = read_tokenizer_json(value.dump(), "t.json");
    if (!parts) return parts.error().message;
    const auto tokenizer = BpeTokenizer::make(std::move(*parts), "t.json");
    return tokenizer ? "accepted" : tokenizer.error().message;
}

Ids ids(const json& value, std::string_view text) {
    auto parts = read_tokenizer_json(value.dump(), "t.json");
    EXPECT_TRUE(parts.ok()) << parts.error().text();
    if (!parts) return {};
    const auto tokenizer = BpeTokenizer::make(std::move(*parts), "t.json");
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().text();
    if (!tokenizer) return {};
    return *(*tokenizer)->encode(text, {});
}

json sequence(std::vector<json> steps) { return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}; }
json split(const char* regex, const char* behavior, bool invert = false) {
    return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}, {"invert", invert}};
}
json level(bool regex) { return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", regex}}; }

TEST(TokenizerJson, MergesComeAsTextOrPairs) {
    json value = document();
    EXPECT_EQ(ids(value, "abc"), Ids{257});
    value["model"]["merges"] = json::array({json::array({"a", "b"}), json::array({"ab", "c"})});
    EXPECT_EQ(ids(value, "abc"), Ids{257});
    value["model"]["merges"] = json::array({"a b c"});
    EXPECT_THAT(refusal(value), HasSubstr("merge 1 is \"a b c\""));
    value["model"]["merges"] = json::array({json::array({"a", "b", "c"})});
    EXPECT_THAT(refusal(value), HasSubstr("no pair"));
    value["model"]["merges"] = json::array({"x y"});
    EXPECT_THAT(refusal(value), HasSubstr("\"x\" and \"y\""));
}

TEST(TokenizerJson, IgnoreMergesTakesWholePieces) {
    json value = document();
    value["model"]["merges"] = json::array({"b c"});
    value["model"]["vocab"]["bc"] = 259;
    EXPECT_EQ(ids(value, "abc"), (Ids{'a', 259}));
    value["model"]["ignore_merges"] = true;
    EXPECT_EQ(ids(value, "abc"), Ids{257});
}

TEST(TokenizerJson, SplitBehaviors) {
    json value = document();
    // Without a cut "abc" is one token; each behaviour cuts elsewhere.
    value["pre_tokenizer"] = sequence({split("b", "Isolated"), level(false)});
    EXPECT_EQ(ids(value, "abc"), (Ids{'a', 'b', 'c'}));
    value["pre_tokenizer"] = sequence({split("b", "MergedWithPrevious"), level(false)});
    EXPECT_EQ(ids(value, "abc"), (Ids{256, 'c'}));
    value["pre_tokenizer"] = sequence({split("[ab]", "Contiguous"), level(false)});
    EXPECT_EQ(ids(value, "abc"), (Ids{256, 'c'}));
    value["pre_tokenizer"] = sequence({split("[ab]", "Isolated"), level(false)});
    EXPECT_EQ(ids(value, "abc"), (Ids{'a', 'b', 'c'}));
    value["pre_tokenizer"] = sequence({split("b", "Removed"), level(false)});
    EXPECT_EQ(ids(value, "abcab"), (Ids{'a', 'c', 'a'}));
    value["pre_tokenizer"] = sequence({split("abc|x", "Removed", true), level(false)});
    EXPECT_EQ(ids(value, "abc-x-"), (Ids{257, 'x'})) << "inverted: what matches is kept";
    value["pre_tokenizer"] = sequence({split("b", "MergedWithNext"), level(false)});
    value["model"]["vocab"]["bc"] = 259;
    value["model"]["merges"] = json::array({"a b", "ab c", "b c"});
    EXPECT_EQ(ids(value, "abcab"), (Ids{'a', 259, 'a', 'b'})) << "a b with what follows, the last b has nothing";
    value["pre_tokenizer"] = sequence({split("b", "Between"), level(false)});
    EXPECT_THAT(refusal(value), HasSubstr("Split behavior \"Between\""));
    value["pre_tokenizer"] =
        sequence({json{{"type", "Split"}, {"pattern", {{"String", "."}}}, {"behavior", "Isolated"}}, level(false)});
    EXPECT_EQ(ids(value, "abc.abc"), (Ids{257, '.', 257})) << "plain text, not a pattern";
}

TEST(TokenizerJson, PrefixSpaceAndDigits) {
    json value = document();
    value["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", true}};
    EXPECT_EQ(ids(value, "a"), Ids{258});
    EXPECT_EQ(ids(value, " a"), Ids{258});
    value["pre_tokenizer"] = sequence({json{{"type", "Digits"}, {"individual_digits", true}}, level(false)});
    EXPECT_EQ(ids(value, "a12"), (Ids{'a', '1', '2'}));
}

TEST(TokenizerJson, WhatIsNotByteLevelIsRefusedByName) {
    const auto with = [](const char* key, json part) {
        json value = document();
        value[key] = std::move(part);
        return refusal(value);
    };
    EXPECT_EQ(refusal(document()), "accepted");
    EXPECT_EQ(with("normalizer", {{"type", "NFC"}}), "accepted");
    EXPECT_THAT(with("normalizer", {{"type", "NFKC"}}), HasSubstr("normalizer \"NFKC\""));
    EXPECT_THAT(with("normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Lowercase"}}}}}),
                HasSubstr("\"Lowercase\""));
    EXPECT_THAT(with("normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", " +"}}}, {"content", " "}}),
                HasSubstr("\"Replace\" without a String"));
    EXPECT_THAT(with("pre_tokenizer", {{"type", "BertPreTokenizer"}}), HasSubstr("\"BertPreTokenizer\""));
    EXPECT_THAT(with("pre_tokenizer", nullptr), HasSubstr("without ByteLevel"));
    EXPECT_THAT(with("pre_tokenizer", sequence({level(true), split("a", "Isolated")})), HasSubstr("behind ByteLevel"));
    EXPECT_THAT(with("decoder", {{"type", "Metaspace"}}), HasSubstr("decoder \"Metaspace\""));
    EXPECT_THAT(with("post_processor", {{"type", "RobertaProcessing"}}),
                HasSubstr("post_processor \"RobertaProcessing\""));
    EXPECT_THAT(with("pre_tokenizer", sequence({split("\\bx", "Isolated"), level(false)})), HasSubstr("\\b"));
    EXPECT_THAT(with("pre_tokenizer", sequence({split("(", "Isolated"), level(false)})), HasSubstr("cannot be used"));
    const auto model = [](const char* key, json part) {
        json value = document();
        value["model"][key] = std::move(part);
        return refusal(value);
    };
    EXPECT_THAT(model("type", "WordPiece"), HasSubstr("\"WordPiece\""));
    EXPECT_THAT(model("byte_fallback", true), HasSubstr("byte_fallback"));
    EXPECT_THAT(model("unk_token", "<unk>"), HasSubstr("unknown token \"<unk>\""));
    EXPECT_EQ(model("unk_token", "a"), "accepted");
    EXPECT_THAT(model("end_of_word_suffix", "</w>"), HasSubstr("</w>"));
    EXPECT_THAT(model("dropout", 0.1), HasSubstr("dropout"));
    EXPECT_EQ(model("dropout", 0.0), "accepted");
    EXPECT_THAT(with("added_tokens", {{{"id", 300}, {"content", "<m>"}, {"lstrip", true}}}), HasSubstr("lstrip"));
    EXPECT_THAT(with("added_tokens", {{{"id", 2000000}, {"content", "<m>"}}}), HasSubstr("2000000"));
    EXPECT_THAT(with("added_tokens", {{{"content", "<m>"}}}), HasSubstr("no id"));
}

TEST(TokenizerJson, TemplatesMayOnlyPutOneTokenInFront) {
    const auto with = [](json single) {
        json value = document();
        value["added_tokens"] = {{{"id", 300}, {"content", "<s>"}, {"special", true}},
                                 {{"id", 301}, {"content", "</s>"}, {"special", true}}};
        value["post_processor"] = {{"type", "TemplateProcessing"},
                                   {"single", std::move(single)},
                                   {"special_tokens", {{"<s>", {{"ids", {300}}}}, {"</s>", {{"ids", {301}}}}}}};
        return value;
    };
    const auto special = [](const char* name) { return json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; };
    const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    EXPECT_EQ(ids(with({special("<s>"), text}), "abc"), (Ids{300, 257}));
    EXPECT_EQ(ids(with(json::array({text})), "abc"), Ids{257});
    EXPECT_THAT(refusal(with({text, special("</s>")})), HasSubstr("\"</s>\" behind the text"));
    EXPECT_THAT(refusal(with({special("<s>"), special("</s>"), text})), HasSubstr("two tokens before"));
    EXPECT_THAT(refusal(with({special("<x>"), text})), HasSubstr("no id for \"<x>\""));
}

TEST(ByteAlphabet, IsAPermutationWithPrintableStandIns) {
    EXPECT_EQ(byte_stand_in(' '), 0x120u);
    EXPECT_EQ(byte_stand_in('\n'), 0x10Au);
    EXPECT_EQ(byte_stand_in('A'), 0x41u);
    EXPECT_EQ(byte_stand_in(0xAD), 0x143u);
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    EXPECT_EQ(bytes_of_stand_ins(stand_ins_of_bytes(all)), all);
    EXPECT_EQ(bytes_of_stand_ins(" "), std::nullopt);
    EXPECT_EQ(bytes_of_stand_ins("\u4f60"), std::nullopt);
}

}  // namespace
}  // namespace decodescope
