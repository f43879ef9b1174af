// SP-01 to SP-07 as far as they apply: boundaries of top-p, order of the filters, temperature, seeds, NaN.
#include "engine/text/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using testing::HasSubstr;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> logits_of(const std::vector<double>& probabilities) {
    std::vector<float> out;
    for (const double p : probabilities) out.push_back(static_cast<float>(std::log(p)));
    return out;
}

SamplerConfig config(double temperature, int top_k, double top_p, std::uint64_t seed = 1) {
    return {temperature, top_k, top_p, seed};
}

std::vector<std::int32_t> kept(const std::vector<float>& logits, const SamplerConfig& c) {
    std::vector<std::int32_t> out;
    for (const TokenProbability& t : filtered_distribution(logits, c)) out.push_back(t.token);
    return out;
}

double sum(const std::vector<TokenProbability>& distribution) {
    double out = 0;
    for (const TokenProbability& t : distribution) out += t.probability;
    return out;
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {  // SP-01
    using V = std::vector<std::int32_t>;
    const auto top_p = [](const std::vector<double>& p, double limit) {
        return kept(logits_of(p), config(1, 0, limit));
    };
    EXPECT_EQ(top_p({.5, .35, .10, .05}, .9), (V{0, 1, 2}));
    EXPECT_EQ(top_p({.5, .41, .09}, .9), (V{0, 1}));
    EXPECT_EQ(top_p({.4, .3, .2, .1}, .8), (V{0, 1, 2}));
    EXPECT_EQ(top_p({.3, .1, .1, .5}, .8), (V{3, 0}));
    EXPECT_EQ(top_p({.3, .1, .1, .5}, 0), (V{3}));
    EXPECT_EQ(top_p({.3, .1, .1, .5}, 1), (V{3, 0, 1, 2}));
    EXPECT_EQ(top_p({.25, .25, .25, .25}, .5), (V{0, 1})) << "ties by lower id";
}

TEST(Sampler, TopPOverManyEqualLogitsStaysInRange) {  // SP-02
    const std::vector<float> equal(50257, 1.5f);
    for (const double p : {0.9999999, 1.0}) {
        EXPECT_EQ(kept(equal, config(1, 0, p)).size(), 50257u) << p;
        Sampler sampler(config(1, 0, p, 3));
        for (int i = 0; i < 20; ++i) {
            const auto token = sampler.sample(equal);
            ASSERT_TRUE(token.ok());
            EXPECT_GE(*token, 0);
            EXPECT_LT(*token, 50257);
        }
    }
}

TEST(Sampler, FiltersRenormalizeInOrder) {  // SP-03
    const std::vector<float> logits = logits_of({.5, .3, .15, .05});
    // Top-k leaves .5 and .3, that is .625 and .375; only then is top-p applied.
    EXPECT_EQ(kept(logits, config(1, 2, .6)), (std::vector<std::int32_t>{0}));
    EXPECT_EQ(kept(logits, config(1, 2, .63)), (std::vector<std::int32_t>{0, 1}));
    for (const SamplerConfig& c :
         {config(1, 0, 1), config(1, 2, 1), config(0.7, 3, .8), config(2, 0, .5), config(0, 0, 1)})
        EXPECT_NEAR(sum(filtered_distribution(logits, c)), 1.0, 1e-6);
    const auto two = filtered_distribution(logits, config(1, 2, 1));
    EXPECT_NEAR(two[0].probability, .625, 1e-6);
    EXPECT_NEAR(two[1].probability, .375, 1e-6);
    // Temperature first: at 1/2 the probabilities are squared before anything is cut.
    const auto cold = filtered_distribution(logits, config(0.5, 0, 1));
    EXPECT_NEAR(cold[0].probability, .25 / (.25 + .09 + .0225 + .0025), 1e-6);
    // The unfiltered ones are another function and do not change.
    EXPECT_NEAR(top_probabilities(logits, 2)[0].probability, .5, 1e-6);
    EXPECT_NEAR(sum(top_probabilities(logits, 4)), 1.0, 1e-6);
}

TEST(Sampler, TopOneIsGreedyForAnyP) {  // SP-03
    const std::vector<float> logits = {0.1f, 2.0f, -3.0f, 1.9f};
    for (const double p : {0.0, 0.3, 0.9, 1.0}) {
        Sampler sampler(config(1.5, 1, p, 9));
        for (int i = 0; i < 20; ++i) EXPECT_EQ(*sampler.sample(logits), 1);
    }
}

TEST(Sampler, TemperatureZeroIsTheFirstLargest) {  // SP-04
    Sampler sampler(config(0, 0, 1));
    EXPECT_EQ(*sampler.sample(std::vector<float>{1, 3, 3, 2}), 1);
    EXPECT_EQ(*sampler.sample(std::vector<float>{-5, -5}), 0);
    Sampler cold(config(1e-6, 0, 1));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(*cold.sample(std::vector<float>{1, 3, 2.99f, -1000}), 1);
    Sampler coldest(config(1e-300, 0, 1));
    EXPECT_EQ(*coldest.sample(std::vector<float>{1, 3, 2.99f}), 1);
    const auto shown = filtered_distribution(std::vector<float>{1, 3, 2.99f}, config(1e-6, 0, 1));
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_FLOAT_EQ(shown[0].probability, 1.0f);
}

TEST(Sampler, WrongSettingsAreRefused) {  // SP-04
    for (const double t : {-1.0, -1e-9, static_cast<double>(kNaN), static_cast<double>(kInf)}) {
        EXPECT_FALSE(validate(config(t, 0, 1)).ok()) << t;
        EXPECT_FALSE(Sampler(config(t, 0, 1)).sample(std::vector<float>{1, 2}).ok()) << t;
        EXPECT_TRUE(filtered_distribution(std::vector<float>{1, 2}, config(t, 0, 1)).empty());
    }
    for (const double p : {-0.1, 1.1, static_cast<double>(kNaN)}) EXPECT_FALSE(validate(config(1, 0, p)).ok()) << p;
    EXPECT_FALSE(validate(config(1, -1, 1)).ok());
    EXPECT_TRUE(validate(config(1, 0, 0)).ok());
    EXPECT_TRUE(validate(SamplerConfig()).ok());
}

// Computed with a few lines of Python from the definition of splitmix64: the same for every compiler.
TEST(Sampler, UniformsOfSeed42) {  // SP-06
    const std::vector<double> wanted = {
        0x1.7bae644c5fd6dp-1, 0x1.477f199d93378p-3, 0x1.1d499d5c4c3e6p-2, 0x1.607387fc392b8p-2, 0x1.378b0b4489040p-5,
        0x1.bc8863f47901bp-1, 0x1.bf4b38e229bb4p-3, 0x1.99ec6bdd3d3c5p-1, 0x1.5c16e1dc2cf5ep-2, 0x1.3ca9ae7052feep-1};
    Sampler sampler(config(1, 0, 1, 42));
    for (const double value : wanted) EXPECT_EQ(sampler.next_uniform(), value);
}

TEST(Sampler, SameSeedSameTokens) {  // SP-06
    std::vector<float> logits(97);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 37) % 23) * 0.25f;
    const auto run = [&](std::uint64_t seed) {
        Sampler sampler(config(0.9, 40, .95, seed));
        std::vector<std::int32_t> out;
        for (int i = 0; i < 20; ++i) out.push_back(*sampler.sample(logits));
        return out;
    };
    const std::vector<std::int32_t> golden = {95, 64, 13, 36, 18, 39, 87, 44, 36, 3,
                                              87, 8,  31, 31, 26, 87, 41, 8,  41, 49};
    EXPECT_EQ(run(42), golden);
    EXPECT_EQ(run(42), run(42));
    EXPECT_NE(run(42), run(43));
}

