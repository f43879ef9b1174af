// What the program reads and writes: files, pipes, lost output, numbers in every locale, facts of a run.
#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <thread>

#include "tests/app/program_fixture.h"
#include "tests/support/comma_locale.h"
#include "tests/support/fixtures.h"

namespace decodescope::test {
namespace {

// LD-10, LD-09: bench draws with Qt, and QApplication takes the locale from the environment.
TEST_F(Program, NumbersDoNotFollowTheLocale) {
    for (const char* name : {"de_DE.UTF-8", "tr_TR.UTF-8"}) {
        ASSERT_TRUE(CommaLocale(name).active()) << kNoCommaLocale;
        const fs::path folder = folder_ / kNonAsciiName;
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

// Of the bytes that are used: scales of int8, and the newest tokens in full precision.
TEST_F(Program, BytesOfScalesAndOfTheResidual) {
    const auto steps = [this](const std::string& kv) {
        return run_json("generate --prompt-file prompt.txt -n 2 --ignore-eos --json --kv-type " + kv)["steps"];
    };
    std::string words;
    for (int i = 0; i < 40; ++i) words += " the cat";
    std::ofstream(folder_ / "prompt.txt") << words;
    const std::int64_t rows = 5 * 2, head = 32;  // layers and KV heads of the bundled model, dimensions of a head
    for (const Json& step : steps("int8")) {
        const auto tokens = step["tokens_stored"].get<std::int64_t>();
        ASSERT_GT(tokens, 64);
        EXPECT_EQ(step["kv_bytes_scales"], rows * tokens * 2 * 4);
        EXPECT_EQ(step["kv_bytes_used"], rows * tokens * 2 * (head + 4));
        EXPECT_FALSE(step.contains("kv_bytes_residual"));
    }
    for (const Json& step : steps("k=int8-kivi,v=f16")) {
        const auto tokens = step["tokens_stored"].get<std::int64_t>(), groups = (tokens - 32) / 32;
        EXPECT_EQ(step["kv_bytes_residual"], rows * (tokens - groups * 32) * head * 4);
        EXPECT_EQ(step["kv_bytes_scales"], rows * groups * 2 * head * 4);  // scale and centre of each channel
        EXPECT_EQ(step["kv_bytes_used"], rows * (groups * (2 * head * 4 + 32 * head) + tokens * head * 2) +
                                             step["kv_bytes_residual"].get<std::int64_t>());
    }
    EXPECT_FALSE(steps("f16")[0].contains("kv_bytes_scales"));
}

// Positions that are counted inside the cache let it run on beyond the context, where no full pass can follow.
TEST_F(Program, RaceBeyondTheContext) {
    fs::copy(fs::path(DECODESCOPE_SOURCE_DIR) / "resources/model/bundled", folder_ / "short");
    std::string config = read_whole(folder_ / "short/config.json");
    const std::string context = "\"max_position_embeddings\": ";
    ASSERT_NE(config.find(context + "2048"), std::string::npos);
    config.replace(config.find(context + "2048"), context.size() + 4, context + "24");
    std::ofstream(folder_ / "short/config.json", std::ios::binary) << config;
    const std::string race =
        "race -m short --cache sinks:sinks=2,window=6,positions=rebased --tokens 5,6,7 -n 25 --ignore-eos ";
    const Json j = run_json(race + "--recompute every --json");
    ASSERT_EQ(j["rows"].size(), 21u);
    EXPECT_EQ(j["rows"].back()["length"], 24);
    EXPECT_EQ(j["stop_reason"], "length");
    EXPECT_NE(j["note"].get<std::string>().find("Beyond 24 tokens, the model's context"), std::string::npos);
    const Json inside = run_json(race + "--recompute at=22,24,25 --json");
    EXPECT_EQ(inside["rows"].size(), 2u);
    EXPECT_FALSE(run_json(race + "--recompute at=22 --json").contains("note"));
    const Outcome none = run(race + "--recompute at=26,40");
    EXPECT_EQ(none.code, 1);
    EXPECT_NE(none.err.find("26 beyond the context of 24 tokens, which a pass without a cache cannot exceed and 40 "
                            "beyond the end of the run; the run goes from 3 to 27 tokens."),
              std::string::npos)
        << none.err;
    // A cache with the text's own positions ends there.
    EXPECT_EQ(run_json("race -m short --cache ring:window=6 --tokens 5,6,7 -n 25 --ignore-eos --json")["stop_reason"],
              "context_full");
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
    ASSERT_EQ(std::system(outer.c_str()), 0) << "test.sh installs git";
    const std::string inner = "cmake -DSOURCE='" + tree + "' -DGIT=git -DHEADER='" + (folder_ / "inner.h").string() +
                              "' -P '" DECODESCOPE_SOURCE_DIR "/engine/measure/write_commit.cmake'";
    ASSERT_EQ(std::system(inner.c_str()), 0);
    EXPECT_EQ(read_whole(folder_ / "inner.h"), "#define DECODESCOPE_COMMIT \"unknown\"\n");
}

TEST_F(Program, DoctorReadsWithBothSizesOfPages) {
    const Json doctor = run_json("doctor --threads 2 --json");
    for (const char* rates : {"read_gb_s", "read_gb_s_small_pages", "gflops"})
        for (const char* threads : {"one_thread", "all_threads"})
            EXPECT_GT(doctor[rates][threads].get<double>(), 0.0) << rates << " " << threads;
    EXPECT_NE(run("doctor").out.find("4 KiB"), std::string::npos);
}

}  // namespace
}  // namespace decodescope::test
