#include "kernels/cpu/linear_stage.h"

#include <algorithm>

namespace decodescope {
namespace {

constexpr std::int64_t kStreamBytes = 96 * 1024;       // weights that a chunk of a product of few rows reads, about
constexpr std::int64_t kBlockPanels = 24;              // at most, of a chunk of a product of many rows
constexpr std::int64_t kLeastPanels = 2;               // of a chunk: one stream alone would be slow
constexpr std::int64_t kChunksPerThread = 4;           // so that all threads end at about the same time
// Between two stop checks a tile has at most 2 * kManyRows * 16 kBlockPanels * kPieceColumns FLOPs: 4 ms at 10
// GFLOP/s.

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Products that one chunk computes side by side: gate and up when the activation is fused, else one.
std::size_t products_per_chunk(const StepContext& context, const PlannedStage& stage) {
    return stage.epilogue != kNone && context.op(stage.epilogue).kind == OpKind::SwiGlu ? 2 : 1;
}

struct Chunk {
    std::size_t product = 0;  // index into stage.ops of the first product
    std::int64_t first_panel = 0, last_panel = 0;
    std::int64_t first_row = 0, last_row = 0;
};

// How the products of a stage are cut.
class Chunks {
public:
    Chunks(const StepContext& context, const PlannedStage& stage)
        : context_(context),
          stage_(stage),
          products_(products_per_chunk(context, stage)),
          rows_(context.rows(stage.selected)),
          few_(rows_ <= context.kernels.few_row_limit) {
        const std::int64_t wanted = kChunksPerThread * context.threads;
        const std::int64_t tiles = few_ ? 1 : divide_up(rows_, kManyRows);
        std::int64_t panels = 0, blocks = 0;
        for (std::size_t p = 0; p < stage.ops.size(); p += products_) panels += panels_of(p);
        most_panels_ = std::max(kLeastPanels, panels * tiles / wanted);
        for (std::size_t p = 0; p < stage.ops.size(); p += products_)
            blocks += divide_up(panels_of(p), chunk_panels(p));
        const std::int64_t groups = std::min(tiles, divide_up(wanted, std::max<std::int64_t>(blocks, 1)));
        group_rows_ = few_ ? rows_ : divide_up(tiles, std::max<std::int64_t>(groups, 1)) * kManyRows;
        row_groups_ = rows_ == 0 ? 0 : divide_up(rows_, group_rows_);
        blocks_ = blocks;
    }

    std::int64_t count() const { return blocks_ * row_groups_; }
    std::size_t products() const { return products_; }
    bool few() const { return few_; }

    Chunk at(std::int64_t index) const {
        const std::int64_t first_row = index % row_groups_ * group_rows_;
        index /= row_groups_;
        for (std::size_t p = 0;; p += products_) {
            const std::int64_t panels = chunk_panels(p), here = divide_up(panels_of(p), panels);
            if (index < here)
                return {p, index * panels, std::min((index + 1) * panels, panels_of(p)), first_row,
                        std::min(first_row + group_rows_, rows_)};
            index -= here;
        }
    }

private:
    const OpDesc& op(std::size_t product) const { return context_.op(stage_.ops[product]); }
    std::int64_t panels_of(std::size_t product) const { return panel_count(op(product).out_width); }

    // Panels of one chunk, a multiple of four where there are as many: so many are read at once.
    std::int64_t chunk_panels(std::size_t product) const {
        std::int64_t most = std::min(most_panels_, kBlockPanels);
        if (few_) {
            const std::int64_t bytes = panel_bytes(context_.weight(op(product)).type, op(product).in_width) *
                                       static_cast<std::int64_t>(products_);
            most = std::min(most_panels_, std::max<std::int64_t>(kStreamBytes / bytes, 4));
        }
        return most >= 4 ? most / 4 * 4 : most;
    }

    const StepContext& context_;
    const PlannedStage& stage_;
    std::size_t products_;
    std::int64_t rows_;
    bool few_;
    std::int64_t most_panels_ = 0;  // of a chunk, so that there are enough chunks
    std::int64_t blocks_ = 0;       // chunks along the outputs
    std::int64_t row_groups_ = 0, group_rows_ = 0;
};

// Outputs first_output .. last_output - 1 of a chunk.
struct Outputs {
    std::int64_t first, last;

