// `batch` as others call it: the prompts of a file together, in the order of the file.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/app/program_fixture.h"

namespace decodescope::test {
namespace {

class BatchCommand : public Program {
protected:
    void write_lines(const std::string& lines) { std::ofstream(folder_ / "p.jsonl", std::ios::binary) << lines; }
};

// CC-09, QT-07: each object is that of generate, prompt by prompt, whatever the cache.
TEST_F(BatchCommand, CC09_EachObjectIsThatOfGenerate) {
    write_lines("{\"tokens\": [5, 6, 7, 8], \"n\": 6}\n"
                "\n"
                "{\"prompt\": \"Where is the key?\", \"n\": 9, \"seed\": 7}\r\n"
                "{\"tokens\": [9], \"n\": 0}\n"
                "{\"tokens\": [5, 6, 7, 8, 9, 10, 11, 12, 13]}");
    const char* alone[] = {"--tokens 5,6,7,8 -n 6", "-p 'Where is the key?' -n 9 --seed 7", "--tokens 9 -n 0",
                           "--tokens 5,6,7,8,9,10,11,12,13 -n 3 --seed 3"};
    for (const std::string options : {"--threads 2 --ignore-eos --temperature 0.7 --cache paged:page=8",
                                      "--threads 1 --ignore-eos --kv-type f16 --cache growing --chunk 3"}) {
        const Json all = run_json("batch --prompts p.jsonl -n 3 --seed 3 --json " + options);
        ASSERT_EQ(all.size(), 4u);
        for (std::size_t i = 0; i < 4; ++i) {
            Json one = run_json("generate --json " + options + (i == 0 || i == 2 ? " --seed 3 " : " ") + alone[i]);
            Json got = all[i];
            for (Json* j : {&one, &got}) {
                (*j)["prefill"].erase("micros");
                j->erase("kv_bytes_peak");  // of the pool, which is there for all
                for (Json& step : (*j)["steps"])
                    for (const char* key : {"micros", "pages_free"}) step.erase(key);
            }
            EXPECT_EQ(got, one) << options << " line " << i;
        }
    }
}

TEST_F(BatchCommand, ErrorsNameTheirLineAndTheOthersRun) {
    write_lines("{\"tokens\": [5, 6], \"n\": 2}\n"
                "{\"tokens\": [5, 6], \"n\": -2}\n"
                "{\"tokens\": [99999999]}\n"
                "nonsense\n"
                "{\"tokens\": [5], \"prompt\": \"x\"}\n"
                "{\"n\": 3}\n"
                "{\"prompt\": \"\\u00e9\", \"n\": 2, \"seed\": 18446744073709551615}\n"
                "{\"tokens\": [1], \"wings\": 2}\n"
                "{\"tokens\": []}\n"
                "[1, 2]\n"
                "{\"tokens\": [1], \"seed\": 1.5}\n"
                "{\"prompt\": \"a\", \"prompt\": \"b\"}\n");
    const Outcome outcome = run("batch --prompts p.jsonl --json --ignore-eos");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.last_error_line().rfind("decodescope: error: 10 of 12 lines failed, first line 2: ", 0), 0u)
        << outcome.err;
    const Json all = Json::parse(outcome.out, nullptr, false);
    ASSERT_EQ(all.size(), 12u) << outcome.out.substr(0, 300);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool good = i == 0 || i == 6;
        EXPECT_EQ(all[i].contains("error"), !good) << i;
        if (good) {
            EXPECT_EQ(all[i]["tokens"].size(), 2u);
            continue;
        }
        EXPECT_EQ(all[i]["line"], i + 1);
        EXPECT_EQ(all[i]["error"].get<std::string>().rfind("line " + std::to_string(i + 1) + ": ", 0), 0u);
    }
    EXPECT_NE(all[11]["error"].get<std::string>().find("\"prompt\" is given twice."), std::string::npos) << all[11];
    write_lines("{\"tokens\": [5, 6], \"n\": 2}\n{\"tokens\": [1, 2], \"n\": -1}\n");
    const std::string last = run("batch --prompts p.jsonl --json").last_error_line();
    EXPECT_EQ(last.rfind("decodescope: error: line 2: \"n\" is -1", 0), 0u) << last;
}

// PG-14: what can never fit is refused with both numbers, what fits later waits.
TEST_F(BatchCommand, PG14_NeedAndHave) {
    write_lines("{\"tokens\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"
                "33,34], \"n\": 8}\n"
                "{\"tokens\": [1, 2, 3, 4, 5], \"n\": 30}\n"
                "{\"tokens\": [6, 7, 8], \"n\": 30}\n");
    const Outcome outcome = run("batch --prompts p.jsonl --json --ignore-eos --cache paged:page=4,pages=10");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.last_error_line().find(
                  "line 1: The sequence needs 11 pages of 4 tokens for its 41 tokens and there are 10 pages"),
              std::string::npos)
        << outcome.err;
    const Json all = Json::parse(outcome.out, nullptr, false);
    ASSERT_EQ(all.size(), 3u);
    for (std::size_t i : {1u, 2u}) {
        EXPECT_EQ(all[i]["tokens"].size(), 30u);
        EXPECT_EQ(all[i]["stop_reason"], "length");
    }
}

