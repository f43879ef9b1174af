// Memory and drivers: what the CUDA backend says when there is too little of the one or the wrong one of the other.
#include <gmock/gmock.h>

#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/device_probe.h"
#include "tests/cuda/emulated_backend.h"
#include "tests/cuda/tiny_model_on.h"

namespace decodescope {
namespace {

using test::StepResult;
using testing::HasSubstr;

using CudaMemory = EmulatedDevice;

TEST_F(CudaMemory, CU04_EveryFailedAllocationIsAnErrorAndLeaksNothing) {
    int failures = 0;
    for (std::int64_t n = 1;; ++n) {
        emulated::reset();
        emulated::fail_call("allocation", n, cudaErrorMemoryAllocation);
        Status status;
        {
            cuda::CudaBackendOptions options;
            options.keep_freed = false;
            auto backend = cuda::make_cuda_backend(options);
            status = backend ? whole_run(**backend) : Status(backend.error());
            if (backend && !status.ok() && n % 4 == 0) {
                EXPECT_TRUE(whole_run(**backend).ok()) << "the next try works, " << n;
            }
        }
        EXPECT_EQ(emulated::leaks(), std::vector<std::string>()) << n;
        if (status.ok()) break;
        EXPECT_EQ(status.error().kind, ErrorKind::Memory) << n << " " << status.error().text();
        ++failures;
    }
    EXPECT_GE(failures, 30);
    RecordProperty("failures", failures);
}

TEST_F(CudaMemory, CU04_RefusesWithBothNumbersAndASmallerOneWorks) {
    cuda::CudaBackendOptions options;
    options.memory_limit_bytes = 100000;
    const auto backend = make_emulated(options);
    auto kept = backend->allocate(60000, MemoryPurpose::Weights);
    ASSERT_TRUE(kept.ok());
    const auto refused = backend->allocate(40001, MemoryPurpose::KvCache);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Memory);
    EXPECT_THAT(refused.error().message, testing::AllOf(HasSubstr("40001"), HasSubstr("40000")));
    EXPECT_TRUE(backend->allocate(40000, MemoryPurpose::KvCache).ok());
    EXPECT_EQ(backend->memory().bytes[0], 60000);
}

// CU-05: a tenth of the device stays free, whoever has taken the rest.
TEST_F(CudaMemory, CU05_ABudgetBelowTheFreeMemory) {
    emulated::Machine machine;
    machine.memory_bytes = 1000000;
    emulated::reset(machine);
    const auto backend = make_emulated();
    EXPECT_EQ(backend->info().memory_bytes, 900000);
    void* others = nullptr;
    ASSERT_EQ(cudaMalloc(&others, 500000), cudaSuccess);
    const auto refused = backend->allocate(450000, MemoryPurpose::KvCache);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("400000 bytes are free"));
    EXPECT_TRUE(backend->allocate(390000, MemoryPurpose::KvCache).ok());
    EXPECT_EQ(cudaFree(others), cudaSuccess);
}

TEST_F(CudaMemory, FreedBlocksAreHandedOutAgainAndGivenBackWhenNeeded) {
    emulated::Machine machine;
    machine.memory_bytes = 1000000;
    emulated::reset(machine);
    auto memory = cuda::DeviceMemory::make({0, 0, true});
    ASSERT_TRUE(memory.ok());
    { auto buffer = (*memory)->allocate(100000, MemoryPurpose::KvCache); }
    const std::int64_t calls = emulated::calls("cudaMalloc");
    { auto buffer = (*memory)->allocate(99000, MemoryPurpose::KvCache); }
    EXPECT_EQ(emulated::calls("cudaMalloc"), calls);
    EXPECT_EQ((*memory)->counts().total_bytes(), 0);
    EXPECT_GT(emulated::device_bytes(), 0u);
    EXPECT_TRUE((*memory)->allocate(890000, MemoryPurpose::KvCache).ok());  // needs the kept block's room
}

