// Memory, cancelling, refusals: what a backend does when things go wrong.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

using test::CacheShape;
using test::ProgramBuilder;
using test::StepCase;
using test::TestCache;
using test::TinyShape;

std::unique_ptr<Backend> make_cpu(CpuBackendOptions options = {}) {
    if (options.threads == 0) options.threads = 2;
    return std::move(make_cpu_backend(options).value());
}

// What happened when a tiny model was loaded, compiled and run once; the error of the first thing that failed.
Status whole_run(Backend& backend, const ProgramBuilder& builder, const TinyShape& shape, int rows,
                 std::stop_token stop = {}) {
    auto weights = backend.load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
    if (!weights.ok()) return weights.error();
    CompileOptions options;
    options.max_rows = options.max_logits_rows = rows;
    auto step = backend.compile(builder.program, weights.value(), options);
    if (!step.ok()) return step.error();
    const auto cache = TestCache::make(backend, {shape.layers, shape.kv_heads, shape.head_dim, rows});
    if (cache == nullptr) return make_error(ErrorKind::Memory, "no memory for the cache");
    const std::vector<KvView> views = cache->views(rows);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows), 1);
    return test::run_step(backend, *step.value(), StepCase::causal(tokens, 0), {{0, rows, views}}, {true, 0, stop})
        .status;
}

TEST(BackendMemory, CountsByPurposeAndPeaks) {
    for (const bool reference : {true, false}) {
        const std::unique_ptr<Backend> backend = reference ? make_reference_backend() : make_cpu();
        auto one = backend->allocate(1000, MemoryPurpose::KvCache);
        {
            auto two = backend->allocate(std::size_t{8} << 20, MemoryPurpose::Staging);
            ASSERT_TRUE(one.ok() && two.ok());
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(two.value()->data()) % 64, 0u);
            std::memset(two.value()->data(), 1, two.value()->bytes());
            const MemoryCounts counts = backend->memory();
            EXPECT_EQ(counts.bytes[1], 1000);
            EXPECT_EQ(counts.bytes[3], std::int64_t{8} << 20);
            EXPECT_EQ(counts.allocations[3], 1);
            EXPECT_EQ(counts.total_bytes(), 1000 + (std::int64_t{8} << 20));
        }
        EXPECT_EQ(backend->memory().bytes[3], 0);
        EXPECT_EQ(backend->memory().peak_bytes[3], std::int64_t{8} << 20);
        backend->reset_peaks();
        EXPECT_EQ(backend->memory().peak_bytes[3], 0);
        EXPECT_EQ(backend->memory().peak_bytes[1], 1000);
    }
}

TEST(BackendMemory, RefusesWithBothNumbers) {
    CpuBackendOptions options;
    options.memory_limit_bytes = 5000;
    const auto backend = make_cpu(options);
    auto kept = backend->allocate(2000, MemoryPurpose::Weights);
    ASSERT_TRUE(kept.ok());
    const auto refused = backend->allocate(3001, MemoryPurpose::KvCache);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Memory);
    EXPECT_NE(refused.error().message.find("3001"), std::string::npos);
    EXPECT_NE(refused.error().message.find("3000"), std::string::npos);
    EXPECT_TRUE(backend->allocate(3000, MemoryPurpose::KvCache).ok());
    const auto huge = make_cpu()->allocate(std::numeric_limits<std::size_t>::max() - 5, MemoryPurpose::Weights);
    ASSERT_FALSE(huge.ok());
    EXPECT_EQ(huge.error().kind, ErrorKind::Memory);
}

TEST(BackendMemory, EveryFailedAllocationIsAnErrorAndLeaksNothing) {
    TinyShape shape;
    ProgramBuilder builder(1);
    test::build_tiny_model(shape, builder);
    int failures = 0;
    for (std::int64_t n = 1; n < 100; ++n) {
        CpuBackendOptions options;
        options.fail_allocation = n;
        const auto backend = make_cpu(options);
        const Status status = whole_run(*backend, builder, shape, 20);
        EXPECT_EQ(backend->memory().total_bytes(), 0);
        if (status.ok()) break;
        EXPECT_EQ(status.error().kind, ErrorKind::Memory) << status.error().text();
        ++failures;
    }
    EXPECT_GE(failures, 5);  // weights, activations, scratch, cache, rotation table
}

