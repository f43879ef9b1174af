// The corpus of the tokenizer's fuzz target, replayed.
#include <gtest/gtest.h>

#include "tests/support/fuzz_corpus.h"
#include "tests/support/tokenizer_input.h"

namespace decodescope {
namespace {

TEST(FuzzCorpus, TokenizerInputs) {
    const auto inputs = corpus_inputs("tokenizer");
    ASSERT_GE(inputs.size(), 8u);
    for (const CorpusInput& input : inputs) {
        SCOPED_TRACE(input.name);
        with_exact_bytes(input.bytes, parse_tokenizer_input);
    }
    Mutator mutator(inputs, 7);
    for (int i = 0; i < 300; ++i) with_exact_bytes(mutator.next(), parse_tokenizer_input);
}

}  // namespace
}  // namespace decodescope
