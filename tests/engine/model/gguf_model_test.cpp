// GGUF: every tensor type against its definition, and the same model as a folder and as a GGUF file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <nlohmann/json.hpp>

#include "engine/model/gguf_types.h"
#include "engine/model/model.h"
#include "kernels/api/int8_weights.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/gguf_model.h"
#include "tests/support/tiny_models.h"

namespace decodescope {
namespace {

constexpr const char* kTypes[] = {"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"};

class GgufTypes : public testing::TestWithParam<const char*> {};

std::vector<float> widened(const GgufType& type, const std::string& bytes) {
    std::vector<float> out(bytes.size() / static_cast<std::size_t>(type.bytes) *
                           static_cast<std::size_t>(type.elements));
    float* to = out.data();
    for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(type.bytes), to += type.elements)
        type.widen(reinterpret_cast<const std::byte*>(bytes.data()) + at, to);
    return out;
}

TEST_P(GgufTypes, RandomBlocksMeanWhatTheDefinitionSays) {
    const GgufType* type = find_gguf_type(GetParam());
    ASSERT_NE(type, nullptr);
    std::mt19937 random(7);
    int compared = 0;
    for (int block = 0; block < 200; ++block) {
        std::string bytes(static_cast<std::size_t>(type->bytes), '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        const std::vector<double> wanted = gguf_meaning(GetParam(), bytes);
        const std::vector<float> got = widened(*type, bytes);
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
            // Scales that are infinite or no numbers: not what the independent definition is written for.
            if (!std::isfinite(got[i]) || std::abs(wanted[i]) > 6.5e4 * 8192) continue;
            // One rounding to f32 of the exact value (the difference of two products may round in double before).
            EXPECT_NEAR(got[i], wanted[i], std::abs(wanted[i]) * 0x1p-24 + 1e-12)
                << "block " << block << ", element " << i;
            ++compared;
        }
    }
    EXPECT_GT(compared, 100);
}

// A model of every matrix in this type gives what the same numbers give as F32 in a folder, and comes near the model
// before rounding.
TEST_P(GgufTypes, SameLogitsAsAFolderOfTheSameNumbers) {
    ModelConfig config = tiny_llama_config();
    config.hidden = config.feed_forward = 256;  // a whole block of the large types
    config.layers = 2, config.heads = 8, config.kv_heads = 2, config.head_dim = 32;
    config.rope_theta = 500000.0f;
    const std::vector<FileTensor> exact = random_tensors(config, 3);
    TemporaryFolder folder;
    const GgufFile file = gguf_of(config, exact, GetParam());
    folder.write("模型.gguf", file.bytes());
    const auto model = open_model(folder.file("模型.gguf"), {}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();

    std::vector<FileTensor> rounded = exact;
    for (FileTensor& tensor : rounded) {
        if (tensor.shape.size() != 2) continue;
        const std::vector<double> meaning = gguf_meaning(GetParam(), gguf_rows(GetParam(), floats_of(tensor.bytes)));
        tensor.bytes = bytes_of_floats(std::vector<float>(meaning.begin(), meaning.end()));
    }
    auto json = nlohmann::json::parse(read_fixture("l3/config.json"));
    json["hidden_size"] = json["intermediate_size"] = 256;
    json["num_hidden_layers"] = 2, json["head_dim"] = 32, json["rope_theta"] = 500000.0;
    using Source = std::pair<const char*, const std::vector<FileTensor>*>;
    for (const auto& [name, tensors] : {Source("rounded", &rounded), Source("exact", &exact)}) {
        TemporaryFolder plain;
        plain.write("config.json", json.dump());
        plain.copy_fixture("l3", "tokenizer.json");
        plain.write("model.safetensors", safetensors_bytes(*tensors));
        const auto other = open_model(plain.path(), {}, {}, {});
        ASSERT_TRUE(other.ok()) << other.error().text();
        const auto tokens = random_tokens(7, config.vocabulary, 5);
        const auto backend = make_reference_backend();
        const FullPass got = run_full_pass(*backend, **model, tokens),
                       wanted = run_full_pass(*backend, **other, tokens);
        const double apart = relative_difference(got.logits, wanted.logits);
        if (std::string(name) == "rounded") EXPECT_LT(apart, 1e-6);
        else EXPECT_LT(apart, std::string(GetParam())[0] == 'Q' ? 0.6 : 0.05) << "the rounding of the type";
    }
}

TEST_P(GgufTypes, WhatIsWidenedIsSaidBeforeLoading) {
    ModelConfig config = tiny_llama_config();
    config.hidden = config.feed_forward = 256, config.heads = 8, config.head_dim = 32, config.layers = 1;
    TemporaryFolder folder;
    folder.write("m.gguf", gguf_of(config, random_tensors(config, 3), GetParam()).bytes());
    const auto described = describe_model(folder.file("m.gguf"), {});
    ASSERT_TRUE(described.ok()) << described.error().text();
    const bool plain = find_gguf_type(GetParam())->is_plain();
    EXPECT_EQ(described->stored_as, plain ? "" : GetParam());
    // Q and K are kept once more, in another order; codes stay codes.
    const GgufType& type = *find_gguf_type(GetParam());
    EXPECT_EQ(described->widened_bytes, (8 + 2) * 32 * type.row_bytes(256));
    const std::int64_t matrices = described->matrix_parameters();
    const std::int64_t vectors = 3 * 256 * 4;
    EXPECT_EQ(described->kept_bytes, plain ? 0 : vectors + matrices / 256 * weight_row_bytes(type.kept, 256));
    EXPECT_EQ(described->parameters(), config.parameters());
    OpenOptions options;
    options.available_memory_bytes = described->widened_bytes - 1;
    const auto refused = open_model(folder.file("m.gguf"), options, {}, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Memory);
}

INSTANTIATE_TEST_SUITE_P(All, GgufTypes, testing::ValuesIn(kTypes), [](const auto& info) { return info.param; });

class GgufFamilies : public testing::TestWithParam<const char*> {};

// A checkpoint of every family as its own files have it and as a GGUF file: the same numbers, the same logits.
TEST_P(GgufFamilies, SameLogitsAsTheFolder) {
    auto folder_model = std::make_shared<Model>(*open_fixture(GetParam()));
    folder_model->config.query_scale = 0;  // a GGUF file has no word for it
    TemporaryFolder folder;
    folder.write("m.gguf", gguf_of(folder_model->config, fixture_tensors(GetParam())).bytes());
    const auto model = open_model(folder.file("m.gguf"), {}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();
    const auto tokens = random_tokens(9, folder_model->config.vocabulary, 11);
    const auto backend = make_reference_backend();
    EXPECT_LT(relative_difference(run_full_pass(*backend, **model, tokens).logits,
                                  run_full_pass(*backend, *folder_model, tokens).logits),
              1e-6);
    EXPECT_NE((*model)->identity, folder_model->identity) << "the files differ";
}

INSTANTIATE_TEST_SUITE_P(All, GgufFamilies, testing::Values("g2", "l3", "mistral", "qwen2", "qwen3", "neox", "gemma3"),
                         [](const auto& info) { return std::string(info.param); });

// LD-13: rows of Q and K as the file has them, not put back, are seen.
TEST(GgufModel, LD13_PairsLeftSideBySideWouldBeSeen) {
    const ModelPtr right = open_fixture("l3");
    GgufFile file = gguf_of(right->config, fixture_tensors("l3"));
    for (GgufFileTensor& tensor : file.tensors) {
        if (tensor.name.find("attn_k.weight") == std::string::npos) continue;
        for (const FileTensor& original : fixture_tensors("l3"))
            if (original.name == "model.layers." + tensor.name.substr(4, 1) + ".self_attn.k_proj.weight")
                tensor.bytes = original.bytes;
    }
    TemporaryFolder folder;
    folder.write("m.gguf", file.bytes());
    const auto model = open_model(folder.file("m.gguf"), {}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();
    const auto tokens = random_tokens(9, 97, 11);
    const auto backend = make_reference_backend();
    EXPECT_GT(relative_difference(run_full_pass(*backend, **model, tokens).logits,
                                  run_full_pass(*backend, *right, tokens).logits),
              0.01);
}

}  // namespace
}  // namespace decodescope
