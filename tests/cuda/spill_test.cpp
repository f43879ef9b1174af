// What ptxas says of the kernels of a decode step: registers that do not fit are spilled to memory and make a step slow
// without making it wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace decodescope {
namespace {

#ifdef DECODESCOPE_NVCC

// The output of a command, stderr included.
std::string output_of(const std::string& command, int& code) {
    std::string text;
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return "popen failed";
    char piece[4096];
    for (std::size_t read; (read = std::fread(piece, 1, sizeof piece, pipe)) > 0;) text.append(piece, read);
    code = pclose(pipe);
    return text;
}

class DecodeKernels : public testing::TestWithParam<const char*> {};

TEST_P(DecodeKernels, DoNotSpill) {
    const std::string root = DECODESCOPE_SOURCE_DIR;
    for (const char* file : {"attention_split.cu", "product_kernels.cu", "rotate_store.cu"}) {
        int code = -1;
        const std::string text =
            output_of(std::string("'") + DECODESCOPE_NVCC + "' -std=c++20 -O3 -arch=" + GetParam() +
                          " -cubin -Xptxas -v -I '" + root + "' -o /dev/null '" + root + "/kernels/cuda/" + file + "'",
                      code);
        ASSERT_EQ(code, 0) << text;
        int kernels = 0;
        for (std::size_t at = text.find("bytes spill stores"); at != std::string::npos;
             at = text.find("bytes spill stores", at + 1)) {
            ++kernels;
            EXPECT_EQ(text.substr(at - 2, 2), "0 ") << file << "\n" << text;
            EXPECT_EQ(text.substr(at, 39), "bytes spill stores, 0 bytes spill loads") << file << "\n" << text;
        }
        EXPECT_GE(kernels, 1) << file << "\n" << text;
    }
}

INSTANTIATE_TEST_SUITE_P(Cuda, DecodeKernels, testing::Values("sm_80", "sm_90"),
                         [](const auto& info) { return std::string(info.param); });

#elif !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

TEST(DecodeKernels, DoNotSpill) { GTEST_SKIP() << "This build has no CUDA compiler."; }

#endif

}  // namespace
}  // namespace decodescope
