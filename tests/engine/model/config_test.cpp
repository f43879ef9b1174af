// config.json: derived fields (LD-12), options that must not be dropped (LD-14), numbers whatever the locale (LD-10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/model/config_reader.h"
#include "engine/model/model.h"
#include "tests/support/comma_locale.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json llama() {
    return json::parse(
        R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 97, "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2,
        "max_position_embeddings": 128, "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": false})");
}
json gpt2() {
    return json::parse(
        R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 300, "n_embd": 32, "n_layer": 2,
        "n_head": 4, "n_positions": 32, "layer_norm_epsilon": 1e-05, "activation_function": "gelu_new"})");
}
json with(json base, const char* key, json value) {
    base[key] = std::move(value);
    return base;
}
json without(json base, const char* key) {
    base.erase(key);
    return base;
}

Result<ConfigFile> read(const json& config) { return read_config(config.dump(), "config.json", "m"); }
std::string refusal(const json& config) {
    const auto file = read(config);
    return file ? "accepted" : file.error().message;
}
ModelConfig accepted(const json& config) {
    const auto file = read(config);
    EXPECT_TRUE(file.ok()) << file.error().text();
    return file ? file->config : ModelConfig();
}

TEST(Config, LlamaFieldsArrive) {
    const ModelConfig c = accepted(llama());
    EXPECT_EQ(c.family, Family::Llama);
    EXPECT_EQ(c.layers, 3);
    EXPECT_EQ(c.hidden, 64);
    EXPECT_EQ(c.heads, 8);
    EXPECT_EQ(c.kv_heads, 2);
    EXPECT_EQ(c.head_dim, 8);
    EXPECT_EQ(c.feed_forward, 128);
    EXPECT_EQ(c.vocabulary, 97);
    EXPECT_EQ(c.context, 128);
    EXPECT_FLOAT_EQ(c.rope_theta, 500000.0f);
    EXPECT_FLOAT_EQ(c.norm_epsilon, 1e-5f);
    EXPECT_FALSE(c.tied_head);
}

TEST(Config, DerivedFieldsFollowTheReference) {  // LD-12
    EXPECT_EQ(accepted(gpt2()).feed_forward, 128);
    EXPECT_EQ(accepted(with(gpt2(), "n_inner", nullptr)).feed_forward, 128);
    EXPECT_EQ(accepted(with(gpt2(), "n_inner", 80)).feed_forward, 80);
    EXPECT_EQ(accepted(with(without(gpt2(), "n_positions"), "n_ctx", 48)).context, 48);
    EXPECT_TRUE(accepted(gpt2()).tied_head) << "GPT-2's default";
    EXPECT_FALSE(accepted(with(gpt2(), "tie_word_embeddings", false)).tied_head);
    EXPECT_EQ(accepted(without(llama(), "num_key_value_heads")).kv_heads, 8);
    EXPECT_EQ(accepted(with(llama(), "num_key_value_heads", nullptr)).kv_heads, 8);
    EXPECT_EQ(accepted(with(llama(), "head_dim", 12)).head_dim, 12);
    EXPECT_EQ(accepted(with(llama(), "head_dim", nullptr)).head_dim, 8);
    EXPECT_FALSE(accepted(without(llama(), "tie_word_embeddings")).tied_head) << "LLaMA's default";
    EXPECT_TRUE(accepted(with(llama(), "tie_word_embeddings", true)).tied_head);
    EXPECT_FLOAT_EQ(accepted(without(llama(), "rms_norm_eps")).norm_epsilon, 1e-6f);
    EXPECT_FLOAT_EQ(accepted(without(llama(), "rope_theta")).rope_theta, 10000.0f);
}