// The golden tokens were computed in Python from the stored logits; the nearest draw is 8e-5 from a boundary.
TEST(Sampler, Seed42OverTheLogitsOfL3) {  // SP-06
    const ReferenceValues reference = load_reference("l3/reference.safetensors");
    Sampler sampler(config(1, 50, .9, 42));
    std::vector<std::int32_t> tokens;
    for (std::int64_t row = 0; row < reference.length(); ++row)
        tokens.push_back(*sampler.sample(std::span(reference.logits).subspan(static_cast<std::size_t>(row * 97), 97)));
    EXPECT_EQ(tokens, (std::vector<std::int32_t>{91, 49, 48, 18, 10, 24, 58, 27, 31, 66,
                                                 69, 1,  5,  63, 78, 65, 25, 65, 77, 25}));
}

TEST(Sampler, TheStateCanBeTakenUp) {
    std::vector<float> logits(50);
    std::iota(logits.begin(), logits.end(), 0.0f);
    for (float& value : logits) value *= 0.05f;
    Sampler first(config(1, 0, 1, 7));
    for (int i = 0; i < 5; ++i) (void)first.sample(logits);
    Sampler second(config(1, 0, 1, 99));
    second.set_state(first.state());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(*second.sample(logits), *first.sample(logits));
    Sampler greedy(config(0, 0, 1, 7));
    const std::uint64_t before = greedy.state();
    (void)greedy.sample(logits);
    EXPECT_EQ(greedy.state(), before) << "greedy draws nothing";
}

