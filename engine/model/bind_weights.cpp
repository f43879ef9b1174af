#include "engine/model/bind_weights.h"

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "engine/model/safetensors.h"

namespace decodescope {
namespace {

using Shape = std::vector<std::int64_t>;
// Gives the tensor of this name, checked against the shape.
using Lookup = std::function<Result<Tensor>(const ExpectedTensor& wanted)>;

// Adds tensors to a WeightTable in the orientation that the backends use; the first problem ends the work.
class Binder {
public:
    Binder(const ModelConfig& config, Lookup lookup, BoundWeights& out)
        : config_(config), lookup_(std::move(lookup)), out_(out) {}

    const Status& status() const { return status_; }

    int vector(const std::string& name, std::int64_t length) {
        return add(name, {length}, 1, [&](WeightTensor& w, bool) { w.rows = length; });
    }
    // nn.Embedding and nn.Linear: [rows, columns].
    int matrix(const std::string& name, std::int64_t rows, std::int64_t columns, bool embedding = false) {
        return add(name, {rows, columns}, embedding ? 1 : columns, [&](WeightTensor& w, bool) {
            w.rows = rows;
            w.columns = columns;
            w.row_stride = columns;
        });
    }
    // Conv1D: [in, out] in the file, so that rows of the product are columns of the file.
    int conv(const std::string& name, std::int64_t in, std::int64_t out) {
        return add(name, {in, out}, in, [&](WeightTensor& w, bool by_columns) {
            w.rows = out;
            w.columns = in;
            w.row_stride = by_columns ? in : 1;
            w.column_stride = by_columns ? 1 : out;
        });
    }
    // `parts` equal parts along the rows of a tensor already added; the tensor itself becomes the first part.
    std::array<int, 3> split(int whole) {
        std::array<int, 3> out = {whole, kNone, kNone};
        if (whole == kNone) return out;
        const WeightTensor tensor = out_.table.tensors[static_cast<std::size_t>(whole)];
        const std::int64_t rows = tensor.rows / 3;
        constexpr std::array<const char*, 3> names = {"Q", "K", "V"};
        for (std::size_t part = 0; part < out.size(); ++part) {
            WeightTensor view = tensor;
            view.name = fmt::format("{} ({} part)", tensor.name, names[part]);
            view.rows = rows;
            if (tensor.data != nullptr) {
                view.data = static_cast<const std::byte*>(tensor.data) +
                            tensor.row_offset(static_cast<std::int64_t>(part) * rows);
            }
            if (part == 0) {
                out_.table.tensors[static_cast<std::size_t>(whole)] = view;
            } else {
                out[part] = static_cast<int>(out_.table.tensors.size());
                out_.table.tensors.push_back(view);
            }
        }
        return out;
    }

    void llama() {
        const ModelConfig& c = config_;
        out_.index.token_embedding = matrix("model.embed_tokens.weight", c.vocabulary, c.hidden, true);
        for (std::int64_t i = 0; i < c.layers; ++i)
            out_.index.layers.push_back(llama_layer(fmt::format("model.layers.{}.", i)));
        out_.index.final_norm = vector("model.norm.weight", c.hidden);
        out_.index.head = c.tied_head ? out_.index.token_embedding : matrix("lm_head.weight", c.vocabulary, c.hidden);
    }

    void neox() {
        const ModelConfig& c = config_;
        out_.index.token_embedding = matrix("gpt_neox.embed_in.weight", c.vocabulary, c.hidden, true);
        for (std::int64_t i = 0; i < c.layers; ++i)
            out_.index.layers.push_back(neox_layer(fmt::format("gpt_neox.layers.{}.", i)));
        out_.index.final_norm = vector("gpt_neox.final_layer_norm.weight", c.hidden);
        out_.index.final_norm_bias = vector("gpt_neox.final_layer_norm.bias", c.hidden);
        out_.index.head = c.tied_head ? out_.index.token_embedding : matrix("embed_out.weight", c.vocabulary, c.hidden);
    }

