#include "tests/support/kernel_cases.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/reference/element_access.h"

namespace decodescope::test {

std::uint64_t Random::next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

float Random::uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(next() >> 40) * 0x1p-24f;
}

int Random::below(int limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }

int ProgramBuilder::value(std::string name, std::int64_t width, bool selected) {
    program.values.push_back({std::move(name), width, selected});
    return static_cast<int>(program.values.size()) - 1;
}

int ProgramBuilder::tensor_of(std::int64_t rows, std::int64_t columns, ElementType type,
                              const std::vector<float>& values) {
    std::vector<std::byte>& bytes = storage_->emplace_back(values.size() * element_bytes(type));
    for (std::size_t i = 0; i < values.size(); ++i)
        store_element(bytes.data(), type, static_cast<std::int64_t>(i), values[i]);
    WeightTensor tensor;
    tensor.name = "tensor." + std::to_string(table.tensors.size());
    tensor.data = bytes.data();
    tensor.type = type;
    tensor.rows = rows;
    tensor.columns = columns;
    tensor.row_stride = columns;
    table.tensors.push_back(tensor);
    table.owner = storage_;
    return static_cast<int>(table.tensors.size()) - 1;
}

int ProgramBuilder::tensor(std::int64_t rows, std::int64_t columns, ElementType type, float scale, float center,
                           bool transposed) {
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (float& value : values) value = center + random_.uniform(-scale, scale);
    const int index = tensor_of(rows, columns, type, values);
    WeightTensor& tensor = table.tensors[static_cast<std::size_t>(index)];
    if (transposed) {
        tensor.row_stride = 1;
        tensor.column_stride = rows;
    }
    return index;
}

OpDesc& ProgramBuilder::op(OpId id, OpKind kind, int layer, int in0, int out) {
    OpDesc desc;
    desc.id = id;
    desc.kind = kind;
    desc.layer = layer;
    desc.in0 = in0;
    desc.out = out;
    desc.in_width = in0 == kNone ? 1 : program.values[static_cast<std::size_t>(in0)].width;
    desc.out_width = out == kNone ? 0 : program.values[static_cast<std::size_t>(out)].width;
    desc.logits_rows_only = out != kNone && program.values[static_cast<std::size_t>(out)].logits_rows_only;
    program.ops.push_back(desc);
    return program.ops.back();
}

void ProgramBuilder::embed(int table_index, int out) {
    op(OpId::Embed, OpKind::Embed, kNone, kNone, out).weight = table_index;
}

void ProgramBuilder::norm(OpId id, OpKind kind, int layer, int in, int out, int weight, int bias) {
    OpDesc& desc = op(id, kind, layer, in, out);
    desc.weight = weight;
    desc.bias = bias;
    desc.epsilon = 1e-5f;
}

void ProgramBuilder::linear(OpId id, int layer, int in, int out, int weight, int bias) {
    OpDesc& desc = op(id, OpKind::Linear, layer, in, out);
    desc.weight = weight;
    desc.bias = bias;
}

void ProgramBuilder::rope(OpId id, int layer, int value, int heads, int head_dim, float theta) {
    OpDesc& desc = op(id, OpKind::Rope, layer, value, value);
    desc.heads = desc.kv_heads = heads;
    desc.head_dim = head_dim;
    desc.rope = {theta, head_dim};
}

void ProgramBuilder::select(int in, int out) { op(OpId::SelectRows, OpKind::SelectRows, kNone, in, out); }

namespace {

// Adds the layers of a tiny decoder; keeps the indices of the shared values.
class TinyModel {
public:
    TinyModel(const TinyShape& shape, ProgramBuilder& builder) : s_(shape), b_(builder) {}

