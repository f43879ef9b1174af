// The corpus of the tokenizer's fuzz target, replayed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "tests/support/fixtures.h"
#include "tests/support/tokenizer_input.h"

namespace decodescope {
namespace {

TEST(FuzzCorpus, TokenizerInputs) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(fixture_path("../fuzz/corpus/tokenizer")))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    ASSERT_GE(files.size(), 8u);
    for (const auto& path : files) {
        SCOPED_TRACE(path.string());
        const std::string text = read_fixture("../fuzz/corpus/tokenizer/" + path.filename().string());
        // In memory of exactly that size, so that the first byte beyond is seen.
        const auto bytes = std::make_unique<std::byte[]>(text.size());
        std::memcpy(bytes.get(), text.data(), text.size());
        parse_tokenizer_input({bytes.get(), text.size()});
    }
}

}  // namespace
}  // namespace decodescope
