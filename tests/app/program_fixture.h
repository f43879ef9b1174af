// The program as others call it: runs it in a folder of its own and gives what it said.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace decodescope::test {

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

inline std::string read_whole(const fs::path& path) {
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

}  // namespace decodescope::test
