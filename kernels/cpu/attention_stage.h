// Attention over a KvView.
//
// Few new rows: each (row, key-value head, range of kRangeEntries entries) is one piece; the query heads that share the
// key-value head read it while it is in the cache. Ranges are put together in a second pass. Many new rows: blocks of
// rows; scores and sums are small matrix products over entries that are converted once per block, and what only some
// rows of the block see is added row by row. Never more than one block of scores per thread; entries that a row does
// not see are never multiplied.
//
// Writing the weights out happens after they have been used, so it changes no result.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_step.h"

namespace decodescope {

constexpr std::int64_t kRangeEntries = 512;
constexpr std::int32_t kFewAttentionRows = 4;

// Floats that a thread needs, and floats for the parts of all rows and heads, to run this stage.
struct AttentionNeeds {
    std::int64_t scratch_floats = 0;
    std::int64_t partial_floats = 0;
    std::int64_t line_floats = 0;  // weights of all rows, where their sums are wanted
};
AttentionNeeds attention_needs(const OpDesc& op, const StepInputs& inputs);

std::int64_t attention_chunks(const StepContext& context, const PlannedStage& stage);
void run_attention_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t chunk, int thread);

std::int64_t combine_chunks(const StepContext& context, const PlannedStage& stage);
void run_combine_chunk(const StepContext& context, const PlannedStage& stage, std::int64_t chunk);

// The block of rows of a long step; in attention_block.cpp.
std::int64_t attention_block_rows(const OpDesc& op);
std::int64_t attention_block_floats(const OpDesc& op, std::int64_t entries);
void run_attention_block(const StepContext& context, const OpDesc& op, const SequenceRows& sequence,
                         std::int64_t kv_head, std::int64_t first_row, std::int64_t last_row, float* scratch);

// Sums over query heads (SequenceRows::weight_sums) in two parts, so that their order is always the same: while
// attention runs, each query head of a short sequence, or each key-value head of a long one (whose query heads one
// piece of work computes), adds to a line of its own; when the layer is done, one thread adds the lines up in order.
// [row of the sequence, line, entries]
std::int64_t weight_lines(const OpDesc& op, const SequenceRows& sequence);  // lines of a row
float* weight_line(const StepContext& context, const OpDesc& op, const SequenceRows& sequence, std::int64_t row,
                   std::int64_t line);  // null when the sums are not wanted; `row` counts in the step
void add_weight_lines(const StepContext& context, const OpDesc& op);

// Room for the weights of one row and head, or null when they are not wanted. [attention_stride]
inline float* capture_line(const StepInputs& inputs, const OpDesc& op, std::int64_t row, std::int64_t head) {
    if (inputs.attention_out.empty()) return nullptr;
    float* layer = inputs.attention_out[static_cast<std::size_t>(op.layer)];
    return layer == nullptr ? nullptr : layer + (row * op.heads + head) * inputs.attention_stride;
}

}  // namespace decodescope
