#include "app/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace decodescope {
namespace {

using testing::StartsWith;

Result<ParseOutcome> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "decodescope");
    return parse_arguments(static_cast<int>(words.size()), words.data());
}

TEST(Arguments, NothingMeansTheWindow) {
    const auto outcome = parse({});
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->arguments.command, Command::Window);
    EXPECT_EQ(outcome->arguments.model, "bundled");
}

TEST(Arguments, GenerateTakesEverythingTheContractNames) {
    const auto outcome = parse({"generate",
                                "-m",
                                "synthetic:gpt2-small,context=512",
                                "--tokens",
                                "1,2,3",
                                "-n",
                                "0",
                                "--cache",
                                "preallocated:capacity=64,slab=true",
                                "--kv-type",
                                "k=f16,v=f32",
                                "--chunk",
                                "5",
                                "--json",
                                "--trace",
                                "t.jsonl",
                                "--temperature",
                                "0.8",
                                "--top-k",
                                "40",
                                "--top-p",
                                "0.9",
                                "--seed",
                                "7",
                                "--weights",
                                "f16",
                                "--threads",
                                "2"});
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    const Arguments& a = outcome->arguments;
    EXPECT_EQ(a.command, Command::Generate);
    EXPECT_EQ(a.tokens, (std::vector<std::int32_t>{1, 2, 3}));
    EXPECT_EQ(a.new_tokens, 0);
    ASSERT_EQ(a.caches.size(), 1u);
    EXPECT_EQ(a.caches[0].parameters.at("capacity"), 64);
    EXPECT_EQ(a.caches[0].parameters.at("slab"), 1);
    EXPECT_EQ(a.kv_types[0].k, ElementType::F16);
    EXPECT_EQ(a.kv_types[0].v, ElementType::F32);
    EXPECT_EQ(a.chunk, 5);
    EXPECT_TRUE(a.json);
    EXPECT_EQ(a.weights, WeightType::F16);
    EXPECT_DOUBLE_EQ(a.sampler.temperature, 0.8);
    EXPECT_EQ(a.sampler.seed, 7u);
}

TEST(Arguments, BenchRepeatsTheCache) {
    const auto outcome = parse(
        {"bench", "--lengths", "64,96", "--cache", "growing", "--cache", "recompute", "--repeats", "3", "-o", "d"});
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    EXPECT_EQ(outcome->arguments.caches.size(), 2u);
    EXPECT_EQ(outcome->arguments.lengths, (std::vector<std::int64_t>{64, 96}));
}

TEST(Arguments, CompareTakesConfigurations) {
    const auto outcome = parse({"compare", "-p", "x", "--weights", "f16", "--config",
                                "cache=paged:page=16;kv=k=bf16,v=f16;weights=f32;backend=cpu", "--config",
                                "backend=reference", "--json", "-o", "d"});
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    const auto& configs = outcome->arguments.configs;
    ASSERT_EQ(configs.size(), 2u);
    EXPECT_EQ(to_string(configs[0]), "cache=paged;kv=k=bf16,v=f16;weights=f32;backend=cpu");
    EXPECT_EQ(to_string(configs[1]), "cache=preallocated;kv=f32;weights=f16;backend=reference");
    EXPECT_EQ(parse({"compare", "-p", "x", "-o", "d"})->arguments.configs.size(), 3u);
}

TEST(Arguments, PromptsOfAnyBytes) {
    const auto outcome = parse({"generate", "-p", "", "-n", "1"});
    ASSERT_TRUE(outcome.ok());
    EXPECT_TRUE(outcome->arguments.has_prompt);
    EXPECT_EQ(outcome->arguments.prompt, "");
    const auto dashed = parse({"generate", "--prompt=- Mira: hello", "-n", "1"});
    ASSERT_TRUE(dashed.ok());
    EXPECT_EQ(dashed->arguments.prompt, "- Mira: hello");
}

struct Refused {
    std::vector<const char*> words;
    const char* names;  // what the sentence must name
};