TEST(BackendMemory, MovesAreBoundsChecked) {
    for (const bool reference : {true, false}) {
        const std::unique_ptr<Backend> backend = reference ? make_reference_backend() : make_cpu();
        auto buffer = backend->allocate(64, MemoryPurpose::KvCache);
        auto other = backend->allocate(64, MemoryPurpose::KvCache);
        std::vector<std::byte> bytes(32, std::byte{7});
        EXPECT_TRUE(backend->upload(*buffer.value(), 32, bytes).ok());
        EXPECT_FALSE(backend->upload(*buffer.value(), 33, bytes).ok());
        EXPECT_FALSE(backend->download(*buffer.value(), 65, bytes).ok());
        // Two runs of 8 bytes, 16 apart, to 24 apart.
        EXPECT_TRUE(backend->copy(*buffer.value(), 32, 16, *other.value(), 8, 24, 8, 2).ok());
        std::vector<std::byte> back(64);
        EXPECT_TRUE(backend->download(*other.value(), 0, back).ok());
        EXPECT_EQ(back[8], std::byte{7});
        EXPECT_EQ(back[32], std::byte{7});
        EXPECT_FALSE(backend->copy(*buffer.value(), 40, 24, *other.value(), 0, 24, 8, 2).ok());
    }
}

#ifdef DECODESCOPE_DEBUG
TEST(BackendMemory, FreshCacheMemoryIsNanInDebugBuilds) {
    const auto backend = make_cpu();
    auto buffer = backend->allocate(64, MemoryPurpose::KvCache);
    float value = 0;
    std::memcpy(&value, buffer.value()->data(), sizeof value);
    EXPECT_TRUE(std::isnan(value));
}
#endif

TEST(BackendWeights, ProgressCancelAndTypes) {
    TinyShape shape;
    shape.type = ElementType::BF16;
    ProgramBuilder builder(2);
    test::build_tiny_model(shape, builder);
    const auto backend = make_cpu();
    std::int64_t last = -1, total = -2;
    auto weights = backend->load_weights(builder.table, builder.program, WeightType::F16,
                                         [&](std::int64_t done, std::int64_t of) {
                                             EXPECT_GT(done, last);
                                             last = done;
                                             total = of;
                                         },
                                         {});
    ASSERT_TRUE(weights.ok());
    EXPECT_EQ(last, total);
    EXPECT_EQ((*weights)->matrix_type(), ElementType::F16);
    EXPECT_EQ((*weights)->bytes(), backend->memory().bytes[0]);
    std::stop_source stop;
    stop.request_stop();
    const auto cancelled = backend->load_weights(builder.table, builder.program, WeightType::F16, {}, stop.get_token());
    ASSERT_FALSE(cancelled.ok());
    EXPECT_EQ(cancelled.error().kind, ErrorKind::Cancelled);
    EXPECT_EQ(backend->memory().allocations[0], 1);
}

TEST(BackendWeights, RefusesWhatDoesNotFit) {
    TinyShape shape;
    for (const bool reference : {true, false}) {
        const std::unique_ptr<Backend> backend = reference ? make_reference_backend() : make_cpu();
        ProgramBuilder builder(3);
        test::build_tiny_model(shape, builder);
        WeightTable table = builder.table;
        table.tensors[2].rows += 1;
        auto result = backend->load_weights(table, builder.program, WeightType::F32, {}, {});
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().kind, ErrorKind::Model);
        EXPECT_NE(result.error().message.find("tensor.2"), std::string::npos) << result.error().message;
        table = builder.table;
        table.tensors[1].data = nullptr;
        EXPECT_FALSE(backend->load_weights(table, builder.program, WeightType::F32, {}, {}).ok());
        StepProgram program = builder.program;
        program.ops.back().weight = 999;
        EXPECT_FALSE(backend->load_weights(builder.table, program, WeightType::F32, {}, {}).ok());
    }
}

