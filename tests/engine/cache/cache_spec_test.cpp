// `--cache` and `--kv-type`: what is written comes back, what is wrong is refused in a sentence that names what is
// allowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cache/cache_strategy.h"
#include "engine/cache/kv_format.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

TEST(CacheSpec, KnowsTheStrategiesInMenuOrder) {
    std::vector<std::string> ids;
    for (const auto& descriptor : strategy_catalogue()) ids.push_back(descriptor.id);
    EXPECT_THAT(ids, testing::ElementsAre("recompute", "growing", "preallocated", "ring", "sinks", "paged", "h2o"));
    EXPECT_FALSE(find_strategy("recompute")->has_cache);
    EXPECT_EQ(find_strategy("heavy"), nullptr);
}

TEST(CacheSpec, EveryDescriptorCanBeShownAndMade) {
    for (const auto& descriptor : strategy_catalogue()) {
        EXPECT_FALSE(descriptor.title.empty());
        EXPECT_FALSE(descriptor.explanation.empty());
        for (const auto& parameter : descriptor.parameters) {
            EXPECT_FALSE(parameter.help.empty()) << descriptor.id << " " << parameter.name;
            EXPECT_LE(parameter.minimum, parameter.default_value);
            EXPECT_GE(parameter.maximum, parameter.default_value);
        }
        auto spec = parse_cache_spec(descriptor.id);
        ASSERT_TRUE(spec.ok());
        EXPECT_EQ(spec->parameters.size(), descriptor.parameters.size());
        EXPECT_EQ(to_string(*spec), descriptor.id);
        auto strategy = make_strategy(*spec, {32, 10});
        ASSERT_TRUE(strategy.ok());
        EXPECT_EQ((*strategy)->tokens_seen(), 0);
    }
}

TEST(CacheSpec, ParsesAndWritesParameters) {
    auto spec = parse_cache_spec("preallocated:capacity=256,slab=true");
    ASSERT_TRUE(spec.ok());
    EXPECT_EQ(spec->parameters.at("capacity"), 256);
    EXPECT_EQ(spec->parameters.at("slab"), 1);
    EXPECT_EQ(to_string(*spec), "preallocated:capacity=256,slab=true");
    auto turned = parse_cache_spec("preallocated:slab=true,capacity=256");
    ASSERT_TRUE(turned.ok());
    EXPECT_EQ(*turned, *spec);
    auto plain = parse_cache_spec("preallocated:slab=false");
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(to_string(*plain), "preallocated");
}

void expect_refused(const std::string& text, const std::string& named, const std::string& allowed) {
    auto spec = parse_cache_spec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_EQ(spec.error().kind, ErrorKind::Argument) << text;
    EXPECT_THAT(spec.error().message, HasSubstr(named)) << text;
    EXPECT_THAT(spec.error().text(), HasSubstr(allowed)) << text;
    EXPECT_EQ(spec.error().text().find('\n'), std::string::npos);
}

TEST(CacheSpec, RefusesByName) {
    expect_refused("", "\"\"", "recompute, growing, preallocated, ring, sinks, paged and h2o");
    expect_refused("heavy:budget=8", "\"heavy\"", "recompute, growing, preallocated, ring, sinks, paged and h2o");
    expect_refused("ring:window=0", "\"0\"", "a whole number from 1 to 16777216");
    expect_refused("sinks:positions=learned", "\"learned\"", "one of absolute and rebased");
    for (const char* page : {"0", "3", "12", "15", "24", "48", "512", "-1", ""})
        expect_refused(std::string("paged:page=") + page, std::string("\"") + page + "\"", "one of 1, 2, 4, 8, 16");
    expect_refused("Growing", "\"Growing\"", "growing");
    expect_refused("growing:capacity=3", "\"capacity\"", "It has offload.");
    expect_refused("recompute:offload=host", "\"offload\"", "It has none.");
    expect_refused("growing:", "\"\"", "It has offload.");
    expect_refused("preallocated:size=3", "\"size\"", "capacity, slab and offload");
    expect_refused("preallocated:capacity", "capacity", "a whole number from 0 to 16777216");
    expect_refused("preallocated:capacity=", "\"\"", "a whole number from 0 to 16777216");
    expect_refused("preallocated:capacity=-1", "\"-1\"", "a whole number from 0 to 16777216");
    expect_refused("preallocated:capacity=1e3", "\"1e3\"", "a whole number");
    expect_refused("preallocated:capacity=1 ", "\"1 \"", "a whole number");
    expect_refused("preallocated:capacity=99999999999999999999", "99999999999999999999", "16777216");
    expect_refused("preallocated:slab=maybe", "\"maybe\"", "true or false");
    expect_refused("preallocated:slab=true,slab=true", "slab", "twice");
    expect_refused("preallocated:slab=true,", "\"\"", "capacity, slab and offload");
    expect_refused("preallocated:capacity=8,offload=disk", "\"disk\"", "one of none, host and file");
}