TEST(Arguments, EveryRefusalNamesTheValue) {
    const Refused rows[] = {
        {{"fly"}, "fly"},
        {{"generate", "-p", "x", "--wings"}, "--wings"},
        {{"generate"}, "prompt"},
        {{"generate", "-p", "x", "--tokens", "1"}, "more than one prompt"},
        {{"generate", "--tokens", "1,,2"}, "''"},
        {{"generate", "--tokens", "1,b"}, "'b'"},
        {{"generate", "--tokens", "99999999999"}, "99999999999"},
        {{"generate", "-p", "x", "-n", "-1"}, "-1"},
        {{"generate", "-p", "x", "-n", "1.5"}, "1.5"},
        // What would wrap, be cut off or be read in another base.
        {{"generate", "-p", "x", "--seed", "-1"}, "-1"},
        {{"generate", "-p", "x", "--seed", "18446744073709551616"}, "18446744073709551616"},
        {{"bench", "--lengths", "64", "--seed", "-1", "-o", "d"}, "-1"},
        {{"generate", "-p", "x", "--seed", "0x10"}, "0x10"},
        {{"generate", "-p", "x", "--seed", "1e3"}, "1e3"},
        {{"generate", "-p", "x", "--seed", "7x"}, "7x"},
        {{"generate", "-p", "x", "--seed", ""}, "seed"},
        {{"generate", "-p", "x", "-n", "0x10"}, "0x10"},
        {{"generate", "-p", "x", "-n", "1e3"}, "1e3"},
        {{"generate", "-p", "x", "-n", " 8"}, " 8"},
        {{"generate", "-p", "x", "-n", "+8"}, "+8"},
        {{"generate", "-p", "x", "-n", "4294967297"}, "4294967297"},
        {{"generate", "-p", "x", "-n", "18446744073709551617"}, "18446744073709551617"},
        {{"generate", "-p", "x", "--threads", "4294967297"}, "4294967297"},
        {{"generate", "-p", "x", "--threads", "-1"}, "-1"},
        {{"doctor", "--threads", "2.0"}, "2.0"},
        {{"generate", "-p", "x", "--top-k", "4294967296"}, "4294967296"},
        {{"generate", "-p", "x", "--top-k", "-1"}, "-1"},
        {{"generate", "-p", "x", "--temperature", "1,5"}, "1,5"},
        {{"generate", "-p", "x", "--temperature", "0x1p3"}, "0x1p3"},
        {{"generate", "-p", "x", "--temperature", "inf"}, "inf"},
        {{"generate", "-p", "x", "--top-p", "0.5f"}, "0.5f"},
        {{"generate", "--tokens", "0x1"}, "0x1"},
        {{"generate", "--tokens", ""}, "--tokens"},
        {{"bench", "--lengths", "64,1e3", "-o", "d"}, "1e3"},
        {{"bench", "--lengths", "", "-o", "d"}, "--lengths"},
        {{"bench", "--lengths", "64", "--repeats", "4294967297", "-o", "d"}, "4294967297"},
        {{"shot", "-o", "x.png", "--scale", "2x"}, "2x"},
        {{"shot", "-o", "x.png", "--steps", "0b11"}, "0b11"},
        {{"shot", "-o", "x.png", "--size", "0x500x800"}, "0x500x800"},
        {{"shot", "-o", ""}, "name"},
        {{"generate", "-p", "x", "--trace", ""}, "name"},
        {{"generate", "-p", "x", "--weights", ""}, "--weights"},
        {{"race", "-p", "x", "--recompute", ""}, "''"},
        {{"race", "-p", "x", "--recompute", "at=0x10"}, "0x10"},
        {{"race", "-p", "x", "--recompute", "budget=-1s"}, "-1"},
        {{"generate", "-m", "synthetic:gpt2-small,context=70000", "-p", "x"}, "70000"},
        {{"generate", "-m", "synthetic:gpt2-small,context=0x100", "-p", "x"}, "0x100"},
        {{"info", "synthetic:gpt2-small,context=70000"}, "70000"},
        {{"compare", "-o", "d"}, "prompt"},
        {{"compare", "-p", "x"}, "output"},
        {{"compare", "-p", "x", "-o", "d", "--config", "cache"}, "configuration 1"},
        {{"compare", "-p", "x", "-o", "d", "--config", "kv=f32", "--config", "kv=k=f32"}, "configuration 2"},
        {{"generate", "-p", "x", "--cache", "attic"}, "attic"},
        {{"generate", "-p", "x", "--cache", "preallocated:capacity=many"}, "many"},
        {{"generate", "-p", "x", "--cache", "preallocated:size=4"}, "size"},
        {{"generate", "-p", "x", "--cache", "growing", "--cache", "growing"}, "more than once"},
        {{"generate", "-p", "x", "--kv-type", "f8"}, "f8"},
        {{"generate", "-p", "x", "--kv-type", "int8-kivi(group=0)"}, "group=0"},
        {{"generate", "-p", "x", "--kv-type", "int8-kivi", "--cache", "ring:window=8"}, "groups of tokens"},
        {{"bench", "-o", "d", "--kv-type", "int8-kivi", "--cache", "growing", "--cache", "paged:page=16"},
         "multiple of the group"},
        {{"generate", "-p", "x", "--weights", "int3"}, "int3"},
        {{"generate", "-p", "x", "--temperature", "-1"}, "-1"},
        {{"generate", "-p", "x", "--temperature", "nan"}, "nan"},
        {{"generate", "-p", "x", "--top-p", "1.5"}, "1.5"},
        {{"generate", "-p", "x", "--chunk", "0"}, "0"},
        {{"generate", "-m", "synthetic:gpt9", "-p", "x"}, "gpt9"},
        {{"generate", "-m", "synthetic:gpt2-small,depth=3", "-p", "x"}, "depth=3"},
        {{"race", "-p", "x", "--recompute", "sometimes"}, "sometimes"},
        {{"bench", "--lengths", "0,5", "-o", "d"}, "0"},
        {{"bench", "--lengths", "64", "--repeats", "0", "-o", "d"}, "0"},
        {{"bench", "--lengths", "64"}, "output"},
        {{"shot", "-o", "x.png", "--size", "1280"}, "1280"},
        {{"shot", "-o", "x.png", "--size", "16384x16384", "--scale", "2"}, "1074 million"},
        {{"shot", "-o", "x.png", "--theme", "blue"}, "blue"},
        {{"shot", "-o", "x.png", "--lang", "fr"}, "fr"},
        {{"list", "birds"}, "birds"},
        // In the order in which they were typed.
        {{"list", "caches", "xx", "--lang"}, "xx --lang"},
        {{"generate", "-p", "x", "one", "--two", "three"}, "one --two three"},
        {{"generate", "-p", "x", "--backend", "abacus"}, "cpu, reference, cuda[:N] or cuda-emulated"},
        // What no model makes possible, wherever it is asked for.
        {{"compare", "-p", "x", "-o", "d", "--config", "cache=ring:window=4;kv=int8-kivi"},
         "configuration 1: A window"},
        {{"compare", "-p", "x", "-o", "d", "--config", "kv=f16", "--config", "cache=paged:page=16;kv=int8-kivi"},
         "configuration 2: A page"},
        {{"batch", "--prompts", "f", "--cache", "h2o:budget=8,recent=2"}, "joint pass of a batch"},
        {{"batch", "--prompts", "f", "--cache", "growing:offload=host"}, "offload=none"},
        {{"batch", "--prompts", "f", "--cache", "paged:page=32", "--kv-type", "int8-kivi"}, "Pages found"},
        {{"shot", "-o", "a.jpg"}, ".jpg"},
        {{"shot", "-o", "d.png/a.svg"}, ".svg"},
        {{"shot", "-o", "x.png", "--panel", ""}, "--panel"},
        {{"shot", "-o", "x.png", "--theme", ""}, "--theme"},
        {{"demo", "-o", "d", "--lang", ""}, "--lang"},
        {{"generate", "-p", "x", "--isa", ""}, "--isa"},
        {{"replay"}, "file"},
    };
    for (const Refused& row : rows) {
        const auto outcome = parse(row.words);
        std::string line;
        for (const char* word : row.words) line += std::string(word) + " ";
        ASSERT_FALSE(outcome.ok()) << line;
        EXPECT_EQ(outcome.error().kind, ErrorKind::Argument) << line;
        EXPECT_NE(outcome.error().text().find(row.names), std::string::npos) << line << "-> " << outcome.error().text();
        EXPECT_EQ(outcome.error().text().find('\n'), std::string::npos) << line;
    }
}

