// Names, prefixes, orientation, tied heads and what must not be in a file: LD-11, LD-13 and shapes against config.json.
#include "engine/model/bind_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/model/config_reader.h"
#include "kernels/api/half.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

// A fixture's folder with changed tensors.
class Changed {
public:
    explicit Changed(const std::string& fixture) : tensors(fixture_tensors(fixture)) {
        for (const char* name : {"config.json", "tokenizer.json"}) folder_.copy_fixture(fixture, name);
    }
    Result<ModelPtr> open() const {
        folder_.write("model.safetensors", safetensors_bytes(tensors));
        return open_model(folder_.path(), {}, {}, {});
    }
    std::string refusal() const {
        const auto model = open();
        return model ? "accepted" : model.error().message;
    }
    FileTensor& operator[](const std::string& name) {
        return *std::find_if(tensors.begin(), tensors.end(), [&](const FileTensor& t) { return t.name == name; });
    }
    void erase(const std::string& name) {
        std::erase_if(tensors, [&](const FileTensor& t) { return t.name == name; });
    }
    std::vector<FileTensor> tensors;

private:
    TemporaryFolder folder_;
};

FullPass pass(const Model& model, const std::vector<std::int32_t>& tokens) {
    const auto backend = make_reference_backend();
    return run_full_pass(*backend, model, tokens);
}

void strip_prefix(Changed& changed, const std::string& prefix) {
    for (FileTensor& tensor : changed.tensors)
        if (tensor.name.rfind(prefix, 0) == 0) tensor.name.erase(0, prefix.size());
}

TEST(Binding, NamesWithAndWithoutPrefixAreTheSameModel) {  // LD-11
    for (const auto& [fixture, prefix] : {std::pair{"g2", "transformer."}, std::pair{"l3", "model."}}) {
        const ReferenceValues wanted = load_reference(std::string(fixture) + "/reference.safetensors");
        Changed changed(fixture);
        strip_prefix(changed, prefix);
        const auto model = changed.open();
        ASSERT_TRUE(model.ok()) << model.error().text();
        EXPECT_LT(relative_difference(pass(**model, wanted.tokens).logits, wanted.logits), 1e-4) << fixture;
    }
}

TEST(Binding, BuffersOfOldCheckpointsAreIgnored) {  // LD-11; g2-tied has the masks of GPT-2 in its file
    Changed llama("l3");
    llama.tensors.push_back({"model.layers.1.self_attn.rotary_emb.inv_freq", "F32", {4}, std::string(16, 'x')});
    EXPECT_EQ(llama.refusal(), "accepted");
    Changed untied("g2");
    untied.tensors.push_back({"transformer.h.0.attn.bias", "BOOL", {1, 1, 32, 32}, std::string(1024, '\1')});
    EXPECT_EQ(untied.refusal(), "accepted");
    // c_attn.bias ends in the same letters and must not be taken for a mask.
    untied.erase("transformer.h.0.attn.c_attn.bias");
    EXPECT_THAT(untied.refusal(), HasSubstr("transformer.h.0.attn.c_attn.bias\" is missing"));
}

TEST(Binding, TiedAndUntiedHeads) {  // LD-11
    const ModelPtr tied = open_fixture("g2-tied");
    EXPECT_EQ(tied->index.head, tied->index.token_embedding);
    const ModelPtr untied = open_fixture("g2");
    EXPECT_NE(untied->index.head, untied->index.token_embedding);
    // A tied head that is written out changes nothing, whatever it holds.
    Changed written("g2-tied");
    FileTensor head = written["wte.weight"];
    head.name = "lm_head.weight";
    written.tensors.push_back(head);
    const auto model = written.open();
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ((*model)->index.head, (*model)->index.token_embedding);
    Changed missing("l3");
    missing.erase("lm_head.weight");
    EXPECT_THAT(missing.refusal(), HasSubstr("\"lm_head.weight\" is missing"));
}

// [in, out] of a Conv1D stored as [out, in]: a square matrix the wrong way round shows only in the logits.
TEST(Binding, ASquareMatrixTheWrongWayRoundShowsInTheLogits) {  // LD-11, planted
    const ReferenceValues wanted = load_reference("g2/reference.safetensors");
    Changed changed("g2");
    std::string& bytes = changed["transformer.h.0.attn.c_proj.weight"].bytes;
    const std::string before = bytes;
    for (std::size_t row = 0; row < 32; ++row)
        for (std::size_t column = 0; column < 32; ++column)
            std::memcpy(&bytes[(row * 32 + column) * 4], &before[(column * 32 + row) * 4], 4);
    const auto model = changed.open();
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_GT(relative_difference(pass(**model, wanted.tokens).logits, wanted.logits), 0.01);
}

