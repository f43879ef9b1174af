// The corpus of the fuzz targets, replayed: no input may end the program or read outside its bytes (asan sees it).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "tests/support/fixtures.h"
#include "tests/support/parse_input.h"

namespace decodescope {
namespace {

void replay(const std::string& format, const std::function<void(std::span<const std::byte>)>& parse) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(fixture_path("../fuzz/corpus/" + format)))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    ASSERT_GE(files.size(), 5u);
    for (const auto& path : files) {
        SCOPED_TRACE(path.string());
        const std::string text = read_fixture("../fuzz/corpus/" + format + "/" + path.filename().string());
        // In memory of exactly that size, so that the first byte beyond is seen.
        const auto bytes = std::make_unique<std::byte[]>(text.size());
        std::memcpy(bytes.get(), text.data(), text.size());
        parse({bytes.get(), text.size()});
    }
}

TEST(FuzzCorpus, LD16_GgufInputs) { replay("gguf", parse_gguf_input); }
TEST(FuzzCorpus, LD01_SafetensorsInputs) { replay("safetensors", parse_safetensors_input); }

}  // namespace
}  // namespace decodescope