TEST(BackendWeights, OtherBackendsWeightsAreRefused) {
    TinyShape shape;
    ProgramBuilder builder(4);
    test::build_tiny_model(shape, builder);
    const auto cpu = make_cpu();
    auto step = cpu->compile(builder.program, nullptr, {});
    ASSERT_FALSE(step.ok());
    EXPECT_EQ(step.error().kind, ErrorKind::Argument);
}

TEST(BackendOptions, UnknownInstructionSetAndThreadCount) {
    auto unknown = make_cpu_backend({.instruction_set = "MMX"});
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(unknown.error().text().find(cpu_instruction_sets().front()), std::string::npos) << unknown.error().text();
    EXPECT_FALSE(make_cpu_backend({.threads = -1}).ok());
    EXPECT_FALSE(make_cpu_backend({.threads = 100000}).ok());
}

TEST(BackendCancel, NothingRunsAfterAStop) {
    TinyShape shape;
    ProgramBuilder builder(5);
    test::build_tiny_model(shape, builder);
    std::atomic<int> tiles{0};
    CpuBackendOptions options;
    options.on_tile = [&](std::int64_t) { ++tiles; };
    const auto backend = make_cpu(options);
    std::stop_source stop;
    stop.request_stop();
    const Status status = whole_run(*backend, builder, shape, 20, stop.get_token());
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::Cancelled);
    EXPECT_EQ(tiles.load(), 0);
    const auto reference = make_reference_backend();
    EXPECT_EQ(whole_run(*reference, builder, shape, 3, stop.get_token()).error().kind, ErrorKind::Cancelled);
}

// Counted, not timed: after the stop each thread ends the tile it is in, and no tile is large.
TEST(BackendCancel, EndsAtTheNextTileAndTilesAreSmall) {
    TinyShape shape;
    shape.hidden = 512, shape.feed_forward = 1400, shape.layers = 1, shape.vocabulary = 900, shape.context = 600;
    ProgramBuilder builder(6);
    test::build_tiny_model(shape, builder);
    constexpr int kThreads = 2;
    std::atomic<std::int64_t> largest{0}, tiles{0}, after{0};
    std::stop_source* source = nullptr;
    CpuBackendOptions options;
    options.threads = kThreads;
    options.on_tile = [&](std::int64_t flops) {
        if (source != nullptr && source->stop_requested()) ++after;
        std::int64_t seen = largest.load();
        while (flops > seen && !largest.compare_exchange_weak(seen, flops)) {}
        if (++tiles == 40 && source != nullptr) source->request_stop();
    };
    const auto backend = make_cpu(options);
    EXPECT_TRUE(whole_run(*backend, builder, shape, 500).ok());
    const std::int64_t all = tiles.load();
    EXPECT_LE(largest.load(), 40 * 1000 * 1000 + 1000 * 1000);  // under 5 ms at 10 GFLOP/s
    EXPECT_GT(all, 100);
    tiles = 0;
    std::stop_source stop;
    source = &stop;
    const Status status = whole_run(*backend, builder, shape, 500, stop.get_token());
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::Cancelled);
    EXPECT_LE(after.load(), kThreads);  // begun before the stop, counted after it
    EXPECT_LT(tiles.load(), all);
}

class BackendRefusals : public testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        backend_ = GetParam() ? make_reference_backend() : make_cpu();
        shape_.llama = false;
        test::build_tiny_model(shape_, builder_);
        auto weights = backend_->load_weights(builder_.table, builder_.program, WeightType::AsInFile, {}, {});
        CompileOptions options;
        options.max_rows = 4;
        options.max_logits_rows = 2;
        step_ = std::move(backend_->compile(builder_.program, weights.value(), options).value());
        cache_ = TestCache::make(*backend_, {shape_.layers, shape_.kv_heads, shape_.head_dim, 16});
        views_ = cache_->views(3);
        rows_ = StepCase::causal({1, 2, 3}, 0);
        rows_.logits_rows = {2};
    }
    Status run() { return test::run_step(*backend_, *step_, rows_, {{0, count_, views_}}, {capture_, 0, {}}).status; }
    void expect_refused(const char* part) {
        const Status status = run();
        ASSERT_FALSE(status.ok()) << part;
        EXPECT_EQ(status.error().kind, ErrorKind::Argument);
        EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
    }

    std::unique_ptr<Backend> backend_;
    TinyShape shape_;
    ProgramBuilder builder_{7};
    std::unique_ptr<CompiledStep> step_;
    std::unique_ptr<TestCache> cache_;
    std::vector<KvView> views_;
    StepCase rows_;
    std::int32_t count_ = 3;
    bool capture_ = false;
};

