#include "tests/support/tiny_models.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

namespace decodescope {
namespace {

// SplitMix64: the same numbers everywhere.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    // Uniform, standard deviation `deviation`.
    float value(double deviation) {
        const double unit = static_cast<double>(next() >> 11) * 0x1p-53;
        return static_cast<float>((2 * unit - 1) * deviation * std::sqrt(3.0));
    }

private:
    std::uint64_t state_;
};

// Token i is the byte 'a' + i mod 26, except the end of text.
class TinyTokenizer final : public Tokenizer {
public:
    TinyTokenizer(std::int64_t size, std::int32_t eos) : eos_(eos) {
        for (std::int64_t i = 0; i < size; ++i)
            texts_.push_back(i == eos ? "<|end|>" : std::string(1, static_cast<char>('a' + i % 26)));
    }
    Result<std::vector<std::int32_t>> encode(std::string_view text, const EncodeOptions&,
                                             std::stop_token) const override {
        std::vector<std::int32_t> ids;
        for (const char c : text) ids.push_back(c >= 'a' && c <= 'z' ? c - 'a' : 0);
        return ids;
    }
    std::string_view token_bytes(std::int32_t id) const override {
        return id < 0 || id >= size() ? std::string_view{} : texts_[static_cast<std::size_t>(id)];
    }
    bool is_special(std::int32_t id) const override { return id == eos_; }
    std::int32_t size() const override { return static_cast<std::int32_t>(texts_.size()); }
    std::optional<std::int32_t> bos() const override { return std::nullopt; }
    std::optional<std::int32_t> eos() const override { return eos_ < 0 ? std::nullopt : std::optional(eos_); }
    bool adds_bos() const override { return false; }
    std::string fingerprint() const override { return "tiny"; }

private:
    std::vector<std::string> texts_;
    std::int32_t eos_;
};

class Builder {
public:
    Builder(const ModelConfig& config, const TinyOptions& options)
        : config_(config), random_(options.seed), edit_(options.edit) {}

    void build(Model& model) {
        make_tensors();
        if (edit_) edit_(tensors_);
        storage_ = std::make_shared<std::map<std::string, std::vector<float>>>();
        index(model);
        model.weights = std::move(table_);
        model.weights.owner = storage_;
    }

private:
    struct Shape {
        std::int64_t rows, columns;
        bool conv1d;
    };

    void matrix(const std::string& name, std::int64_t rows, std::int64_t columns, double gain, bool conv1d) {
        auto& values = tensors_[name];
        values.resize(static_cast<std::size_t>(rows * columns));
        for (auto& v : values) v = random_.value(gain);
        shapes_[name] = {rows, columns, conv1d};
    }
    void vector(const std::string& name, std::int64_t rows, float mean, double deviation) {
        matrix(name, rows, 1, deviation, false);
        for (auto& v : tensors_[name]) v += mean;
    }
    // A Linear and, in the GPT-2 family, its bias. `gain` 1 keeps the size of the input.
    void linear(const std::string& name, std::int64_t rows, std::int64_t columns, double gain) {
        const bool gpt2 = config_.family == Family::Gpt2;
        matrix(name, rows, columns, gain / std::sqrt(static_cast<double>(columns)), gpt2);
        if (gpt2) vector(name + "_bias", rows, 0.0f, 0.1);
    }
    void norm(const std::string& name) {
        vector(name, config_.hidden, 1.0f, 0.2);
        if (config_.family == Family::Gpt2) vector(name + "_bias", config_.hidden, 0.0f, 0.1);
    }

    void make_tensors() {
        const auto& c = config_;
        matrix("embedding", c.vocabulary, c.hidden, 1.0, false);
        if (c.family == Family::Gpt2) matrix("positions", c.context, c.hidden, 0.7, false);
        for (std::int64_t n = 0; n < c.layers; ++n) {
            const auto name = [n](const char* part) { return fmt::format("{}.{}", n, part); };
            norm(name("attention_norm"));
            linear(name("query"), c.heads * c.head_dim, c.hidden, 1.5);
            linear(name("key"), c.kv_heads * c.head_dim, c.hidden, 1.5);
            linear(name("value"), c.kv_heads * c.head_dim, c.hidden, 1.0);
            linear(name("output"), c.hidden, c.heads * c.head_dim, 1.0);
            norm(name("feed_forward_norm"));
            if (c.family == Family::Llama) linear(name("gate"), c.feed_forward, c.hidden, 1.0);
            linear(name("up"), c.feed_forward, c.hidden, 1.0);
            linear(name("down"), c.hidden, c.feed_forward, 1.0);
        }
        norm("final_norm");
        if (!c.tied_head) matrix("head", c.vocabulary, c.hidden, 1.0 / std::sqrt(static_cast<double>(c.hidden)), false);
    }

