#include "kernels/cpu/attention_stage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/attention_rows.h"

namespace decodescope {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t ranges_of(const KvView& view) {
    return std::max<std::int64_t>(1, divide_up(view.table.count, kRangeEntries));
}

bool is_few(const SequenceRows& sequence) { return sequence.row_count <= kFewAttentionRows; }

std::int64_t pieces_of(const OpDesc& op, const SequenceRows& sequence) {
    if (is_few(sequence))
        return sequence.row_count * op.kv_heads * ranges_of(sequence.views[static_cast<std::size_t>(op.layer)]);
    return op.kv_heads * divide_up(sequence.row_count, attention_block_rows(op));
}

std::int64_t most_ranges(const OpDesc& op, const StepInputs& inputs) {
    std::int64_t most = 1;
    for (const SequenceRows& sequence : inputs.sequences)
        if (is_few(sequence)) most = std::max(most, ranges_of(sequence.views[static_cast<std::size_t>(op.layer)]));
    return most;
}

// The softmax over one range: its largest score, its sum, and the values weighted with exp(score - largest).
struct Partial {
    float* data;
    float& largest() const { return data[0]; }
    float& sum() const { return data[1]; }
    float* mixed() const { return data + 2; }
};

std::int64_t partial_stride(const OpDesc& op) { return (op.head_dim + 2 + 15) / 16 * 16; }

Partial partial_of(const StepContext& context, const OpDesc& op, std::int64_t row, std::int64_t head,
                   std::int64_t range) {
    const std::int64_t index = (row * op.heads + head) * most_ranges(op, context.inputs) + range;
    return {reinterpret_cast<float*>(context.step.partials_->data()) + index * partial_stride(op)};
}

Seen find_seen(const EntryTable& table, const RowVisibility& row, std::int32_t begin, std::int32_t end,
               std::int32_t* list) {
    if (table.positions == nullptr) {
        const std::int32_t last = std::min<std::int64_t>(end, static_cast<std::int64_t>(row.position) + 1);
        const std::int32_t window = std::max(begin, row.window_first);
        if (window <= begin || row.sink_end >= window) return {std::max(0, last - begin), begin, nullptr};
        if (row.sink_end <= begin)
            return last > window ? Seen{last - window, window, nullptr} : Seen{0, begin, nullptr};
    }
    Seen seen{0, 0, list};
    for (std::int32_t e = begin; e < end; ++e)
        if (visible(row, entry_position(table, e))) list[seen.count++] = e;
    return seen;
}

bool same_layout(const KvSide& a, const KvSide& b) {
    return a.type == b.type && a.page_stride == b.page_stride && a.head_stride == b.head_stride &&
           a.row_stride == b.row_stride && a.group == 0 && b.group == 0 && a.tail == nullptr && b.tail == nullptr;
}

// Sets entries begin .. end - 1 of a captured line to the weights times `factor`, 0 where not seen.
void write_weights(const float* weights, const Seen& seen, float factor, float* line, std::int64_t begin,
                   std::int64_t end) {
    if (seen.list == nullptr) {
        std::fill(line + begin, line + seen.first, 0.0f);
        for (std::int32_t i = 0; i < seen.count; ++i) line[seen.first + i] = weights[i] * factor;
        std::fill(line + seen.first + seen.count, line + end, 0.0f);
        return;
    }
    std::fill(line + begin, line + end, 0.0f);
    for (std::int32_t i = 0; i < seen.count; ++i) line[seen.list[i]] = weights[i] * factor;
}

// Scratch of a thread for one range.
struct RangeScratch {
    std::int64_t* k_offsets;  // [kRangeEntries]
    std::int64_t* v_offsets;
    std::int32_t* list;
    float* scores;
    float* turned;            // [head_dim]
    float* part;              // [head_dim]

