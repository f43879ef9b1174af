// Recordings in a folder of their own, written, read back and damaged.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/trace/recording_file.h"
#include "tests/support/fake_run.h"

namespace decodescope {

namespace fs = std::filesystem;
using Bytes = std::string;

class RecordingFile : public ::testing::Test {
protected:
    void SetUp() override {
        const fs::path memory = "/dev/shm";  // thousands of small files: not through a disk where that can be avoided
        const bool usable = ::access(memory.c_str(), W_OK) == 0;
        folder_ = (usable ? memory : fs::path(::testing::TempDir())) /
                  ("decodescope_recording_" + std::to_string(::getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const char* name = "run.dscope") const { return (folder_ / name).string(); }
    std::vector<std::string> names() const {
        std::vector<std::string> result;
        for (const auto& entry : fs::directory_iterator(folder_)) result.push_back(entry.path().filename().string());
        return result;
    }
    static Bytes read(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write(const Bytes& bytes, const char* name = "damaged.dscope") const {
        std::ofstream(path(name), std::ios::binary) << bytes;
    }
    Bytes small_file() const {
        FakeRunOptions options;
        options.steps = 3;
        options.prompt_tokens = 4;
        options.layers = 2;
        options.heads = 2;
        options.kv_heads = 1;
        EXPECT_TRUE(save_recording(*make_fake_run(options), path(), {}, {}).ok());
        return read(path());
    }
    // The sentence with which these bytes are refused; "" when they are accepted.
    std::string refusal(const Bytes& bytes) const {
        write(bytes);
        const auto loaded = load_recording(path("damaged.dscope"), {}, {});
        return loaded.ok() ? "" : loaded.error().message;
    }

    fs::path folder_;
};

}  // namespace decodescope
