// Attention of a block of new rows, all query heads of one key-value head stacked: scores and sums as matrix products.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/attention_stage.h"

namespace decodescope {
namespace {

constexpr std::int64_t kBlockEntries = 256;  // entries converted at a time

std::int64_t padded(std::int64_t floats) { return (floats + 15) / 16 * 16; }

// Floats of each part of a thread's scratch.
struct BlockLayout {
    std::int64_t stacked, entries, head_dim;

    BlockLayout(const OpDesc& op, std::int64_t count)
        : stacked(attention_block_rows(op) * (op.heads / op.kv_heads)), entries(count), head_dim(op.head_dim) {}
    std::int64_t vectors() const { return padded(stacked * head_dim); }        // queries; sums
    std::int64_t stored() const { return padded(kBlockEntries * head_dim); }   // converted keys or values
    std::int64_t scores() const { return padded(stacked * entries); }
    std::int64_t list() const { return padded(entries); }                      // entries; their positions
    std::int64_t turned() const { return padded(head_dim); }                   // a query turned back
    std::int64_t floats() const { return 2 * vectors() + stored() + scores() + 2 * list() + turned(); }
};

class Block {
public:
    Block(const StepContext& context, const OpDesc& op, const SequenceRows& sequence, std::int64_t kv_head,
          std::int64_t first_row, std::int64_t last_row, float* scratch)
        : context_(context), op_(op), sequence_(sequence),
          view_(sequence.views[static_cast<std::size_t>(op.layer)]), kv_head_(kv_head), first_row_(first_row),
          rows_(last_row - first_row), group_(op.heads / op.kv_heads), stacked_(rows_ * group_) {
        const BlockLayout layout(op, view_.table.count);
        queries_ = scratch;
        sums_ = queries_ + layout.vectors();
        stored_ = sums_ + layout.vectors();
        scores_ = stored_ + layout.stored();
        list_ = reinterpret_cast<std::int32_t*>(scores_ + layout.scores());
        positions_ = list_ + layout.list();
        turned_ = reinterpret_cast<float*>(positions_ + layout.list());
    }

    void run() {
        find_entries();
        copy_queries();
        if (!compute_scores()) return;
        for (std::int64_t m = 0; m < stacked_; ++m) mask(m);
        if (!mix_common()) return;
        mix_rest();
        for (std::int64_t m = 0; m < stacked_; ++m) finish(m);
    }

private:
    const RowVisibility& visibility(std::int64_t m) const {
        return row_visibility(context_.inputs, sequence_, op_.layer, first_row_ + m % rows_);
    }
    std::int64_t head_of(std::int64_t m) const { return kv_head_ * group_ + m / rows_; }
    float* score_line(std::int64_t m) const { return scores_ + m * count_; }

    // Entries that some row sees, in entry order: those that every row sees first, then the rest.
    void find_entries() {
        std::int32_t low = std::numeric_limits<std::int32_t>::max(), high = -1;
        std::int32_t first_low = low, first_high = 0, sink_low = low, sink_high = 0;
        for (std::int64_t r = 0; r < rows_; ++r) {
            const RowVisibility& row = visibility(r);
            low = std::min(low, row.position);
            high = std::max(high, row.position);
            first_low = std::min(first_low, row.window_first);
            first_high = std::max(first_high, row.window_first);
            sink_low = std::min(sink_low, row.sink_end);
            sink_high = std::max(sink_high, row.sink_end);
            turns_ = turns_ || row.sink_shift != 0;
        }
        const RowVisibility all{low, first_high, sink_low}, any{high, first_low, sink_high};
        count_ = 0;
        for (const bool wanted : {true, false}) {
            for (std::int32_t e = 0; e < view_.table.count; ++e) {
                const std::int32_t position = entry_position(view_.table, e);
                if (!visible(any, position) || visible(all, position) != wanted) continue;
                list_[count_] = e;
                positions_[count_++] = position;
            }
            if (wanted) common_ = count_;
        }
    }

    void copy_queries() {
        for (std::int64_t m = 0; m < stacked_; ++m) {
            const float* q = context_.row(op_.in0, first_row_ + m % rows_) + head_of(m) * op_.head_dim;
            std::copy(q, q + op_.head_dim, queries_ + m * op_.head_dim);
        }
    }

    // Rows `begin` .. `end` - 1 of the list as f32, [end - begin, head_dim].
    void convert(const KvSide& side, std::int64_t begin, std::int64_t end, float* to) const {
        for (std::int64_t j = begin; j < end; ++j, to += op_.head_dim) {
            const KvRow row = kv_row(side, view_.table, kv_head_, list_[j]);
            if (row.channels != nullptr) context_.kernels.group_row_to_f32(row.data, row.channels, to, op_.head_dim);
            else context_.kernels.row_to_f32[static_cast<std::size_t>(row.type)](row.data, to, op_.head_dim);
        }
    }

    bool compute_scores() {
        const int d = op_.head_dim;
        for (std::int64_t j = 0; j < count_; j += kBlockEntries) {
            const std::int64_t end = std::min(j + kBlockEntries, count_);
            if (!context_.stop.begin(2 * stacked_ * (end - j) * d)) return false;
            convert(view_.k, j, end, stored_);
            context_.kernels.product(queries_, d, stacked_, stored_, d, end - j, d, false, scores_ + j, count_);
            if (turns_) score_sinks(j, end);
        }
        return true;
    }