    void gpt2() {
        const ModelConfig& c = config_;
        out_.index.token_embedding = matrix("transformer.wte.weight", c.vocabulary, c.hidden, true);
        out_.index.position_embedding = matrix("transformer.wpe.weight", c.context, c.hidden, true);
        for (std::int64_t i = 0; i < c.layers; ++i)
            out_.index.layers.push_back(gpt2_layer(fmt::format("transformer.h.{}.", i)));
        out_.index.final_norm = vector("transformer.ln_f.weight", c.hidden);
        out_.index.final_norm_bias = vector("transformer.ln_f.bias", c.hidden);
        out_.index.head = c.tied_head ? out_.index.token_embedding : matrix("lm_head.weight", c.vocabulary, c.hidden);
    }

private:
    template <class SetShape>
    int add(const std::string& name, Shape shape, std::int64_t inputs, SetShape set_shape) {
        if (!status_.ok()) return kNone;
        auto tensor = lookup_({name, std::move(shape), inputs});
        if (!tensor) {
            status_ = tensor.error();
            return kNone;
        }
        WeightTensor weight;
        weight.name = name;
        weight.data = tensor->data;
        weight.type = element_type_of(tensor->dtype).value_or(ElementType::F32);
        weight.blocks = tensor->blocks;
        set_shape(weight, tensor->by_columns);
        out_.table.tensors.push_back(std::move(weight));
        return static_cast<int>(out_.table.tensors.size()) - 1;
    }

    LayerWeights llama_layer(const std::string& p) {
        const ModelConfig& c = config_;
        const std::int64_t queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
        LayerWeights w;
        w.attention_norm = vector(p + "input_layernorm.weight", c.hidden);
        w.query = matrix(p + "self_attn.q_proj.weight", queries, c.hidden);
        w.key = matrix(p + "self_attn.k_proj.weight", keys, c.hidden);
        w.value = matrix(p + "self_attn.v_proj.weight", keys, c.hidden);
        if (c.attention_biases()) {
            w.query_bias = vector(p + "self_attn.q_proj.bias", queries);
            w.key_bias = vector(p + "self_attn.k_proj.bias", keys);
            w.value_bias = vector(p + "self_attn.v_proj.bias", keys);
        }
        if (c.head_norms()) {
            w.query_norm = vector(p + "self_attn.q_norm.weight", c.head_dim);
            w.key_norm = vector(p + "self_attn.k_norm.weight", c.head_dim);
        }
        w.output = matrix(p + "self_attn.o_proj.weight", c.hidden, queries);
        if (c.norms_after()) {
            w.attention_post_norm = vector(p + "post_attention_layernorm.weight", c.hidden);
            w.feed_forward_norm = vector(p + "pre_feedforward_layernorm.weight", c.hidden);
            w.feed_forward_post_norm = vector(p + "post_feedforward_layernorm.weight", c.hidden);
        } else {
            w.feed_forward_norm = vector(p + "post_attention_layernorm.weight", c.hidden);
        }
        w.gate = matrix(p + "mlp.gate_proj.weight", c.feed_forward, c.hidden);
        w.up = matrix(p + "mlp.up_proj.weight", c.feed_forward, c.hidden);
        w.down = matrix(p + "mlp.down_proj.weight", c.hidden, c.feed_forward);
        return w;
    }

    LayerWeights neox_layer(const std::string& p) {
        const ModelConfig& c = config_;
        LayerWeights w;
        w.attention_norm = vector(p + "input_layernorm.weight", c.hidden);
        w.attention_norm_bias = vector(p + "input_layernorm.bias", c.hidden);
        const std::int64_t width = c.heads * c.head_dim;
        const auto matrices = split(matrix(p + "attention.query_key_value.weight", 3 * width, c.hidden));
        const auto biases = split(vector(p + "attention.query_key_value.bias", 3 * width));
        w.query = matrices[0], w.key = matrices[1], w.value = matrices[2];
        w.query_bias = biases[0], w.key_bias = biases[1], w.value_bias = biases[2];
        w.output = matrix(p + "attention.dense.weight", c.hidden, width);
        w.output_bias = vector(p + "attention.dense.bias", c.hidden);
        w.feed_forward_norm = vector(p + "post_attention_layernorm.weight", c.hidden);
        w.feed_forward_norm_bias = vector(p + "post_attention_layernorm.bias", c.hidden);
        w.up = matrix(p + "mlp.dense_h_to_4h.weight", c.feed_forward, c.hidden);
        w.up_bias = vector(p + "mlp.dense_h_to_4h.bias", c.feed_forward);
        w.down = matrix(p + "mlp.dense_4h_to_h.weight", c.hidden, c.feed_forward);
        w.down_bias = vector(p + "mlp.dense_4h_to_h.bias", c.hidden);
        return w;
    }

