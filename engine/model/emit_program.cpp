// The forward pass of both families as a flat list of operations. Values are reused from layer to layer: "hidden" is
// the residual stream, which the residual operations update in place.
#include <cmath>
#include <utility>

#include "engine/model/model.h"
#include "kernels/api/int8_weights.h"

namespace decodescope {
namespace {

class Emitter {
public:
    Emitter(const Model& model, ElementType matrix_type)
        : model_(model), c_(model.config), matrix_type_(matrix_type) {
        program_.layers = static_cast<int>(c_.layers);
        program_.vocabulary = c_.vocabulary;
        hidden_ = value("hidden", c_.hidden);
        normed_ = value("normed", c_.hidden);
        q_ = value("q", c_.heads * c_.head_dim);
        k_ = value("k", c_.kv_heads * c_.head_dim);
        v_ = value("v", c_.kv_heads * c_.head_dim);
        attended_ = value("attended", c_.heads * c_.head_dim);
        projected_ = value("projected", c_.hidden);
        gate_ = c_.family == Family::Llama ? value("gate", c_.feed_forward) : kNone;
        up_ = value("up", c_.feed_forward);
        activated_ = value("activated", c_.feed_forward);
        selected_ = value("selected", c_.hidden, true);
        final_ = value("final normed", c_.hidden, true);
        program_.logits_value = value("logits", c_.vocabulary, true);
    }

    StepProgram run() {
        embed();
        for (int layer = 0; layer < program_.layers; ++layer) {
            const LayerWeights& w = model_.index.layers[static_cast<std::size_t>(layer)];
            attention_block(layer, w);
            feed_forward_block(layer, w);
        }
        OpDesc& select = add(OpId::SelectRows, OpKind::SelectRows, kNone, hidden_, selected_);
        select.logits_rows_only = true;
        norm(OpId::FinalNorm, kNone, selected_, final_, model_.index.final_norm, model_.index.final_norm_bias)
            .logits_rows_only = true;
        linear(OpId::LmHead, kNone, final_, program_.logits_value, model_.index.head, kNone).logits_rows_only = true;
        return std::move(program_);
    }

private:
    int value(std::string name, std::int64_t width, bool selected = false) {
        program_.values.push_back({std::move(name), width, selected});
        return static_cast<int>(program_.values.size()) - 1;
    }
    std::int64_t width(int value) const { return program_.values[static_cast<std::size_t>(value)].width; }

    OpDesc& add(OpId id, OpKind kind, int layer, int in0, int out) {
        OpDesc op;
        op.id = id;
        op.kind = kind;
        op.layer = layer;
        op.in0 = in0;
        op.out = out;
        op.in_width = in0 == kNone ? 1 : width(in0);
        op.out_width = out == kNone ? 0 : width(out);
        program_.ops.push_back(op);
        return program_.ops.back();
    }

    // Norms and biases are kept in f32, matrices in the matrix type.
    OpDesc& norm(OpId id, int layer, int in, int out, int weight, int bias) {
        OpDesc& op = add(id, c_.family == Family::Llama ? OpKind::RmsNorm : OpKind::LayerNorm, layer, in, out);
        op.weight = weight;
        op.bias = bias;
        op.epsilon = c_.norm_epsilon;
        op.weight_bytes = (bias == kNone ? 4 : 8) * op.out_width;
        return op;
    }

    OpDesc& linear(OpId id, int layer, int in, int out, int weight, int bias) {
        OpDesc& op = add(id, OpKind::Linear, layer, in, out);
        op.weight = weight;
        op.bias = bias;
        op.weight_bytes = op.out_width * weight_row_bytes(matrix_type_, op.in_width) + (bias == kNone ? 0 : 4 * op.out_width);
        return op;
    }

    void rope(OpId id, int layer, int value, std::int64_t heads) {
        OpDesc& op = add(id, OpKind::Rope, layer, value, value);
        set_heads(op, heads);
        op.rope = {c_.rope_theta, op.head_dim};
    }

