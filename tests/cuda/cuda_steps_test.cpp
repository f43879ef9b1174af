// Steps: failures, cancelling, graphs, order of the bits, what is refused.
#include <gmock/gmock.h>

#include <cstring>

#include "kernels/cuda/kernels.h"
#include "kernels/reference/reference_backend.h"
#include "tests/cuda/emulated_backend.h"
#include "tests/cuda/tiny_model_on.h"

namespace decodescope {
namespace {

using test::ProgramBuilder;
using test::StepCase;
using test::StepResult;
using test::TestCache;
using test::TinyShape;
using testing::HasSubstr;

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
    TinyModelOn model(*backend);
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
    TinyModelOn model(*backend);
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
    TinyModelOn a(*with_graphs), b(*without), profiled(*without, 64, true);
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
    const TinyModelOn model(*backend, 4);
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
    TinyModelOn model(*backend);
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
    TinyModelOn model(*backend);
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
    shape.head_dim = 258, shape.heads = shape.kv_heads = 1, shape.hidden = 16;
    ProgramBuilder builder(1);
    test::build_tiny_model(shape, builder);
    const auto backend = make_emulated();
    auto weights = backend->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
    ASSERT_TRUE(weights.ok());
    auto step = backend->compile(builder.program, *weights, {});
    ASSERT_FALSE(step.ok());
    EXPECT_EQ(step.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(step.error().message, HasSubstr("258"));
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

// Twenty rows and three more, one by one: the logits of the last row of each step.
std::vector<float> logits_of(Backend& backend, const TinyShape& shape, WeightType type) {
    ProgramBuilder builder(4);
    test::build_tiny_model(shape, builder);
    CompileOptions options;
    options.max_rows = options.max_logits_rows = 20;
    auto weights = backend.load_weights(builder.table, builder.program, type, {}, {});
    EXPECT_TRUE(weights.ok()) << weights.error().text();
    auto compiled = backend.compile(builder.program, *weights, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().text();
    const std::unique_ptr<CompiledStep> step = std::move(*compiled);
    const auto cache = TestCache::make(backend, {shape.layers, shape.kv_heads, shape.head_dim, 24, ElementType::I8,
                                                 ElementType::F16, test::Layout::Paged});
    std::vector<float> all;
    for (int first = 0; first < 23;) {
        const int rows = first == 0 ? 20 : 1;
        const std::vector<KvView> views = cache->views(first + rows);
        const StepResult result = test::run_step(
            backend, *step, StepCase::causal(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 5), first),
            {{0, rows, views}});
        EXPECT_TRUE(result.status.ok()) << result.status.error().text();
        all.insert(all.end(), result.logits.begin(), result.logits.end());
        first += rows;
    }
    return all;
}

TEST_F(CudaSteps, WholeModelsWithLargeHeads) {
    const auto reference = make_reference_backend();
    for (const int head_dim : {132, 256}) {
        TinyShape shape = tiny();
        shape.head_dim = head_dim, shape.type = ElementType::F32;
        EXPECT_LE(test::relative_difference(logits_of(*make_emulated(), shape, WeightType::AsInFile),
                                            logits_of(*reference, shape, WeightType::AsInFile)),
                  2e-5)
            << head_dim;
    }
}

// Products of many rows take the weights in f16, in one piece or in many: the same numbers.
TEST_F(CudaSteps, WholeModelsWithInt8Weights) {
    const auto reference = make_reference_backend();
    const std::vector<float> expected = logits_of(*reference, tiny(), WeightType::Int8);
    cuda::CudaBackendOptions options;
    std::vector<float> whole;
    for (const std::size_t bytes : {std::size_t{16} << 20, std::size_t{130}, std::size_t{1}}) {
        options.widened_bytes = bytes;
        const std::vector<float> got = logits_of(*make_emulated(options), tiny(), WeightType::Int8);
        EXPECT_LE(test::relative_difference(got, expected), 2e-3) << bytes;
        if (whole.empty()) whole = got;
        EXPECT_EQ(got, whole) << bytes;
    }
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