    // Index of the tensor in the table, or kNone.
    int add(const std::string& name) {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) return kNone;
        const Shape shape = shapes_.at(name);
        std::vector<float> data = found->second;
        if (shape.conv1d) {  // stored [in, out] as GPT-2 files do
            for (std::int64_t r = 0; r < shape.rows; ++r) {
                for (std::int64_t c = 0; c < shape.columns; ++c) {
                    data[static_cast<std::size_t>(c * shape.rows + r)] =
                        found->second[static_cast<std::size_t>(r * shape.columns + c)];
                }
            }
        }
        WeightTensor tensor;
        tensor.name = name;
        tensor.rows = shape.rows;
        tensor.columns = shape.columns;
        tensor.row_stride = shape.conv1d ? 1 : shape.columns;
        tensor.column_stride = shape.conv1d ? shape.rows : 1;
        tensor.data = ((*storage_)[name] = std::move(data)).data();
        table_.tensors.push_back(tensor);
        return static_cast<int>(table_.tensors.size()) - 1;
    }

    void index(Model& model) {
        auto& w = model.index;
        w.token_embedding = add("embedding");
        w.position_embedding = add("positions");
        w.final_norm = add("final_norm");
        w.final_norm_bias = add("final_norm_bias");
        w.head = config_.tied_head ? w.token_embedding : add("head");
        for (std::int64_t n = 0; n < config_.layers; ++n) {
            const auto part = [this, n](const char* name) { return add(fmt::format("{}.{}", n, name)); };
            LayerWeights layer;
            layer.attention_norm = part("attention_norm");
            layer.attention_norm_bias = part("attention_norm_bias");
            layer.query = part("query");
            layer.query_bias = part("query_bias");
            layer.key = part("key");
            layer.key_bias = part("key_bias");
            layer.value = part("value");
            layer.value_bias = part("value_bias");
            layer.output = part("output");
            layer.output_bias = part("output_bias");
            layer.feed_forward_norm = part("feed_forward_norm");
            layer.feed_forward_norm_bias = part("feed_forward_norm_bias");
            layer.gate = part("gate");
            layer.up = part("up");
            layer.up_bias = part("up_bias");
            layer.down = part("down");
            layer.down_bias = part("down_bias");
            w.layers.push_back(layer);
        }
    }

    const ModelConfig& config_;
    Random random_;
    std::function<void(TinyTensors&)> edit_;
    TinyTensors tensors_;
    std::map<std::string, Shape> shapes_;
    std::shared_ptr<std::map<std::string, std::vector<float>>> storage_;
    WeightTable table_;
};

}  // namespace

ModelConfig tiny_gpt2_config() {
    ModelConfig c;
    c.family = Family::Gpt2;
    c.name = "G2";
    c.layers = 2;
    c.hidden = 32;
    c.heads = c.kv_heads = 4;
    c.head_dim = 8;
    c.feed_forward = 128;
    c.vocabulary = 300;
    c.context = 32;
    c.tied_head = false;
    return c;
}

ModelConfig tiny_llama_config() {
    ModelConfig c;
    c.family = Family::Llama;
    c.name = "L3";
    c.layers = 3;
    c.hidden = 64;
    c.heads = 8;
    c.kv_heads = 2;
    c.head_dim = 8;
    c.feed_forward = 128;
    c.vocabulary = 97;
    c.context = 128;
    c.tied_head = false;
    return c;
}

ModelPtr make_tiny_model(const ModelConfig& config, const TinyOptions& options) {
    auto model = std::make_shared<Model>();
    model->source = "tiny:" + config.name;
    model->config = config;
    Builder(config, options).build(*model);
    model->tokenizer = std::make_shared<TinyTokenizer>(config.vocabulary, options.eos);
    model->meaningless_text = true;
    model->identity = fmt::format("{}-{}", config.name, options.seed);
    model->sampled_vocabulary = options.sampled_vocabulary > 0 ? options.sampled_vocabulary : config.vocabulary;
    return model;
}

ModelPtr make_tiny_llama(const TinyOptions& options) { return make_tiny_model(tiny_llama_config(), options); }
ModelPtr make_tiny_gpt2(const TinyOptions& options) { return make_tiny_model(tiny_gpt2_config(), options); }

std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
    Random random(seed + 1000);
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < count; ++i)
        tokens.push_back(static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(vocabulary)));
    return tokens;
}

}  // namespace decodescope
