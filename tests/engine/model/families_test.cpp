// Logits and attention of the newer families against transformers (float32), on both CPU backends; scaled rotations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/decode/decode_session.h"
#include "engine/model/model.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

constexpr double kLogitsTolerance = 1e-4;  // relative to the largest logit
constexpr double kAttentionTolerance = 2e-5;

std::shared_ptr<Backend> make_backend(const std::string& id) {
    if (id == "reference") return make_reference_backend();
    auto backend = make_cpu_backend();
    EXPECT_TRUE(backend.ok()) << backend.error().text();
    return backend ? std::move(*backend) : nullptr;
}

double logits_apart(const std::string& backend, const Model& model, const ReferenceValues& wanted) {
    return relative_difference(run_full_pass(*make_backend(backend), model, wanted.tokens).logits, wanted.logits);
}

class Families : public testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
    std::string fixture() const { return std::get<0>(GetParam()); }
    std::string backend() const { return std::get<1>(GetParam()); }
};

TEST_P(Families, LogitsAndAttentionAreThoseOfTransformers) {
    const ModelPtr model = open_fixture(fixture());
    const ReferenceValues wanted = load_reference(fixture() + "/reference.safetensors");
    const FullPass got = run_full_pass(*make_backend(backend()), *model, wanted.tokens);
    EXPECT_LT(relative_difference(got.logits, wanted.logits), kLogitsTolerance);
    EXPECT_LT(largest_difference(got.attention, wanted.attention), kAttentionTolerance);
}