    RangeScratch(float* floats, std::int64_t head_dim)
        : k_offsets(reinterpret_cast<std::int64_t*>(floats)),
          v_offsets(k_offsets + kRangeEntries),
          list(reinterpret_cast<std::int32_t*>(v_offsets + kRangeEntries)),
          scores(reinterpret_cast<float*>(list + kRangeEntries)),
          turned(scores + kRangeEntries),
          part(turned + (head_dim + 15) / 16 * 16) {}
    static std::int64_t floats(const OpDesc& op) { return 6 * kRangeEntries + 2 * ((op.head_dim + 15) / 16 * 16); }
};

// The scores of the sinks again, with the query turned back.
void score_sinks(const StepContext& context, const OpDesc& op, const KvView& view, const RowVisibility& row,
                 const float* q, const KvRows& keys, const Seen& seen, const RangeScratch& scratch) {
    context.rope(op)->turn_back(q, row.sink_shift, op.head_dim, scratch.turned);
    const auto scores = context.kernels.scores[static_cast<std::size_t>(view.k.type)];
    for (std::int32_t i = 0; i < seen.count; ++i) {
        if (entry_position(view.table, seen.entry(i)) >= row.sink_end) continue;
        KvRows key;
        key.base = keys.base + (keys.offsets != nullptr ? keys.offsets[i] : i * keys.stride);
        scores(scratch.turned, op.head_dim, key, 1, op.scale, scratch.scores + i);
    }
}

void run_range(const StepContext& context, const OpDesc& op, const SequenceRows& sequence, std::int64_t row,
               std::int64_t kv_head, std::int64_t range, std::int64_t ranges, float* floats) {
    const RangeScratch scratch(floats, op.head_dim);
    const KvView& view = sequence.views[static_cast<std::size_t>(op.layer)];
    const EntryTable& table = view.table;
    const auto begin = static_cast<std::int32_t>(range * kRangeEntries);
    const auto end = static_cast<std::int32_t>(std::min<std::int64_t>(begin + kRangeEntries, table.count));
    const RowVisibility& sees = row_visibility(context.inputs, sequence, op.layer, row);
    const Seen seen = find_seen(table, sees, begin, end, scratch.list);
    const SeenRows keys = seen_rows(view.k, table, kv_head, seen, scratch.k_offsets);
    SeenRows values = keys;
    if (keys.stored.offsets != nullptr && same_layout(view.k, view.v) && table.staged_first == kNothingStaged)
        values.stored.base = view.v.data;
    else
        values = seen_rows(view.v, table, kv_head, seen, scratch.v_offsets);
    const std::int64_t line_end = range + 1 == ranges ? context.inputs.attention_stride : end;
    const std::int64_t group = op.heads / op.kv_heads;
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        const float* q = context.row(op.in0, row) + head * op.head_dim;
        score_seen(context.kernels, view, kv_head, seen, keys, q, op.scale, scratch.part, scratch.scores);
        if (sees.sink_shift != 0) score_sinks(context, op, view, sees, q, keys.stored, seen, scratch);
        const SoftmaxPart part = context.kernels.softmax_part(scratch.scores, seen.count);
        float* line = capture_line(context.inputs, op, row, head);
        float* summed = weight_line(context, op, sequence, row, head);
        if (ranges == 1) {
            float* out = context.row(op.out, row) + head * op.head_dim;
            mix_seen(context.kernels, view, seen, values, scratch.scores, scratch.part, out);
            const float factor = part.sum == 0.0f ? 0.0f : 1.0f / part.sum;
            context.kernels.scale(out, factor, op.head_dim);
            if (line != nullptr) write_weights(scratch.scores, seen, factor, line, begin, line_end);
            if (summed != nullptr) write_weights(scratch.scores, seen, factor, summed, begin, end);
            continue;
        }
        const Partial partial = partial_of(context, op, row, head, range);
        partial.largest() = part.largest;
        partial.sum() = part.sum;
        mix_seen(context.kernels, view, seen, values, scratch.scores, scratch.part, partial.mixed());
        if (line != nullptr) write_weights(scratch.scores, seen, 1.0f, line, begin, line_end);
        if (summed != nullptr) write_weights(scratch.scores, seen, 1.0f, summed, begin, end);
    }
}