    // The scores of the sinks among list entries `begin` .. `end` - 1 again, with the queries turned back.
    void score_sinks(std::int64_t begin, std::int64_t end) {
        const std::int64_t d = op_.head_dim;
        for (std::int64_t m = 0; m < stacked_; ++m) {
            const RowVisibility& row = visibility(m);
            if (row.sink_shift == 0) continue;
            context_.rope(op_)->turn_back(queries_ + m * d, row.sink_shift, d, turned_);
            for (std::int64_t j = begin; j < end; ++j) {
                if (positions_[j] >= row.sink_end) continue;
                KvRows key;
                key.base = reinterpret_cast<const std::byte*>(stored_ + (j - begin) * d);
                context_.kernels.scores[static_cast<std::size_t>(ElementType::F32)](turned_, d, key, 1, 1.0f,
                                                                                    score_line(m) + j);
            }
        }
    }

    // Scores become exp(score - largest), 0 where not seen; remembers the sum.
    void mask(std::int64_t m) {
        float* line = score_line(m);
        const RowVisibility& row = visibility(m);
        context_.kernels.scale(line, op_.scale, count_);
        for (std::int64_t j = common_; j < count_; ++j)
            if (!visible(row, positions_[j])) line[j] = -std::numeric_limits<float>::infinity();
        const SoftmaxPart part = context_.kernels.softmax_part(line, count_);
        // The queries are no longer needed: their first element keeps the factor of the row.
        queries_[m * op_.head_dim] = part.sum == 0.0f ? 0.0f : 1.0f / part.sum;
    }

    bool mix_common() {
        const int d = op_.head_dim;
        std::fill(sums_, sums_ + stacked_ * d, 0.0f);
        for (std::int64_t j = 0; j < common_; j += kBlockEntries) {
            const std::int64_t end = std::min(j + kBlockEntries, common_);
            if (!context_.stop.begin(2 * stacked_ * (end - j) * d)) return false;
            convert(view_.v, j, end, stored_);
            context_.kernels.mix_rows(scores_ + j, count_, stacked_, stored_, end - j, d, sums_);
        }
        return true;
    }

    // What only some rows see is added row by row: 0 times a value that a row must not see could still be NaN.
    void mix_rest() {
        for (std::int64_t j = common_; j < count_; j += kBlockEntries) {
            const std::int64_t end = std::min(j + kBlockEntries, count_);
            if (!context_.stop.begin(2 * stacked_ * (end - j) * op_.head_dim)) return;
            convert(view_.v, j, end, stored_);
            for (std::int64_t m = 0; m < stacked_; ++m) {
                const RowVisibility& row = visibility(m);
                for (std::int64_t i = j; i < end; ++i)
                    if (visible(row, positions_[i]))
                        context_.kernels.add_scaled(stored_ + (i - j) * op_.head_dim, score_line(m)[i],
                                                    sums_ + m * op_.head_dim, op_.head_dim);
            }
        }
    }

    void finish(std::int64_t m) {
        const float factor = queries_[m * op_.head_dim];
        const std::int64_t row = first_row_ + m % rows_;
        float* out = context_.row(op_.out, row) + head_of(m) * op_.head_dim;
        const float* sum = sums_ + m * op_.head_dim;
        for (std::int64_t i = 0; i < op_.head_dim; ++i) out[i] = sum[i] * factor;
        add_to_sums(m, factor);
        float* line = capture_line(context_.inputs, op_, row, head_of(m));
        if (line == nullptr) return;
        std::fill(line, line + context_.inputs.attention_stride, 0.0f);
        for (std::int64_t j = 0; j < count_; ++j) line[list_[j]] = score_line(m)[j] * factor;
    }

    // The query heads of a row come one after the other: the first one finds its line as another step left it.
    void add_to_sums(std::int64_t m, float factor) const {
        float* line = weight_line(context_, op_, sequence_, first_row_ + m % rows_, kv_head_);
        if (line == nullptr) return;
        if (m < rows_) std::fill(line, line + view_.table.count, 0.0f);
        for (std::int64_t j = 0; j < count_; ++j) line[list_[j]] += score_line(m)[j] * factor;
    }

    const StepContext& context_;
    const OpDesc& op_;
    const SequenceRows& sequence_;
    const KvView& view_;
    std::int64_t kv_head_, first_row_, rows_, group_, stacked_;
    float *queries_, *sums_, *stored_, *scores_, *turned_;
    std::int32_t *list_, *positions_;
    std::int64_t count_ = 0, common_ = 0;  // entries in the list; of them, seen by every row
    bool turns_ = false;                   // some row turns its query back for the sinks
};

}  // namespace

std::int64_t attention_block_rows(const OpDesc& op) {
    const std::int64_t group = op.heads / op.kv_heads;
    return std::clamp<std::int64_t>(48 / group, 8, 32);
}

std::int64_t attention_block_floats(const OpDesc& op, std::int64_t entries) {
    return BlockLayout(op, entries).floats();
}

void run_attention_block(const StepContext& context, const OpDesc& op, const SequenceRows& sequence,
                         std::int64_t kv_head, std::int64_t first_row, std::int64_t last_row, float* scratch) {
    Block(context, op, sequence, kv_head, first_row, last_row, scratch).run();
}

}  // namespace decodescope