TEST(Arguments, NumbersOfAnySizeThatFitAreTaken) {
    const auto outcome = parse({"generate", "-p", "x", "--seed", "18446744073709551615", "-n", "010", "--kv-type",
                                "k=bf16,v=f16", "--temperature", "1e1", "-m", "synthetic:gpt2-small,context=65536"});
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    EXPECT_EQ(outcome->arguments.sampler.seed, 18446744073709551615u);
    EXPECT_EQ(outcome->arguments.new_tokens, 10);  // decimal, whatever it begins with
    EXPECT_DOUBLE_EQ(outcome->arguments.sampler.temperature, 10);
    EXPECT_EQ(outcome->arguments.kv_types[0].k, ElementType::BF16);
}

TEST(Arguments, PicturesMayBePipes) {
    for (const char* name : {"a.png", "A.PNG", "/dev/stdout", "d.x/pipe"})
        EXPECT_TRUE(parse({"shot", "-o", name}).ok()) << name;
}

TEST(Arguments, WhatMakesNoDifferenceIsSaid) {
    const auto said = [](std::vector<const char*> words) {
        const auto outcome = parse(std::move(words));
        EXPECT_TRUE(outcome.ok());
        return outcome.ok() ? ignored_options(outcome->arguments) : std::string();
    };
    EXPECT_THAT(said({"generate", "-p", "x", "--backend", "reference", "--threads", "2"}), StartsWith("--threads is"));
    EXPECT_THAT(said({"bench", "-o", "d", "--backend", "reference", "--isa", "AVX2"}), StartsWith("--isa is"));
    EXPECT_EQ(said({"generate", "-p", "x", "--backend", "reference"}), "");
    EXPECT_EQ(said({"generate", "-p", "x", "--threads", "2"}), "");
    const char* all[] = {"backend=reference", "backend=reference;kv=f16"};
    EXPECT_NE(said({"compare", "-p", "x", "-o", "d", "--threads", "2", "--config", all[0], "--config", all[1]}), "");
    EXPECT_EQ(said({"compare", "-p", "x", "-o", "d", "--threads", "2", "--config", all[0], "--config", "kv=f16"}), "");
}

