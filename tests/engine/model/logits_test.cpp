// Logits and attention against transformers (float32): the small fixtures and the bundled model, on both CPU backends.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <algorithm>

#include "engine/model/model.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

constexpr double kLogitsTolerance = 1e-4;  // relative to the largest logit
constexpr double kAttentionTolerance = 1e-5;

std::unique_ptr<Backend> make_backend(const std::string& id) {
    if (id == "reference") return make_reference_backend();
    auto backend = make_cpu_backend();
    EXPECT_TRUE(backend.ok()) << backend.error().text();
    return backend ? std::move(*backend) : nullptr;
}

class Logits : public testing::TestWithParam<std::string> {
protected:
    void compare(const Model& model, const ReferenceValues& wanted) {
        const auto backend = make_backend(GetParam());
        ASSERT_NE(backend, nullptr);
        const FullPass got = run_full_pass(*backend, model, wanted.tokens);
        EXPECT_LT(relative_difference(got.logits, wanted.logits), kLogitsTolerance);
        // Where scores reach several hundred, float32 itself is further than that from what float64 gives, in
        // transformers too: its own distance is added, twice for ours against float64, once more for its own.
        const bool has_exact = !wanted.attention_float64.empty();
        const double rounding = has_exact ? largest_difference(wanted.attention, wanted.attention_float64) : 0.0;
        EXPECT_LT(largest_difference(got.attention, wanted.attention), kAttentionTolerance + 3 * rounding);
        if (has_exact) {
            EXPECT_LT(largest_difference(got.attention, wanted.attention_float64), kAttentionTolerance + 2 * rounding);
        }
    }
};

TEST_P(Logits, Gpt2) { compare(*open_fixture("g2"), load_reference("g2/reference.safetensors")); }
TEST_P(Logits, Gpt2WithTiedHead) { compare(*open_fixture("g2-tied"), load_reference("g2-tied/reference.safetensors")); }
TEST_P(Logits, LlamaWithGroupedQueries) { compare(*open_fixture("l3"), load_reference("l3/reference.safetensors")); }

TEST_P(Logits, LlamaWithAnotherTheta) {  // LD-14
    Model model = *open_fixture("l3");
    model.config.rope_theta = 500000.0f;
    const ReferenceValues near = load_reference("l3/reference.safetensors");
    const ReferenceValues far = load_reference("l3/reference.safetensors", "logits_theta_500000");
    const auto backend = make_backend(GetParam());
    const FullPass got = run_full_pass(*backend, model, far.tokens);
    EXPECT_LT(relative_difference(got.logits, far.logits), kLogitsTolerance);
    EXPECT_GT(relative_difference(got.logits, near.logits), 100 * kLogitsTolerance) << "theta must matter";
}

// CRC-32 (IEEE), to see that stored values belong to the file.
std::uint32_t crc32(const std::string& bytes) {
    std::uint32_t crc = ~0u;
    for (const char byte : bytes) {
        crc ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

TEST_P(Logits, BundledModel) {
    const auto model = open_model("bundled", {DECODESCOPE_SOURCE_DIR "/resources", 0}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();
    const auto stored = nlohmann::json::parse(read_fixture("bundled/ids.json"));
    ASSERT_EQ(stored["model_crc32"].get<std::uint32_t>(),
              crc32(read_fixture("../../resources/model/bundled/model.safetensors")))
        << "the bundled model has changed: run python3 tests/fixtures/make_bundled_reference.py";
    for (const char* language : {"en", "zh"}) {
        SCOPED_TRACE(language);
        compare(**model, load_reference("bundled/" + std::string(language) + ".safetensors"));
    }
}

INSTANTIATE_TEST_SUITE_P(Backends, Logits, testing::Values("reference", "cpu"),
                         [](const auto& info) { return info.param; });

// Planted faults: the comparison must see each of them far above its tolerance.
TEST(LogitsComparison, SeesPlantedFaults) {
    const ReferenceValues wanted = load_reference("l3/reference.safetensors");
    const ModelPtr right = open_fixture("l3");
    const auto difference = [&](const Model& model) {
        const auto backend = make_reference_backend();
        return relative_difference(run_full_pass(*backend, model, wanted.tokens).logits, wanted.logits);
    };
    EXPECT_LT(difference(*right), kLogitsTolerance);
    Model swapped = *right;  // K and V of one layer
    std::swap(swapped.index.layers[1].key, swapped.index.layers[1].value);
    EXPECT_GT(difference(swapped), 0.01);
    Model gated = *right;  // gate and up
    std::swap(gated.index.layers[2].gate, gated.index.layers[2].up);
    EXPECT_GT(difference(gated), 0.01);
    Model epsilon = *right;
    epsilon.config.norm_epsilon = 0.1f;
    EXPECT_GT(difference(epsilon), 0.001);
    Model tied = *right;
    tied.index.head = tied.index.token_embedding;
    EXPECT_GT(difference(tied), 0.01);
    // K heads given to the wrong query heads: the two K heads of layer 0 exchanged.
    Model heads = *right;
    const std::string key_bytes = [&] {
        const WeightTensor& k = right->weights.tensors[static_cast<std::size_t>(right->index.layers[0].key)];
        std::string bytes(static_cast<const char*>(k.data), static_cast<std::size_t>(k.rows * k.columns) * 4);
        std::rotate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end());
        return bytes;
    }();
    heads.weights.tensors[static_cast<std::size_t>(heads.index.layers[0].key)].data = key_bytes.data();
    EXPECT_GT(difference(heads), 0.001);
}

// LD-13: the rotated pairs are (i, i + d/2).
TEST(LogitsComparison, InterleavedPairsWouldBeSeen) {
    const ReferenceValues wanted = load_reference("l3/reference.safetensors");
    Model model = *open_fixture("l3");
    // Rows of Q and K reordered as Meta's layout has them, H heads for Q and H_kv for K.
    std::vector<std::string> kept;
    for (const LayerWeights& layer : model.index.layers)
        for (const int index : {layer.query, layer.key}) {
            WeightTensor& tensor = model.weights.tensors[static_cast<std::size_t>(index)];
            const auto* data = static_cast<const char*>(tensor.data);
            const std::size_t row_bytes = static_cast<std::size_t>(tensor.columns) * 4;
            std::string bytes;
            for (std::int64_t head = 0; head < tensor.rows / 8; ++head)
                for (const int row : {0, 4, 1, 5, 2, 6, 3, 7})
                    bytes.append(data + (head * 8 + row) * static_cast<std::int64_t>(row_bytes), row_bytes);
            kept.push_back(bytes);
        }
    std::size_t next = 0;
    for (const LayerWeights& layer : model.index.layers)
        for (const int index : {layer.query, layer.key})
            model.weights.tensors[static_cast<std::size_t>(index)].data = kept[next++].data();
    const auto backend = make_reference_backend();
    EXPECT_GT(relative_difference(run_full_pass(*backend, model, wanted.tokens).logits, wanted.logits), 0.01);
}

}  // namespace
}  // namespace decodescope
