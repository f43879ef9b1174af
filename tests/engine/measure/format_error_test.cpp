// The price of a format, seen in every figure that could hide it (QT-01, QT-09).
#include "engine/measure/format_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/measure/logit_difference.h"
#include "tests/engine/measure/large_keys.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

FormatError measured(const LoadedModelPtr& model, const char* kv, std::int64_t prompt = 60, std::int64_t more = 20,
                     const char* cache = "preallocated") {
    FormatErrorRequest request;
    request.cache = *parse_cache_spec(cache);
    request.format = *parse_kv_format(kv);
    request.tokens = random_tokens(prompt, model->program.vocabulary, 12);
    request.more_tokens = more;
    auto error = measure_format_error(model, request, {}, {});
    if (!error.ok()) ADD_FAILURE() << error.error().text();
    DS_CHECK(error.ok());
    return std::move(*error);
}

TEST(FormatError, QT09_IdenticalRunsGiveExactlyNothing) {
    const FormatError error = measured(loaded(make_tiny_llama()), "f32");
    EXPECT_EQ(error.tokens, 80);
    EXPECT_EQ(error.max_abs_logit_diff, 0);
    EXPECT_EQ(error.max_kl, 0);
    EXPECT_EQ(error.mean_kl, 0);
    EXPECT_EQ(error.logits_l2, 0);
    EXPECT_FALSE(error.first_diverging.has_value());
    EXPECT_EQ(error.diverging, 0);
    EXPECT_EQ(error.warning, "");
    ASSERT_EQ(error.layers.size(), 3u);
    for (const auto& layer : error.layers) EXPECT_EQ(layer.k + layer.v, 0);
}

TEST(FormatError, EveryFigureOfAModelThatTakesItWell) {
    const auto model = loaded(make_tiny_llama());
    for (const char* kv : {"int8", "int8-kivi(group=16,residual=8)", "k=int8,v=f32"}) {
        const FormatError error = measured(model, kv, 60, 20, "paged:page=16");
        EXPECT_GT(error.max_abs_logit_diff, 0) << kv;
        EXPECT_GT(error.max_kl, 0) << kv;
        EXPECT_GE(error.max_kl, error.mean_kl) << kv;
        EXPECT_LT(error.logits_l2, kFormatWarnL2) << kv;
        EXPECT_EQ(error.warning, "") << kv;
        for (const auto& layer : error.layers) {
            EXPECT_GT(layer.k, 0) << kv;
            EXPECT_LT(std::max(layer.k, layer.v), 2e-2) << kv;
        }
    }
}

// QT-01: two key channels are twenty times larger than the others. A scale for each row then has no steps left for the
// rest of the row; scales for each channel do not mind.
TEST(FormatError, QT01_LargeKeyChannelsAreReported) {
    const auto model = loaded(llama_with_large_key_channels());
    const FormatError rows = measured(model, "int8", 100, 0);
    const FormatError channels = measured(model, "k=int8-kivi(group=16,residual=0),v=int8", 100, 0);
    EXPECT_THAT(rows.warning, HasSubstr("int8"));
    EXPECT_GT(rows.logits_l2, 2 * channels.logits_l2);
    EXPECT_GT(rows.max_kl, channels.max_kl);
}

// LD-15: rows that pad the embedding are always the largest and are hurt most by a format: nothing said is theirs.
TEST(FormatError, LD15_PaddedRowsDecideNothing) {
    TinyOptions padded;
    padded.sampled_vocabulary = 90;
    const FormatError without = measured(loaded(make_tiny_llama(padded)), "int8");
    padded.edit = [](TinyTensors& tensors) {
        auto& head = tensors.at("head");  // [97, 64]
        for (std::size_t i = 90 * 64; i < head.size(); ++i) head[i] *= 100.0f;
    };
    const FormatError with = measured(loaded(make_tiny_llama(padded)), "int8");
    EXPECT_EQ(with.max_abs_logit_diff, without.max_abs_logit_diff);
    EXPECT_EQ(with.max_kl, without.max_kl);
    EXPECT_EQ(with.diverging, without.diverging);
    EXPECT_EQ(with.logits_l2, without.logits_l2);
}

TEST(FormatError, RefusesWhatCannotBeCompared) {
    const auto model = loaded(make_tiny_llama());
    FormatErrorRequest request;
    request.cache = *parse_cache_spec("ring:window=8");
    request.tokens = {1, 2, 3};
    EXPECT_THAT(measure_format_error(model, request, {}, {}).error().text(), HasSubstr("does not keep all tokens"));
    request.cache = *parse_cache_spec("growing");
    request.tokens.clear();
    EXPECT_EQ(measure_format_error(model, request, {}, {}).error().kind, ErrorKind::Argument);
    request.tokens = {1, 2, 3};
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(measure_format_error(model, request, {}, stop.get_token()).error().kind, ErrorKind::Cancelled);
}

TEST(FormatError, KlOfKnownRows) {
    const std::vector<float> p = {0.0f, 0.0f}, q = {std::log(3.0f), 0.0f};  // 1/2, 1/2 and 3/4, 1/4
    EXPECT_NEAR(kl_divergence(p, q), 0.5 * std::log(2.0 / 3.0) + 0.5 * std::log(2.0), 1e-7);
    EXPECT_EQ(kl_divergence(q, q), 0);
}

}  // namespace
}  // namespace decodescope
