// The program as others call it: exit codes, stderr's last line, stdout that is JSON and nothing else.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/comma_locale.h"
#include "tests/support/fixtures.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Outcome {
    int code = -1;
    std::string out, err;
    std::string last_error_line() const {
        std::string text = err;
        while (!text.empty() && text.back() == '\n') text.pop_back();
        const auto newline = text.rfind('\n');
        return newline == std::string::npos ? text : text.substr(newline + 1);
    }
};

std::string read_whole(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

class Program : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("decodescope-test-" + std::to_string(getpid()) + "-" +
                                               testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    // Runs with the shell's quoting; the environment names no display.
    Outcome run(const std::string& arguments, const std::string& environment = "LC_ALL=C.UTF-8") {
        const std::string out = (folder_ / "stdout").string(), err = (folder_ / "stderr").string();
        // Relative paths of the arguments lie in the test's folder.
        const std::string line =
            "cd '" + folder_.string() + "' && env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM " + environment +
            " DECODESCOPE_RESOURCES='" DECODESCOPE_SOURCE_DIR "/resources' '" DECODESCOPE_PROGRAM "' " + arguments +
            " >'" + out + "' 2>'" + err + "' </dev/null";
        const int status = std::system(line.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 256 + status, read_whole(out), read_whole(err)};
    }

    // The same with redirections of its own, and a program that starts it.
    Outcome run_with(const std::string& arguments_and_redirections, const std::string& starter = {}) {
        const std::string out = (folder_ / "stdout").string(), err = (folder_ / "stderr").string();
        const std::string line = "cd '" + folder_.string() + "' && { env -u DISPLAY -u WAYLAND_DISPLAY " +
                                 "DECODESCOPE_RESOURCES='" DECODESCOPE_SOURCE_DIR "/resources' " + starter +
                                 " '" DECODESCOPE_PROGRAM "' " + arguments_and_redirections + "; } >'" + out +
                                 "' 2>'" + err + "' </dev/null";
        const int status = std::system(line.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 256 + status, read_whole(out), read_whole(err)};
    }

    Json run_json(const std::string& arguments) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
        Json parsed = Json::parse(outcome.out, nullptr, false);
        EXPECT_FALSE(parsed.is_discarded()) << outcome.out.substr(0, 200);
        return parsed;
    }

    fs::path folder_;
};

TEST_F(Program, GenerateSaysWhatTheContractNames) {
    const Json j = run_json("generate --tokens 5,6,7,8 -n 6 --ignore-eos --json");
    for (const char* key :
         {"model", "backend", "threads", "weights", "cache", "kv_type", "prompt_tokens", "tokens", "text",
          "stop_reason", "prefill", "kv_bytes_peak", "kv_bytes_copied", "logits_hash", "steps"})
        EXPECT_TRUE(j.contains(key)) << key;
    EXPECT_EQ(j["prompt_tokens"], Json({5, 6, 7, 8}));
    EXPECT_EQ(j["tokens"].size(), 6u);
    EXPECT_EQ(j["steps"].size(), 6u);
    EXPECT_EQ(j["stop_reason"], "length");
    EXPECT_EQ(j["prefill"]["tokens"], 4);
    std::string text;
    for (std::size_t i = 0; i < j["steps"].size(); ++i) {
        const Json& step = j["steps"][i];
        EXPECT_EQ(step["position"], 4 + i);
        EXPECT_EQ(step["token"], j["tokens"][i]);
        EXPECT_EQ(step["tokens_seen"], 4 + i);
        EXPECT_EQ(step["tokens_stored"], 4 + i);
        EXPECT_EQ(step["top"].size(), 10u);
        EXPECT_EQ(step["top"][0]["token"], step["token"]);  // greedy
        text += step["text"].get<std::string>();
    }
    EXPECT_EQ(text, j["text"]);
}

