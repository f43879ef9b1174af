#include "tests/support/fuzz_corpus.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>

#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

constexpr std::array<std::uint64_t, 12> kEdges = {
    0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, std::uint64_t{1} << 32,
    std::numeric_limits<std::int64_t>::max(), std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()};

}  // namespace

std::vector<CorpusInput> corpus_inputs(const std::string& format) {
    const std::string folder = "../fuzz/corpus/" + format;
    std::vector<CorpusInput> inputs;
    for (const auto& entry : std::filesystem::directory_iterator(fixture_path(folder))) {
        const std::string name = entry.path().filename().string();
        inputs.push_back({name, read_fixture(folder + "/" + name)});
    }
    std::sort(inputs.begin(), inputs.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return inputs;
}

void with_exact_bytes(const std::string& bytes, void (*parse)(std::span<const std::byte>)) {
    const auto copy = std::make_unique<std::byte[]>(bytes.size());
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    parse({copy.get(), bytes.size()});
}

void Mutator::change(std::string& bytes) {
    const std::size_t at = below(bytes.size()), most = bytes.size() - at;
    switch (below(8)) {
        case 0:
            if (most > 0) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
            return;
        case 1:
            if (most > 0) bytes[at] = static_cast<char>(below(256));
            return;
        case 2: {  // little-endian, as both binary formats are
            const std::uint64_t value = kEdges[below(kEdges.size())] + below(3) - 1;
            std::memcpy(bytes.data() + at, &value, std::min(most, std::size_t{1} << below(4)));
            return;
        }
        case 3:
            bytes.erase(at, below(16) + 1);
            return;
        case 4:
            bytes.insert(at, bytes.substr(below(bytes.size()), below(64) + 1));
            return;
        case 5: {
            const std::string& other = corpus_[below(corpus_.size())].bytes;
            if (!other.empty()) bytes.replace(at, below(32), other.substr(below(other.size()), below(64) + 1));
            return;
        }
        case 6: {
            const std::size_t digit = bytes.find_first_of("0123456789", at);
            if (digit != std::string::npos) bytes.replace(digit, 1, std::to_string(kEdges[below(kEdges.size())]));
            return;
        }
        default:
            bytes.resize(at);
    }
}

std::string Mutator::next() {
    std::string bytes = corpus_[below(corpus_.size())].bytes;
    for (std::size_t changes = below(4) + 1; changes > 0; --changes) change(bytes);
    return bytes;
}

}  // namespace decodescope