TEST(Binding, ShapesAreComparedWithTheConfig) {  // LD-12
    Changed changed("l3");
    changed["model.layers.2.mlp.down_proj.weight"].shape = {128, 64};
    EXPECT_THAT(changed.refusal(),
                HasSubstr("\"model.layers.2.mlp.down_proj.weight\" has the shape [128, 64]; config.json asks for "
                          "[64, 128]"));
    Changed fused("g2");
    fused["transformer.h.1.attn.c_attn.weight"].shape = {96, 32};
    EXPECT_THAT(fused.refusal(), HasSubstr("[96, 32]; config.json asks for [32, 96]"));
}

TEST(Binding, UnusableTypesAreNamed) {  // LD-05
    Changed changed("l3");
    FileTensor& norm = changed["model.norm.weight"];
    norm.dtype = "I32";
    EXPECT_THAT(changed.refusal(), HasSubstr("\"model.norm.weight\" is stored as I32"));
    norm.dtype = "I64";
    norm.bytes += norm.bytes;
    EXPECT_THAT(changed.refusal(), HasSubstr("stored as I64"));
}

TEST(Binding, TensorsOfAnotherArchitectureAreNamed) {
    Changed changed("l3");
    changed.tensors.push_back({"model.layers.0.self_attn.q_proj.bias", "F32", {64}, std::string(256, '\0')});
    EXPECT_THAT(changed.refusal(), HasSubstr("\"model.layers.0.self_attn.q_proj.bias\" [64] has no place"));
    Changed more("l3");
    more.tensors.push_back({"model.layers.3.input_layernorm.weight", "F32", {64}, std::string(256, '\0')});
    EXPECT_THAT(more.refusal(), HasSubstr("has no place in a LLaMA model of 3 layers"));
}

TEST(Binding, MetasOwnLayoutIsRefused) {  // LD-13: its rotated pairs are ordered differently
    Changed changed("l3");
    changed["model.embed_tokens.weight"].name = "tok_embeddings.weight";
    EXPECT_THAT(changed.refusal(), HasSubstr("Meta's own layout"));
}

// Halves are exact in f32, so a converted checkpoint gives the logits of its rounded weights.
std::string converted(const std::string& bytes, bool bf16) {
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
        float value = 0;
        std::memcpy(&value, &bytes[i], 4);
        const std::uint16_t half = bf16 ? f32_to_bf16(value) : f32_to_f16(value);
        out.append(reinterpret_cast<const char*>(&half), 2);
    }
    return out;
}

TEST(Binding, HalfPrecisionFilesAreReadAsTheyAre) {
    const ReferenceValues wanted = load_reference("l3/reference.safetensors");
    for (const bool bf16 : {false, true}) {
        Changed changed("l3");
        for (FileTensor& tensor : changed.tensors) {
            tensor.bytes = converted(tensor.bytes, bf16);
            tensor.dtype = bf16 ? "BF16" : "F16";
        }
        const auto model = changed.open();
        ASSERT_TRUE(model.ok()) << model.error().text();
        EXPECT_EQ((*model)->config.file_type, bf16 ? ElementType::BF16 : ElementType::F16);
        // Weights of 11 and 8 bits: close to the f32 logits, and not equal.
        const double difference = relative_difference(pass(**model, wanted.tokens).logits, wanted.logits);
        EXPECT_LT(difference, bf16 ? 0.1 : 0.01);
        EXPECT_GT(difference, 1e-5);
    }
}

TEST(Binding, ExpectedTensorsAreThoseOfTheFiles) {
    for (const char* name : {"g2", "l3"}) {
        const ModelPtr model = open_fixture(name);
        std::vector<FileTensor> file = fixture_tensors(name);
        const std::vector<ExpectedTensor> expected = expected_tensors(model->config);
        EXPECT_EQ(expected.size(), file.size()) << name;
        for (const ExpectedTensor& tensor : expected) {
            const auto found =
                std::find_if(file.begin(), file.end(), [&](const FileTensor& t) { return t.name == tensor.name; });
            ASSERT_NE(found, file.end()) << tensor.name;
            EXPECT_EQ(found->shape, tensor.shape) << tensor.name;
        }
    }
}

}  // namespace
}  // namespace decodescope