TEST_F(Program, CachesAgreeAndCountTheirBytes) {
    const std::string common = "generate --tokens 5,6,7,8,9 -n 8 --ignore-eos --json --cache ";
    const Json growing = run_json(common + "growing"), reserved = run_json(common + "preallocated"),
               slab = run_json(common + "preallocated:slab=true"), none = run_json(common + "recompute");
    EXPECT_EQ(growing["tokens"], reserved["tokens"]);
    EXPECT_EQ(growing["tokens"], none["tokens"]);
    EXPECT_EQ(growing["tokens"], slab["tokens"]);
    EXPECT_EQ(none["kv_bytes_peak"], 0);
    EXPECT_GT(growing["kv_bytes_copied"].get<long long>(), 0);
    EXPECT_EQ(reserved["kv_bytes_copied"], 0);
    const Json info = run_json("info bundled --json");
    const long long per_token = info["kv_bytes_per_token"]["f32"].get<long long>();
    EXPECT_EQ(per_token, 2 * info["layers"].get<long long>() * info["kv_heads"].get<long long>() *
                             info["head_dim"].get<long long>() * 4);
    EXPECT_EQ(reserved["steps"][7]["kv_bytes_used"].get<long long>(), per_token * 12);
    EXPECT_EQ(reserved["steps"][7]["kv_bytes_reserved"].get<long long>(), per_token * 13);  // min(context, prompt + n)
    EXPECT_EQ(growing["steps"][7]["kv_bytes_reserved"].get<long long>(), per_token * 12);
    const Json half = run_json(common + "growing --kv-type f16");
    EXPECT_EQ(half["steps"][7]["kv_bytes_used"].get<long long>() * 2, per_token * 12);
}

TEST_F(Program, PrefillOnlyAndTraceAtEveryChunkSize) {
    const Json j = run_json("generate --tokens 5,6,7 -n 0 --json");
    EXPECT_EQ(j["tokens"].size(), 0u);
    EXPECT_EQ(j["steps"].size(), 0u);
    const fs::path a = folder_ / "a.jsonl", b = folder_ / "b.jsonl";
    run_json("generate --tokens 5,6,7,8,9,10,11 -n 3 --ignore-eos --json --chunk 1 --trace " + a.string());
    run_json("generate --tokens 5,6,7,8,9,10,11 -n 3 --ignore-eos --json --chunk 5 --trace " + b.string());
    std::ifstream first(a), second(b);
    int lines = 0;
    for (std::string x, y; std::getline(first, x) && std::getline(second, y); ++lines) {
        const Json p = Json::parse(x), q = Json::parse(y);
        EXPECT_EQ(p["position"], lines);
        EXPECT_EQ(p["phase"], lines < 7 ? "prefill" : "decode");
        EXPECT_EQ(p["token"], q["token"]);
        double largest = 0, difference = 0;
        for (std::size_t i = 0; i < p["logits"].size(); ++i) {
            largest = std::max(largest, std::abs(p["logits"][i].get<double>()));
            difference = std::max(difference, std::abs(p["logits"][i].get<double>() - q["logits"][i].get<double>()));
        }
        EXPECT_LE(difference, 1e-5 * largest) << "position " << lines;
        const Json row = p["attention"][0][0];
        ASSERT_EQ(row.size(), static_cast<std::size_t>(lines + 1));
        double sum = 0;
        for (double weight : row) sum += weight;
        EXPECT_NEAR(sum, 1.0, 1e-5);
        EXPECT_EQ(p["entry_positions"][0].size(), row.size());
    }
    EXPECT_EQ(lines, 9);  // prompt + n - 1
}