TEST(Config, ContradictionsAreNamedWithBothValues) {
    EXPECT_THAT(refusal(with(llama(), "num_key_value_heads", 3)), HasSubstr("8 query heads, not a multiple of its 3"));
    EXPECT_THAT(refusal(with(llama(), "num_attention_heads", 7)),
                HasSubstr("64 is no multiple of \"num_attention_heads\" 7"));
    EXPECT_THAT(refusal(with(gpt2(), "n_head", 5)), HasSubstr("32 is no multiple of \"n_head\" 5"));
    EXPECT_THAT(refusal(with(llama(), "head_dim", 7)), HasSubstr("even size"));
    EXPECT_THAT(refusal(with(llama(), "num_hidden_layers", 0)), HasSubstr("layers = 0"));
    EXPECT_THAT(refusal(with(llama(), "vocab_size", -5)), HasSubstr("vocabulary = -5"));
    EXPECT_THAT(refusal(with(llama(), "hidden_size", 1LL << 40)), testing::Not("accepted"));
    EXPECT_THAT(refusal(with(llama(), "max_position_embeddings", 0)), HasSubstr("0 positions"));
    EXPECT_THAT(refusal(with(llama(), "rope_theta", 0)), HasSubstr("rope_theta"));
    EXPECT_THAT(refusal(without(llama(), "hidden_size")), HasSubstr("\"hidden_size\" is missing"));
    EXPECT_THAT(refusal(with(llama(), "hidden_size", "64")), HasSubstr("\"64\", not a whole number"));
    EXPECT_THAT(refusal(with(llama(), "hidden_size", 64.5)), HasSubstr("64.5, not a whole number"));
    EXPECT_THAT(refusal(with(llama(), "tie_word_embeddings", 1)), HasSubstr("not true or false"));
}