// Fed one by one and in chunks, with and without a cache: the last logits are those of transformers. Layers with a
// window keep a ring, the others everything.
TEST_P(Families, EveryCacheGivesTheSameLastLogits) {
    const ModelPtr model = open_fixture(fixture());
    const ReferenceValues wanted = load_reference(fixture() + "/reference.safetensors");
    auto loaded = load_model(model, make_backend(backend()), WeightType::F32, {}, {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    for (const char* cache : {"recompute", "growing", "preallocated", "paged:page=4"}) {
        for (const std::size_t chunk : {std::size_t{1}, std::size_t{5}, std::size_t{20}}) {
            SessionConfig config;
            config.cache = *parse_cache_spec(cache);
            config.expected_tokens = wanted.length();
            auto session = DecodeSession::create(*loaded, config);
            ASSERT_TRUE(session.ok()) << cache << ": " << session.error().text();
            for (std::size_t at = 0; at < wanted.tokens.size(); at += chunk) {
                const auto count = std::min(chunk, wanted.tokens.size() - at);
                const auto pass = (*session)->feed(std::span(wanted.tokens).subspan(at, count), {});
                ASSERT_TRUE(pass.ok()) << pass.error().text();
                const std::span row = std::span(wanted.logits)
                                          .subspan((at + count - 1) * static_cast<std::size_t>(wanted.vocabulary),
                                                   static_cast<std::size_t>(wanted.vocabulary));
                EXPECT_LT(relative_difference(pass->logits, row), kLogitsTolerance)
                    << cache << ", chunks of " << chunk << ", token " << at;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Families,
                         testing::Combine(testing::Values("qwen2", "mistral", "qwen3", "neox", "gemma3"),
                                          testing::Values("reference", "cpu")),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

TEST(FamilyOptions, LD14_ScaledRotations) {
    const ReferenceValues plain = load_reference("l3/reference.safetensors");
    nlohmann::json config = nlohmann::json::parse(read_fixture("l3/config.json"));
    const std::map<std::string, nlohmann::json> scalings = {{"llama3",
                                                             {{"rope_type", "llama3"},
                                                              {"factor", 8.0},
                                                              {"low_freq_factor", 1.0},
                                                              {"high_freq_factor", 4.0},
                                                              {"original_max_position_embeddings", 64}}},
                                                            {"linear", {{"type", "linear"}, {"factor", 4.0}}}};
    for (const auto& [name, scaling] : scalings) {
        config["rope_scaling"] = scaling;
        TemporaryFolder folder;
        folder.write("config.json", config.dump());
        for (const char* file : {"tokenizer.json", "model.safetensors"}) folder.copy_fixture("l3", file);
        const auto model = open_model(folder.path(), {}, {}, {});
        ASSERT_TRUE(model.ok()) << model.error().text();
        const ReferenceValues wanted = load_reference("l3/scaled.safetensors", "logits_" + name);
        for (const char* backend : {"reference", "cpu"})
            EXPECT_LT(logits_apart(backend, **model, wanted), kLogitsTolerance) << name;
        EXPECT_GT(logits_apart("reference", *open_fixture("l3"), wanted), 100 * kLogitsTolerance)
            << name << " must matter";
    }
}

TEST(FamilyOptions, WindowAndOrderOfBlocksMatter) {
    Model model = *open_fixture("mistral");
    model.config.window = 0;
    const ReferenceValues all = load_reference("mistral/reference.safetensors", "logits_without_window");
    EXPECT_LT(logits_apart("reference", model, all), kLogitsTolerance);
    EXPECT_GT(logits_apart("reference", *open_fixture("mistral"), all), 100 * kLogitsTolerance);

    Model neox = *open_fixture("neox");
    EXPECT_TRUE(neox.config.parallel_blocks);
    neox.config.parallel_blocks = false;
    const ReferenceValues sequential = load_reference("neox/reference.safetensors", "logits_sequential");
    EXPECT_LT(logits_apart("cpu", neox, sequential), kLogitsTolerance);
    EXPECT_GT(logits_apart("cpu", *open_fixture("neox"), sequential), 100 * kLogitsTolerance);
}

// Each part of a family that could be left out is seen.
TEST(FamilyOptions, PlantedFaultsAreSeen) {
    const auto apart = [](const std::string& fixture, const std::function<void(Model&)>& change) {
        Model model = *open_fixture(fixture);
        change(model);
        return logits_apart("reference", model, load_reference(fixture + "/reference.safetensors"));
    };
    const auto each_layer = [](Model& model, const std::function<void(LayerWeights&)>& change) {
        for (LayerWeights& layer : model.index.layers) change(layer);
    };
    EXPECT_GT(apart("qwen2", [&](Model& m) { each_layer(m, [](LayerWeights& l) { l.key_bias = kNone; }); }), 0.001);
    EXPECT_GT(apart("qwen3", [&](Model& m) { each_layer(m, [](LayerWeights& l) { l.key_norm = kNone; }); }), 0.001);
    EXPECT_GT(apart("neox", [](Model& m) { m.config.rotary_dim = 0; }), 0.001);
    EXPECT_GT(apart("gemma3", [&](Model& m) { each_layer(m, [](LayerWeights& l) { l.attention_post_norm = kNone; }); }),
              0.001);
    EXPECT_GT(
        apart("gemma3", [&](Model& m) { each_layer(m, [](LayerWeights& l) { l.feed_forward_post_norm = kNone; }); }),
        0.001);
    EXPECT_GT(apart("gemma3", [](Model& m) { m.config.embedding_scale = 1.0f; }), 0.001);
    EXPECT_GT(apart("gemma3", [](Model& m) { m.config.local_rope_theta = 0.0f; }), 0.001);
    EXPECT_GT(apart("gemma3", [](Model& m) { m.config.query_scale = 0.0f; }), 0.001);
    EXPECT_GT(apart("gemma3", [](Model& m) { m.config.local_layers.assign(4, true); }), 0.001);
    EXPECT_GT(apart("gemma3", [](Model& m) { m.config.window += 1; }), 0.001) << "off by one in the window";
}

// Local layers keep a window, global ones everything: what is reserved is the sum of both.
TEST(FamilyOptions, LayersWithAWindowKeepNoMore) {
    const ModelPtr model = open_fixture("gemma3");
    auto loaded = load_model(model, make_backend("cpu"), WeightType::F32, {}, {});
    ASSERT_TRUE(loaded.ok());
    SessionConfig config;
    config.cache = *parse_cache_spec("preallocated:capacity=24");
    auto session = DecodeSession::create(*loaded, config);
    ASSERT_TRUE(session.ok()) << session.error().text();
    const std::int64_t row = 2 * 2 * 12 * 4;  // K and V of two heads of 12 in f32
    EXPECT_EQ((*session)->kv_facts().reserved_bytes, 3 * 6 * row + 1 * 24 * row);
    const ReferenceValues wanted = load_reference("gemma3/reference.safetensors");
    ASSERT_TRUE((*session)->feed(wanted.tokens, {}).ok());
    EXPECT_EQ((*session)->kv_facts().used_bytes, 3 * 6 * row + 1 * 20 * row);
    EXPECT_EQ((*session)->kv_facts().tokens_stored, 20);
    config.kv = *parse_kv_format("int8-kivi");
    const auto refused = DecodeSession::create(*loaded, config);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, testing::HasSubstr("attend to a window"));
}

}  // namespace
}  // namespace decodescope
