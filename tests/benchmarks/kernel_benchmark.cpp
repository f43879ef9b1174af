// The CPU backend against what the machine can do: products of one row against a plain read of as many bytes, batched
// products against OpenBLAS, a decode step with and without captured attention. What is compared runs in turn within
// one loop, so that a busy machine disturbs both sides alike; the counters are ratios of medians.
//
//   kernel_benchmark [--benchmark_filter=...]        environment: DECODESCOPE_THREADS (default: all cores),
//                                                   DECODESCOPE_INSTRUCTION_SET (default: the best)
//
// OpenBLAS falls back to 128-bit code on processors that are newer than it is: OPENBLAS_CORETYPE=SkylakeX (AVX-512) or
// Haswell (AVX2) gives it the code that it would have.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/machine_rates.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/reference/host_weights.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

using Clock = std::chrono::steady_clock;
using test::CacheShape;
using test::ProgramBuilder;
using test::StepCase;
using test::TestCache;
using test::TinyShape;

int thread_count() {
    int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    if (const char* text = std::getenv("DECODESCOPE_THREADS")) std::from_chars(text, text + std::strlen(text), threads);
    return threads;
}

double seconds_of(const std::function<void()>& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

// Reads a buffer with all threads: what memory gives.
class PlainRead final : public StageWork {
public:
    PlainRead(std::int64_t bytes, int threads) : pool_(threads), floats_(static_cast<std::size_t>(bytes / 4), 1.0f) {}
    int stages() const override { return 1; }
    std::int64_t chunks(int) const override { return static_cast<std::int64_t>(floats_.size()) / kChunk; }
    void run_chunk(int, std::int64_t chunk, int) override {
        benchmark::DoNotOptimize(cpu_kernel_tables().front().read_sum(floats_.data() + chunk * kChunk, kChunk));
    }
    void run() { pool_.run(*this); }
    double bytes() const { return static_cast<double>(chunks(0) * kChunk) * 4.0; }

private:
    static constexpr std::int64_t kChunk = 64 * 1024;
    ThreadPool pool_;
    std::vector<float> floats_;
};

// A compiled program on the CPU backend.
struct Machine {
    std::unique_ptr<Backend> backend;
    std::unique_ptr<CompiledStep> step;
    Machine(const ProgramBuilder& builder, int rows, int logits_rows, WeightType kept = WeightType::AsInFile) {
        CpuBackendOptions options;
        options.threads = thread_count();
        if (const char* name = std::getenv("DECODESCOPE_INSTRUCTION_SET")) options.instruction_set = name;
        backend = std::move(make_cpu_backend(options).value());
        auto weights = backend->load_weights(builder.table, builder.program, kept, {}, {});
        CompileOptions compile;
        compile.max_rows = rows;
        compile.max_logits_rows = logits_rows;
        step = std::move(backend->compile(builder.program, weights.value(), compile).value());
    }
};

// What products read of each token.
std::int64_t bytes_read(const StepProgram& program, const WeightTable& table, WeightType kept) {
    std::int64_t bytes = 0;
    for (const OpDesc& op : program.ops) {
        if (op.kind != OpKind::Linear) continue;
        const ElementType type = kept_type(table.tensors[static_cast<std::size_t>(op.weight)], kept);
        bytes += op.out_width * weight_row_bytes(type, op.in_width);
    }
    return bytes;
}

// One matrix [outputs, columns] times rows; the result is all of the logits.
void build_product(ProgramBuilder& builder, int rows, int columns, int outputs, ElementType type) {
    const int in = builder.value("in", columns), out = builder.value("out", outputs);
    builder.embed(builder.tensor(rows, columns, ElementType::F32, 1.0f), in);
    builder.linear(OpId::UpProjection, kNone, in, out, builder.tensor(outputs, columns, type, 0.1f));
    builder.program.vocabulary = outputs;
    builder.program.logits_value = builder.value("logits", outputs, true);
    builder.select(out, builder.program.logits_value);
}

StepCase product_rows(int rows) {
    StepCase step;
    for (int r = 0; r < rows; ++r) {
        step.tokens.push_back(r);
        step.positions.push_back(r);
        step.visibility.push_back({r, 0, 0});
    }
    return step;
}

const char* const kTypeNames[] = {"f32", "f16", "bf16", "int8"};
constexpr WeightType kKept[] = {WeightType::F32, WeightType::F16, WeightType::BF16, WeightType::Int8};

void one_row_product(benchmark::State& state) {
    const WeightType kept = kKept[state.range(0)];
    ProgramBuilder builder(1);
    build_product(builder, 1, 768, 131072, ElementType::F32);
    Machine machine(builder, 1, 1, kept);
    const StepCase rows = product_rows(1);
    PlainRead read(bytes_read(builder.program, builder.table, kept), thread_count());
    std::vector<double> product, plain;
    for (auto _ : state) {
        plain.push_back(seconds_of([&] { read.run(); }));
        product.push_back(test::run_step(*machine.backend, *machine.step, rows, {}).outputs.micros * 1e-6);
        state.SetIterationTime(product.back());
    }
    state.SetLabel(kTypeNames[state.range(0)]);
    state.counters["read_GB/s"] = read.bytes() / median(plain) / 1e9;
    state.counters["product_GB/s"] = read.bytes() / median(product) / 1e9;
    state.counters["share_of_read"] = median(plain) / median(product);
}
BENCHMARK(one_row_product)->DenseRange(0, 3)->Iterations(25)->UseManualTime()->Unit(benchmark::kMillisecond);

// gpt2-small with a cache of `range` entries: weights and cache against a plain read of as many bytes.
TinyShape gpt2_small() {
    TinyShape shape;
    shape.llama = false, shape.layers = 12, shape.hidden = 768, shape.heads = shape.kv_heads = 12, shape.head_dim = 64;
    shape.feed_forward = 3072, shape.vocabulary = 50257, shape.context = 2100, shape.type = ElementType::F16,
    shape.tied = true;
    return shape;
}

struct Decoder {
    ProgramBuilder builder{2};
    std::unique_ptr<Machine> machine;
    std::unique_ptr<TestCache> cache;
    std::vector<KvView> views;
    StepCase rows;
    std::int64_t bytes = 0;

    Decoder(int depth, int new_rows, WeightType kept) {
        const TinyShape shape = gpt2_small();
        test::build_tiny_model(shape, builder);
        machine = std::make_unique<Machine>(builder, new_rows, 1, kept);
        cache = TestCache::make(*machine->backend,
                                {shape.layers, 12, 64, depth + new_rows, ElementType::F16, ElementType::F16});
        test::Random random(3);
        std::vector<float> k(768), v(768);
        for (std::int32_t entry = 0; entry < depth; ++entry)
            for (int layer = 0; layer < shape.layers; ++layer) {
                for (float& x : k) x = random.uniform(-1, 1);
                for (float& x : v) x = random.uniform(-1, 1);
                cache->write(layer, entry, k, v);
            }
        views = cache->views(depth + new_rows);
        rows = StepCase::causal(std::vector<std::int32_t>(static_cast<std::size_t>(new_rows), 5), depth);
        rows.logits_rows = {new_rows - 1};
        bytes = bytes_read(builder.program, builder.table, kept) + std::int64_t{12} * (depth + 1) * 768 * 2 * 2;
    }
    double run(bool capture) {
        const auto rows_count = static_cast<std::int32_t>(rows.tokens.size());
        return test::run_step(*machine->backend, *machine->step, rows, {{0, rows_count, views}}, {capture, 0, {}})
                   .outputs.micros *
               1e-6;
    }
};

void gpt2_small_decode(benchmark::State& state) {
    const WeightType kept = kKept[state.range(1)];
    state.SetLabel(kTypeNames[state.range(1)]);
    Decoder decoder(static_cast<int>(state.range(0)), 1, kept);
    PlainRead read(decoder.bytes, thread_count());
    std::vector<double> plain, step, captured, extra;
    for (auto _ : state) {
        plain.push_back(seconds_of([&] { read.run(); }));
        step.push_back(decoder.run(false));
        captured.push_back(decoder.run(true));
        extra.push_back(captured.back() / step.back());
        state.SetIterationTime(step.back());
    }
    state.counters["read_GB/s"] = read.bytes() / median(plain) / 1e9;
    state.counters["step_GB/s"] = read.bytes() / median(step) / 1e9;
    state.counters["share_of_read"] = median(plain) / median(step);
    state.counters["capture/plain"] = median(extra);
}
BENCHMARK(gpt2_small_decode)
    ->ArgNames({"depth", "type"})
    ->Args({0, 1})
    ->Args({1024, 1})
    ->Args({2047, 1})
    ->Args({1024, 0})
    ->Args({1024, 3})
    ->Iterations(25)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// The whole forward pass over a text: what recomputing costs.
void gpt2_small_forward(benchmark::State& state) {
    state.SetLabel(kTypeNames[state.range(1)]);
    Decoder decoder(0, static_cast<int>(state.range(0)), kKept[state.range(1)]);
    std::vector<double> step;
    for (auto _ : state) {
        step.push_back(decoder.run(false));
        state.SetIterationTime(step.back());
    }
    const double tokens = static_cast<double>(state.range(0));
    const double flops =
        2.0 * 12 * 12 * 768 * 768 * tokens + 2.0 * 12 * 768 * tokens * tokens;  // causal attention: half of 4
    state.counters["GFLOP/s"] = flops / median(step) / 1e9;
}
BENCHMARK(gpt2_small_forward)
    ->ArgNames({"tokens", "type"})
    ->Args({256, 1})
    ->Args({1024, 1})
    ->Args({256, 3})
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// rows x columns -> outputs; OpenBLAS gets the weights as f32 and its own threads.
void batched_product(benchmark::State& state) {
    const int rows = static_cast<int>(state.range(0)), columns = static_cast<int>(state.range(1));
    const int outputs = static_cast<int>(state.range(2));
    ProgramBuilder builder(4);
    build_product(builder, rows, columns, outputs, ElementType::F32);
    Machine machine(builder, rows, 1, kKept[state.range(3)]);
    const StepCase step = product_rows(rows);
    std::vector<float> a(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 0.5f);
    std::vector<float> b(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(columns), 0.5f);
    std::vector<float> c(static_cast<std::size_t>(rows) * static_cast<std::size_t>(outputs));
    std::vector<double> own, blas;
    for (auto _ : state) {
        openblas_set_num_threads(thread_count());
        blas.push_back(seconds_of([&] {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, outputs, columns, 1.0f, a.data(), columns,
                        b.data(), columns, 0.0f, c.data(), outputs);
        }));
        openblas_set_num_threads(1);
        own.push_back(test::run_step(*machine.backend, *machine.step, step, {}).outputs.micros * 1e-6);
        state.SetIterationTime(own.back());
    }
    const double flops = 2.0 * rows * columns * outputs;
    state.SetLabel(kTypeNames[state.range(3)]);
    state.counters["blas_GFLOP/s"] = flops / median(blas) / 1e9;
    state.counters["own_GFLOP/s"] = flops / median(own) / 1e9;
    state.counters["share_of_blas"] = median(blas) / median(own);
}
BENCHMARK(batched_product)
    ->ArgNames({"rows", "in", "out", "type"})
    ->Args({1024, 768, 3072, 1})
    ->Args({1024, 3072, 768, 1})
    ->Args({1024, 768, 768, 1})
    ->Args({1024, 768, 3072, 0})
    ->Args({1024, 768, 3072, 3})
    ->Args({256, 768, 3072, 1})
    ->Args({64, 768, 3072, 1})
    ->Args({16, 768, 3072, 1})
    ->Args({8, 768, 3072, 1})
    ->Args({4, 768, 3072, 1})
    ->Iterations(15)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void machine(benchmark::State& state) {
    MachineRates rates;
    for (auto _ : state) rates = measure_machine_rates(thread_count(), {});
    state.counters["read1_GB/s"] = rates.read_gb_s_1;
    state.counters["readN_GB/s"] = rates.read_gb_s_all;
    state.counters["fma1_GFLOP/s"] = rates.gflops_1;
    state.counters["fmaN_GFLOP/s"] = rates.gflops_all;
}
BENCHMARK(machine)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace decodescope

BENCHMARK_MAIN();