    Outputs(const OpDesc& op, const Chunk& chunk)
        : first(chunk.first_panel * kPanelOutputs), last(std::min(chunk.last_panel * kPanelOutputs, op.out_width)) {}
    std::int64_t count() const { return last - first; }
};

PanelProduct product_of(const StepContext& context, const OpDesc& op, const Chunk& chunk, std::int64_t first_row,
                        std::int64_t last_row) {
    const Outputs outputs(op, chunk);
    PanelProduct product;
    product.x = context.row(op.in0, first_row);
    product.x_stride = op.in_width;
    product.rows = last_row - first_row;
    product.weight = context.weight(op).panel(chunk.first_panel);
    product.columns = product.last = op.in_width;
    product.outputs = outputs.count();
    if (const float* bias = context.bias(op)) product.bias = bias + outputs.first;
    product.out = context.row(op.out, first_row) + outputs.first;
    product.out_stride = op.out_width;
    return product;
}

// One product on the rows of one tile. False when stopped.
bool run_product(const StepContext& context, const OpDesc& op, const Chunk& chunk, bool few, std::int64_t first_row,
                 std::int64_t last_row, int thread) {
    PanelProduct product = product_of(context, op, chunk, first_row, last_row);
    const auto type = static_cast<std::size_t>(context.weight(op).type);
    const std::int64_t flops_per_column = 2 * product.rows * product.outputs;
    if (few) {
        if (!context.stop.begin(flops_per_column * op.in_width)) return false;
        context.kernels.few_rows[type](product);
        return true;
    }
    for (; product.first < op.in_width; product.first = product.last) {
        product.last = std::min(product.first + kPieceColumns, op.in_width);
        if (!context.stop.begin(flops_per_column * (product.last - product.first))) return false;
        context.kernels.many_rows[type](product, context.scratch(thread));
    }
    return true;
}

// The operation after the products, on a chunk's outputs of one row.
void run_epilogue(const StepContext& context, const OpDesc& op, std::int64_t row, const Outputs& outputs) {
    const float* a = context.row(op.in0, row) + outputs.first;
    const float* b = op.in1 == kNone ? nullptr : context.row(op.in1, row) + outputs.first;
    float* out = context.row(op.out, row) + outputs.first;
    if (op.kind == OpKind::SwiGlu) context.kernels.swiglu(a, b, out, outputs.count());
    else if (op.kind == OpKind::GeluTanh) context.kernels.gelu_tanh(a, out, outputs.count());
    else context.kernels.add(a, b, out, outputs.count());
}

}  // namespace

std::int64_t linear_chunks(const StepContext& context, const PlannedStage& stage) {
    return Chunks(context, stage).count();
}

void run_linear_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t index, int thread) {
    const Chunks chunks(context, stage);
    const Chunk chunk = chunks.at(index);
    const std::int64_t tile_rows = chunks.few() ? chunk.last_row - chunk.first_row : kManyRows;
    for (std::int64_t row = chunk.first_row; row < chunk.last_row; row += tile_rows) {
        const std::int64_t row_end = std::min(row + tile_rows, chunk.last_row);
        for (std::size_t p = 0; p < chunks.products(); ++p) {
            const OpDesc& op = context.op(stage.ops[chunk.product + p]);
            if (!run_product(context, op, chunk, chunks.few(), row, row_end, thread)) return;
        }
        if (stage.epilogue == kNone) continue;
        const Outputs outputs(context.op(stage.ops[chunk.product]), chunk);
        for (std::int64_t r = row; r < row_end; ++r)
            run_epilogue(context, context.op(stage.epilogue), r, outputs);
    }
}

std::int64_t linear_scratch_floats(const CpuStep& step) {
    for (const PlannedStage& stage : step.plan_.stages)
        if (stage.kind == StageKind::Linear &&
            (stage.selected ? step.limits_.max_logits_rows : step.limits_.max_rows) > step.few_row_limit_)
            return kManyRowsScratch;
    return 0;
}

}  // namespace decodescope
