// GGUF files that are damaged or made to harm (LD-01 to LD-06, LD-16): each is refused, with the key or tensor named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "engine/model/gguf.h"
#include "engine/model/gguf_config.h"
#include "engine/model/model.h"
#include "tests/support/gguf_model.h"
#include "tests/support/tiny_models.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& bytes) {
    const auto header = read_gguf({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "m.gguf");
    return header.ok() ? "accepted" : header.error().message;
}

// A file of one key and two tensors, in parts that can be exchanged.
struct Parts {
    std::string start = "GGUF";
    std::uint32_t version = 3;
    std::uint64_t tensors = 2, keys = 1;
    std::string key = GgufBytes().text("k").u32(4).u32(7).bytes();
    std::string first = GgufBytes().text("a").u32(2).u64(4).u64(2).u32(0).u64(0).bytes();  // [2, 4] F32: 32 bytes
    std::string second = GgufBytes().text("b").u32(1).u64(32).u32(8).u64(32).bytes();      // [32] Q8_0: 34 bytes
    std::int64_t data_bytes = 66;

    std::string bytes() const {
        std::string out = start + GgufBytes().u32(version).u64(tensors).u64(keys).bytes() + key + first + second;
        out.append((32 - out.size() % 32) % 32, '\0');
        out.append(static_cast<std::size_t>(data_bytes), '\1');
        return out;
    }
};

std::string refusal(const std::function<void(Parts&)>& change) {
    Parts parts;
    change(parts);
    return refusal(parts.bytes());
}

std::string tensor(std::string_view name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                   std::uint64_t offset) {
    GgufBytes out;
    out.text(name).u32(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) out.u64(size);
    return out.u32(type).u64(offset).bytes();
}

TEST(GgufDamage, TheWholeFileIsRead) {
    EXPECT_EQ(refusal([](Parts&) {}), "accepted");
    EXPECT_EQ(refusal([](Parts& p) { p.version = 2; }), "accepted");
    EXPECT_EQ(refusal([](Parts& p) { std::swap(p.first, p.second); }), "accepted") << "another order in the list";
    EXPECT_EQ(refusal([](Parts& p) { p.data_bytes = 96; }), "accepted") << "padding after the last tensor";
}

TEST(GgufDamage, LD01_StartAndCounts) {
    EXPECT_THAT(refusal(std::string()), HasSubstr("ends at byte 0"));
    EXPECT_THAT(refusal(std::string("GGU")), HasSubstr("ends at byte 3"));
    EXPECT_THAT(refusal(std::string("GGUF")), HasSubstr("ends at byte 4"));
    EXPECT_THAT(refusal([](Parts& p) { p.start = "GGJT"; }), HasSubstr("no GGUF file"));
    for (const std::uint32_t version : {0u, 1u, 4u, 0xFFFFFFFFu})
        EXPECT_THAT(refusal([&](Parts& p) { p.version = version; }),
                    HasSubstr("has version " + std::to_string(version)));
    EXPECT_THAT(refusal([](Parts& p) { p.version = 3u << 24; }), HasSubstr("big-endian"));
    for (const std::uint64_t count :
         {std::uint64_t{1} << 31, std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{9}}) {
        EXPECT_THAT(refusal([&](Parts& p) { p.tensors = count; }),
                    HasSubstr("number of tensors is " + std::to_string(count)));
        EXPECT_THAT(refusal([&](Parts& p) { p.keys = count * 3; }), HasSubstr("number of metadata keys is"));
    }
}