// SW-01 on the command line: the ring holds exactly its window, and its trace is the same at every chunk size.
TEST_F(Program, WindowsKeepWhatTheySay) {
    const long long per_token = run_json("info bundled --json")["kv_bytes_per_token"]["f32"].get<long long>();
    const std::string prompt = "generate --tokens 5,6,7,8,9,10,11,12,13,14,15 -n 4 --ignore-eos --json --cache ";
    for (const char* cache :
         {"ring:window=6", "sinks:sinks=2,window=4", "sinks:sinks=2,window=4,positions=rebased"}) {
        SCOPED_TRACE(cache);
        const fs::path a = folder_ / "a.jsonl", b = folder_ / "b.jsonl";
        const Json j = run_json(prompt + cache + " --chunk 1 --trace " + a.string());
        EXPECT_EQ(run_json(prompt + cache + " --chunk 8 --trace " + b.string())["tokens"], j["tokens"]);
        EXPECT_EQ(j["cache"], cache);
        EXPECT_EQ(j["kv_bytes_peak"], 6 * per_token);
        EXPECT_EQ(j["kv_bytes_copied"], 0);
        for (int i = 0; i < 4; ++i) {
            const Json& step = j["steps"][static_cast<std::size_t>(i)];
            EXPECT_EQ(step["tokens_seen"], 11 + i);
            EXPECT_EQ(step["tokens_stored"], 6);
            EXPECT_EQ(step["kv_bytes_used"], 6 * per_token);
            EXPECT_EQ(step["kv_bytes_reserved"], 6 * per_token);
            EXPECT_EQ(step["evicted"].size(), i == 0 ? 5u : 1u);
        }
        std::ifstream first(a), second(b);
        int lines = 0;
        for (std::string x, y; std::getline(first, x) && std::getline(second, y); ++lines) {
            const Json p = Json::parse(x), q = Json::parse(y);
            EXPECT_EQ(p["entry_positions"], q["entry_positions"]);
            EXPECT_EQ(p["entry_positions"][0].size(), static_cast<std::size_t>(std::min(lines + 1, 6)));
            EXPECT_EQ(p["entry_positions"][0].back(), lines);
            const Json &row = p["attention"][0][0], &other = q["attention"][0][0];
            ASSERT_EQ(row.size(), p["entry_positions"][0].size());
            ASSERT_EQ(row.size(), other.size());
            for (std::size_t e = 0; e < row.size(); ++e)
                EXPECT_NEAR(row[e].get<double>(), other[e].get<double>(), 1e-5) << lines << " " << e;
        }
        EXPECT_EQ(lines, 14);
    }
    // Decidable from the arguments: 2. Only with the model: 1.
    EXPECT_EQ(run("generate --tokens 5 -n 1 --cache ring:window=0").code, 2);
    const Outcome wide = run("generate --tokens 5 -n 1 --cache sinks:sinks=4,window=1000000");
    EXPECT_EQ(wide.code, 1);
    EXPECT_NE(wide.last_error_line().find("1000004 tokens, more than the model's context"), std::string::npos)
        << wide.err;
}

TEST_F(Program, PagesAreCounted) {
    const std::string line = "generate --tokens 5,6,7,8 -n 6 --ignore-eos --threads 1 --json --cache ";
    const Json paged = run_json(line + "paged:page=4"), whole = run_json(line + "preallocated");
    EXPECT_EQ(paged["logits_hash"], whole["logits_hash"]);
    EXPECT_EQ(paged["cache"], "paged:page=4");
    EXPECT_FALSE(whole["steps"][0].contains("pages_used"));
    const long long per_token = run_json("info bundled --json")["kv_bytes_per_token"]["f32"].get<long long>();
    for (std::size_t i = 0; i < 6; ++i) {
        const Json& step = paged["steps"][i];
        const long long pages = static_cast<long long>(4 + i + 3) / 4;
        EXPECT_EQ(step["pages_used"], pages);
        EXPECT_EQ(step["pages_free"], 3 - pages);
        EXPECT_EQ(step["pages_shared"], 0);
        EXPECT_EQ(step["pages_copied"], 0);
        EXPECT_EQ(step["kv_bytes_used"], per_token * static_cast<long long>(4 + i));
        EXPECT_EQ(step["kv_bytes_reserved"], per_token * pages * 4);
    }
    EXPECT_EQ(run("generate --tokens 5 -n 1 --cache paged:page=12").code, 2);
}

