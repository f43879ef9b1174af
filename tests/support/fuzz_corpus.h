// The corpora of the fuzz targets in tests/fuzz/corpus, and a blind mutation of them: what runs where no Clang is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace decodescope {

// All files of a corpus by name, with their bytes.
struct CorpusInput {
    std::string name, bytes;
};
std::vector<CorpusInput> corpus_inputs(const std::string& format);

// A copy of the bytes in memory of exactly that size, so that the address sanitizer sees the first one beyond.
void with_exact_bytes(const std::string& bytes, void (*parse)(std::span<const std::byte>));

// One to four changes of a file of the corpus: bits, integers at the edges of their types, pieces left out, repeated or
// taken from another file, a number in text made large, the end cut off. The same seed gives the same sequence.
class Mutator {
public:
    Mutator(std::vector<CorpusInput> corpus, std::uint64_t seed) : corpus_(std::move(corpus)), random_(seed) {}
    std::string next();

private:
    std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }
    void change(std::string& bytes);

    std::vector<CorpusInput> corpus_;
    std::mt19937_64 random_;
};

}  // namespace decodescope
