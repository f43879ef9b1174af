// LD-09: recordings under a path outside ASCII.
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/trace/recording_file.h"
#include "tests/support/fake_run.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

namespace fs = std::filesystem;

TEST(RecordingPath, NonAsciiFoldersAndNamesAreSavedToAndLoadedFrom) {
    TemporaryFolder around;
    const std::string folder = around.file(kNonAsciiName);
    fs::create_directory(folder);
    const std::string path = folder + "/Запись 记录 ü 😀.dscope";
    const auto recording = make_fake_run({});
    for (int round = 0; round < 2; ++round) {  // also over the older file
        const Status saved = save_recording(*recording, path, {}, {});
        ASSERT_TRUE(saved.ok()) << saved.error().text();
    }
    const auto loaded = load_recording(path, {}, {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_EQ((*loaded)->row_count(), recording->row_count());
    EXPECT_EQ((*loaded)->step_count(), recording->step_count());
    // One file of exactly this name: no temporary one is left, and no byte of the name was changed.
    int files = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        EXPECT_EQ(entry.path().string(), path);
        ++files;
    }
    EXPECT_EQ(files, 1);
    const auto absent = load_recording(folder + "/нет 没有.dscope", {}, {});
    ASSERT_FALSE(absent.ok());
    EXPECT_NE(absent.error().message.find("нет 没有.dscope"), std::string::npos) << absent.error().message;
}

}  // namespace
}  // namespace decodescope