    void set_heads(OpDesc& op, std::int64_t heads) {
        op.heads = static_cast<int>(heads);
        op.kv_heads = static_cast<int>(c_.kv_heads);
        op.head_dim = static_cast<int>(c_.head_dim);
    }

    void residual(OpId id, int layer) { add(id, OpKind::Residual, layer, hidden_, hidden_).in1 = projected_; }

    void embed() {
        OpDesc& op = add(OpId::Embed, OpKind::Embed, kNone, kNone, hidden_);
        op.weight = model_.index.token_embedding;
        op.weight_bytes = weight_row_bytes(matrix_type_, c_.hidden);  // one row
        if (c_.family != Family::Gpt2) return;
        OpDesc& position = add(OpId::PositionEmbed, OpKind::AddPosition, kNone, hidden_, hidden_);
        position.weight = model_.index.position_embedding;
        position.weight_bytes = weight_row_bytes(matrix_type_, c_.hidden);
    }

    void attention_block(int layer, const LayerWeights& w) {
        norm(OpId::AttentionNorm, layer, hidden_, normed_, w.attention_norm, w.attention_norm_bias);
        linear(OpId::QueryProjection, layer, normed_, q_, w.query, w.query_bias);
        linear(OpId::KeyProjection, layer, normed_, k_, w.key, w.key_bias);
        linear(OpId::ValueProjection, layer, normed_, v_, w.value, w.value_bias);
        if (c_.family == Family::Llama) {
            rope(OpId::RotateQuery, layer, q_, c_.heads);
            rope(OpId::RotateKey, layer, k_, c_.kv_heads);
        }
        OpDesc& store = add(OpId::CacheStore, OpKind::CacheStore, layer, k_, kNone);
        store.in1 = v_;
        set_heads(store, c_.heads);
        OpDesc& attention = add(OpId::Attention, OpKind::Attention, layer, q_, attended_);
        set_heads(attention, c_.heads);
        attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c_.head_dim)));
        if (c_.family == Family::Llama) attention.rope = {c_.rope_theta, attention.head_dim};
        linear(OpId::OutputProjection, layer, attended_, projected_, w.output, w.output_bias);
        residual(OpId::AttentionResidual, layer);
    }

    void feed_forward_block(int layer, const LayerWeights& w) {
        norm(OpId::FeedForwardNorm, layer, hidden_, normed_, w.feed_forward_norm, w.feed_forward_norm_bias);
        if (c_.family == Family::Llama) {
            linear(OpId::GateProjection, layer, normed_, gate_, w.gate, kNone);
            linear(OpId::UpProjection, layer, normed_, up_, w.up, kNone);
            add(OpId::Activation, OpKind::SwiGlu, layer, gate_, activated_).in1 = up_;
        } else {
            linear(OpId::UpProjection, layer, normed_, up_, w.up, w.up_bias);
            add(OpId::Activation, OpKind::GeluTanh, layer, up_, activated_);
        }
        linear(OpId::DownProjection, layer, activated_, projected_, w.down, w.down_bias);
        residual(OpId::FeedForwardResidual, layer);
    }

    const Model& model_;
    const ModelConfig& c_;
    ElementType matrix_type_;
    StepProgram program_;
    int hidden_, normed_, q_, k_, v_, attended_, projected_, gate_, up_, activated_, selected_, final_;
};

}  // namespace

StepProgram emit_program(const Model& model, ElementType matrix_type) { return Emitter(model, matrix_type).run(); }

ElementType resolve_weight_type(const ModelConfig& config, WeightType type) {
    switch (type) {
        case WeightType::AsInFile: return config.file_type;
        case WeightType::F32: return ElementType::F32;
        case WeightType::F16: return ElementType::F16;
        case WeightType::BF16: return ElementType::BF16;
        case WeightType::Int8: return ElementType::I8;
    }
    return config.file_type;
}

}  // namespace decodescope