TEST(Arguments, HelpSaysWhatIsNotObvious) {
    const auto help = [](const char* command) { return parse({command, "--help"})->text; };
    EXPECT_NE(help("race").find("without one, that of the opening demonstration"), std::string::npos);
    EXPECT_NE(help("generate").find("cuda-emulated"), std::string::npos);
    EXPECT_NE(help("pool").find("the exit code is 0 all the same"), std::string::npos);
}

TEST(Arguments, HelpAndVersionEndThere) {
    for (const char* command : {"generate", "race", "bench", "demo", "shot", "replay", "info", "doctor", "list"}) {
        const auto outcome = parse({command, "--help"});
        ASSERT_TRUE(outcome.ok()) << command;
        EXPECT_TRUE(outcome->finished) << command;
        EXPECT_NE(outcome->text.find("Example"), std::string::npos) << command;
        const auto version = parse({command, "--version"});
        ASSERT_TRUE(version.ok()) << command << version.error().text();
        EXPECT_TRUE(version->finished) << command;
        EXPECT_EQ(version->text.rfind("decodescope 0.", 0), 0u) << version->text;
    }
    const auto version = parse({"--version"});
    ASSERT_TRUE(version.ok());
    EXPECT_EQ(version->text.rfind("decodescope 0.", 0), 0u) << version->text;
}

}  // namespace
}  // namespace decodescope
