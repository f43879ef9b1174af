// Vocabularies as GGUF files hold them: what is refused and why, types of tokens, named pre-tokenizers; merging by
// scores against its definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <map>

#include "engine/text/byte_alphabet.h"
#include "engine/text/embedded_vocabulary.h"
#include "engine/text/load_tokenizer.h"
#include "engine/text/piece_merger.h"
#include "engine/text/pre_tokenizer_names.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;
using TokenizerPtr = std::shared_ptr<const Tokenizer>;

// <unk> <s> </s>, a space, letters and pieces; no bytes.
EmbeddedVocabulary small() {
    EmbeddedVocabulary v;
    v.kind = "llama";
    v.tokens = {"<unk>", "<s>", "</s>", "\u2581", "a", "b", "c", "ab", "bc", "abc", "\u2581a", "<0x0A>", "x y"};
    v.scores = {0, 0, 0, -9, -9, -9, -9, -2, -1, -3, -4, 0, 0};
    v.types = {2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 6, 4};
    v.unknown = 0, v.bos = 1, v.eos = 2;
    return v;
}

std::string refusal(const EmbeddedVocabulary& v) {
    const auto tokenizer = make_embedded_tokenizer(v, "m.gguf");
    return tokenizer ? "accepted" : tokenizer.error().message;
}

TokenizerPtr made(const EmbeddedVocabulary& v) {
    auto tokenizer = make_embedded_tokenizer(v);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().text();
    return tokenizer ? *tokenizer : nullptr;
}

Ids encode(const Tokenizer& t, std::string_view text, const EncodeOptions& options = {false, false, false}) {
    const auto ids = t.encode(text, options);
    EXPECT_TRUE(ids.ok()) << ids.error().text();
    return ids ? *ids : Ids();
}

TEST(EmbeddedVocabulary, LD16_DamageIsRefusedByName) {
    EXPECT_EQ(refusal(small()), "accepted");
    const auto with = [](const auto& change) {
        EmbeddedVocabulary v = small();
        change(v);
        return refusal(v);
    };
    using V = EmbeddedVocabulary;
    EXPECT_THAT(with([](V& v) { v.kind = "bert"; }), HasSubstr("m.gguf: the tokenizer \"bert\" is not supported"));
    EXPECT_THAT(with([](V& v) { v.tokens.clear(); }), HasSubstr("vocabulary is empty"));
    EXPECT_THAT(with([](V& v) { v.scores.clear(); }), HasSubstr("13 tokens and 0 scores"));
    EXPECT_THAT(with([](V& v) { v.scores.pop_back(); }), HasSubstr("13 tokens and 12 scores"));
    EXPECT_THAT(with([](V& v) { v.types.pop_back(); }), HasSubstr("13 tokens and 12 token types"));
    EXPECT_THAT(with([](V& v) { v.types[4] = 7; }), HasSubstr("token 4 has the type 7"));
    EXPECT_THAT(with([](V& v) { v.types[4] = -1; }), HasSubstr("type -1"));
    EXPECT_THAT(with([](V& v) { v.scores[5] = std::nanf(""); }), HasSubstr("score of the token 5 (\"b\")"));
    EXPECT_THAT(with([](V& v) { v.scores[5] = std::numeric_limits<float>::infinity(); }), HasSubstr("finite"));
    EXPECT_THAT(with([](V& v) { v.bos = 13; }), HasSubstr("bos_token_id is 13, the vocabulary has 13"));
    EXPECT_THAT(with([](V& v) { v.eos = -2; }), HasSubstr("eos_token_id is -2"));
    EXPECT_THAT(with([](V& v) { v.unknown = 2000000000; }), HasSubstr("unknown_token_id is 2000000000"));
    EXPECT_THAT(with([](V& v) { v.tokens[8] = "ab"; }), HasSubstr("\"ab\" is there twice, at last with the id 8"));
    for (const char* written : {"<0x-1>", "<0x+1>", "<0xA>", "<0x0G>", "<0x0A", "0x0A", "<0x 1>", "", "<0x0AA>"})
        EXPECT_THAT(with([&](V& v) { v.tokens[11] = written; }), HasSubstr("token 11 is a byte")) << written;
    EXPECT_THAT(with([](V& v) { v.tokens[6] = "<0x0A>", v.types[6] = 6; }), HasSubstr("ids 6 and 11"));
    // Not damaged: no types, no ids, ids without a text.
    EXPECT_EQ(with([](V& v) { v.types.clear(); }), "accepted");
    EXPECT_EQ(with([](V& v) { v.bos = v.eos = v.unknown = -1; }), "accepted");
    EXPECT_EQ(with([](V& v) { v.tokens[7] = v.tokens[8] = ""; }), "accepted");
    EXPECT_EQ(with([](V& v) { v.types[7] = 0; }), "accepted");
}

