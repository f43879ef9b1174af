// The CUDA backend on an emulated device, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/emulated/runtime.h"
#include "kernels/cuda/emulated/simt.h"

namespace decodescope {

inline std::unique_ptr<Backend> make_emulated(cuda::CudaBackendOptions options = {}) {
    options.keep_freed = false;
    auto backend = cuda::make_cuda_backend(options);
    if (!backend) {
        ADD_FAILURE() << backend.error().text();
        return nullptr;
    }
    return std::move(*backend);
}

// Each test begins on a fresh machine and ends with nothing left behind and nothing done that a device would punish.
class EmulatedDevice : public testing::Test {
protected:
    void SetUp() override {
        simt::settings() = {};
        emulated::reset();
    }
    void TearDown() override {
        EXPECT_EQ(emulated::leaks(), std::vector<std::string>());
        if (!violations_expected_) {
            EXPECT_EQ(emulated::violations(), std::vector<std::string>());
        }
        emulated::reset();
        simt::settings() = {};
    }
    bool violations_expected_ = false;
};

// Sanitizers take 5 to 20 times as long: then every seventh row of a long list runs. Types, formats, chunks, layouts, head
// counts and schedules take turns in periods of 2 to 6, which share no factor with 7: they still meet in the rows that run.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kEvery = 7;
#else
constexpr std::size_t kEvery = 1;
#endif

constexpr simt::Schedule kSchedules[] = {simt::Schedule::Forward, simt::Schedule::Reverse, simt::Schedule::Seeded,
                                         simt::Schedule::WarpAhead};
inline const char* schedule_name(simt::Schedule schedule) {
    constexpr const char* names[] = {"Forward", "Reverse", "Seeded", "WarpAhead"};
    return names[static_cast<int>(schedule)];
}

}  // namespace decodescope