    LayerWeights gpt2_layer(const std::string& p) {
        const ModelConfig& c = config_;
        LayerWeights w;
        w.attention_norm = vector(p + "ln_1.weight", c.hidden);
        w.attention_norm_bias = vector(p + "ln_1.bias", c.hidden);
        const auto matrices = split(conv(p + "attn.c_attn.weight", c.hidden, 3 * c.hidden));
        const auto biases = split(vector(p + "attn.c_attn.bias", 3 * c.hidden));
        w.query = matrices[0], w.key = matrices[1], w.value = matrices[2];
        w.query_bias = biases[0], w.key_bias = biases[1], w.value_bias = biases[2];
        w.output = conv(p + "attn.c_proj.weight", c.hidden, c.hidden);
        w.output_bias = vector(p + "attn.c_proj.bias", c.hidden);
        w.feed_forward_norm = vector(p + "ln_2.weight", c.hidden);
        w.feed_forward_norm_bias = vector(p + "ln_2.bias", c.hidden);
        w.up = conv(p + "mlp.c_fc.weight", c.hidden, c.feed_forward);
        w.up_bias = vector(p + "mlp.c_fc.bias", c.feed_forward);
        w.down = conv(p + "mlp.c_proj.weight", c.feed_forward, c.hidden);
        w.down_bias = vector(p + "mlp.c_proj.bias", c.hidden);
        return w;
    }

