#include "kernels/cpu/linear_stage.h"

#include <cblas.h>

#include <algorithm>

namespace decodescope {
namespace {

constexpr std::int64_t kStreamBytes = 96 * 1024;          // weights read per piece of a few-row product
constexpr std::int64_t kInt8Outputs = 4;                  // int8 weights made f32 at a time for a few rows
constexpr std::int64_t kBlockOutputs = 128;               // outputs of one tile of a many-row product
constexpr std::int64_t kTileRows = 256;  // rows of one tile; sgemm packs, so that few rows would be slow
constexpr std::int64_t kOwnTileRows = 96;                 // the own kernel packs nothing
constexpr std::int64_t kTileFlops = 40 * 1000 * 1000;     // at most, between two stop checks: under 5 ms at 10 GFLOP/s

// How the rows of one run are cut.
struct Tiling {
    std::int64_t tile_rows = 0;    // per tile
    std::int64_t row_groups = 1;   // chunks along the rows
    std::int64_t group_rows = 0;   // rows per chunk, a multiple of tile_rows
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Products that one chunk computes side by side: gate and up when the activation is fused, else one.
std::size_t products_per_chunk(const StepContext& context, const PlannedStage& stage) {
    return stage.epilogue != kNone && context.op(stage.epilogue).kind == OpKind::SwiGlu ? 2 : 1;
}

// Outputs of one chunk of few-row products.
std::int64_t few_row_outputs(const StepContext& context, const OpDesc& op, std::size_t products) {
    const std::int64_t row_bytes = weight_row_bytes(context.weight(op).type, op.in_width);
    const std::int64_t by_bytes =
        kStreamBytes / std::max<std::int64_t>(1, row_bytes * static_cast<std::int64_t>(products));
    const std::int64_t by_threads = divide_up(op.out_width, 4 * context.threads);
    // At least four outputs per stream, so that the four streams are apart.
    return std::clamp<std::int64_t>(std::min(by_bytes, by_threads), 16, 512) / 4 * 4;
}

Tiling many_row_tiling(const StepContext& context, std::int64_t rows, std::int64_t blocks) {
    Tiling tiling;
    tiling.tile_rows = context.own_products ? kOwnTileRows : kTileRows;
    const std::int64_t tiles = divide_up(rows, tiling.tile_rows);
    const std::int64_t wanted = std::min(tiles, divide_up(4 * context.threads, blocks));
    tiling.group_rows = divide_up(tiles, wanted) * tiling.tile_rows;
    tiling.row_groups = divide_up(rows, tiling.group_rows);
    return tiling;
}

// Where a chunk lies: the product (or the pair) and the tiling it is cut by.
struct Chunk {
    std::size_t product = 0;  // index into stage.ops of the first product
    std::int64_t first_output = 0, last_output = 0;
    // A chunk of few-row products has all such rows of the step, whose runs may lie apart.
    bool few = true;
    std::int64_t first_row = 0, last_row = 0;  // else: within one run
    std::int64_t tile_rows = 0;
};

class Chunks {
public:
    Chunks(const StepContext& context, const PlannedStage& stage)
        : context_(context),
          stage_(stage),
          products_(products_per_chunk(context, stage)) {
        for (const LinearRun& run : context.runs(stage.selected)) has_few_ = has_few_ || run.few;
        for (std::size_t p = 0; p < stage.ops.size(); p += products_)
            blocks_ += divide_up(context.op(stage.ops[p]).out_width, kBlockOutputs);
    }

    std::int64_t count() const {
        std::int64_t sum = has_few_ ? few_count() : 0;
        for (const LinearRun& run : context_.runs(stage_.selected))
            if (!run.few) sum += blocks_ * tiling_of(run).row_groups;
        return sum;
    }