TEST(GgufDamage, LD16_LengthsAndArrays) {
    for (const std::uint64_t length :
         {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 31, std::uint64_t{5000}}) {
        const auto key = [&](const std::string& bytes) { return refusal([&](Parts& p) { p.key = bytes; }); };
        EXPECT_THAT(key(GgufBytes().u64(length).raw("k", 1).bytes()), HasSubstr("length of a key is"));
        EXPECT_THAT(key(GgufBytes().text("k").u32(8).u64(length).bytes()), HasSubstr("length of a text is"));
        EXPECT_THAT(key(GgufBytes().text("k").u32(9).u32(0).u64(length).bytes()), HasSubstr("length of an array is"));
        EXPECT_THAT(key(GgufBytes().text("k").u32(9).u32(8).u64(length).bytes()), HasSubstr("number of texts"));
        EXPECT_THAT(refusal([&](Parts& p) { p.first = GgufBytes().u64(length).bytes(); }),
                    HasSubstr("tensor's name is"));
    }
    EXPECT_THAT(
        refusal([](Parts& p) { p.key = GgufBytes().text("k").u32(9).u32(9).u64(1).u32(4).u64(1).u32(1).bytes(); }),
        HasSubstr("\"k\" is an array of elements of the type 9, an array itself"));
    EXPECT_THAT(refusal([](Parts& p) { p.key = GgufBytes().text("k").u32(9).u32(13).u64(1).bytes(); }),
                HasSubstr("type 13, which is unknown"));
    EXPECT_THAT(refusal([](Parts& p) { p.key = GgufBytes().text("k").u32(13).bytes(); }),
                HasSubstr("\"k\" has the unknown value type 13"));
    EXPECT_THAT(refusal([](Parts& p) { p.key = GgufBytes().text("k").u32(7).u8(2).bytes(); }),
                HasSubstr("neither true nor false but 2"));
    EXPECT_THAT(refusal([](Parts& p) { p.keys = 2, p.key += p.key; }), HasSubstr("\"k\" is there twice (duplicate)"));
    for (const std::uint32_t alignment : {0u, 3u, 48u, 1u << 17, 1u << 30})
        EXPECT_THAT(
            refusal([&](Parts& p) { p.key = GgufBytes().text("general.alignment").u32(4).u32(alignment).bytes(); }),
            HasSubstr("general.alignment is " + std::to_string(alignment)));
    EXPECT_THAT(refusal([](Parts& p) { p.key = GgufBytes().text("general.alignment").u32(8).text("32").bytes(); }),
                HasSubstr("general.alignment is \"32\""));
}

TEST(GgufDamage, LD02_LD06_TensorsAndTheirSizes) {
    const auto first = [](const std::string& bytes) { return refusal([&](Parts& p) { p.first = bytes; }); };
    const std::uint64_t huge = std::uint64_t{1} << 32;
    EXPECT_THAT(first(tensor("a", {2, 2, 2, 1, 1}, 0, 0)), HasSubstr("\"a\" has 5 dimensions"));
    EXPECT_THAT(first(tensor("a", {}, 0, 0)), HasSubstr("\"a\" has 0 dimensions"));
    EXPECT_THAT(first(GgufBytes().text("a").u32(0xFFFFFFFF).bytes()), HasSubstr("4294967295 dimensions"));
    EXPECT_THAT(first(tensor("a", {0, 5}, 0, 0)), HasSubstr("\"a\" has the dimension 0"));
    EXPECT_THAT(first(tensor("a", {std::uint64_t{1} << 63}, 0, 0)), HasSubstr("has the dimension 9223372036854775808"));
    EXPECT_THAT(first(tensor("a", {huge, huge}, 0, 0)), HasSubstr("has the shape [4294967296, 4294967296], larger"));
    EXPECT_THAT(first(tensor("a", {std::uint64_t{1} << 62}, 0, 0)), HasSubstr("larger than any memory"));
    EXPECT_THAT(first(tensor("a", {(std::uint64_t{1} << 42) + 1}, 0, 0)),
                HasSubstr("\"a\" needs 17592186044420 bytes"));
    EXPECT_THAT(first(tensor("a", {33}, 8, 0)),
                HasSubstr("rows of 33 elements, no whole number of blocks of 32 (Q8_0)"));
    EXPECT_THAT(first(tensor("a", {128}, 12, 0)), HasSubstr("blocks of 256 (Q4_K)"));
    EXPECT_THAT(first(tensor("a", {8}, 99, 0)), HasSubstr("\"a\" has the unknown type 99"));
    EXPECT_THAT(first(tensor("a", {8}, 4, 0)), HasSubstr("\"a\" has the unknown type 4")) << "a type that was given up";
    EXPECT_THAT(first(tensor("a", {256}, 10, 0)), HasSubstr("\"a\" is stored as Q2_K, which is not supported"));
    EXPECT_THAT(first(tensor("a", {8}, 27, 0)), HasSubstr("stored as I64"));
    EXPECT_THAT(first(tensor("a", {8}, 0, 1)), HasSubstr("begins at 1, which is no multiple of the alignment 32"));
    EXPECT_THAT(first(tensor("a", {8}, 0, std::uint64_t{1} << 63)), HasSubstr("beyond the end of the file"));
    EXPECT_THAT(first(tensor("b", {8}, 0, 0)), HasSubstr("\"b\" is there twice (duplicate)"));
}

