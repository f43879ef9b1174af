// Formulas and the step program against the published figures: parameters, bytes per token, FLOPs, bytes of a step.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/model/bind_weights.h"
#include "engine/model/model.h"
#include "engine/model/synthetic.h"
#include "kernels/api/validate.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

ModelConfig shape(std::int64_t layers, std::int64_t kv_heads, std::int64_t head_dim) {
    ModelConfig c;
    c.layers = layers;
    c.kv_heads = kv_heads;
    c.head_dim = head_dim;
    return c;
}

TEST(Formulas, KvBytesPerToken) {
    struct Row {
        std::int64_t layers, kv_heads, head_dim, f16;
    };
    for (const Row& row :
         {Row{12, 12, 64, 36864}, Row{24, 16, 64, 98304}, Row{36, 20, 64, 184320}, Row{48, 25, 64, 307200},
          Row{32, 32, 128, 524288}, Row{40, 40, 128, 819200}, Row{80, 8, 128, 327680}, Row{32, 8, 128, 131072},
          Row{22, 4, 64, 22528}, Row{16, 8, 64, 32768}}) {
        const ModelConfig c = shape(row.layers, row.kv_heads, row.head_dim);
        EXPECT_EQ(c.kv_bytes_per_token(ElementType::F16, ElementType::F16), row.f16);
        EXPECT_EQ(c.kv_bytes_per_token(ElementType::F32, ElementType::F32), 2 * row.f16);
        EXPECT_EQ(c.kv_bytes_per_token(ElementType::F32, ElementType::F16), row.f16 * 3 / 2) << "K and V apart";
    }
}

TEST(Formulas, Parameters) {
    const ModelConfig gpt2 = *synthetic_config("gpt2-small");
    EXPECT_EQ(gpt2.parameters(), 124439808);
    EXPECT_EQ(gpt2.layer_matrix_parameters(), 84934656);
    EXPECT_EQ(gpt2.vocabulary * gpt2.hidden, 38597376);
    EXPECT_EQ(synthetic_config("gpt2-medium")->parameters(), 354823168);
    EXPECT_EQ(synthetic_config("tinyllama-1.1b")->parameters(), 1100048384);
    // Counted in the files.
    for (const char* name : {"g2", "g2-tied", "l3"}) {
        std::int64_t elements = 0;
        for (const FileTensor& tensor : fixture_tensors(name)) {
            const bool mask = tensor.name.find(".attn.bias") != std::string::npos ||
                              tensor.name.find(".attn.masked_bias") != std::string::npos;
            if (!mask) elements += static_cast<std::int64_t>(tensor.bytes.size()) / 4;
        }
        EXPECT_EQ(open_fixture(name)->config.parameters(), elements) << name;
    }
}

// A program needs no data, only which weights there are: tensors that say nothing but their shape.
Model shaped(const char* spec) {
    Model model;
    model.config = *synthetic_config(spec);
    TensorSet set;
    for (const ExpectedTensor& tensor : expected_tensors(model.config))
        set.tensors[tensor.name] = {"F16", tensor.shape, nullptr, 0};
    auto bound = bind_weights(model.config, set);
    EXPECT_TRUE(bound.ok());
    model.index = bound->index;
    return model;
}

OpCost total(const StepProgram& program, const StepShape& shape) {
    OpCost sum;
    for (const OpDesc& op : program.ops) {
        const OpCost cost = op_cost(op, shape);
        sum.flops += cost.flops;
        sum.bytes += cost.bytes;
    }
    return sum;
}

TEST(Program, FlopsOfTheGpt2Table) {
    const StepProgram program = emit_program(shaped("gpt2-small"), ElementType::F16);
    const auto step = [&](std::int64_t keys) { return total(program, {1, 1, keys, keys, 0}).flops; };
    EXPECT_EQ(step(1), 247100928);
    EXPECT_EQ(step(1024), 284812800);
    const std::int64_t t = 100, n = 84934656;  // prefill: 2 N T + 2 L D T (T + 1) + 2 V D
    EXPECT_EQ(total(program, {t, 1, t * (t + 1) / 2, t, 0}).flops,
              2 * n * t + 2 * 12 * 768 * t * (t + 1) + 2 * 38597376);
}

