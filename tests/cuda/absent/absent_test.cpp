// Stands for the tests of ../ where they cannot be built: their names stay in the list, as skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

class EmulatedCuda : public testing::TestWithParam<const char*> {};

TEST_P(EmulatedCuda, NeedsTheToolkitsHeaders) {
#ifdef DECODESCOPE_CUDA_TOOLKIT
    const char* ci = std::getenv("CI");
    if (ci != nullptr && std::string(ci) == "true") {
        FAIL() << "This machine has the CUDA toolkit, and the emulated tests were not built.";
    }
#endif
    GTEST_SKIP() << "The headers of the CUDA toolkit were not found, or CUDA is switched off.";
}

INSTANTIATE_TEST_SUITE_P(Skipped, EmulatedCuda,
                         testing::Values("CudaConformance", "CudaSession", "CudaGeneration", "CudaMemory", "CudaDriver",
                                         "CudaSteps", "CudaWeightSums", "Emulation", "EmulatedMistakes",
                                         "PlantedFaults", "DecodeKernels"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