    // The long ones come first, so that none is left for the end.
    Chunk at(std::int64_t index) const {
        for (const LinearRun& run : context_.runs(stage_.selected)) {
            if (run.few) continue;
            const Tiling tiling = tiling_of(run);
            if (index >= blocks_ * tiling.row_groups) {
                index -= blocks_ * tiling.row_groups;
                continue;
            }
            Chunk chunk = block_at(index / tiling.row_groups);
            const std::int64_t group = index % tiling.row_groups;
            chunk.first_row = run.first + group * tiling.group_rows;
            chunk.last_row = run.first + std::min((group + 1) * tiling.group_rows, run.count);
            chunk.tile_rows = tiling.tile_rows;
            return chunk;
        }
        return few_at(index);
    }

    std::size_t products() const { return products_; }

private:
    const OpDesc& op(std::size_t product) const { return context_.op(stage_.ops[product]); }
    Tiling tiling_of(const LinearRun& run) const { return many_row_tiling(context_, run.count, blocks_); }

    // The index-th block of outputs, counted through all products.
    Chunk block_at(std::int64_t index) const {
        for (std::size_t p = 0;; p += products_) {
            const std::int64_t here = divide_up(op(p).out_width, kBlockOutputs);
            if (index < here)
                return {p, index * kBlockOutputs, std::min((index + 1) * kBlockOutputs, op(p).out_width), false};
            index -= here;
        }
    }

    std::int64_t few_count() const {
        std::int64_t sum = 0;
        for (std::size_t p = 0; p < stage_.ops.size(); p += products_)
            sum += divide_up(op(p).out_width, few_row_outputs(context_, op(p), products_));
        return sum;
    }

    Chunk few_at(std::int64_t index) const {
        for (std::size_t p = 0;; p += products_) {
            const std::int64_t outputs = few_row_outputs(context_, op(p), products_);
            const std::int64_t here = divide_up(op(p).out_width, outputs);
            if (index < here) return {p, index * outputs, std::min((index + 1) * outputs, op(p).out_width)};
            index -= here;
        }
    }