TEST(Sampler, DrawsFollowTheProbabilities) {
    const std::vector<float> logits = logits_of({.5, .3, .2});
    for (const double p : {1.0, 0.99}) {
        Sampler sampler(config(1, 0, p, 5));
        std::map<std::int32_t, int> counts;
        for (int i = 0; i < 20000; ++i) ++counts[*sampler.sample(logits)];
        EXPECT_NEAR(counts[0] / 20000.0, .5, .02);
        EXPECT_NEAR(counts[1] / 20000.0, .3, .02);
        EXPECT_NEAR(counts[2] / 20000.0, .2, .02);
    }
}

TEST(Sampler, NumbersThatAreNoneStopTheChoice) {  // SP-07
    for (const double temperature : {0.0, 1.0}) {
        Sampler sampler(config(temperature, 0, 1));
        for (const std::vector<float>& bad :
             {std::vector<float>{1, kNaN, 2}, {kNaN, 1}, {1, kInf}, {-kInf, -kInf}, {}}) {
            const auto token = sampler.sample(bad);
            ASSERT_FALSE(token.ok());
            EXPECT_EQ(token.error().kind, ErrorKind::NonFinite);
        }
        EXPECT_THAT(sampler.sample(std::vector<float>{1, kNaN, 2}).error().message,
                    HasSubstr("token 1 is not a number"));
    }
    EXPECT_TRUE(top_probabilities(std::vector<float>{1, kNaN}, 2).empty());
}

TEST(Sampler, MaskedTokensAreNeverDrawn) {
    const std::vector<float> logits = {-kInf, 1, -kInf, 0.5f};
    Sampler sampler(config(5, 0, 1, 11));
    for (int i = 0; i < 200; ++i) {
        const std::int32_t token = *sampler.sample(logits);
        EXPECT_TRUE(token == 1 || token == 3);
    }
    EXPECT_EQ(kept(logits, config(1, 0, 1)).size(), 2u);
}

TEST(Sampler, TopProbabilitiesAreSortedWithTiesByLowerId) {
    const std::vector<float> logits = {1, 5, 3, 5, 1};
    const auto top = top_probabilities(logits, 3);
    ASSERT_EQ(top.size(), 3u);
    EXPECT_EQ(top[0].token, 1);
    EXPECT_EQ(top[1].token, 3);
    EXPECT_EQ(top[2].token, 2);
    EXPECT_EQ(top_probabilities(logits, 100).size(), 5u);
    EXPECT_TRUE(top_probabilities(logits, 0).empty());
}

}  // namespace
}  // namespace decodescope