TEST_F(BatchCommand, TableAndArguments) {
    write_lines("{\"prompt\": \"Where is the key?\", \"n\": 4}\n{\"tokens\": [5, 6], \"n\": 3}\n");
    const Outcome table = run("batch --prompts p.jsonl --ignore-eos");
    EXPECT_EQ(table.code, 0) << table.err;
    std::istringstream rows(table.out);
    std::string header, first, second;
    std::getline(rows, header), std::getline(rows, first), std::getline(rows, second);
    EXPECT_NE(header.find("ms per token"), std::string::npos);
    EXPECT_NE(first.find("length"), std::string::npos);
    EXPECT_NE(second.find("length"), std::string::npos);
    EXPECT_NE(table.err.find("7 new tokens"), std::string::npos) << table.err;
    EXPECT_EQ(run("batch").code, 2);
    EXPECT_EQ(run("batch --prompts p.jsonl -p x").code, 2);
    EXPECT_EQ(run("batch --prompts missing.jsonl").code, 1);
    for (const char* nothing : {"", "\n", " \r\n\t\n"}) {
        write_lines(nothing);
        const Outcome empty = run("batch --prompts p.jsonl --json");
        EXPECT_EQ(empty.code, 1);
        EXPECT_NE(empty.last_error_line().find("p.jsonl has no lines with a prompt."), std::string::npos) << empty.err;
        EXPECT_TRUE(empty.out.empty()) << empty.out;
    }
    EXPECT_NE(run("batch --help").out.find("--prompts"), std::string::npos);
}

// Ctrl-C: within a token, and what there is is printed.
TEST_F(BatchCommand, StoppedByASignal) {
    std::string lines;
    for (int i = 0; i < 12; ++i) lines += "{\"tokens\": [5, " + std::to_string(i) + "], \"n\": 2000}\n";
    write_lines(lines);
    Json all;
    for (int seconds = 1; seconds <= 64; seconds *= 2) {
        const Outcome stopped = run_with("batch --prompts p.jsonl --ignore-eos --json",
                                         "timeout --preserve-status -s INT " + std::to_string(seconds));
        all = Json::parse(stopped.out, nullptr, false);
        if (!all.is_array() || all[0]["tokens"].empty()) continue;  // it was still opening the model
        EXPECT_EQ(stopped.code, 0) << stopped.err;
        break;
    }
    ASSERT_EQ(all.size(), 12u);
    for (const Json& one : all) {
        EXPECT_EQ(one["stop_reason"], "cancelled");
        EXPECT_EQ(one["steps"].size(), one["tokens"].size());
    }
}

// Ctrl-C while prompts are computed: what there is, and no more than that is claimed.
TEST_F(BatchCommand, StoppedWithinThePrompts) {
    std::string prompt = "5";
    for (int i = 6; i < 1800; ++i) prompt.append(",").append(std::to_string(i % 1700));
    std::string lines;
    for (int i = 0; i < 60; ++i) lines += "{\"tokens\": [" + prompt + "], \"n\": 50}\n";
    write_lines(lines);
    Json all;
    std::size_t without = 0;
    for (int tenths = 5; tenths <= 640 && without == 0; tenths *= 2) {
        const std::string starter = "timeout --preserve-status -s INT " + std::to_string(tenths / 10.0);
        const Outcome stopped = run_with("batch --prompts p.jsonl --ignore-eos --json", starter);
        ASSERT_LT(stopped.code, 2) << "ended by a signal\n" << stopped.err;
        if (stopped.code == 1) continue;  // it was still opening the model or reading the file
        all = Json::parse(stopped.out, nullptr, false);
        ASSERT_EQ(all.size(), 60u) << stopped.out.substr(0, 300);
        for (const Json& one : all) without += one["tokens"].empty() ? 1 : 0;
        const Outcome table = run_with("batch --prompts p.jsonl --ignore-eos", starter);
        ASSERT_LT(table.code, 2) << "ended by a signal\n" << table.err;
        if (table.code == 0) {
            EXPECT_NE(table.out.find("cancelled"), std::string::npos) << table.out;
        }
    }
    ASSERT_GT(without, 0u);
    for (const Json& one : all) {
        EXPECT_EQ(one["prompt_tokens"].size(), 1795u);
        EXPECT_EQ(one["steps"].size(), one["tokens"].size());
        EXPECT_LE(one["prefill"]["tokens"], 1795);
        if (!one["tokens"].empty()) {
            EXPECT_EQ(one["prefill"]["tokens"], 1795);
        }
    }
    EXPECT_EQ(all.back()["stop_reason"], "cancelled");
    EXPECT_EQ(all.back()["prefill"]["tokens"], 0);
}

// Nearly uniform over the vocabulary, so that bytes of every kind come.
TEST_F(BatchCommand, TheTableIsText) {
    std::string lines;
    for (int seed = 0; seed < 40; ++seed)
        lines += "{\"tokens\": [5], \"n\": 30, \"seed\": " + std::to_string(seed) + "}\n";
    write_lines(lines);
    const Outcome table = run("batch --prompts p.jsonl --ignore-eos --temperature 1e6");
    ASSERT_EQ(table.code, 0) << table.err;
    EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 41);
    for (const char c : table.out)
        ASSERT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F)) << static_cast<int>(c);
    EXPECT_NE(table.out.find("\\x"), std::string::npos);
}

// PG-09.
TEST_F(BatchCommand, PG09_PoolSaysWhyNothingIsFound) {
    write_lines("new pages=8 page=16\nstart A 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,99,98\n"
                "start B 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,97,96\n");
    const Outcome outcome = run("pool --script p.jsonl --json");
    const auto last = outcome.out.rfind("{\"line\"");
    ASSERT_NE(last, std::string::npos);
    const Json state = Json::parse(outcome.out.substr(last), nullptr, false);
    EXPECT_EQ(state["hits"], 0);
    EXPECT_EQ(state["note"], "Shared prefix 15 < page 16: only full pages are shared, so nothing was found.");
}

}  // namespace
}  // namespace decodescope::test