TEST_F(CudaMemory, CountsByPurposeAndMovesAreBoundsChecked) {
    const auto backend = make_emulated();
    auto buffer = backend->allocate(64, MemoryPurpose::KvCache), other = backend->allocate(64, MemoryPurpose::KvCache);
    EXPECT_EQ(backend->memory().bytes[1], 128);
    std::vector<std::byte> bytes(32, std::byte{7});
    EXPECT_TRUE(backend->upload(**buffer, 32, bytes).ok());
    EXPECT_FALSE(backend->upload(**buffer, 33, bytes).ok());
    EXPECT_FALSE(backend->download(**buffer, 65, bytes).ok());
    EXPECT_TRUE(backend->copy(**buffer, 32, 16, **other, 8, 24, 8, 2).ok());
    std::vector<std::byte> back(64);
    EXPECT_TRUE(backend->download(**other, 0, back).ok());
    EXPECT_EQ(back[8], std::byte{7});
    EXPECT_EQ(back[32], std::byte{7});
    EXPECT_EQ(back[16], std::byte{0xFF});
    EXPECT_FALSE(backend->copy(**buffer, 40, 24, **other, 0, 24, 8, 2).ok());
}

using CudaDriver = EmulatedDevice;

std::string reason_of(const emulated::Machine& machine) {
    emulated::reset(machine);
    const ModuleReport report = cuda::probe_devices();
    auto backend = cuda::make_cuda_backend();
    EXPECT_FALSE(backend.ok());
    if (!backend.ok()) {
        EXPECT_EQ(backend.error().message, report.reason);
    }
    EXPECT_EQ(emulated::leaks(), std::vector<std::string>());
    return report.reason;
}

TEST_F(CudaDriver, CU02_CU03_EachFailureIsOneSentence) {
    emulated::Machine machine;
    machine.answer = cudaErrorInsufficientDriver;
    machine.driver_version = 0;
    EXPECT_EQ(reason_of(machine), "No NVIDIA driver is installed.");
    machine.driver_version = 12040;
    EXPECT_EQ(reason_of(machine), "The NVIDIA driver is too old: it supports CUDA 12.4, and " +
                                      cuda::version_text(CUDART_VERSION) + " is needed.");
    machine = {};
    machine.answer = cudaErrorNoDevice;
    EXPECT_EQ(reason_of(machine), "The NVIDIA driver sees no CUDA device.");
    machine = {};
    machine.devices = 0;
    EXPECT_EQ(reason_of(machine), "The NVIDIA driver sees no CUDA device.");
    machine = {};
    machine.major = 6, machine.minor = 1;
    EXPECT_THAT(reason_of(machine), HasSubstr("compute capability 6.1; 7.5 or newer is needed"));
    machine = {};
    machine.launch_answer = cudaErrorNoKernelImageForDevice;  // 209
    EXPECT_THAT(reason_of(machine), HasSubstr("no code for the device"));
    machine.launch_answer = cudaErrorUnsupportedPtxVersion;  // 222
    EXPECT_THAT(reason_of(machine), HasSubstr("update the driver"));
    machine.launch_answer = cudaErrorLaunchFailure;
    EXPECT_THAT(reason_of(machine), HasSubstr("Kernels do not run on the device"));
}

TEST_F(CudaDriver, DevicesAreListedAndChosen) {
    emulated::Machine machine;
    machine.devices = 3;
    emulated::reset(machine);
    const ModuleReport report = cuda::probe_devices();
    ASSERT_EQ(report.devices.size(), 3u);
    EXPECT_EQ(report.devices[2].name, "Emulated device 2");
    EXPECT_EQ(report.reason, "");
    cuda::CudaBackendOptions options;
    options.device = 2;
    EXPECT_EQ(make_emulated(options)->info().id, "cuda:2");
    options.device = 3;
    auto none = cuda::make_cuda_backend(options);
    ASSERT_FALSE(none.ok());
    EXPECT_THAT(none.error().message, HasSubstr("no CUDA device 3"));
}

// CU-08: the device belongs to the host thread, streams and memory to a device; two backends take turns on one thread.
TEST_F(CudaDriver, CU08_EveryCallChoosesItsDevice) {
    emulated::Machine machine;
    machine.devices = 2;
    emulated::reset(machine);
    cuda::CudaBackendOptions second;
    second.device = 1;
    const auto a = make_emulated(), b = make_emulated(second);
    TinyModelOn on_a(*a), on_b(*b);
    ASSERT_TRUE(on_a.status.ok() && on_b.status.ok());
    const auto cache_a = on_a.cache(), cache_b = on_b.cache();
    for (int row = 0; row < 4; ++row) {
        const StepResult first = on_a.run(*cache_a, row, 1), other = on_b.run(*cache_b, row, 1);
        ASSERT_TRUE(first.status.ok()) << first.status.error().text();
        ASSERT_TRUE(other.status.ok()) << other.status.error().text();
        EXPECT_EQ(first.logits, other.logits);
    }
    EXPECT_GT(emulated::kernel_launches(), 0);
}

}  // namespace
}  // namespace decodescope
