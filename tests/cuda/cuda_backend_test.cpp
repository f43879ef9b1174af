// Memory, failures, drivers, graphs: what the CUDA backend does when things go wrong, and what it must not do at all.
#include <gmock/gmock.h>

#include <cstring>

#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/device_probe.h"
#include "kernels/cuda/kernels.h"
#include "kernels/reference/reference_backend.h"
#include "tests/cuda/emulated_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

using test::ProgramBuilder;
using test::StepCase;
using test::StepResult;
using test::TestCache;
using test::TinyShape;
using testing::HasSubstr;

TinyShape tiny() {
    TinyShape shape;
    shape.heads = 4, shape.kv_heads = 2, shape.head_dim = 6, shape.context = 400;
    shape.hidden = 20, shape.feed_forward = 27, shape.vocabulary = 23;
    shape.type = ElementType::F16;
    return shape;
}

// A tiny model on a backend; the error of the first thing that fails.
class Model {
public:
    explicit Model(Backend& backend, int max_rows = 64, bool profile = false) : backend_(backend) {
        ProgramBuilder builder(21);
        test::build_tiny_model(tiny(), builder);
        auto weights = backend.load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
        if (!weights) {
            status = weights.error();
            return;
        }
        CompileOptions options;
        options.max_rows = options.max_logits_rows = max_rows;
        options.profile = profile;
        auto compiled = backend.compile(builder.program, *weights, options);
        if (compiled) step = std::move(*compiled);
        else status = compiled.error();
    }
    std::unique_ptr<TestCache> cache(int capacity = 64) const {
        return TestCache::make(backend_, {tiny().layers, tiny().kv_heads, tiny().head_dim, capacity, ElementType::F16,
                                          ElementType::I8, test::Layout::Paged});
    }
    StepResult run(TestCache& cache, int first, int rows, test::StepOptions options = {}) {
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < rows; ++i) tokens.push_back((first + 3 * i) % tiny().vocabulary);
        const std::vector<KvView> views = cache.views(first + rows);
        return test::run_step(backend_, *step, StepCase::causal(tokens, first), {{0, rows, views}}, options);
    }
    Status status;
    std::unique_ptr<CompiledStep> step;

private:
    Backend& backend_;
};

// Loads, prefills 20 rows, decodes three with and without capture.
Status whole_run(Backend& backend) {
    Model model(backend, 20);
    if (!model.status.ok()) return model.status;
    const auto cache = model.cache(32);
    if (cache == nullptr) return make_error(ErrorKind::Memory, "no cache");
    DS_RETURN_IF_ERROR(model.run(*cache, 0, 20).status);
    for (int row = 20; row < 24; ++row) DS_RETURN_IF_ERROR(model.run(*cache, row, 1).status);
    return model.run(*cache, 24, 1, {true, 0, {}}).status;
}

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
    Model on_a(*a), on_b(*b);
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

using CudaSteps = EmulatedDevice;

TEST_F(CudaSteps, LaunchesThatFailAreErrorsAndEndNothing) {
    for (const char* name : {"cudaLaunchKernel", "cublasGemmEx", "cudaMemcpyAsync", "cudaGraphLaunch",
                             "cudaStreamSynchronize", "cudaEventRecord", "cudaEventElapsedTime", "cudaMemsetAsync",
                             "cudaStreamBeginCapture", "cudaStreamEndCapture"}) {
        emulated::reset();
        const auto counted = make_emulated();
        const std::int64_t before = emulated::calls(name);
        ASSERT_TRUE(whole_run(*counted).ok());
        const std::int64_t calls = emulated::calls(name) - before;
        ASSERT_GT(calls, 0) << name;
        for (std::int64_t n = 1; n <= calls; n += std::max<std::int64_t>(calls / 4, 1)) {
            const auto backend = make_emulated();
            emulated::fail_call(name, n, cudaErrorUnknown);
            const Status status = whole_run(*backend);
            ASSERT_FALSE(status.ok()) << name << " " << n;
            EXPECT_TRUE(status.error().kind == ErrorKind::Device || status.error().message == "no cache")
                << name << " " << status.error().text();
            EXPECT_EQ(cudaGetLastError(), cudaSuccess) << name;
            if (n == 1) {
                EXPECT_TRUE(whole_run(*backend).ok()) << name;
            }
        }
    }
}

