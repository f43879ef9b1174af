// The emulation itself: what it reports, and that a kernel's mistakes are not forgiven.
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/cuda/device.h"
#include "tests/cuda/emulated_backend.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

__global__ void half_at_barrier(int*) {
    if (threadIdx.x < 16) __syncthreads();
}
__global__ void two_barriers(int*) {
    if (threadIdx.x % 2 == 0) __syncthreads();
    else __syncthreads_or(1);
}
__global__ void not_in_own_mask(int*) { (void)__shfl_sync(0x0000FFFFu, 1, 0); }
__global__ void reads_outside_mask(int*) {
    if (threadIdx.x < 16) (void)__shfl_xor_sync(0x0000FFFFu, 1, 16);
}
__global__ void one_lane_missing(int*) {
    if (threadIdx.x != 5) (void)__shfl_sync(0xFFFFFFFFu, 1, 0);
    else __syncthreads();
}
__global__ void no_dynamic_memory(int* out) {
    DS_DYNAMIC_SHARED(int, room);
    *out = room[0];
}
__global__ void too_much_shared(int* out) {
    DS_SHARED(float, room, 13000);
    *out = static_cast<int>(room[0]);
}
__global__ void writes_past_shared(int*) {
    DS_DYNAMIC_SHARED(float, room);
    room[threadIdx.x + 1] = 1.0f;
}

class Emulation : public EmulatedDevice {
protected:
    std::string fault(void (*kernel)(int*), unsigned threads, std::size_t shared = 0) {
        int out = 0;
        return simt::run_grid({"kernel", dim3(1), dim3(threads), shared}, [&] { kernel(&out); });
    }
};

TEST_F(Emulation, FaultsNameTheThreadAndTheLine) {
    for (const simt::Schedule schedule : kSchedules) {
        simt::settings().schedule = schedule;
        EXPECT_THAT(fault(half_at_barrier, 32), HasSubstr("emulation_test.cpp:15"));
        EXPECT_THAT(fault(half_at_barrier, 32), HasSubstr("thread ("));
        EXPECT_THAT(fault(two_barriers, 32), HasSubstr("two barriers"));
        EXPECT_THAT(fault(not_in_own_mask, 32), HasSubstr("not in the mask"));
        EXPECT_THAT(fault(reads_outside_mask, 32), HasSubstr("outside the mask"));
        EXPECT_NE(fault(one_lane_missing, 32), "");
        EXPECT_THAT(fault(not_in_own_mask, 12), HasSubstr("mask"));
        EXPECT_THAT(fault(no_dynamic_memory, 1), HasSubstr("none was asked for"));
        EXPECT_THAT(fault(too_much_shared, 1), HasSubstr("shared memory"));
    }
}

#ifndef __SANITIZE_ADDRESS__
TEST_F(Emulation, AWritePastSharedMemoryIsSeen) {
    EXPECT_THAT(fault(writes_past_shared, 32, 32 * sizeof(float)), HasSubstr("past the end of shared memory"));
    EXPECT_EQ(fault(writes_past_shared, 32, 33 * sizeof(float)), "");
}
#endif

__global__ void reads_unwritten(float* out) {
    DS_SHARED(float, room, 4);
    out[threadIdx.x] = room[threadIdx.x];
}

TEST_F(Emulation, UnwrittenMemoryIsNan) {
    float out[4] = {};
    EXPECT_EQ(simt::run_grid({"kernel", dim3(1), dim3(4), 0}, [&] { reads_unwritten(out); }), "");
    for (const float value : out) EXPECT_TRUE(std::isnan(value));
    void* device = nullptr;
    ASSERT_EQ(cudaMalloc(&device, sizeof out), cudaSuccess);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    float read[4] = {};
    ASSERT_EQ(cudaMemcpyAsync(read, device, sizeof read, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    for (const float value : read) EXPECT_TRUE(std::isnan(value));
    EXPECT_EQ(cudaFree(device), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

__global__ void add_index(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

TEST_F(Emulation, EveryThreadRunsOnceUnderEverySchedule) {
    for (const simt::Schedule schedule : kSchedules)
        for (const unsigned threads : {1u, 31u, 32u, 33u, 100u, 1024u}) {
            simt::settings().schedule = schedule;
            std::vector<int> counts(3 * threads);
            EXPECT_EQ(simt::run_grid({"kernel", dim3(3), dim3(threads), 0}, [&] { add_index(counts.data()); }), "");
            EXPECT_EQ(counts, std::vector<int>(3 * threads, 1));
        }
}

// What the host does wrong: each is a violation, and each test would end with it.
class EmulatedMistakes : public EmulatedDevice {
protected:
    void SetUp() override {
        EmulatedDevice::SetUp();
        violations_expected_ = true;
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
        ASSERT_EQ(cudaMalloc(&device_, 64), cudaSuccess);
    }
    void TearDown() override {
        (void)cudaFree(device_);
        (void)cudaStreamDestroy(stream_);
        EmulatedDevice::TearDown();
    }
    bool reported(const std::string& part) {
        for (const std::string& line : emulated::violations())
            if (line.find(part) != std::string::npos) return true;
        return false;
    }
    cudaStream_t stream_ = nullptr;
    void* device_ = nullptr;
};

__global__ void fill(float* out, int count, float value) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) out[i] = value;
}

TEST_F(EmulatedMistakes, AResultIsNotThereBeforeItIsWaitedFor) {
    void* pinned = nullptr;
    ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
    DS_LAUNCH(fill, 1, 32, 0, stream_, static_cast<float*>(device_), 16, 7.0f);
    (void)cudaMemcpyAsync(pinned, device_, 64, cudaMemcpyDeviceToHost, stream_);
    EXPECT_TRUE(std::isnan(*static_cast<float*>(pinned)));
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(*static_cast<float*>(pinned), 7.0f);
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(EmulatedMistakes, CopiesAndLaunches) {
    float host[32] = {};
    EXPECT_EQ(cudaMemcpyAsync(host, device_, 128, cudaMemcpyDeviceToHost, stream_), cudaErrorInvalidValue);
    EXPECT_TRUE(reported("has 64 there"));
    EXPECT_EQ(cudaMemcpyAsync(device_, device_, 64, cudaMemcpyHostToDevice, stream_), cudaErrorInvalidValue);
    EXPECT_TRUE(reported("wrong kind of memory"));
    DS_LAUNCH(fill, 1, 2048, 0, stream_, static_cast<float*>(device_), 16, 1.0f);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    DS_LAUNCH(fill, 1, 32, 0, nullptr, static_cast<float*>(device_), 16, 1.0f);
    EXPECT_TRUE(reported("a stream is used that is not there"));
    (void)cudaGetLastError();
    EXPECT_EQ(cudaFree(host), cudaErrorInvalidValue);
    EXPECT_TRUE(reported("not allocated"));
}

#ifndef __SANITIZE_ADDRESS__
TEST_F(EmulatedMistakes, AWritePastABufferEndsTheDevice) {
    DS_LAUNCH(fill, 1, 32, 0, stream_, static_cast<float*>(device_), 17, 1.0f);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorLaunchFailure);
    EXPECT_TRUE(reported("written outside its ends"));
    void* more = nullptr;
    EXPECT_EQ(cudaMalloc(&more, 64), cudaErrorLaunchFailure);
    emulated::reset();  // the device is gone, and with it what it had
    stream_ = nullptr;
    device_ = nullptr;
}
#endif

}  // namespace
}  // namespace decodescope
