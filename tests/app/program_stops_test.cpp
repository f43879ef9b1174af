// What is left when the program is stopped, or when files cannot be written: whole results or the older ones.
#include "tests/app/program_fixture.h"

namespace decodescope::test {
namespace {

class ProgramStops : public Program {
protected:
    static std::size_t partials(const fs::path& folder) {
        std::size_t count = 0;
        for (const auto& entry : fs::directory_iterator(folder))
            count += entry.path().extension() == ".partial" ? 1 : 0;
        return count;
    }
    // Files of at most so many blocks of 512 bytes.
    Outcome run_limited(int blocks, const std::string& arguments) {
        return run_with(arguments, "sh -c 'ulimit -f " + std::to_string(blocks) + "; exec \"$@\"' sh");
    }
    Outcome run_stopped(int seconds, const std::string& arguments) {
        return run_with(arguments, "timeout --preserve-status -s INT " + std::to_string(seconds));
    }
};

TEST_F(ProgramStops, LimitsOfFileSizesAreOneSentence) {
    std::string tokens = "5";
    for (int i = 0; i < 40; ++i) tokens += ",6";
    for (const std::string& line : {"generate --json --tokens " + tokens + " -n 2 --trace t.jsonl",
                                   "generate --tokens " + tokens + " -n 2 --cache preallocated:offload=file",
                                   std::string("bench --lengths 8 --repeats 1 -o .")}) {
        const Outcome outcome = run_limited(4, line);
        EXPECT_EQ(outcome.code, 1) << line << "\n" << outcome.err;
        EXPECT_EQ(outcome.last_error_line().rfind("decodescope: error: ", 0), 0u) << line << "\n" << outcome.err;
        EXPECT_NE(outcome.last_error_line().find("ulimit -f"), std::string::npos) << line << "\n" << outcome.err;
        EXPECT_EQ(partials(folder_), 0u) << line;
        EXPECT_FALSE(fs::exists(folder_ / "t.jsonl"));
        EXPECT_FALSE(fs::exists(folder_ / "timing.csv"));
    }
    const Outcome printed = run_limited(2, "generate --json --tokens 5,6 -n 9 --ignore-eos >printed.json");
    EXPECT_EQ(printed.code, 1) << printed.err;
    EXPECT_NE(printed.last_error_line().find("the results cannot be written"), std::string::npos) << printed.err;
}

#ifdef DECODESCOPE_UI
// The data fit and the pictures do not: none of the set is written.
TEST_F(ProgramStops, SetsOfFilesAreWrittenWholeOrNotAtAll) {
    for (const char* name : {"timing.csv", "timing.json", "timing.svg"}) std::ofstream(folder_ / name) << "older";
    const Outcome outcome = run_limited(12, "bench --lengths 8,16 --repeats 1 -o .");
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_NE(outcome.last_error_line().find("timing.png"), std::string::npos) << outcome.err;
    for (const char* name : {"timing.csv", "timing.json", "timing.svg"}) EXPECT_EQ(read_whole(folder_ / name), "older");
    EXPECT_FALSE(fs::exists(folder_ / "timing.png"));
    EXPECT_EQ(partials(folder_), 0u);
}

// Before the work: nothing is computed, nothing printed.
TEST_F(ProgramStops, FoldersAreLookedAtFirst) {
    fs::create_directory(folder_ / "window.png");
    fs::create_directory(folder_ / "timing.svg");
    fs::create_directory(folder_ / "compare.pdf");
    const struct { const char* arguments; const char* named; } rows[] = {
        {"demo -o .", "timing.svg"}, {"bench --lengths 8 -o .", "timing.svg"},
        {"compare --tokens 5 -o .", "compare.pdf"}, {"demo -o /dev/full", "Give the name of a folder"}, {"shot -o window.png", "window.png"}};
    for (const auto& row : rows) {
        const Outcome outcome = run(row.arguments);
        EXPECT_EQ(outcome.code, 1) << row.arguments;
        EXPECT_NE(outcome.last_error_line().find(row.named), std::string::npos) << row.arguments << outcome.err;
        EXPECT_TRUE(outcome.out.empty()) << row.arguments << outcome.out;
    }
    EXPECT_EQ(run_limited(4, "demo -o d").out, "");
    EXPECT_EQ(partials(folder_ / "d"), 0u);
}

TEST_F(ProgramStops, DemoKeepsWhatWasMeasured) {
    std::ofstream(folder_ / "timing.csv") << "older";
    Outcome outcome;
    for (int seconds = 1; seconds <= 64; seconds *= 2) {
        outcome = run_stopped(seconds, "demo -o .");
        ASSERT_LT(outcome.code, 2) << "ended by a signal\n" << outcome.err;
        if (outcome.code == 0) break;
        EXPECT_NE(outcome.last_error_line().find("stopped before anything was measured"), std::string::npos)
            << outcome.err;
        EXPECT_FALSE(fs::exists(folder_ / "run.json"));
    }
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("stopped; the files hold what was measured until then."), std::string::npos)
        << outcome.err;
    const Json j = Json::parse(read_whole(folder_ / "run.json"), nullptr, false);
    ASSERT_TRUE(j.is_object());
    EXPECT_FALSE(j["race"].empty());
    for (const char* name : {"run.dscope", "window.png"}) EXPECT_GT(fs::file_size(folder_ / name), 0u) << name;
    if (j["race"].size() < 239) {
        EXPECT_EQ(read_whole(folder_ / "timing.csv"), "older");
    }
    EXPECT_EQ(partials(folder_), 0u);
}

TEST_F(ProgramStops, ShotSaysThatItWasStopped) {
    std::ofstream(folder_ / "w.png") << "older";
    const Outcome outcome = run_stopped(1, "shot -m synthetic:gpt2-small,context=2048 --steps 2000 -o w.png");
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_NE(outcome.last_error_line().find("stopped before the picture was drawn"), std::string::npos) << outcome.err;
    EXPECT_EQ(read_whole(folder_ / "w.png"), "older");
    EXPECT_EQ(partials(folder_), 0u);
}

TEST_F(ProgramStops, PicturesSmallerThanTheWindowSaySo) {
    const Outcome small = run("shot -o w.png --size 400x300 --steps 1");
    EXPECT_EQ(small.code, 0) << small.err;
    EXPECT_NE(small.err.find("in the picture of 400x300 it is drawn as "), std::string::npos) << small.err;
    EXPECT_EQ(run("shot -o w.png --size 1500x1000 --steps 1").err, "");
}
#endif

// What a length needs is said of that length, not of the pass that would fail.
TEST_F(ProgramStops, NeedsAreThoseOfWhatWasAskedFor) {
    const Outcome bench = run("bench --lengths 300,600 --repeats 1 --cache preallocated:capacity=100 "
                              "--cache paged:page=16,pages=8 --cache recompute -o .");
    EXPECT_EQ(bench.code, 0) << bench.err;
    for (const char* part :
         {"preallocated:capacity=100 at 300 tokens was left out: The sequence would have 300 tokens and the cache was "
          "allocated for 100.",
          "at 600 tokens was left out: The sequence would have 600 tokens",
          "paged:pages=8 at 600 tokens was left out: 600 more tokens need 38 pages of 16 tokens and 8 of 8 are free."})
        EXPECT_NE(bench.out.find(part), std::string::npos) << part << "\n" << bench.out;
    std::string tokens = "5";
    for (int i = 1; i < 600; ++i) tokens += ",6";
    for (const std::string command : {"generate", "race"}) {
        const Outcome outcome = run(command + " -n 3 --cache preallocated:capacity=100 --tokens " + tokens);
        EXPECT_EQ(outcome.code, 1) << outcome.err;
        EXPECT_NE(outcome.last_error_line().find("The sequence would have 600 tokens"), std::string::npos)
            << outcome.err;
    }
}

TEST_F(ProgramStops, SentencesCountRight) {
    EXPECT_NE(run("generate --tokens 5 -n 1").err.find("prefill 1 token in"), std::string::npos);
    std::ofstream(folder_ / "s") << "new pages=1 page=4\nstart A 1,2,3,4\nappend A 5\nstart B 6\n";
    const Outcome pool = run("pool --script s");
    EXPECT_EQ(pool.code, 0);
    EXPECT_NE(pool.out.find("1 more token needs 1 page of 4 tokens and 0 of 1 are free."), std::string::npos)
        << pool.out;
    EXPECT_NE(pool.out.find("B needs 1 page and 0 are free."), std::string::npos) << pool.out;
    const Outcome vocabulary = run("generate --tokens 99999");
    EXPECT_NE(vocabulary.last_error_line().find("Token ids go from 0 to "), std::string::npos) << vocabulary.err;
}

TEST_F(ProgramStops, CachesAreListedWithTheirParameters) {
    const std::string text = run("list caches").out;
    for (const char* part : {"capacity  a whole number from 0 to 16777216; default 0. Tokens that",
                             "slab      true or false; default false. One allocation",
                             "positions  one of absolute and rebased; default absolute.",
                             "offload   one of none, host and file; default none."})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    for (const Json& cache : run_json("list caches --json"))
        for (const Json& parameter : cache["parameters"]) {
            EXPECT_NE(text.find(parameter["name"].get<std::string>() + " "), std::string::npos) << parameter;
            if (parameter["name"] == "slab") {
                EXPECT_EQ(parameter["default"], false);
            }
        }
}

}  // namespace
}  // namespace decodescope::test