    const StepContext& context_;
    const PlannedStage& stage_;
    std::size_t products_;
    bool has_few_ = false;
    std::int64_t blocks_ = 0;
};

// The operation after the products, on outputs first .. last - 1 of one row.
void run_epilogue(const StepContext& context, const OpDesc& op, std::int64_t row, std::int64_t first,
                  std::int64_t last) {
    const float* a = context.row(op.in0, row) + first;
    const float* b = op.in1 == kNone ? nullptr : context.row(op.in1, row) + first;
    float* out = context.row(op.out, row) + first;
    if (op.kind == OpKind::SwiGlu) context.kernels.swiglu(a, b, out, last - first);
    else if (op.kind == OpKind::GeluTanh) context.kernels.gelu_tanh(a, out, last - first);
    else context.kernels.add(a, b, out, last - first);
}

// int8 weights as f32 for several rows: so many outputs at a time that they stay in the nearest cache.
void run_int8_rows(const StepContext& context, const OpDesc& op, const Chunk& chunk, std::int64_t row, int rows,
                   int thread) {
    const HostTensor& weight = context.weight(op);
    const float* x = context.row(op.in0, row);
    const float* bias = context.bias(op);
    float* out = context.row(op.out, row);
    if (rows == 1)
        return context.kernels.int8_row(weight.data, op.in_width, x, bias, out, chunk.first_output, chunk.last_output);
    float* scratch = context.scratch(thread);
    for (std::int64_t o = chunk.first_output; o < chunk.last_output; o += kInt8Outputs) {
        const std::int64_t count = std::min(kInt8Outputs, chunk.last_output - o);
        for (std::int64_t i = 0; i < count; ++i)
            context.kernels.int8_row_to_f32(weight.row(o + i), op.in_width, 0, op.in_width, scratch + i * op.in_width);
        context.kernels.linear_rows[0](reinterpret_cast<const std::byte*>(scratch), op.in_width, x, op.in_width, rows,
                                       bias == nullptr ? nullptr : bias + o, out + o, op.out_width, 0, count);
    }
}

// All rows of a few-row chunk, kFewRows at a time; the chunk's weights come from memory once and stay near.
void run_few_rows(const StepContext& context, const PlannedStage& stage, const Chunk& chunk, std::size_t products,
                  int thread) {
    for (const LinearRun& run : context.runs(stage.selected)) {
        if (!run.few) continue;
        for (std::int64_t row = run.first; row < run.first + run.count; row += kFewRows) {
            const std::int64_t rows = std::min<std::int64_t>(kFewRows, run.first + run.count - row);
            for (std::size_t p = 0; p < products; ++p) {
                const OpDesc& op = context.op(stage.ops[chunk.product + p]);
                const HostTensor& weight = context.weight(op);
                if (!context.stop.begin(2 * rows * (chunk.last_output - chunk.first_output) * op.in_width)) return;
                if (weight.type == ElementType::I8) {
                    run_int8_rows(context, op, chunk, row, static_cast<int>(rows), thread);
                    continue;
                }
                context.kernels.linear_rows[static_cast<std::size_t>(weight.type)](
                    weight.data, op.in_width, context.row(op.in0, row), op.in_width, static_cast<int>(rows),
                    context.bias(op), context.row(op.out, row), op.out_width, chunk.first_output, chunk.last_output);
            }
            if (stage.epilogue == kNone) continue;
            for (std::int64_t r = row; r < row + rows; ++r)
                run_epilogue(context, context.op(stage.epilogue), r, chunk.first_output, chunk.last_output);
        }
    }
}

// Weights of the chunk's outputs as f32, [outputs, columns].
const float* block_weights(const StepContext& context, const OpDesc& op, const Chunk& chunk, float* scratch) {
    const HostTensor& weight = context.weight(op);
    if (weight.type == ElementType::F32) return reinterpret_cast<const float*>(weight.row(chunk.first_output));
    const std::int64_t count = (chunk.last_output - chunk.first_output) * op.in_width;
    if (weight.type == ElementType::I8) {
        for (std::int64_t o = chunk.first_output; o < chunk.last_output; ++o)
            context.kernels.int8_row_to_f32(weight.row(o), op.in_width, 0, op.in_width,
                                            scratch + (o - chunk.first_output) * op.in_width);
        return scratch;
    }
    context.kernels.to_f32[static_cast<std::size_t>(weight.type)](weight.row(chunk.first_output), scratch, count);
    return scratch;
}

// One tile, summed over pieces of the inputs so that each piece stays within kTileFlops. False when stopped.
bool run_tile(const StepContext& context, const OpDesc& op, const Chunk& chunk, const float* weights, std::int64_t row,
              std::int64_t row_end) {
    const std::int64_t outputs = chunk.last_output - chunk.first_output, width = op.in_width;
    float* out = context.row(op.out, row) + chunk.first_output;
    const std::int64_t pieces = divide_up(2 * chunk.tile_rows * kBlockOutputs * width, kTileFlops);
    const std::int64_t piece = divide_up(divide_up(width, pieces), 16) * 16;
    for (std::int64_t k = 0; k < width; k += piece) {
        const std::int64_t length = std::min(piece, width - k);
        if (!context.stop.begin(2 * (row_end - row) * outputs * length)) return false;
        if (context.own_products) {
            context.kernels.product(context.row(op.in0, row) + k, width, row_end - row, weights + k, width, outputs,
                                    length, k > 0, out, op.out_width);
            continue;
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(row_end - row), static_cast<int>(outputs),
                    static_cast<int>(length), 1.0f, context.row(op.in0, row) + k, static_cast<int>(width), weights + k,
                    static_cast<int>(width), k == 0 ? 0.0f : 1.0f, out, static_cast<int>(op.out_width));
    }
    const float* bias = context.bias(op);
    for (std::int64_t r = row; bias != nullptr && r < row_end; ++r, out += op.out_width)
        context.kernels.add(out, bias + chunk.first_output, out, outputs);
    return true;
}

void run_many_rows(const StepContext& context, const PlannedStage& stage, const Chunk& chunk, std::size_t products,
                   int thread) {
    const float* weights[2] = {};
    float* scratch = context.scratch(thread);
    for (std::size_t p = 0; p < products; ++p) {
        const OpDesc& op = context.op(stage.ops[chunk.product + p]);
        if (!context.stop.begin(0)) return;
        weights[p] = block_weights(context, op, chunk, scratch);
        scratch += kBlockOutputs * op.in_width;
    }
    for (std::int64_t row = chunk.first_row; row < chunk.last_row; row += chunk.tile_rows) {
        const std::int64_t row_end = std::min(row + chunk.tile_rows, chunk.last_row);
        for (std::size_t p = 0; p < products; ++p) {
            const OpDesc& op = context.op(stage.ops[chunk.product + p]);
            if (!run_tile(context, op, chunk, weights[p], row, row_end)) return;
        }
        if (stage.epilogue == kNone) continue;
        for (std::int64_t r = row; r < row_end; ++r)
            run_epilogue(context, context.op(stage.epilogue), r, chunk.first_output, chunk.last_output);
    }
}

// Rows of a sequence that are among the step's logits rows.
std::int64_t selected_rows(const StepInputs& inputs, const SequenceRows& sequence) {
    const auto from = std::lower_bound(inputs.logits_rows.begin(), inputs.logits_rows.end(), sequence.first_row);
    const auto to = std::lower_bound(from, inputs.logits_rows.end(), sequence.first_row + sequence.row_count);
    return to - from;
}

}  // namespace

std::vector<LinearRun> row_runs(const StepInputs& inputs, bool selected) {
    std::vector<LinearRun> runs;
    const auto add = [&runs](std::int64_t count) {
        if (count == 0) return;
        const bool few = count <= kFewRows;
        const std::int64_t first = runs.empty() ? 0 : runs.back().first + runs.back().count;
        if (few && !runs.empty() && runs.back().few) runs.back().count += count;
        else runs.push_back({first, count, few});
    };
    for (const SequenceRows& sequence : inputs.sequences)
        add(selected ? selected_rows(inputs, sequence) : sequence.row_count);
    // A program without a cache needs no sequences.
    if (inputs.sequences.empty())
        add(static_cast<std::int64_t>(selected ? inputs.logits_rows.size() : inputs.tokens.size()));
    return runs;
}

std::int64_t linear_chunks(const StepContext& context, const PlannedStage& stage) {
    return Chunks(context, stage).count();
}

void run_linear_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t index, int thread) {
    const Chunks chunks(context, stage);
    const Chunk chunk = chunks.at(index);
    if (chunk.few) run_few_rows(context, stage, chunk, chunks.products(), thread);
    else run_many_rows(context, stage, chunk, chunks.products(), thread);
}

std::int64_t linear_scratch_floats(const CpuStep& step) {
    std::int64_t floats = 0;
    for (const PlannedStage& stage : step.plan_.stages) {
        if (stage.kind != StageKind::Linear) continue;
        const std::int64_t rows = stage.selected ? step.limits_.max_logits_rows : step.limits_.max_rows;
        const OpDesc& first = step.program_.ops[static_cast<std::size_t>(stage.ops.front())];
        const std::int64_t width = first.in_width;
        if (rows > 1 && step.weights_->tensor(first.weight).type == ElementType::I8)
            floats = std::max(floats, kInt8Outputs * width);
        if (rows <= kFewRows) continue;
        const bool pair = stage.epilogue != kNone &&
                          step.program_.ops[static_cast<std::size_t>(stage.epilogue)].kind == OpKind::SwiGlu;
        floats = std::max(floats, (pair ? 2 : 1) * kBlockOutputs * width);
    }
    return floats;
}

}  // namespace decodescope