TEST_F(Program, PoolScripts) {
    std::ofstream(folder_ / "script") << "new pages=4 page=2\nstart A 1,2,3\r\n\nfork A B\nappend B 4\nstart A 9\n";
    const Outcome outcome = run("pool --script script --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::vector<Json> lines;
    std::istringstream in(outcome.out);
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line, nullptr, false));
    ASSERT_EQ(lines.size(), 5u);
    EXPECT_EQ(lines[0]["free"], Json({0, 1, 2, 3}));
    EXPECT_EQ(lines[1]["line"], "start A 1,2,3");
    EXPECT_EQ(lines[2]["owners"], Json({{"0", 2}, {"1", 2}}));
    EXPECT_EQ(lines[3]["copied"], 1);
    EXPECT_EQ(lines[3]["tables"], Json({{"A", {0, 1}}, {"B", {0, 2}}}));
    EXPECT_TRUE(lines[3]["error"].is_null());
    EXPECT_TRUE(lines[4]["error"].is_string());
    EXPECT_EQ(lines[4]["tables"], lines[3]["tables"]);
    EXPECT_EQ(run("pool --script nowhere").code, 1);
    EXPECT_EQ(run("pool").code, 2);
}

TEST_F(Program, SameSeedSameRun) {
    const std::string line =
        "generate --tokens 5,6,7 -n 12 --ignore-eos --temperature 0.9 --top-p 0.95 --seed 11 --threads 2 --json";
    const Json a = run_json(line), b = run_json(line), c = run_json(line + " --cache growing");
    EXPECT_EQ(a["tokens"], b["tokens"]);
    EXPECT_EQ(a["logits_hash"], b["logits_hash"]);
    EXPECT_EQ(a["tokens"], c["tokens"]);
}

TEST_F(Program, RaceRowsAndDerivedRows) {
    const Json j = run_json("race --tokens 5,6,7 -n 8 --ignore-eos --recompute every --json");
    ASSERT_EQ(j["rows"].size(), 7u);
    for (const Json& row : j["rows"]) {
        EXPECT_TRUE(row["same_token"].get<bool>());
        EXPECT_GT(row["cached_micros"].get<double>(), 0);
        EXPECT_GT(row["recompute_micros"].get<double>(), 0);
    }
    const Json chosen = run_json("race --tokens 5,6,7 -n 8 --ignore-eos --recompute at=5,9 --json");
    EXPECT_EQ(chosen["rows"].size(), 2u);
    EXPECT_EQ(chosen["rows"][0]["length"], 5);
}

TEST_F(Program, ExitCodesAndTheLastLine) {
    const struct { const char* arguments; int code; const char* names; } rows[] = {
        {"generate -p x --cache attic", 2, "attic"},
        {"generate -p x -m /nowhere/model", 1, "/nowhere/model"},
        {"generate --tokens 999999", 1, "999999"},
        {"generate --tokens -4", 1, "-4"},
        {"generate -p ''", 1, "no tokens"},
        {"generate -p x --trace /nowhere/t.jsonl", 1, "/nowhere/t.jsonl"},
        {"generate -p x --backend abacus", 2, "abacus"},
        {"generate -p x --backend cuda", 1, "CUDA"},
        {"generate --prompt-file /nowhere/p.txt", 1, "/nowhere/p.txt"},
        {"bench --lengths 64 -o /proc/nowhere", 1, "/proc/nowhere"},
        {"bench --lengths 99999 -o out-of-range", 1, "99999"},
        {"fly", 2, "fly"},
#ifdef DECODESCOPE_UI
        {"shot -o x.png --panel engine-room", 2, "engine-room"},
        {"replay /nowhere/r.dscope", 1, "/nowhere/r.dscope"},
#endif
    };
    for (const auto& row : rows) {
        const Outcome outcome = run(row.arguments);
        EXPECT_EQ(outcome.code, row.code) << row.arguments << "\n" << outcome.err;
        const std::string last = outcome.last_error_line();
        EXPECT_EQ(last.rfind("decodescope: error: ", 0), 0u) << row.arguments << "\n" << outcome.err;
        EXPECT_NE(last.find(row.names), std::string::npos) << row.arguments << "\n" << last;
        EXPECT_TRUE(outcome.out.empty()) << row.arguments << "\n" << outcome.out;
    }
}

TEST_F(Program, PromptLongerThanTheContextNamesBoth) {
    std::string tokens = "1";
    for (int i = 0; i < 2048; ++i) tokens += ",1";
    const Outcome outcome = run("generate --tokens " + tokens + " -n 1");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.last_error_line().find("2049"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.last_error_line().find("2048"), std::string::npos) << outcome.err;
}