// Puts the ranges of one row and head together, in order.
void combine_head(const StepContext& context, const OpDesc& op, const SequenceRows& sequence, std::int64_t row,
                  std::int64_t head) {
    const KvView& view = sequence.views[static_cast<std::size_t>(op.layer)];
    const std::int64_t ranges = ranges_of(view);
    float largest = -std::numeric_limits<float>::infinity();
    for (std::int64_t range = 0; range < ranges; ++range)
        largest = std::max(largest, partial_of(context, op, row, head, range).largest());
    const auto factor_of = [&](const Partial& partial) {
        return partial.sum() == 0.0f ? 0.0f : std::exp(partial.largest() - largest);
    };
    float sum = 0.0f;
    for (std::int64_t range = 0; range < ranges; ++range) {
        const Partial partial = partial_of(context, op, row, head, range);
        sum += partial.sum() * factor_of(partial);
    }
    const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
    float* out = context.row(op.out, row) + head * op.head_dim;
    float* const lines[] = {capture_line(context.inputs, op, row, head),
                            weight_line(context, op, sequence, row, head)};
    std::fill(out, out + op.head_dim, 0.0f);
    for (std::int64_t range = 0; range < ranges; ++range) {
        const Partial partial = partial_of(context, op, row, head, range);
        const float factor = factor_of(partial) * inverse;
        context.kernels.add_scaled(partial.mixed(), factor, out, op.head_dim);
        const std::int64_t begin = range * kRangeEntries;
        for (float* line : lines)
            if (line != nullptr)
                context.kernels.scale(line + begin, factor,
                                      std::min<std::int64_t>(kRangeEntries, view.table.count - begin));
    }
}

bool is_captured(const StepContext& context, const OpDesc& op) {
    return capture_line(context.inputs, op, 0, 0) != nullptr;
}

bool sums_wanted(const OpDesc& op, const SequenceRows& sequence) {
    return !sequence.weight_sums.empty() && sequence.weight_sums[static_cast<std::size_t>(op.layer)] != nullptr;
}

// Floats of the lines of the first `count` sequences.
std::int64_t line_floats(const OpDesc& op, const StepInputs& inputs, std::size_t count) {
    std::int64_t floats = 0;
    for (const SequenceRows& sequence : inputs.sequences.first(count))
        if (sums_wanted(op, sequence))
            floats += sequence.row_count * weight_lines(op, sequence) *
                      sequence.views[static_cast<std::size_t>(op.layer)].table.count;
    return floats;
}

}  // namespace

std::int64_t weight_lines(const OpDesc& op, const SequenceRows& sequence) {
    return is_few(sequence) ? op.heads : op.kv_heads;
}

float* weight_line(const StepContext& context, const OpDesc& op, const SequenceRows& sequence, std::int64_t row,
                   std::int64_t line) {
    if (!sums_wanted(op, sequence)) return nullptr;
    const auto index = static_cast<std::size_t>(&sequence - context.inputs.sequences.data());
    const std::int64_t entries = sequence.views[static_cast<std::size_t>(op.layer)].table.count;
    return reinterpret_cast<float*>(context.step.weight_lines_->data()) + line_floats(op, context.inputs, index) +
           ((row - sequence.first_row) * weight_lines(op, sequence) + line) * entries;
}

void add_weight_lines(const StepContext& context, const OpDesc& op) {
    for (const SequenceRows& sequence : context.inputs.sequences) {
        if (!sums_wanted(op, sequence)) continue;
        const std::int64_t entries = sequence.views[static_cast<std::size_t>(op.layer)].table.count;
        float* sums = sequence.weight_sums[static_cast<std::size_t>(op.layer)];
        for (std::int64_t row = 0; row < sequence.row_count; ++row, sums += entries) {
            std::fill(sums, sums + entries, 0.0f);
            for (std::int64_t line = 0; line < weight_lines(op, sequence); ++line)
                context.kernels.add(sums, weight_line(context, op, sequence, sequence.first_row + row, line), sums,
                                    entries);
        }
    }
}