TEST(GgufDamage, LD03_OverlapHoleTrailing) {
    const auto second = [](std::uint64_t offset) {
        return refusal([&](Parts& p) { p.second = tensor("b", {32}, 8, offset), p.data_bytes = 130; });
    };
    EXPECT_THAT(second(0), HasSubstr("overlap"));
    EXPECT_THAT(second(64), HasSubstr("\"b\" begins at 64; the data before it end at 32 (hole)"));
    EXPECT_THAT(refusal([](Parts& p) { p.data_bytes = 96 + 32; }), HasSubstr("bytes follow the last tensor"));
    EXPECT_THAT(refusal([](Parts& p) { p.data_bytes = 65; }),
                HasSubstr("\"b\" needs 34 bytes from 32 on, and the data end at 65"));
}

GgufFile small_model() {
    ModelConfig config = tiny_llama_config();
    config.layers = 1;
    return gguf_of(config, random_tensors(config, 1));
}

TEST(GgufDamage, EveryTruncationAndRandomBytesAreRefusedOrRead) {
    const std::string whole = Parts().bytes();
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_NE(refusal(whole.substr(0, size)), "accepted") << size;
    GgufFile file = small_model();
    const std::string model = file.bytes();
    const std::size_t head = std::min<std::size_t>(model.size(), 6'000);  // metadata and descriptions
    std::mt19937 random(4);
    for (int round = 0; round < 400; ++round) {
        std::string bytes = model;
        bytes[random() % head] = static_cast<char>(random());
        const auto header = read_gguf({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "m.gguf");
        if (!header.ok()) continue;
        // What was read may be followed without leaving the file.
        (void)read_gguf_config(*header, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "m.gguf",
                               "m");
        (void)read_gguf_vocabulary(*header, "m.gguf");
    }
}

std::string model_refusal(const std::function<void(GgufFile&)>& change) {
    GgufFile file = small_model();
    change(file);
    TemporaryFolder folder;
    folder.write("m.gguf", file.bytes());
    const auto model = open_model(folder.file("m.gguf"), {}, {}, {});
    return model.ok() ? "accepted" : model.error().message;
}

void replace(GgufFile& file, std::string_view name, const std::string& bytes) {
    for (std::string& key : file.keys)
        if (key.substr(8, name.size()) == name && static_cast<std::uint8_t>(key[0]) == name.size()) key = bytes;
}

// Nothing is made in a size that a file asks for before that is checked.
TEST(GgufDamage, LD01_HeadsOfAHostileSize) {
    constexpr std::uint32_t kUint64 = 10;
    for (const std::uint64_t size : {std::uint64_t{1} << 34, std::uint64_t{1} << 40, std::uint64_t{1} << 62})
        EXPECT_THAT(model_refusal([&](GgufFile& f) {
                        for (const char* key : {"llama.attention.key_length", "llama.attention.value_length",
                                                "llama.rope.dimension_count"})
                            replace(f, key, GgufBytes().text(key).u32(kUint64).u64(size).bytes());
                        f.text("llama.rope.scaling.type", "linear");
                        f.real("llama.rope.scaling.factor", 2.0f);
                    }),
                    HasSubstr(std::to_string(size)));
}

TEST(GgufDamage, WhatWouldChangeTheResultIsRefusedByName) {
    EXPECT_EQ(model_refusal([](GgufFile&) {}), "accepted");
    EXPECT_THAT(model_refusal([](GgufFile& f) {
                    replace(f, "general.architecture",
                            GgufBytes().text("general.architecture").u32(8).text("mamba").bytes());
                }),
                HasSubstr("the architecture \"mamba\" is not supported"));
    EXPECT_THAT(model_refusal([](GgufFile& f) { f.real("llama.attention.clamp_kqv", 8.0f); }),
                HasSubstr("\"llama.attention.clamp_kqv\" = 8 is not supported"));
    EXPECT_THAT(model_refusal([](GgufFile& f) { f.text("llama.rope.scaling.type", "yarn"); }),
                HasSubstr("\"yarn\" is not supported"));
    EXPECT_THAT(model_refusal([](GgufFile& f) { f.integer("llama.expert_count", 8); }),
                HasSubstr("\"llama.expert_count\" = 8 is not supported"));
    EXPECT_EQ(model_refusal([](GgufFile& f) { f.integer("llama.expert_count", 0); }), "accepted");
    EXPECT_THAT(model_refusal([](GgufFile& f) { f.integer("split.count", 2); }), HasSubstr("one part of a model"));
    EXPECT_THAT(model_refusal([](GgufFile& f) {
                    replace(f, "llama.attention.head_count", "");
                    f.integers("llama.attention.head_count", {8, 8});
                    f.keys.erase(std::find(f.keys.begin(), f.keys.end(), ""));
                }),
                HasSubstr("\"llama.attention.head_count\" is an array of 2, not a whole number"));
    EXPECT_THAT(model_refusal([](GgufFile& f) {
                    replace(f, "llama.block_count", GgufBytes().text("llama.block_cnt").u32(4).u32(1).bytes());
                }),
                HasSubstr("\"llama.block_count\" is missing"));
    EXPECT_THAT(model_refusal([](GgufFile& f) {
                    replace(f, "llama.block_count", GgufBytes().text("llama.block_count").u32(4).u32(2).bytes());
                }),
                HasSubstr("\"blk.1.attn_norm.weight\" is missing"));
    EXPECT_THAT(model_refusal([](GgufFile& f) { f.integer("llama.vocab_size", 98); }),
                HasSubstr("\"vocab_size\" is 98, and the embedding has 97 rows"));
    EXPECT_THAT(model_refusal([](GgufFile& f) {
                    f.tensors.push_back({"blk.0.attn_q.bias", "F32", {64}, std::string(256, '\0')});
                }),
                HasSubstr("\"blk.0.attn_q.bias\" [64] has no place"));
    EXPECT_THAT(model_refusal([](GgufFile& f) { f.tensors[1].shape = {32}, f.tensors[1].bytes.resize(128); }),
                HasSubstr("has the shape [32]; the metadata asks for [64]"));
    // Ids of another type than texts, and more tokens than rows (LD-15).
    EXPECT_THAT(model_refusal([](GgufFile& f) {
                    replace(f, "tokenizer.ggml.tokens",
                            GgufBytes().text("tokenizer.ggml.tokens").u32(9).u32(0).u64(4).u32(7).bytes());
                }),
                HasSubstr("\"tokenizer.ggml.tokens\" is an array of 4, not an array of texts"));
    EXPECT_THAT(model_refusal([](GgufFile& f) { f.tensors[0].shape[0] = 90, f.tensors[0].bytes.resize(90 * 64 * 4); }),
                HasSubstr("the tokenizer has ids up to 96, the embedding 90 rows"));
}

}  // namespace
}  // namespace decodescope