// LD-10, LD-09: bench draws with Qt, and QApplication takes the locale from the environment.
TEST_F(Program, NumbersDoNotFollowTheLocale) {
    for (const char* name : {"de_DE.UTF-8", "tr_TR.UTF-8"}) {
        if (!decodescope::CommaLocale(name).active()) GTEST_SKIP() << decodescope::kNoCommaLocale;
        const fs::path folder = folder_ / decodescope::kNonAsciiName;
        const Outcome outcome = run("bench --lengths 8,16 --repeats 1 -o '" + folder.string() + "'",
                                    std::string("LC_ALL=") + name);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const Json j = Json::parse(read_whole(folder / "timing.json"), nullptr, false);
        ASSERT_FALSE(j.is_discarded());
        EXPECT_TRUE(j.contains("run"));
        ASSERT_TRUE(j["rows"].is_array());
        const std::string csv = read_whole(folder / "timing.csv");
        EXPECT_EQ(csv.rfind("#", 0), 0u);
        const auto names = csv.find("length,cache,kv_type,weights,backend,phase,median_ms,min_ms,max_ms,repeats,"
                                    "kv_bytes_used,kv_bytes_reserved,flops,bytes\n");
        ASSERT_NE(names, std::string::npos) << csv;
        std::istringstream lines(csv.substr(csv.find('\n', names) + 1));
        std::size_t rows = 0;
        for (std::string line; std::getline(lines, line); ++rows) {
            ASSERT_EQ(std::count(line.begin(), line.end(), ','), 13) << line;  // a decimal comma would be one more
            ASSERT_LT(rows, j["rows"].size());
            std::istringstream fields(line);
            std::string field;
            for (int i = 0; i < 7; ++i) std::getline(fields, field, ',');
            double median = 0;
            std::from_chars(field.data(), field.data() + field.size(), median);
            EXPECT_NEAR(median, j["rows"][rows]["median_ms"].get<double>(), 1e-4) << line;
            EXPECT_GT(median, 0) << line;
        }
        EXPECT_EQ(rows, j["rows"].size());
    }
}

// TK-02: a prompt file is read as it is, carriage returns and byte-order mark included.
TEST_F(Program, PromptFilesAreReadByteByByte) {
    const std::string text = "line1\r\nline2\r\n", mark = "\xEF\xBB\xBF";
    const auto tokens_of = [&](const std::string& content) {
        std::ofstream(folder_ / "prompt.txt", std::ios::binary) << content;
        return run_json("generate --prompt-file prompt.txt -n 0 --json")["prompt_tokens"];
    };
    const Json as_it_is = tokens_of(text);
    EXPECT_EQ(as_it_is, run_json("generate -p 'line1\r\nline2\r\n' -n 0 --json")["prompt_tokens"]);
    EXPECT_NE(as_it_is, tokens_of("line1\nline2\n"));
    EXPECT_EQ(tokens_of(mark + text).size(), as_it_is.size() + tokens_of(mark).size());
}

TEST_F(Program, ListsAreJsonAndText) {
    for (const char* what : {"caches", "formats", "models", "backends", "panels"}) {
        const Json j = run_json(std::string("list ") + what + " --json");
        EXPECT_TRUE(j.is_array()) << what;
        EXPECT_EQ(run(std::string("list ") + what).code, 0);
    }
    EXPECT_EQ(run("--version").code, 0);
    EXPECT_EQ(run("--help").code, 0);
}

