// The program as others call it: exit codes, stderr's last line, stdout that is JSON and nothing else.
#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "tests/app/program_fixture.h"
#include "tests/support/fixtures.h"

namespace decodescope::test {
namespace {

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

// Eviction by score: what left and why, layer by layer, the same at every chunk size.
TEST_F(Program, HeavyHittersSayWhatTheyDropped) {
    const Json model = run_json("info bundled --json");
    const std::string prompt = "generate --tokens 5,6,7,8,9,10,11,12,13,14,15 -n 4 --ignore-eos --json "
                               "--cache h2o:budget=6,recent=2 ";
    const fs::path a = folder_ / "a.jsonl", b = folder_ / "b.jsonl";
    const Json j = run_json(prompt + "--chunk 1 --trace " + a.string());
    const Json other = run_json(prompt + "--chunk 8 --trace " + b.string());
    EXPECT_EQ(other["tokens"], j["tokens"]);
    const std::size_t layers = j["steps"][1]["dropped"].size();
    EXPECT_GT(layers, 1u);
    std::set<int> gone_everywhere;  // a position leaves when its last layer drops it, which is once
    for (int i = 0; i < 4; ++i) {
        const Json& step = j["steps"][static_cast<std::size_t>(i)];
        EXPECT_EQ(step["tokens_stored"], 6);
        EXPECT_EQ(step["dropped"].size(), (i == 0 ? 5u : 1u) * layers);
        for (std::size_t d = 0; d < step["dropped"].size(); ++d) {
            const Json &gone = step["dropped"][d], &same = other["steps"][static_cast<std::size_t>(i)]["dropped"][d];
            EXPECT_EQ(gone["position"], same["position"]);
            EXPECT_EQ(gone["layer"], same["layer"]);
            EXPECT_NEAR(gone["score"].get<double>(), same["score"].get<double>(), 1e-4);
            EXPECT_LT(gone["position"], 10 + i);
        }
        for (const Json& position : step["evicted"]) {
            EXPECT_LT(position, 10 + i);
            EXPECT_TRUE(gone_everywhere.insert(position.get<int>()).second) << position << " left twice";
        }
    }
    std::ifstream first(a), second(b);
    int lines = 0, differing = 0;
    for (std::string x, y; std::getline(first, x) && std::getline(second, y); ++lines) {
        const Json p = Json::parse(x), q = Json::parse(y);
        EXPECT_EQ(p["entry_positions"], q["entry_positions"]);
        for (std::size_t layer = 0; layer < layers; ++layer) {
            EXPECT_EQ(p["entry_positions"][layer].size(), static_cast<std::size_t>(std::min(lines + 1, 7)));
            EXPECT_EQ(p["attention"][layer][0].size(), p["entry_positions"][layer].size());
            differing += p["entry_positions"][layer] != p["entry_positions"][0] ? 1 : 0;
        }
    }
    EXPECT_EQ(lines, 14);
    EXPECT_GT(differing, 0);
    EXPECT_EQ(run("generate --tokens 5 -n 1 --cache h2o:budget=4,recent=4").code, 2);
    EXPECT_EQ(run("generate --tokens 5 -n 1 --cache h2o:budget=100000,recent=4").code, 1);
}

// Offloaded: the same text and hash, and what was moved.
TEST_F(Program, OffloadMovesAndChangesNothing) {
    const long long per_token = run_json("info bundled --json")["kv_bytes_per_token"]["f32"].get<long long>();
    const std::string prompt = "generate --tokens 5,6,7,8,9 -n 3 --ignore-eos --json --cache ";
    const Json plain = run_json(prompt + "preallocated");
    for (const std::string place : {"host", "file"}) {
        const Json j = run_json(prompt + "preallocated:offload=" + place);
        EXPECT_EQ(j["logits_hash"], plain["logits_hash"]);
        EXPECT_EQ(j["kv_bytes_peak"], plain["kv_bytes_peak"]);
        for (int i = 0; i < 3; ++i) {
            const Json& moved = j["steps"][static_cast<std::size_t>(i)]["offload"];
            EXPECT_EQ(moved["place"], place);
            EXPECT_EQ(moved["fetched_bytes"], (i == 0 ? 0 : 4 + i) * per_token);
            EXPECT_EQ(moved["returned_bytes"], (i == 0 ? 5 : 1) * per_token);
            EXPECT_LE(moved["bound_micros"].get<double>(), moved["micros"].get<double>() * 1.000001);
        }
    }
    EXPECT_EQ(run("generate --tokens 5 -n 1 --cache recompute:offload=host").code, 2);
    EXPECT_EQ(run("generate --tokens 5 -n 1 --cache ring:window=4,offload=tape").code, 2);
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
        {"generate -p x --backend cuda:99", 1, "\"cuda\""},
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

TEST_F(Program, ListsAreJsonAndText) {
    for (const char* what : {"caches", "formats", "models", "backends", "panels"}) {
        const Json j = run_json(std::string("list ") + what + " --json");
        EXPECT_TRUE(j.is_array()) << what;
        EXPECT_EQ(run(std::string("list ") + what).code, 0);
    }
    EXPECT_EQ(run("--version").code, 0);
    EXPECT_EQ(run("--help").code, 0);
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
}  // namespace decodescope::test
