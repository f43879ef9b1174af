// Configurations of a comparison: what is read, what is refused, how they are named.
#include "tests/engine/measure/compare_helpers.h"

namespace decodescope {
namespace {

TEST(CompareConfig, ValuesMayHoldSignsOfTheirOwn) {
    const CompareConfig c = config("cache=sinks:sinks=2,window=8;kv=k=bf16,v=f16;weights=f16;backend=reference");
    EXPECT_EQ(to_string(c.cache), "sinks:sinks=2,window=8");
    EXPECT_EQ(c.kv.k, ElementType::BF16);
    EXPECT_EQ(c.kv.v, ElementType::F16);
    EXPECT_EQ(c.weights, WeightType::F16);
    EXPECT_EQ(c.backend, "reference");
    EXPECT_EQ(config(to_string(c)), c);
    EXPECT_EQ(to_string(config("backend=cuda:1")), "cache=preallocated;kv=f32;backend=cuda:1");
}

TEST(CompareConfig, DefaultsHoldWhereNothingIsSaid) {
    CompareConfig defaults;
    defaults.backend = "reference";
    defaults.weights = WeightType::BF16;
    const auto configs = parse_compare_configs(std::vector<std::string>{"cache=growing", "weights=f32"}, defaults);
    ASSERT_TRUE(configs.ok());
    EXPECT_EQ((*configs)[0].backend, "reference");
    EXPECT_EQ((*configs)[0].weights, WeightType::BF16);
    EXPECT_EQ((*configs)[1].weights, WeightType::F32);
    EXPECT_EQ((*configs)[1].cache.id, "preallocated");
}

TEST(CompareConfig, RefusalsNameTheConfiguration) {
    const std::pair<const char*, const char*> bad[] = {
        {"", "''"},
        {"cache=growing;", "''"},
        {"cache", "'cache'"},
        {"cash=growing", "'cash'"},
        {"cache=grow", "\"grow\""},
        {"cache=paged:page=3x", "\"3x\""},
        {"kv=f8", "\"f8\""},
        {"kv=k=f16", "\"k=f16\""},
        {"weights=f8", "weights 'f8'"},
        {"backend=tpu", "backend 'tpu'"},
        {"backend=cuda:x", "'cuda:x'"},
        {"cache=growing;cache=growing", "given twice"},
    };
    for (const auto& [text, named] : bad) {
        const auto parsed = parse_compare_configs(std::vector<std::string>{"cache=growing", text});
        ASSERT_FALSE(parsed.ok()) << text;
        EXPECT_EQ(parsed.error().kind, ErrorKind::Argument) << text;
        EXPECT_EQ(parsed.error().message.rfind("configuration 2: ", 0), 0u) << parsed.error().message;
        EXPECT_NE(parsed.error().message.find(named), std::string::npos) << parsed.error().message;
    }
    EXPECT_FALSE(parse_compare_configs(std::vector<std::string>{}).ok());
    EXPECT_FALSE(parse_compare_configs(std::vector<std::string>(5, "cache=growing")).ok());
}

TEST(CompareConfig, NamesSayWhatDiffers) {
    const std::vector<CompareConfig> caches = {config("cache=growing"), config("cache=paged:page=4")};
    EXPECT_EQ(config_names(caches), (std::vector<std::string>{"growing", "paged:page=4"}));
    const std::vector<CompareConfig> mixed = {config("kv=f16;weights=f16"), config("kv=bf16"), config("kv=bf16")};
    EXPECT_EQ(config_names(mixed),
              (std::vector<std::string>{"preallocated f16 f16 weights", "preallocated bf16 weights as in the file",
                                        "preallocated bf16 weights as in the file (2)"}));
    EXPECT_EQ(config_names(growth_configs()), (std::vector<std::string>{"growing", "preallocated", "paged"}));
}

}  // namespace
}  // namespace decodescope