TEST_F(Program, LostOutputIsAnError) {
    // Later redirections win over those of run().
    for (const char* line : {"list caches", "list models --json", "info --json", "--help", "info --version",
                             "generate --tokens 5,6 -n 2", "generate --tokens 5,6 -n 2 --json",
                             "race --tokens 5,6 -n 3"}) {
        const Outcome full = run_with(std::string(line) + " >/dev/full");
        EXPECT_EQ(full.code, 1) << line << full.err;
        EXPECT_EQ(full.last_error_line().rfind("decodescope: error: the results cannot be written", 0), 0u)
            << line << "\n" << full.err;
        const Outcome closed = run_with(std::string(line) + " >&-");
        EXPECT_EQ(closed.code, 1) << line << closed.err;
        // A reader that has seen enough is no error of ours, and nothing is said about it.
        const Outcome reader = run_with(std::string(line) + " | head -c 1");
        EXPECT_EQ(reader.code, 0) << line;
        EXPECT_EQ(reader.err.find("error"), std::string::npos) << line << "\n" << reader.err;
    }
    // With standard output closed, its number must not go to the trace, which then would hold the text too.
    run_with("generate --tokens 5,6 -n 2 --trace t.jsonl >&-");
    EXPECT_EQ(read_whole(folder_ / "t.jsonl").rfind("{\"position\":0", 0), 0u);
    EXPECT_EQ(run_with("list birds 2>/dev/full").code, 2);
}

TEST_F(Program, OutputsMayBePipesAndLinks) {
    fs::create_directory(folder_ / "d");
    fs::create_symlink("d/real.jsonl", folder_ / "link.jsonl");
    ASSERT_EQ(std::system(("mkfifo '" + (folder_ / "pipe").string() + "'").c_str()), 0);
    run("generate --tokens 5,6 -n 2 --trace link.jsonl");
    EXPECT_TRUE(fs::is_symlink(folder_ / "link.jsonl"));
    EXPECT_NE(read_whole(folder_ / "d/real.jsonl").find("logits"), std::string::npos);
    std::string received;
    std::thread reader([&] { received = read_whole(folder_ / "pipe"); });
    EXPECT_EQ(run("generate --tokens 5,6 -n 2 --trace pipe").code, 0);
    reader.join();
    EXPECT_EQ(received, read_whole(folder_ / "d/real.jsonl"));
    EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
#ifdef DECODESCOPE_UI
    fs::create_symlink("d/real.png", folder_ / "link.png");
    EXPECT_EQ(run("shot -o link.png --size 400x300 --steps 1").code, 0);
    EXPECT_TRUE(fs::is_symlink(folder_ / "link.png"));
    EXPECT_EQ(read_whole(folder_ / "d/real.png").substr(1, 3), "PNG");
    std::thread painter([&] { received = read_whole(folder_ / "pipe"); });
    EXPECT_EQ(run("shot -o pipe --size 400x300 --steps 1").code, 0);
    painter.join();
    EXPECT_EQ(received.substr(1, 3), "PNG");  // whole, though not the same picture: times are drawn in it
    EXPECT_NE(received.find("IEND"), std::string::npos);
#endif
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "d"), fs::directory_iterator()),
#ifdef DECODESCOPE_UI
              2);
#else
              1);
#endif
}

TEST_F(Program, OlderResultsOfBenchStayUntilThereAreNewOnes) {
    std::ofstream(folder_ / "timing.csv") << "older";
    EXPECT_EQ(run("bench --lengths 99999 -o .").code, 1);
    EXPECT_EQ(run("bench --lengths 8 -m /nowhere/model -o .").code, 1);
    EXPECT_EQ(read_whole(folder_ / "timing.csv"), "older");
    fs::create_directory(folder_ / "timing.json");
    const Outcome outcome = run("bench --lengths 8 -o .");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.last_error_line().find("timing.json"), std::string::npos) << outcome.err;
    EXPECT_EQ(read_whole(folder_ / "timing.csv"), "older");
}

TEST_F(Program, BenchNamesTheCacheAndSaysWhereThereIsNoGain) {
    const Outcome outcome =
        run("bench --lengths 1,96 --repeats 3 --cache growing --cache preallocated --cache recompute -o .");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const char* cache : {"at 96 tokens growing is ", "at 96 tokens preallocated is "})
        EXPECT_NE(outcome.out.find(cache), std::string::npos) << outcome.out;
    const Json j = Json::parse(read_whole(folder_ / "timing.json"), nullptr, false);
    ASSERT_FALSE(j.is_discarded());
    for (const Json& s : j["speedup"])
        if (s["value"].get<double>() < 1.04) {  // TH-07
            const std::string said = s["cache"].get<std::string>() + ": No benefit at this length";
            EXPECT_NE(outcome.out.find(said), std::string::npos) << s["length"] << "\n" << outcome.out;
        }
    EXPECT_GT(j["run"]["bandwidth_gb_s"].get<double>(), 0);
}

