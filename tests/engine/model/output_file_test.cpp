// Whatever the name of an output leads to: a device or a pipe is written to, a link is followed, an older file stays
// until the new one is complete.
#include "engine/support/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace decodescope {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("decodescope-output-" + std::to_string(getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const char* name) const { return (folder_ / name).string(); }
    static std::string content(const std::string& file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    std::size_t names() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }

    fs::path folder_;
};

TEST_F(OutputFiles, PipeIsWrittenToAndStaysAPipe) {
    const std::string pipe = path("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_TRUE(check_output(pipe).ok());  // without waiting for a reader
    fs::create_symlink("pipe", folder_ / "link");
    for (const std::string& target : {pipe, path("link")}) {
        std::string received;
        std::thread reader([&] { received = content(pipe); });
        const Status status = write_file(target, "one\ntwo\n");
        reader.join();
        EXPECT_TRUE(status.ok()) << status.error().text();
        EXPECT_EQ(received, "one\ntwo\n");
        EXPECT_TRUE(fs::is_fifo(fs::symlink_status(pipe)));
        EXPECT_TRUE(fs::is_symlink(fs::symlink_status(path("link"))));
    }
    EXPECT_EQ(names(), 2u);
}

TEST_F(OutputFiles, LinksAreFollowedToTheirEnd) {
    fs::create_directory(folder_ / "data");
    ASSERT_TRUE(write_file(path("data/real.csv"), "old").ok());
    fs::create_symlink("data/real.csv", folder_ / "inner");
    fs::create_symlink("inner", folder_ / "outer");
    fs::create_symlink("data/new.csv", folder_ / "dangling");
    EXPECT_TRUE(write_file(path("outer"), "new").ok());
    EXPECT_TRUE(write_file(path("dangling"), "made").ok());
    for (const char* link : {"inner", "outer", "dangling"})
        EXPECT_TRUE(fs::is_symlink(fs::symlink_status(path(link)))) << link;
    EXPECT_EQ(content(path("data/real.csv")), "new");
    EXPECT_EQ(content(path("data/new.csv")), "made");
    fs::create_symlink("round", folder_ / "round");
    const Status round = write_file(path("round"), "x");
    ASSERT_FALSE(round.ok());
    EXPECT_EQ(round.error().kind, ErrorKind::File);
}

TEST_F(OutputFiles, OlderFileStaysUntilTheNewOneIsComplete) {
    ASSERT_TRUE(write_file(path("a"), "old").ok());
    ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
    EXPECT_TRUE(check_output(path("a")).ok());
    EXPECT_EQ(content(path("a")), "old");
    {
        auto abandoned = OutputFile::create(path("a"));
        ASSERT_TRUE(abandoned.ok());
        (*abandoned)->write("half");
        EXPECT_EQ(content(path("a")), "old");
    }
    EXPECT_EQ(content(path("a")), "old");
    EXPECT_EQ(names(), 1u);
    ASSERT_TRUE(write_file(path("a"), "new").ok());
    EXPECT_EQ(content(path("a")), "new");
    struct stat found {};
    ASSERT_EQ(stat(path("a").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0640u) << "who could not read the older file cannot read the new one";
}

TEST_F(OutputFiles, WhatCannotBeWrittenIsNamed) {
    ASSERT_TRUE(write_file(path("a"), "old").ok());
    for (const std::string& target : {path("no/such/file"), path("a/b"), folder_.string(), std::string()})
        for (const Status& status : {write_file(target, "x"), check_output(target)}) {
            ASSERT_FALSE(status.ok()) << target;
            EXPECT_EQ(status.error().kind, ErrorKind::File) << target;
            EXPECT_NE(status.error().message.find(target), std::string::npos) << status.error().message;
        }
    EXPECT_EQ(content(path("a")), "old");
    EXPECT_EQ(names(), 1u);
}

TEST_F(OutputFiles, FullDiskIsAnErrorAndTheOlderFileStays) {
    ASSERT_TRUE(write_file(path("a"), "old").ok());
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const Status status = write_file(path("a"), std::string(5000, 'x'));
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(content(path("a")), "old");
    EXPECT_EQ(names(), 1u);
}

TEST_F(OutputFiles, SetsAppearTogetherOrNotAtAll) {
    ASSERT_TRUE(write_file(path("a"), "old").ok());
    {
        OutputSet left;
        EXPECT_TRUE(left.add(path("a"), "new").ok());
        EXPECT_TRUE(left.add(path("b"), "new").ok());
        EXPECT_FALSE(left.add(path("no/such/c"), "new").ok());
        EXPECT_EQ(content(path("a")), "old");
    }
    EXPECT_EQ(content(path("a")), "old");
    EXPECT_EQ(names(), 1u);
    OutputSet set;
    ASSERT_TRUE(set.add(path("a"), "new").ok());
    auto open = set.create(path("b"));
    ASSERT_TRUE(open.ok());
    (*open)->write("one");
    (*open)->write("two");
    EXPECT_EQ(set.names(), "a, b");
    EXPECT_FALSE(fs::exists(path("b")));
    const Status status = set.commit();
    ASSERT_TRUE(status.ok()) << status.error().text();
    EXPECT_EQ(content(path("a")), "new");
    EXPECT_EQ(content(path("b")), "onetwo");
    EXPECT_EQ(names(), 2u);
}

TEST_F(OutputFiles, AFullDiskIsFoundBeforeTheWork) {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const Status status = check_output(path("a"));
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().hint.find("ulimit -f"), std::string::npos) << status.error().text();
    EXPECT_EQ(names(), 0u);
}

}  // namespace
}  // namespace decodescope