TEST(EmbeddedVocabulary, TypesOfTokens) {
    EmbeddedVocabulary v = small();
    const TokenizerPtr t = made(v);
    EXPECT_EQ(encode(*t, "abc"), Ids{9}) << "bc, which has the best score, then a with it";
    EXPECT_EQ(encode(*t, "abab"), (Ids{7, 7}));
    EXPECT_EQ(encode(*t, "\n"), Ids{11});
    EXPECT_EQ(encode(*t, "ax yb"), (Ids{4, 12, 3, 5})) << "user-defined is found always; a text behind it has a space";
    EXPECT_EQ(t->decode(encode(*t, "ax yb")), "ax yb");
    EXPECT_EQ(encode(*t, "a</s>"), (Ids{4, 0})) << "unknown once for the run";
    EXPECT_EQ(encode(*t, "a</s>", {true, false, false}), (Ids{4, 2}));
    EXPECT_EQ(encode(*t, "a"), Ids{4});
    EXPECT_EQ(encode(*t, "a", {}), (Ids{1, 10}));
    v.add_bos = false;
    v.add_space_prefix = false;
    EXPECT_EQ(encode(*made(v), "a", {}), Ids{4});
    EXPECT_FALSE(made(v)->has_invented_space(std::nullopt, 10));
    // Without types <0x0A> is a byte all the same.
    v.types.clear();
    EXPECT_EQ(made(v)->token_bytes(11), "\n");
}

TEST(EmbeddedVocabulary, UnusedPiecesAreTakenApart) {
    EmbeddedVocabulary v = small();
    v.scores[9] = -1;  // as good as bc, but only once there is a bc
    EXPECT_EQ(encode(*made(v), "abc"), Ids{9});
    v.types[9] = 5;
    EXPECT_EQ(encode(*made(v), "abc"), (Ids{4, 8}));
    v.types[8] = 5;
    EXPECT_EQ(encode(*made(v), "abc"), (Ids{4, 5, 6}));
    v.types[9] = 1;
    EXPECT_EQ(encode(*made(v), "abc"), Ids{9}) << "a step to a longer piece";
}