    void build() {
        b_.program.layers = s_.layers;
        b_.program.vocabulary = s_.vocabulary;
        hidden_ = b_.value("hidden", s_.hidden);
        normed_ = b_.value("normed", s_.hidden);
        q_ = b_.value("q", s_.heads * s_.head_dim);
        k_ = b_.value("k", s_.kv_heads * s_.head_dim);
        v_ = b_.value("v", s_.kv_heads * s_.head_dim);
        attended_ = b_.value("attended", s_.heads * s_.head_dim);
        projected_ = b_.value("projected", s_.hidden);
        gate_ = b_.value("gate", s_.feed_forward);
        up_ = b_.value("up", s_.feed_forward);
        activated_ = b_.value("activated", s_.feed_forward);
        const int embedding = b_.tensor(s_.vocabulary, s_.hidden, s_.type, 1.0f);
        b_.embed(embedding, hidden_);
        if (!s_.llama)
            b_.op(OpId::PositionEmbed, OpKind::AddPosition, kNone, hidden_, hidden_).weight =
                b_.tensor(s_.context, s_.hidden, s_.type, 0.3f);
        for (int layer = 0; layer < s_.layers; ++layer) {
            attention(layer);
            feed_forward(layer);
        }
        const int selected = b_.value("selected", s_.hidden, true), last = b_.value("last", s_.hidden, true);
        b_.program.logits_value = b_.value("logits", s_.vocabulary, true);
        b_.select(hidden_, selected);
        norm(OpId::FinalNorm, kNone, selected, last);
        b_.linear(OpId::LmHead, kNone, last, b_.program.logits_value,
                  s_.tied ? embedding : matrix(s_.vocabulary, s_.hidden, false));
    }

private:
    int matrix(int rows, int columns, bool may_transpose = true) {
        const float scale = 1.7f / std::sqrt(static_cast<float>(columns));
        return b_.tensor(rows, columns, s_.type, scale, 0.0f, may_transpose && !s_.llama);
    }
    int bias(int rows) { return s_.llama ? kNone : b_.tensor(rows, 1, s_.type, 0.2f); }
    void norm(OpId id, int layer, int in, int out) {
        const int weight = b_.tensor(s_.hidden, 1, s_.type, 0.3f, 1.0f);
        b_.norm(id, s_.llama ? OpKind::RmsNorm : OpKind::LayerNorm, layer, in, out, weight, bias(s_.hidden));
    }
    void linear(OpId id, int layer, int in, int out) {
        const auto rows = static_cast<int>(b_.program.values[static_cast<std::size_t>(out)].width);
        const auto columns = static_cast<int>(b_.program.values[static_cast<std::size_t>(in)].width);
        const int weight = matrix(rows, columns);
        b_.linear(id, layer, in, out, weight, bias(rows));
    }
    void residual(OpId id, int layer) { b_.op(id, OpKind::Residual, layer, hidden_, hidden_).in1 = projected_; }

    void attention(int layer) {
        norm(OpId::AttentionNorm, layer, hidden_, normed_);
        linear(OpId::QueryProjection, layer, normed_, q_);
        linear(OpId::KeyProjection, layer, normed_, k_);
        linear(OpId::ValueProjection, layer, normed_, v_);
        if (s_.llama) {
            b_.rope(OpId::RotateQuery, layer, q_, s_.heads, s_.head_dim);
            b_.rope(OpId::RotateKey, layer, k_, s_.kv_heads, s_.head_dim);
        }
        for (const OpKind kind : {OpKind::CacheStore, OpKind::Attention}) {
            const bool store = kind == OpKind::CacheStore;
            OpDesc& desc = b_.op(store ? OpId::CacheStore : OpId::Attention, kind, layer, store ? k_ : q_,
                                 store ? kNone : attended_);
            if (store) desc.in1 = v_;
            desc.heads = s_.heads;
            desc.kv_heads = s_.kv_heads;
            desc.head_dim = s_.head_dim;
            desc.scale = 1.0f / std::sqrt(static_cast<float>(s_.head_dim));
            if (!store && s_.llama) desc.rope = {10000.0f, s_.head_dim};
        }
        linear(OpId::OutputProjection, layer, attended_, projected_);
        residual(OpId::AttentionResidual, layer);
    }

    void feed_forward(int layer) {
        norm(OpId::FeedForwardNorm, layer, hidden_, normed_);
        if (s_.llama) linear(OpId::GateProjection, layer, normed_, gate_);
        linear(OpId::UpProjection, layer, normed_, up_);
        if (s_.llama) b_.op(OpId::Activation, OpKind::SwiGlu, layer, gate_, activated_).in1 = up_;
        else b_.op(OpId::Activation, OpKind::GeluTanh, layer, up_, activated_);
        linear(OpId::DownProjection, layer, activated_, projected_);
        residual(OpId::FeedForwardResidual, layer);
    }

    const TinyShape& s_;
    ProgramBuilder& b_;
    int hidden_ = 0, normed_ = 0, q_ = 0, k_ = 0, v_ = 0, attended_ = 0, projected_ = 0, gate_ = 0, up_ = 0,
        activated_ = 0;
};

}  // namespace

void build_tiny_model(const TinyShape& shape, ProgramBuilder& builder) { TinyModel(shape, builder).build(); }

double relative_difference(const std::vector<float>& a, const std::vector<float>& b, double floor) {
    if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
    double largest = floor, difference = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, std::abs(static_cast<double>(b[i])));
        difference = std::max(difference, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return difference / largest;
}

}  // namespace decodescope::test
