// The corpus of the fuzz targets, replayed: no input may end the program or read outside its bytes (asan sees it).
#include <gtest/gtest.h>

#include <string>

#include "tests/support/fuzz_corpus.h"
#include "tests/support/parse_input.h"

namespace decodescope {
namespace {

// The files as they are, and a few hundred changed ones.
void replay(const std::string& format, void (*parse)(std::span<const std::byte>)) {
    const auto inputs = corpus_inputs(format);
    ASSERT_GE(inputs.size(), 5u);
    for (const CorpusInput& input : inputs) {
        SCOPED_TRACE(input.name);
        with_exact_bytes(input.bytes, parse);
    }
    Mutator mutator(inputs, 7);
    for (int i = 0; i < 300; ++i) with_exact_bytes(mutator.next(), parse);
}

TEST(FuzzCorpus, LD16_GgufInputs) { replay("gguf", parse_gguf_input); }
TEST(FuzzCorpus, ConfigInputs) { replay("config", parse_config_input); }
TEST(FuzzCorpus, LD01_SafetensorsInputs) { replay("safetensors", parse_safetensors_input); }

}  // namespace
}  // namespace decodescope