TEST(Config, OptionsThatAreNotImplementedAreRefused) {  // LD-14
    EXPECT_EQ(refusal(with(llama(), "rope_scaling", nullptr)), "accepted");
    EXPECT_EQ(refusal(with(llama(), "rope_scaling", {{"type", "default"}})), "accepted");
    EXPECT_THAT(refusal(with(llama(), "rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}})),
                HasSubstr("\"rope_scaling\" of type \"dynamic\""));
    EXPECT_EQ(accepted(with(llama(), "rope_scaling", {{"type", "linear"}, {"factor", 2.0}})).rope_divisors,
              std::vector<float>(4, 2.0f));
    EXPECT_THAT(refusal(with(llama(), "rope_scaling", {{"type", "linear"}})), HasSubstr("has nothing as \"factor\""));
    EXPECT_THAT(refusal(with(llama(), "rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}})),
                HasSubstr("has nothing as \"low_freq_factor\""));
    EXPECT_THAT(refusal(with(llama(), "rope_scaling", {{"factor", 2.0}})), HasSubstr("rope_scaling"));
    EXPECT_FLOAT_EQ(accepted(with(without(llama(), "rope_theta"), "rope_parameters",
                                  {{"rope_type", "default"}, {"rope_theta", 7000.0}}))
                        .rope_theta,
                    7000.0f);
    EXPECT_THAT(refusal(with(llama(), "attention_bias", true)), HasSubstr("\"attention_bias\": true"));
    EXPECT_THAT(refusal(with(llama(), "mlp_bias", true)), HasSubstr("mlp_bias"));
    EXPECT_THAT(refusal(with(llama(), "hidden_act", "gelu")), HasSubstr("\"hidden_act\": \"gelu\""));
    EXPECT_THAT(refusal(with(llama(), "sliding_window", 4096)), HasSubstr("\"sliding_window\": 4096"));
    EXPECT_THAT(refusal(with(llama(), "partial_rotary_factor", 0.5)), HasSubstr("partial_rotary_factor"));
    EXPECT_THAT(refusal(with(llama(), "quantization_config", {{"bits", 4}})), HasSubstr("quantization_config"));
    EXPECT_THAT(refusal(with(gpt2(), "scale_attn_by_inverse_layer_idx", true)),
                HasSubstr("scale_attn_by_inverse_layer_idx"));
    EXPECT_THAT(refusal(with(gpt2(), "scale_attn_weights", false)), HasSubstr("\"scale_attn_weights\": false"));
    EXPECT_THAT(refusal(with(gpt2(), "activation_function", "relu")), HasSubstr("\"relu\""));
    EXPECT_THAT(refusal(with(gpt2(), "add_cross_attention", true)), HasSubstr("add_cross_attention"));
}

TEST(Config, OtherArchitecturesAreNamed) {
    EXPECT_THAT(refusal(json{{"architectures", {"MixtralForCausalLM"}}, {"model_type", "mixtral"}}),
                HasSubstr("MixtralForCausalLM"));
    EXPECT_THAT(refusal(json{{"model_type", "phi3"}}), HasSubstr("\"phi3\""));
    EXPECT_THAT(refusal(json{{"model_type", "gemma3"}}), HasSubstr("\"gemma3\"")) << "with pictures";
    EXPECT_THAT(refusal(with(llama(), "architectures", {"LlamaForSequenceClassification"})),
                HasSubstr("LlamaForSequenceClassification"));
    EXPECT_EQ(refusal(without(llama(), "architectures")), "accepted");
    EXPECT_EQ(refusal(without(llama(), "model_type")), "accepted");
    EXPECT_THAT(refusal(json::object()), HasSubstr("model_type"));
    EXPECT_THAT(refusal(json::array()), HasSubstr("no JSON object"));
    EXPECT_THAT(read_config("{\"a\": 1, \"a\": 2}", "config.json", "m").error().message,
                HasSubstr("duplicate key \"a\""));
}

// Options of the newer families that would change the result.
TEST(Config, OptionsOfTheFamiliesAreRefusedByName) {
    const json base = without(without(llama(), "architectures"), "model_type");
    const auto as = [&](const char* type) { return with(base, "model_type", type); };
    EXPECT_EQ(accepted(with(as("mistral"), "sliding_window", 64)).window, 64);
    EXPECT_EQ(accepted(with(as("mistral"), "sliding_window", nullptr)).window, 0);
    EXPECT_THAT(refusal(with(as("mistral"), "sliding_window", 0)), HasSubstr("\"sliding_window\" is 0"));
    EXPECT_EQ(accepted(with(as("qwen2"), "sliding_window", 64)).window, 0) << "written, and not used";
    EXPECT_THAT(refusal(with(as("qwen2"), "use_sliding_window", true)), HasSubstr("use_sliding_window"));
    EXPECT_THAT(refusal(with(as("qwen3"), "attention_bias", true)), HasSubstr("attention_bias"));
    EXPECT_THAT(refusal(with(as("qwen3"), "num_experts", 8)), HasSubstr("num_experts"));
    EXPECT_THAT(refusal(with(as("qwen3"), "layer_types", {"linear_attention"})), HasSubstr("linear_attention"));
    EXPECT_THAT(refusal(with(as("gpt_neox"), "hidden_act", "relu")), HasSubstr("\"relu\""));
    const json gemma = with(with(with(as("gemma3_text"), "head_dim", 8), "sliding_window", 16), "hidden_act", nullptr);
    EXPECT_EQ(accepted(gemma).window, 16);
    EXPECT_THAT(refusal(with(gemma, "final_logit_softcapping", 30.0)), HasSubstr("final_logit_softcapping"));
    EXPECT_THAT(refusal(with(gemma, "layer_types", {"full_attention"})), HasSubstr("1 entries for"));
}

// "rope_parameters" of newer files: nothing in them goes unread.
TEST(Config, RotationObjectsAreReadWhole) {
    const json base = without(without(without(llama(), "architectures"), "model_type"), "rope_theta");
    json gemma = with(with(with(base, "model_type", "gemma3_text"), "head_dim", 8), "sliding_window", 16);
    gemma["hidden_act"] = nullptr;
    EXPECT_FLOAT_EQ(accepted(gemma).rope_theta, 1e6f) << "the family's own";
    EXPECT_FLOAT_EQ(accepted(gemma).local_rope_theta, 1e4f);
    EXPECT_FLOAT_EQ(accepted(with(gemma, "rope_parameters", {{"rope_type", "default"}, {"rope_theta", 7e5}})).rope_theta,
                    7e5f);
    const json both = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 2e6}}},
                       {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 3e4}}}};
    const ModelConfig nested = accepted(with(gemma, "rope_parameters", both));
    EXPECT_FLOAT_EQ(nested.rope_theta, 2e6f);
    EXPECT_FLOAT_EQ(nested.local_rope_theta, 3e4f);
    EXPECT_EQ(nested.rope_divisors, std::vector<float>(4, 8.0f));
    json scaled = both;
    scaled["sliding_attention"]["rope_type"] = "linear";
    EXPECT_THAT(refusal(with(gemma, "rope_parameters", scaled)), HasSubstr("of layers with a window"));
    EXPECT_THAT(refusal(with(llama(), "rope_parameters", both)), HasSubstr("\"full_attention\" in \"rope_parameters\""));
    EXPECT_THAT(refusal(with(llama(), "rope_parameters", {{"rope_type", "default"}, {"mrope_section", {1, 2}}})),
                HasSubstr("\"mrope_section\" in \"rope_parameters\""));
    const json neox = with(base, "model_type", "gpt_neox");
    EXPECT_EQ(accepted(neox).rotary_dim, 2) << "a quarter of 8";
    EXPECT_EQ(accepted(with(neox, "rope_parameters", {{"partial_rotary_factor", 1.0}})).rotary_dim, 0);
    EXPECT_THAT(refusal(with(llama(), "rope_parameters", {{"partial_rotary_factor", 0.5}})),
                HasSubstr("partial_rotary_factor"));
}

