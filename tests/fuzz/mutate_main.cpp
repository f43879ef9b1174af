// X_fuzz FORMAT SECONDS: a fuzz target without Clang, under the address sanitizer. Changes the files of the corpus
// blindly, from the same seed every time, and gives them to the target; the input that ends the program is left in
// the file X_fuzz.input.
#include <sanitizer/common_interface_defs.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/support/fuzz_corpus.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::string current, left_behind;

void leave_input() { std::ofstream(left_behind, std::ios::binary) << current; }

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return std::fprintf(stderr, "usage: %s FORMAT SECONDS\n", arguments[0]), 1;
    left_behind = std::string(arguments[0]) + ".input";
    __sanitizer_set_death_callback(leave_input);
    std::signal(SIGABRT, [](int) { leave_input(), std::_Exit(134); });
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(std::atoi(arguments[2]));
    decodescope::Mutator mutator(decodescope::corpus_inputs(arguments[1]), 1);
    std::int64_t runs = 0;
    for (; Clock::now() < end; ++runs) {
        current = mutator.next();
        decodescope::with_exact_bytes(current, [](std::span<const std::byte> input) {
            LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
        });
    }
    std::printf("%s: %lld inputs\n", arguments[1], static_cast<long long>(runs));
    return 0;
}
