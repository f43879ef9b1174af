// Attention of one decode step by format of K and V: the twelve layers of GPT-2 small (12 heads of 64), so that the
// cache of a step is read from memory as in a model, and nothing but attention. The formats take turns within one loop,
// so that a busy machine disturbs all alike; figures are medians.
//
//   kv_format_benchmark [REPEATS]                    environment: DECODESCOPE_THREADS (default: all cores)
// One JSON object on stdout.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "engine/cache/kv_residual.h"
#include "kernels/api/half.h"
#include "kernels/api/int8_row.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

constexpr int kLayers = 12, kHeads = 12, kHeadDim = 64;
constexpr const char* kFormats[] = {"f32", "f16", "int8", "int8-kivi", "k=int8,v=f16"};

int number_or(const char* text, int otherwise) {
    if (text != nullptr) std::from_chars(text, text + std::strlen(text), otherwise);
    return otherwise;
}

// Rows of one head as the format stores them.
std::vector<std::byte> stored_rows(const KvShape& shape, KvPart part, std::int64_t rows) {
    test::Random random(5);
    std::vector<float> x(static_cast<std::size_t>(rows * kHeadDim));
    for (float& value : x) value = random.uniform(-1.0f, 1.0f);
    std::vector<std::byte> out(static_cast<std::size_t>(shape.head_bytes(part, rows)));
    const std::int64_t group = shape.format.group;
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = x.data() + row * kHeadDim;
        if (shape.shares_scales(part)) {
            if (row % group == 0) quantize_group(from, group, kHeadDim, out.data() + shape.head_bytes(part, row));
            continue;
        }
        std::byte* to = out.data() + shape.head_bytes(part, row);
        switch (shape.format.type(part)) {
            case ElementType::F32: std::memcpy(to, from, kHeadDim * 4); break;
            case ElementType::I8: quantize_row(from, kHeadDim, to); break;
            default:
                for (int i = 0; i < kHeadDim; ++i) {
                    const std::uint16_t half = f32_to_f16(from[i]);
                    std::memcpy(to + i * 2, &half, 2);
                }
        }
    }
    return out;
}

// A filled cache and the views of a step that reads all of it.
struct FilledCache {
    KvShape shape;
    std::unique_ptr<KvStorage> storage;
    std::unique_ptr<KvResidual> residual;
    std::vector<KvView> views;

    FilledCache(const std::shared_ptr<Backend>& backend, const char* format, std::int64_t entries)
        : shape{kLayers, kHeads, kHeadDim, *parse_kv_format(format)} {
        storage = std::move(KvStorage::create(backend, shape, false, entries).value());
        if (shape.format.has_residual()) residual = std::move(KvResidual::create(backend, shape).value());
        for (const KvPart part : {KvPart::K, KvPart::V}) {
            const auto rows = stored_rows(shape, part, shape.part_rows(part, entries, false));
            for (int layer = 0; layer < kLayers; ++layer)
                for (int head = 0; head < kHeads; ++head)
                    DS_CHECK(storage->write_head(layer, part, head, 0, rows).ok());
        }
        EntryTable table;
        table.count = static_cast<std::int32_t>(entries);
        for (int layer = 0; layer < kLayers; ++layer) {
            views.push_back(storage->view(layer, table, nullptr));
            if (residual == nullptr) continue;
            residual->attach(layer, entries - 1, views.back());
            for (const KvSide* side : {&views.back().k, &views.back().v})
                if (side->tail != nullptr)
                    std::memset(side->tail, 0, static_cast<std::size_t>(kHeads * side->tail_head_stride * 4));
        }
    }
};

// Nothing but attention: the query goes through the layers' caches one after the other.
void build_attention(test::ProgramBuilder& builder) {
    const int width = kHeads * kHeadDim;
    int in = builder.value("q", width);
    builder.embed(builder.tensor(1, width, ElementType::F32, 1.0f), in);
    builder.program.layers = kLayers;
    for (int layer = 0; layer < kLayers; ++layer) {
        const int out = builder.value("out", width);
        OpDesc& op = builder.op(OpId::Attention, OpKind::Attention, layer, in, out);
        op.heads = op.kv_heads = kHeads;
        op.head_dim = kHeadDim;
        op.scale = 0.125f;
        in = out;
    }
    builder.program.vocabulary = width;
    builder.program.logits_value = builder.value("logits", width, true);
    builder.select(in, builder.program.logits_value);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

int run(int repeats) {
    CpuBackendOptions options;
    options.threads = number_or(std::getenv("DECODESCOPE_THREADS"),
                                static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
    const std::shared_ptr<Backend> backend = std::move(make_cpu_backend(options).value());
    test::ProgramBuilder builder(3);
    build_attention(builder);
    auto weights = backend->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
    auto step = backend->compile(builder.program, *weights, {});
    std::string rows;
    for (const std::int64_t entries : {1024, 2048, 4096}) {
        std::vector<FilledCache> caches;
        for (const char* format : kFormats) caches.emplace_back(backend, format, entries);
        const auto token = test::StepCase::causal({0}, static_cast<std::int32_t>(entries) - 1);
        std::vector<std::vector<double>> micros(caches.size());
        for (int repeat = -2; repeat < repeats; ++repeat) {
            for (std::size_t i = 0; i < caches.size(); ++i) {
                const auto result = test::run_step(*backend, **step, token, {{0, 1, caches[i].views}});
                DS_CHECK(result.status.ok());
                if (repeat >= 0) micros[i].push_back(result.outputs.micros);
            }
        }
        for (std::size_t i = 0; i < caches.size(); ++i) {
            const double time = median(micros[i]);
            const auto bytes = static_cast<double>(caches[i].shape.stored_bytes(entries));
            rows += fmt::format(
                "{}\n  {{\"entries\": {}, \"kv_type\": \"{}\", \"micros\": {:.1f}, \"gb_per_s\": {:.2f}, "
                "\"speedup_over_f32\": {:.2f}}}",
                rows.empty() ? "" : ",", entries, kFormats[i], time, bytes / time / 1e3, median(micros[0]) / time);
        }
    }
    fmt::print("{{\"threads\": {}, \"instruction_set\": \"{}\", \"layers\": {}, \"heads\": {}, \"head_dim\": {}, "
               "\"repeats\": {}, \"rows\": [{}]}}\n",
               options.threads, backend->info().instruction_set, kLayers, kHeads, kHeadDim, repeats, rows);
    return 0;
}

}  // namespace
}  // namespace decodescope

int main(int argc, char** argv) { return decodescope::run(decodescope::number_or(argc > 1 ? argv[1] : nullptr, 25)); }