TEST(Program, BytesOfAStep) {
    const Model model = shaped("llama-160m");
    const ModelConfig& c = model.config;
    const std::int64_t vectors = 4 * (c.layers * 2 * c.hidden + c.hidden);
    for (const ElementType type : {ElementType::F32, ElementType::F16}) {
        const auto size = static_cast<std::int64_t>(element_bytes(type));
        const std::int64_t matrices = size * (c.layer_matrix_parameters() + c.vocabulary * c.hidden + c.hidden);
        const OpCost cost = total(emit_program(model, type), {1, 1, 10, 10, 0});
        EXPECT_EQ(cost.bytes, matrices + vectors) << "layers and head once, one embedding row, norms in f32";
    }
    // Each layer reads 10 entries and writes one.
    const std::int64_t entry = 2 * c.kv_heads * c.head_dim * 4;
    const StepProgram program = emit_program(model, ElementType::F16);
    EXPECT_EQ(total(program, {1, 1, 10, 10, entry}).bytes - total(program, {1, 1, 10, 10, 0}).bytes,
              c.layers * 11 * entry);
}

TEST(Program, BiasesAndPositionRowsAreCounted) {
    const Model model = shaped("gpt2-small");
    const ModelConfig& c = model.config;
    const std::int64_t biases = 4 * c.layers * (3 * c.hidden + c.hidden + c.feed_forward + c.hidden);
    const std::int64_t norms = 4 * (c.layers * 4 + 2) * c.hidden;
    const std::int64_t matrices = 2 * (c.layer_matrix_parameters() + c.vocabulary * c.hidden + 2 * c.hidden);
    EXPECT_EQ(total(emit_program(model, ElementType::F16), {1, 1, 1, 1, 0}).bytes, biases + norms + matrices);
}

TEST(Program, EveryFixturePassesTheSharedRules) {
    for (const char* name : {"g2", "g2-tied", "l3"}) {
        const ModelPtr model = open_fixture(name);
        const StepProgram program = emit_program(*model, ElementType::F32);
        EXPECT_TRUE(validate_program(program).ok()) << name << ": " << validate_program(program).error().message;
        EXPECT_TRUE(validate_weights(program, model->weights).ok()) << name;
        std::set<OpId> seen;
        for (const OpDesc& op : program.ops) seen.insert(op.id);
        const bool llama = model->config.family == Family::Llama;
        EXPECT_EQ(seen.count(OpId::RotateKey), llama ? 1u : 0u) << name;
        EXPECT_EQ(seen.count(OpId::PositionEmbed), llama ? 0u : 1u) << name;
        EXPECT_EQ(program.ops.back().id, OpId::LmHead);
        EXPECT_EQ(program.values[static_cast<std::size_t>(program.logits_value)].name, "logits");
    }
}

TEST(Program, KvHeadsAreNotQueryHeads) {
    const ModelPtr model = open_fixture("l3");
    for (const OpDesc& op : emit_program(*model, ElementType::F32).ops) {
        if (op.id == OpId::KeyProjection || op.id == OpId::ValueProjection) {
            EXPECT_EQ(op.out_width, 16);
        }
        if (op.id == OpId::RotateKey) {
            EXPECT_EQ(op.in_width, 16);
        }
        if (op.id == OpId::RotateQuery) {
            EXPECT_EQ(op.rope.rotary_dim, 8);
        }
        if (op.id == OpId::Attention) {
            EXPECT_EQ(op.heads, 8);
            EXPECT_EQ(op.kv_heads, 2);
            EXPECT_FLOAT_EQ(op.scale, 1.0f / std::sqrt(8.0f));
        }
    }
}

TEST(Program, WeightTypes) {
    const ModelPtr model = open_fixture("l3");
    EXPECT_EQ(resolve_weight_type(model->config, WeightType::AsInFile), ElementType::F32);
    EXPECT_EQ(resolve_weight_type(model->config, WeightType::F16), ElementType::F16);
    EXPECT_EQ(resolve_weight_type(model->config, WeightType::BF16), ElementType::BF16);
}

}  // namespace
}  // namespace decodescope
