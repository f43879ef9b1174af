// The forward pass of every family as a flat list of operations. Values are reused from layer to layer: "hidden" is
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
        between_ = c_.parallel_blocks ? value("feed-forward normed", c_.hidden) : normed_;
        gate_ = c_.gated() ? value("gate", c_.feed_forward) : kNone;
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
            if (!c_.parallel_blocks) residual(OpId::AttentionResidual, layer);
            feed_forward_block(layer, w);
            residual(OpId::FeedForwardResidual, layer);
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
        OpDesc& op = add(id, c_.layer_norms() ? OpKind::LayerNorm : OpKind::RmsNorm, layer, in, out);
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

    // Of each head of Q or K, in place.
    void head_norm(OpId id, int layer, int value, int weight) {
        if (weight == kNone) return;
        OpDesc& op = norm(id, layer, value, value, weight, kNone);
        op.head_dim = static_cast<int>(c_.head_dim);
        op.weight_bytes = 4 * c_.head_dim;
    }

    // Of what a block is about to add to the stream, in place.
    void post_norm(OpId id, int layer, int weight) {
        if (weight != kNone) norm(id, layer, projected_, projected_, weight, kNone);
    }

    RopeDesc rope_of(int layer) const {
        RopeDesc rope{c_.rope_theta, static_cast<int>(c_.rotary_dim > 0 ? c_.rotary_dim : c_.head_dim)};
        if (c_.is_local(layer) && c_.local_rope_theta > 0) rope.theta = c_.local_rope_theta;
        else rope.divisors = c_.rope_divisors;
        return rope;
    }

    void rope(OpId id, int layer, int value, std::int64_t heads) {
        OpDesc& op = add(id, OpKind::Rope, layer, value, value);
        set_heads(op, heads);
        op.rope = rope_of(layer);
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
        op.scale = c_.embedding_scale;
        if (!c_.learned_positions()) return;
        OpDesc& position = add(OpId::PositionEmbed, OpKind::AddPosition, kNone, hidden_, hidden_);
        position.weight = model_.index.position_embedding;
        position.weight_bytes = weight_row_bytes(matrix_type_, c_.hidden);
    }

    // Leaves what is to be added to the stream in projected_.
    void attention_block(int layer, const LayerWeights& w) {
        norm(OpId::AttentionNorm, layer, hidden_, normed_, w.attention_norm, w.attention_norm_bias);
        linear(OpId::QueryProjection, layer, normed_, q_, w.query, w.query_bias);
        linear(OpId::KeyProjection, layer, normed_, k_, w.key, w.key_bias);
        linear(OpId::ValueProjection, layer, normed_, v_, w.value, w.value_bias);
        head_norm(OpId::QueryNorm, layer, q_, w.query_norm);
        head_norm(OpId::KeyNorm, layer, k_, w.key_norm);
        if (!c_.learned_positions()) {
            rope(OpId::RotateQuery, layer, q_, c_.heads);
            rope(OpId::RotateKey, layer, k_, c_.kv_heads);
        }
        OpDesc& store = add(OpId::CacheStore, OpKind::CacheStore, layer, k_, kNone);
        store.in1 = v_;
        set_heads(store, c_.heads);
        OpDesc& attention = add(OpId::Attention, OpKind::Attention, layer, q_, attended_);
        set_heads(attention, c_.heads);
        attention.scale = c_.query_scale > 0 ? c_.query_scale
                                             : static_cast<float>(1.0 / std::sqrt(static_cast<double>(c_.head_dim)));
        if (!c_.learned_positions()) attention.rope = rope_of(layer);
        linear(OpId::OutputProjection, layer, attended_, projected_, w.output, w.output_bias);
        post_norm(OpId::AttentionPostNorm, layer, w.attention_post_norm);
    }

    // The same; a parallel one reads the stream before attention has been added to it.
    void feed_forward_block(int layer, const LayerWeights& w) {
        norm(OpId::FeedForwardNorm, layer, hidden_, between_, w.feed_forward_norm, w.feed_forward_norm_bias);
        if (c_.parallel_blocks) residual(OpId::AttentionResidual, layer);
        if (c_.gated()) {
            linear(OpId::GateProjection, layer, between_, gate_, w.gate, kNone);
            linear(OpId::UpProjection, layer, between_, up_, w.up, kNone);
            const OpKind kind = c_.family == Family::Gemma3 ? OpKind::GeGlu : OpKind::SwiGlu;
            add(OpId::Activation, kind, layer, gate_, activated_).in1 = up_;
        } else {
            linear(OpId::UpProjection, layer, between_, up_, w.up, w.up_bias);
            const OpKind kind = c_.family == Family::GptNeoX ? OpKind::GeluErf : OpKind::GeluTanh;
            add(OpId::Activation, kind, layer, up_, activated_);
        }
        linear(OpId::DownProjection, layer, activated_, projected_, w.down, w.down_bias);
        post_norm(OpId::FeedForwardPostNorm, layer, w.feed_forward_post_norm);
    }

    const Model& model_;
    const ModelConfig& c_;
    ElementType matrix_type_;
    StepProgram program_;
    int hidden_, normed_, q_, k_, v_, attended_, projected_, between_, gate_, up_, activated_, selected_, final_;
};

}  // namespace

StepProgram emit_program(const Model& model, ElementType matrix_type) { return Emitter(model, matrix_type).run(); }

void price_program(StepProgram& program, const WeightSet& weights) {
    for (OpDesc& op : program.ops) {
        if (op.kind == OpKind::Linear)
            op.weight_bytes = op.out_width * weight_row_bytes(weights.kept_as(op.weight), op.in_width) +
                              (op.bias == kNone ? 0 : 4 * op.out_width);
        if (op.kind == OpKind::Embed || op.kind == OpKind::AddPosition)
            op.weight_bytes = weight_row_bytes(weights.kept_as(op.weight), op.out_width);
    }
}

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