TEST_P(BackendRefusals, GoodStepRuns) { EXPECT_TRUE(run().ok()); }

TEST_P(BackendRefusals, NoLogitsWantedIsFine) {
    rows_.logits_rows.clear();
    EXPECT_TRUE(run().ok());
}

TEST_P(BackendRefusals, TokenOutsideTheVocabulary) {
    rows_.tokens[1] = shape_.vocabulary;
    expect_refused("Token id 37");
    rows_.tokens[1] = -1;
    expect_refused("Token id -1");
}

TEST_P(BackendRefusals, PositionOutsideTheContext) {
    rows_.positions[2] = shape_.context;
    expect_refused("Position 160");
}

TEST_P(BackendRefusals, LogitsRows) {
    rows_.logits_rows = {3};
    expect_refused("Row 3");
    rows_.logits_rows = {1, 1};
    expect_refused("Row 1");
    rows_.logits_rows = {0, 1, 2};
    expect_refused("3 rows");
}

TEST_P(BackendRefusals, SequencesThatDoNotCoverTheRows) {
    count_ = 2;
    expect_refused("2 of 3");
    count_ = 4;
    expect_refused("more rows");
}

TEST_P(BackendRefusals, StoreEntries) {
    const std::vector<std::int32_t> outside = {0, 1, 3}, twice = {0, 2, 2};
    views_ = cache_->views(3, nullptr, outside.data());
    expect_refused("entry 3");
    views_ = cache_->views(3, nullptr, twice.data());
    expect_refused("entry 2");
    views_ = cache_->views(2);
    expect_refused("2 entries");
}

TEST_P(BackendRefusals, CacheOfAnotherShape) {
    views_[1].head_dim = 8;
    expect_refused("heads of 8");
    views_.pop_back();
    expect_refused("1 layers");
}

INSTANTIATE_TEST_SUITE_P(Kernels, BackendRefusals, testing::Bool(),
                         [](const auto& info) { return info.param ? "reference" : "cpu"; });

TEST(BackendStages, CoverEveryOperationOnceAndAreTimed) {
    for (const bool llama : {true, false})
        for (const bool reference : {true, false}) {
            const std::unique_ptr<Backend> backend = reference ? make_reference_backend() : make_cpu();
            TinyShape shape;
            shape.llama = llama;
            ProgramBuilder builder(8);
            test::build_tiny_model(shape, builder);
            auto weights = backend->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
            CompileOptions options;
            options.profile = true;
            auto step = std::move(backend->compile(builder.program, weights.value(), options).value());
            std::vector<int> covered;
            for (const Stage& stage : step->stages()) {
                EXPECT_FALSE(stage.name.empty());
                covered.insert(covered.end(), stage.ops.begin(), stage.ops.end());
            }
            for (std::size_t i = 0; i < covered.size(); ++i) EXPECT_EQ(covered[i], static_cast<int>(i));
            EXPECT_EQ(covered.size(), builder.program.ops.size());
            const auto cache = TestCache::make(*backend, {shape.layers, shape.kv_heads, shape.head_dim, 4});
            const std::vector<KvView> views = cache->views(1);
            const auto result = test::run_step(*backend, *step, StepCase::causal({1}, 0), {{0, 1, views}});
            EXPECT_EQ(result.outputs.stage_micros.size(), step->stages().size());
            double sum = 0;
            for (const double micros : result.outputs.stage_micros) sum += micros;
            EXPECT_LE(sum, result.outputs.micros);
            EXPECT_GT(step->activation_bytes(), 0);
            EXPECT_EQ(step->activation_bytes(), backend->memory().bytes[2]);
        }
}

}  // namespace
}  // namespace decodescope