TEST_F(CudaSteps, CancelledBeforeAndWhileItRuns) {
    const auto backend = make_emulated();
    Model model(*backend);
    const auto cache = model.cache();
    std::stop_source stop;
    stop.request_stop();
    const Status status = model.run(*cache, 0, 20, {false, 0, stop.get_token()}).status;
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::Cancelled);
    EXPECT_TRUE(model.run(*cache, 0, 20).status.ok());
}

TEST_F(CudaSteps, ADecodeStepIsOneGraphThatIsKept) {
    const auto backend = make_emulated();
    Model model(*backend);
    const auto cache = model.cache(200);
    ASSERT_TRUE(model.run(*cache, 0, 20).status.ok());
    std::int64_t captures = 0;
    std::vector<int> captured_at;
    for (int row = 20; row < 150; ++row) {
        const std::int64_t kernels = emulated::calls("cudaLaunchKernel");
        const StepResult result = model.run(*cache, row, 1);
        ASSERT_TRUE(result.status.ok()) << result.status.error().text();
        captures += result.outputs.graph_captures;
        if (result.outputs.graph_captures > 0) captured_at.push_back(row);
        if (row > 21 && row % 64 > 1) {
            EXPECT_EQ(emulated::calls("cudaLaunchKernel"), kernels) << row;
        }
    }
    // The first step of a kind runs as it is, the second makes the graph; a kind ends where the number of ranges of 64
    // entries passes a power of two.
    EXPECT_EQ(captured_at, (std::vector<int>{21, 65, 129}));
    EXPECT_EQ(emulated::calls("cudaGraphInstantiate"), captures);
}

TEST_F(CudaSteps, GraphsCaptureAndProfilingChangeNoBit) {
    cuda::CudaBackendOptions plain;
    plain.graphs = false;
    const auto with_graphs = make_emulated(), without = make_emulated(plain);
    Model a(*with_graphs), b(*without), profiled(*without, 64, true);
    const auto cache_a = a.cache(), cache_b = b.cache(), cache_c = b.cache(), cache_d = b.cache();
    for (int first = 0; first < 30;) {
        const int rows = first == 0 ? 12 : first == 12 ? 3 : 1;
        const StepResult expected = b.run(*cache_b, first, rows);
        EXPECT_EQ(a.run(*cache_a, first, rows).logits, expected.logits) << first;
        EXPECT_EQ(b.run(*cache_c, first, rows, {true, 0, {}}).logits, expected.logits) << first;
        const StepResult timed = profiled.run(*cache_d, first, rows);
        EXPECT_EQ(timed.logits, expected.logits) << first;
        ASSERT_EQ(timed.outputs.stage_micros.size(), profiled.step->stages().size());
        double sum = 0;
        for (const double micros : timed.outputs.stage_micros) sum += micros;
        EXPECT_LE(sum, timed.outputs.micros * 1.001 + 1);
        first += rows;
    }
}

TEST_F(CudaSteps, StagesCoverEveryOperationOnceAndMemoryIsCounted) {
    const auto backend = make_emulated();
    const Model model(*backend, 4);
    std::vector<int> covered;
    for (const Stage& stage : model.step->stages()) {
        EXPECT_FALSE(stage.name.empty());
        covered.insert(covered.end(), stage.ops.begin(), stage.ops.end());
    }
    for (std::size_t i = 0; i < covered.size(); ++i) EXPECT_EQ(covered[i], static_cast<int>(i));
    EXPECT_EQ(covered.size(), model.step->program().ops.size());
    EXPECT_EQ(model.step->activation_bytes(), backend->memory().bytes[2]);
    // Norm, Q K V, rotation and store, attention, output and residual, norm, gate and up, down: eight pieces per layer.
    EXPECT_EQ(model.step->stages().size(), 1u + 2u * 8u + 3u);
}

TEST_F(CudaSteps, CU10_ManyRunsGiveTheSameBits) {
    const auto backend = make_emulated();
    Model model(*backend);
    std::vector<float> expected;
    for (int run = 0; run < 12; ++run) {
        simt::settings().schedule = kSchedules[run % 4];
        simt::settings().seed = static_cast<std::uint64_t>(run);
        const auto cache = model.cache();
        std::vector<float> logits = model.run(*cache, 0, 17).logits;
        for (int row = 17; row < 20; ++row) logits = model.run(*cache, row, 1).logits;
        if (run == 0) expected = logits;
        EXPECT_EQ(logits, expected) << run;
    }
}

