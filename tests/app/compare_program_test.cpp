// `compare` through the program: files, JSON, table, refusals.
#include <fstream>

#include "tests/app/program_fixture.h"

namespace decodescope::test {
namespace {

TEST_F(Program, CompareWritesOneTableAndItsData) {
    const Json result = run_json(
        "compare --tokens 5,6,7,8 -n 12 --ignore-eos --threads 1 --config 'cache=preallocated' "
        "--config 'cache=paged:page=4;kv=k=bf16,v=f16' --config 'cache=ring:window=4;backend=reference' --json -o d");
    ASSERT_EQ(result["configs"].size(), 3u);
    const Json &first = result["configs"][0], &second = result["configs"][1], &third = result["configs"][2];
    EXPECT_EQ(first["spec"], "cache=preallocated;kv=f32;backend=cpu");
    EXPECT_EQ(second["cache"], "paged:page=4");
    EXPECT_EQ(second["kv_type"], "k=bf16,v=f16");
    EXPECT_EQ(third["backend"], "reference");
    for (const Json& config : result["configs"]) {
        EXPECT_EQ(config["tokens"].size(), 12u);
        EXPECT_EQ(config["steps"].size(), 12u);
        EXPECT_GT(config["decode_micros"].get<double>(), 0);
        EXPECT_LE(config["decode_micros_min"], config["decode_micros_max"]);
        EXPECT_GT(config["prefill_micros"].get<double>(), 0);
        EXPECT_EQ(config["kv_bytes_copied"], 0);
    }
    EXPECT_EQ(first["max_abs_logit_diff"], 0.0);
    EXPECT_GT(second["max_abs_logit_diff"].get<double>(), 0);
    EXPECT_EQ(second["kv_bytes_used"].get<int>() * 2, first["kv_bytes_used"].get<int>());
    EXPECT_GT(third["max_abs_logit_diff"].get<double>(), second["max_abs_logit_diff"].get<double>());
    EXPECT_EQ(result["prompt_tokens"], Json({5, 6, 7, 8}));
    EXPECT_EQ(result["run"]["prompt_tokens"], 4);
    // The file says what stdout said; the table has a row for each of them.
    EXPECT_EQ(Json::parse(read_whole(folder_ / "d/compare.json")), result);
    const std::string csv = read_whole(folder_ / "d/compare.csv");
    EXPECT_EQ(csv.rfind("# program: Decodescope", 0), 0u);
    EXPECT_NE(csv.find("\nconfig,name,cache,"), std::string::npos);
    EXPECT_NE(csv.find("\n3,"), std::string::npos);
#ifdef DECODESCOPE_UI
    EXPECT_EQ(read_whole(folder_ / "d/compare.png").substr(1, 3), "PNG");
    EXPECT_NE(read_whole(folder_ / "d/compare.svg").find("<svg"), std::string::npos);
    EXPECT_EQ(read_whole(folder_ / "d/compare.pdf").substr(0, 5), "%PDF-");
#endif
}

// The text of each is the one that generate writes for it, and the same call gives the same texts again.
TEST_F(Program, CompareWritesWhatGenerateWrites) {
    const std::string prompt = "-p 'Where is the key?' -n 40 --ignore-eos --threads 1 ";
    const std::string call =
        "compare " + prompt + "--config cache=growing --config cache=sinks:sinks=1,window=6 --json -o .";
    const Json result = run_json(call);
    const Json again = run_json(call);
    const char* caches[] = {"growing", "sinks:sinks=1,window=6"};
    for (std::size_t i = 0; i < 2; ++i) {
        const Json alone = run_json("generate " + prompt + "--json --cache " + caches[i]);
        EXPECT_EQ(result["configs"][i]["tokens"], alone["tokens"]) << caches[i];
        EXPECT_EQ(result["configs"][i]["text"], alone["text"]) << caches[i];
        EXPECT_EQ(again["configs"][i]["tokens"], alone["tokens"]) << caches[i];
        EXPECT_EQ(again["configs"][i]["max_abs_logit_diff"], result["configs"][i]["max_abs_logit_diff"]);
    }
    EXPECT_GE(result["configs"][1]["first_different_token"].get<int>(), 0);
}

TEST_F(Program, CompareWithoutConfigurationsMeasuresGrowth) {
    const Outcome outcome = run("compare --tokens 5,6 -n 10 --ignore-eos --threads 1 -o .");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const char* part : {"1. growing", "2. preallocated", "3. paged", "about 20 %", "growing copied "})
        EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST_F(Program, CompareRefusesInOneSentence) {
    const struct {
        const char* arguments;
        int code;
        const char* named;
    } rows[] = {
        {"--tokens 5 --config cache=growing --config cache=attic -o .", 2, "configuration 2: "},
        {"--tokens 5 --config 'kv=f8' -o .", 2, "configuration 1: "},
        {"--tokens 5 --config 'speed=fast' -o .", 2, "'speed'"},
        {"--tokens 5 --config a=1 --config b=1 --config c=1 --config d=1 --config e=1 -o .", 2, "5 configurations"},
        {"--config cache=growing -o .", 2, "prompt"},
        {"--tokens 5 --config cache=growing", 2, "output"},
        {"--tokens 5 --config cache=growing --config backend=cuda:99 -o .", 1, "configuration 2: "},
        {"--tokens 99999999 -o .", 1, "99999999"},
        {"--tokens 5 -o /proc/nowhere", 1, "/proc/nowhere"},
    };
    for (const auto& row : rows) {
        const Outcome outcome = run(std::string("compare ") + row.arguments);
        EXPECT_EQ(outcome.code, row.code) << row.arguments << "\n" << outcome.err;
        EXPECT_EQ(outcome.last_error_line().rfind("decodescope: error: ", 0), 0u) << outcome.err;
        EXPECT_NE(outcome.last_error_line().find(row.named), std::string::npos) << outcome.err;
        EXPECT_TRUE(outcome.out.empty()) << row.arguments;
    }
}

// Results that were there stay until there are new ones.
TEST_F(Program, CompareKeepsOlderResults) {
    std::ofstream(folder_ / "compare.csv") << "older";
    EXPECT_EQ(run("compare --tokens 5 --config backend=cuda:99 -o .").code, 1);
    EXPECT_EQ(run("compare --tokens 99999999 -o .").code, 1);
    EXPECT_EQ(read_whole(folder_ / "compare.csv"), "older");
}

}  // namespace
}  // namespace decodescope::test
