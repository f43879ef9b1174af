#include "kernels/cpu/row_stage.h"

#include <algorithm>
#include <cstring>

namespace decodescope {
namespace {

constexpr std::int64_t kRowsInOneChunk = 4;  // as many rows are not worth waking other threads for
constexpr std::int64_t kRowsPerChunk = 8;

std::int64_t rows_per_chunk(std::int64_t rows) { return rows <= kRowsInOneChunk ? kRowsInOneChunk : kRowsPerChunk; }

class RowRunner {
public:
    RowRunner(const StepContext& context, const OpDesc& op, const RopeTable* rope)
        : context_(context), kernels_(context.kernels), op_(op), rope_(rope) {}

    void run(std::int64_t row) const {
        const auto r = static_cast<std::size_t>(row);
        switch (op_.kind) {
            case OpKind::Embed:
                embed(context_.inputs.tokens[r], out(row));
                if (op_.scale != 1.0f) kernels_.scale(out(row), op_.scale, op_.out_width);
                break;
            case OpKind::AddPosition: add_position(row); break;
            case OpKind::RmsNorm: rms_norm(row); break;
            case OpKind::LayerNorm:
                kernels_.layer_norm(in0(row), weight(), context_.bias(op_), op_.epsilon, out(row), op_.out_width);
                break;
            case OpKind::Rope: rotate(row); break;
            case OpKind::CacheStore: store(row); break;
            case OpKind::SwiGlu: kernels_.swiglu(in0(row), in1(row), out(row), op_.out_width); break;
            case OpKind::GeluTanh: kernels_.gelu_tanh(in0(row), out(row), op_.out_width); break;
            case OpKind::GeluErf: kernels_.gelu_erf(in0(row), out(row), op_.out_width); break;
            case OpKind::GeGlu: kernels_.geglu(in0(row), in1(row), out(row), op_.out_width); break;
            case OpKind::Residual: kernels_.add(in0(row), in1(row), out(row), op_.out_width); break;
            case OpKind::SelectRows:
                std::memcpy(out(row), in0(context_.inputs.logits_rows[r]),
                            static_cast<std::size_t>(op_.out_width) * sizeof(float));
                break;
            case OpKind::Linear:
            case OpKind::Attention: break;  // have stages of their own
        }
    }

private:
    const float* in0(std::int64_t row) const { return context_.row(op_.in0, row); }
    const float* in1(std::int64_t row) const { return context_.row(op_.in1, row); }
    float* out(std::int64_t row) const { return context_.row(op_.out, row); }
    const float* weight() const { return context_.weight(op_).floats(); }

    // Columns first .. first + count - 1 of a row of the table.
    void look_up(std::int32_t index, std::int64_t first, std::int64_t count, float* to) const {
        load_packed_row(context_.weight(op_), index, first, count, kernels_, to);
    }

    void embed(std::int32_t index, float* out) const {
        look_up(index, 0, op_.out_width, out);
    }

    // In place of a buffer for the looked-up row: the output takes it, then the input is added. In place needs the
    // buffer.
    void add_position(std::int64_t row) const {
        const std::int32_t position = context_.inputs.positions[static_cast<std::size_t>(row)];
        if (op_.in0 != op_.out) {
            embed(position, out(row));
            kernels_.add(out(row), in0(row), out(row), op_.out_width);
            return;
        }
        constexpr std::int64_t kPiece = 256;
        float piece[kPiece];
        for (std::int64_t i = 0; i < op_.out_width; i += kPiece) {
            const std::int64_t count = std::min(kPiece, op_.out_width - i);
            look_up(position, i, count, piece);
            kernels_.add(in0(row) + i, piece, out(row) + i, count);
        }
    }

    void rms_norm(std::int64_t row) const {
        const std::int64_t width = norm_width(op_);
        for (std::int64_t first = 0; first < op_.out_width; first += width)
            kernels_.rms_norm(in0(row) + first, weight(), op_.epsilon, out(row) + first, width);
    }

    void rotate(std::int64_t row) const {
        const std::int32_t position = context_.inputs.positions[static_cast<std::size_t>(row)];
        const float* x = in0(row);
        float* to = out(row);
        for (std::int64_t head = 0; head < op_.out_width; head += op_.head_dim) {
            kernels_.rope(x + head, rope_->cosines(position), rope_->sines(position), to + head, rope_->half());
            const std::int64_t rest = op_.head_dim - op_.rope.rotary_dim;
            if (rest > 0 && x != to)
                std::memcpy(to + head + op_.rope.rotary_dim, x + head + op_.rope.rotary_dim,
                            static_cast<std::size_t>(rest) * sizeof(float));
        }
    }

    void store(std::int64_t row) const {
        const SequenceRows& sequence = sequence_of(context_.inputs, row);
        const KvView& view = sequence.views[static_cast<std::size_t>(op_.layer)];
        const auto index = static_cast<std::int32_t>(row - sequence.first_row);
        const std::int32_t entry = view.table.store_entries != nullptr ? view.table.store_entries[index]
                                                                       : view.table.count - sequence.row_count + index;
        store_side(view.k, view, entry, in0(row));
        store_side(view.v, view, entry, in1(row));
    }

    void store_side(const KvSide& side, const KvView& view, std::int32_t entry, const float* x) const {
        for (std::int64_t head = 0; head < view.kv_heads; ++head) {
            const KvRow to = kv_row(side, view.table, head, entry);
            kernels_.row_from_f32[static_cast<std::size_t>(to.type)](x + head * view.head_dim, to.data, view.head_dim);
        }
    }

    const StepContext& context_;
    const CpuKernelTable& kernels_;
    const OpDesc& op_;
    const RopeTable* rope_;
};

}  // namespace

const SequenceRows& sequence_of(const StepInputs& inputs, std::int64_t row) {
    const auto after = std::upper_bound(inputs.sequences.begin(), inputs.sequences.end(), row,
                                        [](std::int64_t r, const SequenceRows& s) { return r < s.first_row; });
    return *(after - 1);
}

std::int64_t row_chunks(const StepContext& context, const PlannedStage& stage) {
    const std::int64_t rows = context.rows(stage.selected);
    return (rows + rows_per_chunk(rows) - 1) / rows_per_chunk(rows);
}

void run_row_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t chunk) {
    if (!context.stop.begin(0)) return;
    const std::int64_t rows = context.rows(stage.selected);
    const std::int64_t first = chunk * rows_per_chunk(rows);
    const std::int64_t last = std::min(first + rows_per_chunk(rows), rows);
    for (int index : stage.ops) {
        const RowRunner runner(context, context.op(index),
                               context.step.op_ropes_[static_cast<std::size_t>(index)].get());
        for (std::int64_t row = first; row < last; ++row) runner.run(row);
    }
}

}  // namespace decodescope