// Rows of later positions may hold NaN: rows before them must not be touched by it, alone or in a tile.
TEST_F(CudaSteps, UnwrittenAndUnseenEntriesDoNotMatter) {
    const auto backend = make_emulated();
    Model model(*backend);
    for (const int rows : {1, 3, 20}) {
        const auto clean = model.cache(), other = model.cache();
        const std::vector<float> large(static_cast<std::size_t>(tiny().kv_heads * tiny().head_dim), 1e4f);
        for (int layer = 0; layer < tiny().layers; ++layer)
            for (std::int32_t entry = 0; entry < 64; ++entry) other->write(layer, entry, large, large);
        EXPECT_EQ(model.run(*clean, 0, rows).logits, model.run(*other, 0, rows).logits);
    }
}

TEST_F(CudaSteps, LargeHeadsAreRefused) {
    TinyShape shape;
    shape.head_dim = 130, shape.heads = shape.kv_heads = 1, shape.hidden = 16;
    ProgramBuilder builder(1);
    test::build_tiny_model(shape, builder);
    const auto backend = make_emulated();
    auto weights = backend->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
    ASSERT_TRUE(weights.ok());
    auto step = backend->compile(builder.program, *weights, {});
    ASSERT_FALSE(step.ok());
    EXPECT_EQ(step.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(step.error().message, HasSubstr("130"));
    EXPECT_FALSE(backend->compile(builder.program, nullptr, {}).ok());
}

// Loading in one piece or in several, as it is or converted, gives the same weights.
TEST_F(CudaSteps, WeightsProgressCancelAndTypes) {
    ProgramBuilder builder(2);
    test::build_tiny_model(tiny(), builder);
    const auto backend = make_emulated();
    std::int64_t last = 0, total = -1;
    auto weights = backend->load_weights(builder.table, builder.program, WeightType::BF16,
                                         [&](std::int64_t done, std::int64_t of) {
                                             EXPECT_GT(done, last);
                                             last = done;
                                             total = of;
                                         },
                                         {});
    ASSERT_TRUE(weights.ok());
    EXPECT_EQ(last, total);
    EXPECT_EQ((*weights)->matrix_type(), ElementType::BF16);
    EXPECT_EQ((*weights)->bytes(), backend->memory().bytes[0]);
    std::stop_source stop;
    stop.request_stop();
    const auto cancelled = backend->load_weights(builder.table, builder.program, WeightType::F16, {}, stop.get_token());
    ASSERT_FALSE(cancelled.ok());
    EXPECT_EQ(cancelled.error().kind, ErrorKind::Cancelled);
    EXPECT_EQ(backend->memory().allocations[0], 1);
}

// CU-09: an f32 model's products are f32, also those of cuBLAS; the emulation refuses TF32.
TEST_F(CudaSteps, CU09_ProductsInF32AreF32) {
    TinyShape shape = tiny();
    shape.type = ElementType::F32;
    ProgramBuilder builder(3);
    test::build_tiny_model(shape, builder);
    const auto backend = make_emulated();
    const auto reference = make_reference_backend();
    std::vector<float> logits[2];
    int index = 0;
    for (Backend* one : {backend.get(), reference.get()}) {
        auto weights = one->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
        CompileOptions options;
        options.max_rows = options.max_logits_rows = 40;
        auto compiled = one->compile(builder.program, *weights, options);
        const std::unique_ptr<CompiledStep> step = std::move(*compiled);
        const auto cache = TestCache::make(*one, {shape.layers, shape.kv_heads, shape.head_dim, 40});
        const std::vector<KvView> views = cache->views(40);
        logits[index++] = test::run_step(*one, *step, StepCase::causal(std::vector<std::int32_t>(40, 5), 0),
                                         {{0, 40, views}})
                              .logits;
    }
    EXPECT_GT(emulated::calls("cublasGemmEx"), 0);
    EXPECT_LE(test::relative_difference(logits[0], logits[1]), 1e-5);
}

}  // namespace
}  // namespace decodescope