    const ModelConfig& config_;
    Lookup lookup_;
    BoundWeights& out_;
    Status status_;
};

std::string_view prefix_of(Family family) {
    if (family == Family::Gpt2) return "transformer.";
    return family == Family::GptNeoX ? "gpt_neox." : "model.";
}

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Masks and tables that old checkpoints carry, and a tied head written out: nothing that the result depends on.
bool is_ignored(const ModelConfig& config, std::string_view name) {
    if (!config.learned_positions() && ends_with(name, "rotary_emb.inv_freq")) return true;
    if (config.family == Family::Gpt2 && (ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias")))
        return true;
    if (config.family == Family::GptNeoX &&
        (ends_with(name, ".attention.bias") || ends_with(name, ".attention.masked_bias")))
        return true;
    return config.tied_head && (name == "lm_head.weight" || name == "embed_out.weight");
}

class Source {
public:
    Source(const ModelConfig& config, const TensorSet& set) : config_(config), set_(set) {}

    Result<Tensor> find(const ExpectedTensor& wanted) {
        const std::string name = set_.name_here ? set_.name_here(wanted.name) : wanted.name;
        const std::string_view prefix = set_.name_here ? std::string_view() : prefix_of(config_.family);
        auto found = set_.tensors.find(name);
        if (found == set_.tensors.end() && name.rfind(prefix, 0) == 0)
            found = set_.tensors.find(std::string_view(name).substr(prefix.size()));
        if (found == set_.tensors.end()) return missing(name);
        used_.insert({found->first, true});
        const Tensor& tensor = found->second;
        if (tensor.shape != wanted.shape)
            return make_error(ErrorKind::Model,
                              fmt::format("The tensor \"{}\" has the shape {}; {} asks for {}.", found->first,
                                          shape_text(tensor.shape), asking(), shape_text(wanted.shape)),
                              fmt::format("{} and the weights do not belong together.", asking()));
        const auto type = element_type_of(tensor.dtype);
        if (!type)
            return make_error(ErrorKind::Unsupported,
                              fmt::format("The tensor \"{}\" is stored as {}.", found->first, tensor.dtype),
                              "F32, F16 and BF16 weights can be used.");
        if (wanted.shape.size() == 2) elements_[*type] += wanted.shape[0] * wanted.shape[1];
        return tensor;
    }

    Status nothing_left() const {
        for (const auto& [name, tensor] : set_.tensors)
            if (used_.count(name) == 0 && !is_ignored(config_, name))
                return make_error(ErrorKind::Unsupported,
                                  fmt::format("The tensor \"{}\" {} has no place in a {} model of {} layers.", name,
                                              shape_text(tensor.shape), family_name(config_.family), config_.layers),
                                  fmt::format("The weights are of another architecture or do not fit {}.", asking()));
        return {};
    }

    ElementType main_type() const {
        ElementType out = ElementType::F32;
        std::int64_t most = 0;
        for (const auto& [type, count] : elements_)
            if (count > most) out = type, most = count;
        return out;
    }

private:
    const char* asking() const { return set_.name_here ? "the metadata" : "config.json"; }

    Error missing(const std::string& name) const {
        const bool meta = set_.tensors.count("tok_embeddings.weight") != 0;
        if (meta)
            return make_error(ErrorKind::Unsupported,
                              "The weights are in Meta's own layout (tok_embeddings.weight), which orders "
                              "the rotated pairs differently.",
                              "Convert them to the Hugging Face layout.");
        const bool untied_head = name == "lm_head.weight";
        return make_error(ErrorKind::Model, fmt::format("The tensor \"{}\" is missing.", name),
                          untied_head ? "config.json has tie_word_embeddings false; is it the right one?"
                                      : fmt::format("The weights are incomplete or do not fit {}.", asking()));
    }

    const ModelConfig& config_;
    const TensorSet& set_;
    std::map<std::string, bool> used_;
    std::map<ElementType, std::int64_t> elements_;
};

// Tensors whose address does not fit their type are copied; a backend may read elements directly.
void align(WeightTable& table, const TensorSet& set) {
    struct Owner {
        std::shared_ptr<const void> files;
        std::vector<std::unique_ptr<std::byte[]>> copies;
    };
    auto owner = std::make_shared<Owner>();
    owner->files = set.owner;
    for (WeightTensor& tensor : table.tensors) {
        const std::size_t size = element_bytes(tensor.type);
        if (tensor.blocks != nullptr || reinterpret_cast<std::uintptr_t>(tensor.data) % size == 0) continue;
        const std::int64_t last = (tensor.rows - 1) * tensor.row_stride + (tensor.columns - 1) * tensor.column_stride;
        const std::size_t bytes = static_cast<std::size_t>(last + 1) * size;
        owner->copies.push_back(std::make_unique<std::byte[]>(bytes));  // aligned for every element type
        std::memcpy(owner->copies.back().get(), tensor.data, bytes);
        tensor.data = owner->copies.back().get();
    }
    table.owner = owner;
}

void bind(const ModelConfig& config, Binder& binder) {
    switch (config.family) {
        case Family::Gpt2: return binder.gpt2();
        case Family::GptNeoX: return binder.neox();
        case Family::Llama:
        case Family::Mistral:
        case Family::Qwen2:
        case Family::Qwen3:
        case Family::Gemma3: return binder.llama();
    }
}

}  // namespace

Result<BoundWeights> bind_weights(const ModelConfig& config, const TensorSet& set) {
    BoundWeights out;
    Source source(config, set);
    Binder binder(config, [&](const ExpectedTensor& wanted) { return source.find(wanted); }, out);
    bind(config, binder);
    DS_RETURN_IF_ERROR(binder.status());
    DS_RETURN_IF_ERROR(source.nothing_left());
    align(out.table, set);
    out.file_type = source.main_type();
    return out;
}

std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config) {
    std::vector<ExpectedTensor> out;
    BoundWeights unused;
    const Lookup record = [&](const ExpectedTensor& wanted) -> Result<Tensor> {
        out.push_back(wanted);
        return Tensor{"F32", wanted.shape, nullptr, 0};
    };
    Binder binder(config, record, unused);
    bind(config, binder);
    return out;
}

}  // namespace decodescope
