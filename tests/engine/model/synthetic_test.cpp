// Synthetic models: shapes, options, the refusal when memory is short, and values that never change.
#include "engine/model/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/support/hash.h"
#include "kernels/api/half.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

TEST(Synthetic, ShapesAndOptions) {
    const auto plain = synthetic_config("gpt2-small");
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(plain->context, 1024);
    EXPECT_EQ(synthetic_config("gpt2-small,context=2048")->context, 2048);
    const auto tiny = synthetic_config("tinyllama-1.1b");
    EXPECT_EQ(tiny->kv_heads, 4);
    EXPECT_EQ(tiny->head_dim, 64);
    EXPECT_EQ(tiny->kv_bytes_per_token(ElementType::F16, ElementType::F16), 22528);
    EXPECT_EQ(synthetic_models().size(), 4u);
}

TEST(Synthetic, WrongSpecsAreArgumentErrors) {
    for (const char* spec :
         {"gpt3", "", "gpt2-small,context=0", "gpt2-small,context=x", "gpt2-small,context=", "gpt2-small,width=5",
          "gpt2-small,", "gpt2-small,context=100000", "gpt2-small,context=1e3", "gpt2-small,context=-5"}) {
        const auto config = synthetic_config(spec);
        ASSERT_FALSE(config.ok()) << spec;
        EXPECT_EQ(config.error().kind, ErrorKind::Argument) << spec;
    }
    EXPECT_THAT(synthetic_config("gpt3").error().text(), HasSubstr("tinyllama-1.1b"));
}

TEST(Synthetic, ShortMemoryIsRefusedWithBothNumbers) {
    OpenOptions options;
    options.available_memory_bytes = 100'000'000;
    const auto model = open_model("synthetic:tinyllama-1.1b", options, {}, {});
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().kind, ErrorKind::Memory);
    EXPECT_THAT(model.error().message, HasSubstr("4400193536 bytes"));
    EXPECT_THAT(model.error().message, HasSubstr("100000000 bytes"));
}

// Small enough to be made in a test; the generator does not know the difference.
ModelConfig small() {
    ModelConfig c = *synthetic_config("llama-160m");
    c.layers = 2;
    c.hidden = 96;
    c.heads = 6;
    c.kv_heads = 2;
    c.head_dim = 16;
    c.feed_forward = 160;
    c.vocabulary = 1001;
    return c;
}

TEST(Synthetic, ValuesAreTheSameEverywhere) {
    const auto set = synthetic_weights(small(), {}, {});
    ASSERT_TRUE(set.ok());
    Hasher hasher;
    for (const auto& [name, tensor] : set->tensors)
        hasher.add(std::span(static_cast<const std::byte*>(tensor.data), static_cast<std::size_t>(tensor.bytes)));
    EXPECT_EQ(hasher.text(), "deb7e0e33979d7dd")
        << "a changed generator changes every recorded run of a synthetic model";
}

TEST(Synthetic, WeightsAreSane) {
    const auto set = synthetic_weights(small(), {}, {});
    ASSERT_TRUE(set.ok());
    const Tensor& head = set->tensors.at("lm_head.weight");
    const auto* values = static_cast<const std::uint16_t*>(head.data);
    double sum = 0, squares = 0;
    const double count = 1001 * 96;
    for (int i = 0; i < 1001 * 96; ++i) {
        const double value = f16_to_f32(values[i]);
        sum += value;
        squares += value * value;
    }
    EXPECT_NEAR(sum / count, 0.0, 0.002);
    EXPECT_NEAR(std::sqrt(squares / count), 1 / std::sqrt(96.0), 0.002);
    const auto* norm = static_cast<const std::uint16_t*>(set->tensors.at("model.norm.weight").data);
    for (int i = 0; i < 96; ++i) EXPECT_NEAR(f16_to_f32(norm[i]), 1.0, 0.1);
    EXPECT_NE(values[0], values[96]) << "rows differ";
}

TEST(Synthetic, ProgressRisesAndStopIsHeard) {
    std::int64_t last = 0, total = 0;
    const auto set = synthetic_weights(small(), [&](std::int64_t done, std::int64_t all) {
        EXPECT_GE(done, 0);
        EXPECT_LE(done, all);
        last = done;
        total = all;
    }, {});
    EXPECT_GT(total, 0);
    EXPECT_EQ(last, total) << "the end is reported, whichever thread did the work";
    std::stop_source stop;
    stop.request_stop();
    const auto stopped = synthetic_weights(small(), {}, stop.get_token());
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
}

TEST(Synthetic, ModelsAreMarkedAsMeaningless) {
    const auto model = open_model("synthetic:gpt2-small,context=16", {}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_TRUE((*model)->meaningless_text);
    EXPECT_EQ((*model)->config.context, 16);
    EXPECT_EQ((*model)->config.file_type, ElementType::F16);
    EXPECT_EQ((*model)->tokenizer->size(), 50257);
    EXPECT_EQ((*model)->index.head, (*model)->index.token_embedding);
    EXPECT_FALSE(open_fixture("l3")->meaningless_text);
}

}  // namespace
}  // namespace decodescope