TEST_F(Program, RaceNamesLengthsThatCannotBeReached) {
    const std::string common = "race --tokens 5,6,7,8 -n 6 --ignore-eos ";  // 4 to 9 tokens
    const Outcome none = run(common + "--recompute at=3,50 --json");
    EXPECT_EQ(none.code, 1);
    EXPECT_TRUE(none.out.empty());
    for (const char* part : {"3 inside the prompt of 4 tokens", "50 beyond the end", "4 to 9"})
        EXPECT_NE(none.last_error_line().find(part), std::string::npos) << none.err;
    const Outcome some = run(common + "--recompute at=3,4,6,9,10 --json");
    EXPECT_EQ(some.code, 0) << some.err;
    EXPECT_NE(some.err.find("3 inside the prompt of 4 tokens and 10 beyond the end"), std::string::npos) << some.err;
    const Json j = Json::parse(some.out);
    ASSERT_EQ(j["rows"].size(), 3u);
    EXPECT_EQ(j["rows"][0]["length"], 4);  // the prompt's own
    EXPECT_TRUE(j["rows"][0]["same_token"].get<bool>());
    EXPECT_LT(j["rows"][0]["max_abs_logit_diff"].get<double>(), 1e-2);
    for (const Json& point : j["derived"]) {
        EXPECT_GT(point["length"].get<int>(), 4);
        EXPECT_LT(point["length"].get<int>(), 9);
        EXPECT_NE(point["length"], 6);
    }
    EXPECT_EQ(j["stop_reason"], "length");
    const Outcome every = run(common);
    EXPECT_NE(every.out.find("5 of 5 lengths measured"), std::string::npos) << every.out;
    EXPECT_EQ(every.out.find("derived"), std::string::npos) << every.out;
    const Outcome chosen = run(common + "--recompute at=5,7");
    EXPECT_NE(chosen.out.find("2 of 5 lengths measured"), std::string::npos) << chosen.out;
    const Outcome one = run("race --tokens 5 -n 3 --ignore-eos --recompute at=1");
    EXPECT_NE(one.out.find("1 of 3 lengths measured"), std::string::npos) << one.out << one.err;
}

TEST_F(Program, RaceKeepsItsRowsWhenItIsStopped) {
    // Long enough for minutes; stopped as soon as there are rows, however slow the machine.
    const std::string line = "race --tokens 5,6 -n 2000 --ignore-eos --json";
    Json j;
    for (int seconds = 1; seconds <= 64; seconds *= 2) {
        const Outcome outcome = run_with(line, "timeout --preserve-status -s INT " + std::to_string(seconds));
        j = Json::parse(outcome.out, nullptr, false);
        if (j.is_discarded() || j["rows"].empty()) continue;
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        break;
    }
    ASSERT_TRUE(j.is_object());
    EXPECT_EQ(j["stop_reason"], "cancelled");
    ASSERT_FALSE(j["rows"].empty());
    EXPECT_EQ(j["rows"][0]["length"], 3);
}

TEST_F(Program, BrainFloatsHalveTheCache) {
    const std::string common = "generate --tokens 5,6,7,8,9 -n 6 --ignore-eos --json --kv-type ";
    const Json wide = run_json(common + "f32"), brain = run_json(common + "bf16"),
               mixed = run_json(common + "k=bf16,v=f32");
    EXPECT_EQ(brain["kv_type"], "bf16");
    EXPECT_EQ(mixed["kv_type"], "k=bf16,v=f32");
    EXPECT_EQ(brain["kv_bytes_peak"].get<long long>() * 2, wide["kv_bytes_peak"].get<long long>());
    EXPECT_EQ(mixed["kv_bytes_peak"].get<long long>() * 4, wide["kv_bytes_peak"].get<long long>() * 3);
    for (const Json& format : run_json("list formats --json"))
        EXPECT_EQ(run("generate --tokens 5,6 -n 1 --kv-type " + format["id"].get<std::string>()).code, 0) << format;
}