TEST(Config, NumbersThatCannotBeAreRefused) {
    const json base = without(without(llama(), "architectures"), "model_type");
    const json neox = with(base, "model_type", "gpt_neox");
    for (const double part : {1e300, -1e300, 1.5, 0.0})
        EXPECT_THAT(refusal(with(neox, "rotary_pct", part)), HasSubstr("\"rotary_pct\"")) << part;
    EXPECT_THAT(refusal(with(gpt2(), "n_embd", std::int64_t{1} << 62)), HasSubstr("hidden size"));
    json gemma = with(with(with(base, "model_type", "gemma3_text"), "head_dim", 8), "hidden_act", nullptr);
    EXPECT_THAT(refusal(gemma), HasSubstr("attend to a window, and no window"));
    gemma["sliding_window"] = 16;
    EXPECT_THAT(refusal(with(gemma, "rope_local_base_freq", -5)), HasSubstr("local rotations"));
    EXPECT_THAT(refusal(with(gemma, "rope_local_base_freq", 0)), HasSubstr("local rotations"));
    const json mistral = with(with(base, "model_type", "mistral"), "layer_types",
                              {"sliding_attention", "full_attention", "full_attention"});
    EXPECT_THAT(refusal(mistral), HasSubstr("attend to a window, and no window"));
}

TEST(Config, EndTokensMayBeAList) {
    using Ids = std::vector<std::int64_t>;
    EXPECT_EQ(read(with(llama(), "eos_token_id", 2))->eos_token_ids, Ids{2});
    EXPECT_EQ(read(with(llama(), "eos_token_id", {5, 29}))->eos_token_ids, (Ids{5, 29}));
    EXPECT_EQ(read(with(llama(), "eos_token_id", nullptr))->eos_token_ids, Ids{});
    EXPECT_EQ(read(with(llama(), "eos_token_id", json::array()))->eos_token_ids, Ids{});
    EXPECT_EQ(read(with(llama(), "bos_token_id", {1, 7}))->bos_token_id, 1);
    for (const json& broken : {json("x"), json(1.5), json(true), json{5, "x"}})
        EXPECT_THAT(refusal(with(llama(), "eos_token_id", broken)), HasSubstr("eos_token_id")) << broken;
}

// LD-10: with a decimal comma everywhere that a locale can put one, and with a dotless i beside the i.
class ConfigInALocale : public testing::TestWithParam<const char*> {};

TEST_P(ConfigInALocale, NumbersAreTheSame) {
    // A point that must not be read as the end of the number.
    const std::string text = with(with(llama(), "rms_norm_eps", 0.0625), "rope_theta", 1234567.5).dump();
    const CommaLocale locale(GetParam());
    ASSERT_TRUE(locale.active()) << kNoCommaLocale;
    const auto fraction = read_config(text, "config.json", "m");
    ASSERT_TRUE(fraction.ok()) << fraction.error().text();
    EXPECT_FLOAT_EQ(fraction->config.norm_epsilon, 0.0625f);
    EXPECT_FLOAT_EQ(fraction->config.rope_theta, 1234567.5f);
    const auto file = read_config(llama().dump(), "config.json", "m");
    ASSERT_TRUE(file.ok()) << file.error().text();
    EXPECT_FLOAT_EQ(file->config.norm_epsilon, 1e-5f);
    EXPECT_FLOAT_EQ(file->config.rope_theta, 500000.0f);
    for (const char* fixture : {"l3", "g2"}) {
        const auto model = open_model(fixture_path(fixture), {}, {}, {});
        ASSERT_TRUE(model.ok()) << model.error().text();
        EXPECT_FLOAT_EQ((*model)->config.norm_epsilon, 1e-5f);
    }
}

INSTANTIATE_TEST_SUITE_P(Locales, ConfigInALocale, testing::Values("de_DE.UTF-8", "tr_TR.UTF-8"),
                         [](const auto& info) { return std::string(info.param, 2); });

}  // namespace
}  // namespace decodescope