AttentionNeeds attention_needs(const OpDesc& op, const StepInputs& inputs) {
    AttentionNeeds needs;
    std::int64_t few_rows_end = 0;
    for (const SequenceRows& sequence : inputs.sequences) {
        const KvView& view = sequence.views[static_cast<std::size_t>(op.layer)];
        if (is_few(sequence)) {
            needs.scratch_floats = std::max(needs.scratch_floats, RangeScratch::floats(op));
            if (ranges_of(view) > 1) few_rows_end = sequence.first_row + sequence.row_count;
        } else {
            needs.scratch_floats = std::max(needs.scratch_floats, attention_block_floats(op, view.table.count));
        }
    }
    needs.line_floats = line_floats(op, inputs, inputs.sequences.size());
    needs.partial_floats = few_rows_end * op.heads * most_ranges(op, inputs) * partial_stride(op);
    return needs;
}

std::int64_t attention_chunks(const StepContext& context, const PlannedStage& stage) {
    std::int64_t sum = 0;
    for (const SequenceRows& sequence : context.inputs.sequences)
        sum += pieces_of(context.op(stage.ops.front()), sequence);
    return sum;
}

void run_attention_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t chunk, int thread) {
    const OpDesc& op = context.op(stage.ops.front());
    const SequenceRows* sequence = context.inputs.sequences.data();
    for (; chunk >= pieces_of(op, *sequence); ++sequence) chunk -= pieces_of(op, *sequence);
    const KvView& view = sequence->views[static_cast<std::size_t>(op.layer)];
    if (!is_few(*sequence)) {
        const std::int64_t blocks = divide_up(sequence->row_count, attention_block_rows(op));
        // Late rows see most: start with them, so that no long block is left for the end.
        const std::int64_t block = blocks - 1 - chunk / op.kv_heads, kv_head = chunk % op.kv_heads;
        const std::int64_t first = block * attention_block_rows(op);
        const std::int64_t last = std::min<std::int64_t>(first + attention_block_rows(op), sequence->row_count);
        run_attention_block(context, op, *sequence, kv_head, sequence->first_row + first, sequence->first_row + last,
                            context.scratch(thread));
        return;
    }
    const std::int64_t ranges = ranges_of(view);
    const std::int64_t range = chunk % ranges, kv_head = chunk / ranges % op.kv_heads,
                       row = chunk / ranges / op.kv_heads;
    if (!context.stop.begin(4 * kRangeEntries * op.head_dim * op.heads / op.kv_heads)) return;
    run_range(context, op, *sequence, sequence->first_row + row, kv_head, range, ranges, context.scratch(thread));
}

// One chunk for all rows of a sequence's decode step; one per row and head where long lines of weights are rescaled.
std::int64_t combine_chunks(const StepContext& context, const PlannedStage& stage) {
    const OpDesc& op = context.op(stage.ops.front());
    if (most_ranges(op, context.inputs) == 1) return 0;
    return is_captured(context, op) ? context.rows(false) * op.heads : 1;
}

void run_combine_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t chunk) {
    if (!context.stop.begin(0)) return;
    const OpDesc& op = context.op(stage.ops.front());
    const bool captured = is_captured(context, op);
    for (const SequenceRows& sequence : context.inputs.sequences) {
        const KvView& view = sequence.views[static_cast<std::size_t>(op.layer)];
        if (!is_few(sequence) || ranges_of(view) == 1) continue;
        for (std::int64_t row = sequence.first_row; row < sequence.first_row + sequence.row_count; ++row)
            for (std::int64_t head = 0; head < op.heads; ++head)
                if (!captured || row * op.heads + head == chunk) combine_head(context, op, sequence, row, head);
    }
}

}  // namespace decodescope