TEST_F(Program, RandomWeightsSayThatTheTextMeansNothing) {
    const std::string line = "generate -m synthetic:gpt2-small --tokens 5 -n 1";
    for (const char* json : {"", " --json"}) {
        const Outcome outcome = run(line + json);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_NE(outcome.err.find("no meaning"), std::string::npos) << json << outcome.err;
    }
    EXPECT_EQ(run("generate --tokens 5 -n 1 --json").err.find("no meaning"), std::string::npos);
}

TEST_F(Program, RunFactsHaveTheSameNamesEverywhere) {
    const Json race = run_json("race --tokens 5,6 -n 3 --ignore-eos --json");
    ASSERT_EQ(run("bench --lengths 8 --repeats 1 -o .").code, 0);
    const Json bench = Json::parse(read_whole(folder_ / "timing.json"));
    std::set<std::string> names, others;
    for (const auto& [name, value] : bench["run"].items()) names.insert(name);
    for (const auto& [name, value] : race["run"].items()) others.insert(name);
    EXPECT_EQ(names, others);
    EXPECT_EQ(race["run"]["prompt_tokens"], 2);
    EXPECT_GT(race["run"]["bandwidth_gb_s"].get<double>(), 0);
}

// The commit in the files is the one of the source tree now, not of the last time that CMake ran.
TEST_F(Program, CommitIsThatOfTheSourceTree) {
    const std::string command = "git -C '" DECODESCOPE_SOURCE_DIR "' rev-parse --verify --short=12 HEAD >'" +
                                (folder_ / "head").string() + "' 2>/dev/null";
    std::string commit = std::system(command.c_str()) == 0 ? read_whole(folder_ / "head") : "";
    while (!commit.empty() && commit.back() == '\n') commit.pop_back();
    const std::string script = "cmake -DSOURCE='" DECODESCOPE_SOURCE_DIR "' -DGIT=git -DHEADER='" +
                               (folder_ / "commit.h").string() + "' -P '" DECODESCOPE_SOURCE_DIR
                               "/engine/measure/write_commit.cmake'";
    ASSERT_EQ(std::system(script.c_str()), 0);
    const std::string header = read_whole(folder_ / "commit.h");
    EXPECT_EQ(header, "#define DECODESCOPE_COMMIT \"" + (commit.empty() ? "unknown" : commit) + "\"\n");
    const auto before = fs::last_write_time(folder_ / "commit.h");
    ASSERT_EQ(std::system(script.c_str()), 0);
    EXPECT_EQ(fs::last_write_time(folder_ / "commit.h"), before) << "unchanged, so that nothing is compiled again";
    // Without a repository of its own: unknown, even inside somebody else's.
    const std::string tree = (folder_ / "outer/inner").string();
    fs::create_directories(tree);
    const std::string outer = "cd '" + (folder_ / "outer").string() +
                              "' && git init -q . && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m x";
    if (std::system(outer.c_str()) != 0) GTEST_SKIP() << "no git here";
    const std::string inner = "cmake -DSOURCE='" + tree + "' -DGIT=git -DHEADER='" + (folder_ / "inner.h").string() +
                              "' -P '" DECODESCOPE_SOURCE_DIR "/engine/measure/write_commit.cmake'";
    ASSERT_EQ(std::system(inner.c_str()), 0);
    EXPECT_EQ(read_whole(folder_ / "inner.h"), "#define DECODESCOPE_COMMIT \"unknown\"\n");
}

#ifdef DECODESCOPE_UI
TEST_F(Program, WithoutADisplayTheWindowSaysSoInOneLine) {
    const Outcome outcome = run("");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.last_error_line().rfind("decodescope: error: ", 0), 0u) << outcome.err;
    EXPECT_NE(outcome.err.find("display"), std::string::npos);
    const Outcome dead = run("", "DISPLAY=:77");
    EXPECT_EQ(dead.code, 1) << dead.err;
    EXPECT_NE(dead.err.find("display"), std::string::npos);
}
#endif

}  // namespace