TEST(CacheSpec, ChecksSpecsThatWereNotParsed) {
    CacheSpec spec;
    spec.id = "preallocated";
    spec.parameters["capacity"] = -5;
    auto strategy = make_strategy(spec, {32, 0});
    ASSERT_FALSE(strategy.ok());
    EXPECT_THAT(strategy.error().text(), HasSubstr("\"-5\""));
    spec.parameters = {{"slab", 2}};
    EXPECT_FALSE(make_strategy(spec, {32, 0}).ok());
    spec.parameters = {{"window", 2}};
    EXPECT_FALSE(make_strategy(spec, {32, 0}).ok());
    spec.id = "elsewhere";
    EXPECT_FALSE(make_strategy(spec, {32, 0}).ok());
}

TEST(KvFormat, ParsesAndWrites) {
    for (const char* text : {"f32", "f16", "bf16", "k=f16,v=f32", "k=f32,v=f16", "k=bf16,v=f16", "int8", "int8-kivi",
                             "k=int8,v=f16", "k=f16,v=int8", "k=int8-kivi,v=f16", "k=int8,v=int8-kivi(group=16)",
                             "int8-kivi(group=64,residual=0)", "k=int8-kivi(residual=7),v=int8"}) {
        auto format = parse_kv_format(text);
        ASSERT_TRUE(format.ok()) << text;
        EXPECT_EQ(to_string(*format), text);
    }
    auto same = parse_kv_format("k=f16,v=f16");
    ASSERT_TRUE(same.ok());
    EXPECT_EQ(to_string(*same), "f16");
    auto turned = parse_kv_format("v=f32,k=f16");
    ASSERT_TRUE(turned.ok());
    EXPECT_EQ(to_string(*turned), "k=f16,v=f32");
}

// QT-08: the two types and the options are those that were given, wherever they are written.
TEST(KvFormat, QT08_TypesAndOptionsOfKivi) {
    const auto apart = parse_kv_format("v=f16,k=int8-kivi(residual=64,group=16)");
    ASSERT_TRUE(apart.ok()) << apart.error().text();
    EXPECT_EQ(*apart, (KvFormat{ElementType::I8, ElementType::F16, true, false, 16, 64}));
    EXPECT_EQ(to_string(*apart), "k=int8-kivi(group=16,residual=64),v=f16");
    const auto defaults = parse_kv_format("int8-kivi(group=32,residual=32)");
    ASSERT_TRUE(defaults.ok());
    EXPECT_EQ(to_string(*defaults), "int8-kivi");
    EXPECT_EQ(to_string(*parse_kv_format("k=int8-kivi(group=8),v=int8-kivi(group=8)")), "int8-kivi(group=8)");
    EXPECT_TRUE(parse_kv_format("int8")->is_lossy() && parse_kv_format("k=f32,v=int8")->is_lossy());
    EXPECT_FALSE(parse_kv_format("k=f16,v=f32")->is_lossy());
    for (const char* text : {"k=int8-kivi,v=int8-kivi(group=16)", "int8-kivi(group=1)", "int8-kivi(group=2000)",
                             "int8-kivi(residual=-1)", "int8-kivi(group=8,group=8)", "int8-kivi(group)", "int8-kivi()",
                             "int8-kivi(g=8)", "int8-kivi(group=8"}) {
        const auto format = parse_kv_format(text);
        ASSERT_FALSE(format.ok()) << text;
        EXPECT_EQ(format.error().kind, ErrorKind::Argument);
        EXPECT_THAT(format.error().text(), testing::AnyOf(HasSubstr("int8-kivi"), HasSubstr("group")));
    }
}

TEST(KvFormat, RefusesByName) {
    for (const char* text : {"", "f8", "bf8", "int4", "F16", "BF16", "k=f16", "k=f16,k=f16", "int8(group=8)",
                             "k=f16,v=int9", "k=f16,v=f16,v=f16", "k=,v=f16", ",", "f16,v=f16"}) {
        auto format = parse_kv_format(text);
        ASSERT_FALSE(format.ok()) << text;
        EXPECT_EQ(format.error().kind, ErrorKind::Argument);
        EXPECT_THAT(format.error().text(), HasSubstr("f16"));
    }
}

}  // namespace
}  // namespace decodescope