// Again and again the leftmost of the neighbours with the best score.
Ids slow(const std::map<std::string, std::pair<std::int32_t, float>>& pieces, const std::string& text) {
    std::vector<std::string> parts;
    for (const char c : text) parts.emplace_back(1, c);
    for (;;) {
        std::size_t best = parts.size();
        float score = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
            const auto found = pieces.find(parts[i] + parts[i + 1]);
            if (found == pieces.end() || (best < parts.size() && found->second.second <= score)) continue;
            best = i, score = found->second.second;
        }
        if (best == parts.size()) break;
        parts[best] += parts[best + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    Ids ids;
    for (const std::string& part : parts) ids.push_back(pieces.count(part) != 0 ? pieces.at(part).first : -1);
    return ids;
}

TEST(PieceMerger, EqualsTheDefinitionOnRandomText) {
    std::uint32_t state = 9;
    const auto next = [&](std::uint32_t limit) {
        state = state * 1664525u + 1013904223u;
        return (state >> 16) % limit;
    };
    const auto word = [&](std::size_t length) {
        std::string out;
        while (out.size() < length) out += static_cast<char>('a' + next(3));
        return out;
    };
    for (int run = 0; run < 60; ++run) {
        PieceMerger merger;
        std::map<std::string, std::pair<std::int32_t, float>> pieces;
        for (std::int32_t id = 0; id < 25; ++id) {
            const std::string text = word(1 + next(5));  // "c" may be missing
            const float score = -static_cast<float>(next(8));  // with equals
            if (merger.add(text, id, score, false)) pieces[text] = {id, score};
        }
        const std::string text = word(200);
        PieceMerger::Scratch scratch;
        Ids ids;
        const auto sink = [&](std::int32_t id, std::string_view) {
            ids.push_back(id);
            return Status();
        };
        ASSERT_TRUE(merger.merge(text, scratch, sink, {}).ok());
        EXPECT_EQ(ids, slow(pieces, text)) << run;
    }
}

TEST(PieceMerger, TK05_WorkGrowsWithTheLength) {
    PieceMerger merger;
    for (int power = 0; power <= 6; ++power)
        merger.add(std::string(std::size_t{1} << power, 'a'), power, static_cast<float>(-power), false);
    const auto work = [&](std::size_t length) {
        PieceMerger::Scratch scratch;
        EXPECT_TRUE(merger.merge(std::string(length, 'a'), scratch, [](auto, auto) { return Status(); }, {}).ok());
        EXPECT_EQ(scratch.merges, static_cast<std::int64_t>(length / 64 * 63));
        return scratch.candidates;
    };
    // Two neighbours are proposed for each merge, and every pair at first: no pass over the text per merge.
    EXPECT_LE(work(1 << 12), 3 << 12);
    EXPECT_LE(work(1 << 17), 3 << 17);
}

TEST(EmbeddedVocabulary, TK05_ALongRunOfOneCharacter) {
    const auto values = nlohmann::json::parse(read_fixture("tokenizer-llama/vocabulary.json"));
    EmbeddedVocabulary v;
    v.kind = "llama";
    v.tokens = values["tokens"].get<std::vector<std::string>>();
    v.scores = values["scores"].get<std::vector<float>>();
    v.types = values["types"].get<std::vector<std::int32_t>>();
    const TokenizerPtr t = made(v);
    for (const char* unit : {"a", " ", "<", "\U0001F4A9", "\xff"}) {
        std::string text;
        while (text.size() < (1 << 18)) text += unit;
        std::string back;
        for (const std::int32_t id : encode(*t, text)) back += t->token_bytes(id);
        EXPECT_EQ(back, text);
    }
    std::stop_source stop;
    stop.request_stop();
    const auto stopped = t->encode(std::string(1 << 20, 'a'), {}, stop.get_token());
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
}

// The GPT-2 fixture as a GGUF file holds it.
EmbeddedVocabulary byte_level() {
    const auto document = nlohmann::json::parse(read_fixture("tokenizer-gpt2/tokenizer.json"));
    EmbeddedVocabulary v;
    v.kind = "gpt2";
    v.pre = "gpt-2";
    v.tokens.resize(600);
    v.types.assign(600, 1);
    for (const auto& [text, id] : document["model"]["vocab"].items()) v.tokens[id.get<std::size_t>()] = text;
    for (const auto& token : document["added_tokens"]) {
        v.tokens[token["id"].get<std::size_t>()] = token["content"];
        v.types[token["id"].get<std::size_t>()] = 3;
    }
    for (const auto& merge : document["model"]["merges"])
        v.merges.push_back(merge.is_array() ? merge[0].get<std::string>() + " " + merge[1].get<std::string>()
                                            : merge.get<std::string>());
    v.bos = v.eos = 599;
    return v;
}

TEST(EmbeddedVocabulary, ByteLevelIdsAreThoseOfTheFolder) {
    const TokenizerPtr t = made(byte_level());
    const auto stored = nlohmann::json::parse(read_fixture("tokenizer_ids.json"));
    for (std::size_t i = 0; i < stored["strings"].size(); ++i) {
        const auto text = stored["strings"][i].get<std::string>();
        EXPECT_EQ(encode(*t, text, {true, true}), stored["gpt2"][i].get<Ids>()) << text;
    }
    EXPECT_FALSE(t->adds_bos());
    EXPECT_TRUE(t->is_special(599));
    EmbeddedVocabulary v = byte_level();
    v.add_bos = true;
    EXPECT_EQ(encode(*made(v), "a", {}).front(), 599);
    v.add_bos.reset();
    v.pre = "llama-bpe";
    EXPECT_TRUE(made(v)->adds_bos()) << "where the file does not say";
}

// Qwen's own tokenizer.json composes characters first, and its GGUF files do not say so.
TEST(EmbeddedVocabulary, QwenComposes) {
    EmbeddedVocabulary v = byte_level();
    v.pre = "qwen2";
    EXPECT_EQ(encode(*made(v), "e\u0301", {}), encode(*made(v), "\u00e9", {}));
    v.pre = "gpt-2";
    EXPECT_NE(encode(*made(v), "e\u0301", {}), encode(*made(v), "\u00e9", {}));
}

TEST(EmbeddedVocabulary, PreTokenizersAreKnownByName) {
    const auto cut = [](const char* name, std::string_view text) {
        const auto named = named_pre_tokenizer(name);
        EXPECT_TRUE(named.has_value()) << name;
        std::vector<std::string> pieces;
        if (!named) return pieces;
        const auto splitter = Splitter::make(named->steps);
        EXPECT_TRUE(splitter.ok()) << splitter.error().text();
        EXPECT_TRUE((*splitter)
                        ->split(text,
                                [&](std::string_view piece) {
                                    pieces.emplace_back(piece);
                                    return Status();
                                },
                                {})
                        .ok());
        return pieces;
    };
    using Pieces = std::vector<std::string>;
    const std::string_view text = "I'LL pay 12345!!\n\nx";
    EXPECT_EQ(cut("gpt-2", text), (Pieces{"I", "'", "LL", " pay", " 12345", "!!", "\n", "\n", "x"}));
    EXPECT_EQ(cut("llama-bpe", text), (Pieces{"I", "'LL", " pay", " ", "123", "45", "!!\n\n", "x"}));
    EXPECT_EQ(cut("qwen2", text), (Pieces{"I", "'LL", " pay", " ", "1", "2", "3", "4", "5", "!!\n\n", "x"}));
    EXPECT_EQ(cut("starcoder", text),
              (Pieces{"I", "'", "LL", " pay", " ", "1", "2", "3", "4", "5", "!!", "\n", "\n", "x"}));
    EXPECT_EQ(cut("default", text), (Pieces{"I", "'", "LL", " pay", " ", "123", "45", "!!", "\n", "\n", "x"}));
    EXPECT_EQ(cut("", text), cut("default", text));
    EXPECT_EQ(cut("tekken", "camelCase HTTPServer 12 a/\n"),
              (Pieces{"camel", "Case", " HTTPServer", " ", "1", "2", " a", "/\n"}));
    EmbeddedVocabulary v = byte_level();
    v.pre = "viking";
    const auto refused = make_embedded_tokenizer(v, "m.gguf");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(refused.error().text(), HasSubstr("\"viking\" is not supported. Known are gpt-2, "));
    v = byte_level();
    v.merges[0] = "ab";
    EXPECT_THAT(refusal(v), HasSubstr("merge 1 is \"ab\", no pair"));
    v.merges[0] = "q zzz";
    EXPECT_THAT(refusal(v), HasSubstr("not in the vocabulary"));
}

TEST(LoadTokenizer, SentencePieceFilesAndUnknownClassesAreRefusedByName) {
    TemporaryFolder folder;
    const auto load = [&] {
        const auto tokenizer = load_tokenizer(folder.path(), {});
        return tokenizer ? "accepted" : tokenizer.error().text();
    };
    EXPECT_THAT(load(), HasSubstr("neither tokenizer.json nor vocab.json"));
    folder.write("tokenizer.model", "\x0a\x0e");
    EXPECT_THAT(load(), HasSubstr("tokenizer.model (SentencePiece) is not supported. Take a folder with"));
    folder.write("vocab.json", read_fixture("tokenizer-gpt2/vocab.json"));
    folder.write("merges.txt", read_fixture("tokenizer-gpt2/merges.txt"));
    EXPECT_EQ(load(), "accepted");
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})");
    EXPECT_THAT(load(), HasSubstr("\"RobertaTokenizer\" without a tokenizer.json"));
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder":
        {"600": {"content": "<tool>", "special": false}, "599": {"content": "<|endoftext|>", "special": true}}})");
    auto t = load_tokenizer(folder.path(), {});
    ASSERT_TRUE(t.ok()) << t.error().text();
    EXPECT_EQ(encode(**t, "<tool>"), Ids{600});
    EXPECT_TRUE((*t)->is_special(599));
    EXPECT_GT(encode(**t, "<|endoftext|>").size(), 1u);
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})");
    t = load_tokenizer(folder.path(), {});
    ASSERT_TRUE(t.ok()) << t.error().text();
    EXPECT_EQ(encode(**t, "e\u0301 12"), encode(**t, "\u00e9 12"));
    for (const char* bad : {R"({"added_tokens_decoder": {"x": {"content": "a"}}})",
                            R"({"added_tokens_decoder": {"-1": {"content": "a"}}})",
                            R"({"added_tokens_decoder": {"5": {}}})"}) {
        folder.write("tokenizer_config.json", bad);
        EXPECT_THAT(load(), HasSubstr("has no id or no content"));
    }
    folder.write("tokenizer_config.json", R"({"added_tokens_decoder": {"5": {"content": "a", "lstrip": true}}})");
    EXPECT_THAT(load(), HasSubstr("option lstrip of the added token \"a\""));
}

}  // namespace
}  // namespace decodescope
