// What every backend refuses before it computes anything: a program that contradicts itself, weights that do not fit
// the program, a step with values out of range. One set of rules, so that no backend reads where another would have
// refused.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace decodescope {

// What a compiled step was made for. Rows of a table that the program does not have are unlimited.
struct StepLimits {
    std::int64_t max_rows = 1;
    std::int64_t max_logits_rows = 1;
    std::int64_t token_rows = std::numeric_limits<std::int64_t>::max();     // rows of the embedding table
    std::int64_t position_rows = std::numeric_limits<std::int64_t>::max();  // rows of the learned position table
};

namespace detail {

inline Error bad_step(std::string message) { return make_error(ErrorKind::Argument, std::move(message)); }

inline bool index_fits(int index, std::size_t size) { return index >= 0 && static_cast<std::size_t>(index) < size; }

inline std::string op_text(const OpDesc& op) {
    std::string text = "operation \"" + std::string(op_name(op.id)) + "\"";
    if (op.layer != kNone) text += " of layer " + std::to_string(op.layer);
    return text;
}

inline Status check_op_heads(const OpDesc& op, const StepProgram& program) {
    if (op.kind == OpKind::RmsNorm && (op.head_dim < 0 || (op.head_dim > 0 && op.out_width % op.head_dim != 0)))
        return bad_step(op_text(op) + " has width " + std::to_string(op.out_width) + ", not a multiple of the head size.");
    const bool has_heads = op.kind == OpKind::Attention || op.kind == OpKind::Rope || op.kind == OpKind::CacheStore;
    if (!has_heads) return {};
    if (op.head_dim <= 0 || op.kv_heads < 0 || op.heads < 0) return bad_step(op_text(op) + " has no head size.");
    const bool rotates = op.kind == OpKind::Rope || (op.kind == OpKind::Attention && op.rope.rotary_dim != 0);
    if (rotates) {
        if (op.rope.rotary_dim <= 0 || op.rope.rotary_dim > op.head_dim || op.rope.rotary_dim % 2 != 0)
            return bad_step(op_text(op) + " rotates " + std::to_string(op.rope.rotary_dim) + " of " +
                            std::to_string(op.head_dim) + " dimensions; an even number up to the head size is needed.");
    }
    if (rotates && !op.rope.divisors.empty() &&
        op.rope.divisors.size() != static_cast<std::size_t>(op.rope.rotary_dim / 2))
        return bad_step(op_text(op) + " has " + std::to_string(op.rope.divisors.size()) + " divisors for " +
                        std::to_string(op.rope.rotary_dim / 2) + " frequencies.");
    if (op.kind == OpKind::Rope) {
        if (op.in_width % op.head_dim != 0 || op.in_width != op.out_width)
            return bad_step(op_text(op) + " has width " + std::to_string(op.in_width) +
                            ", not a multiple of the head size.");
        return {};
    }
    if (!index_fits(op.layer, static_cast<std::size_t>(program.layers)))
        return bad_step(op_text(op) + " has no layer.");
    if (op.kv_heads <= 0) return bad_step(op_text(op) + " has no key-value heads.");
    if (op.kind == OpKind::Attention && (op.heads <= 0 || op.heads % op.kv_heads != 0))
        return bad_step(op_text(op) + " has " + std::to_string(op.heads) + " query heads, not a multiple of " +
                        std::to_string(op.kv_heads) + " key-value heads.");
    return {};
}

// Widths that an operation's values must have: in0, in1, out; -1 where the operation has none.
struct OpWidths {
    std::int64_t in0 = -1, in1 = -1, out = -1;
};

inline OpWidths op_widths(const OpDesc& op) {
    switch (op.kind) {
        case OpKind::Embed: return {-1, -1, op.out_width};
        case OpKind::AddPosition:
        case OpKind::RmsNorm:
        case OpKind::LayerNorm:
        case OpKind::Rope:
        case OpKind::GeluTanh:
        case OpKind::GeluErf:
        case OpKind::SelectRows: return {op.out_width, -1, op.out_width};
        case OpKind::Linear: return {op.in_width, -1, op.out_width};
        case OpKind::SwiGlu:
        case OpKind::GeGlu:
        case OpKind::Residual: return {op.out_width, op.out_width, op.out_width};
        case OpKind::CacheStore: {
            const std::int64_t width = static_cast<std::int64_t>(op.kv_heads) * op.head_dim;
            return {width, width, -1};
        }
        case OpKind::Attention: {
            const std::int64_t width = static_cast<std::int64_t>(op.heads) * op.head_dim;
            return {width, -1, width};
        }
    }
    return {};
}

inline Status check_value(const OpDesc& op, const StepProgram& program, int index, std::int64_t width, const char* what,
                          bool selected) {
    if (width < 0) return {};
    if (!index_fits(index, program.values.size())) return bad_step(op_text(op) + " has no " + what + ".");
    const ValueDesc& value = program.values[static_cast<std::size_t>(index)];
    if (value.width != width || width == 0)
        return bad_step(op_text(op) + " needs a " + what + " of width " + std::to_string(width) + ", not " +
                        std::to_string(value.width) + ".");
    if (value.logits_rows_only != selected) return bad_step(op_text(op) + " mixes all rows and selected rows.");
    return {};
}

inline bool needs_bias(const OpDesc& op) { return op.kind == OpKind::LayerNorm; }

inline bool needs_weight(const OpDesc& op) {
    return op.kind == OpKind::Embed || op.kind == OpKind::AddPosition || op.kind == OpKind::RmsNorm ||
           op.kind == OpKind::LayerNorm || op.kind == OpKind::Linear;
}

inline Status check_matrix(const OpDesc& op, const WeightTensor& tensor, std::int64_t rows, std::int64_t columns) {
    if (tensor.data == nullptr)
        return make_error(ErrorKind::Model, "The tensor \"" + tensor.name + "\" has no data.");
    if (tensor.type == ElementType::I8)
        return make_error(ErrorKind::Unsupported, "The tensor \"" + tensor.name + "\" is stored as int8.");
    const bool rows_fit = rows < 0 ? tensor.rows > 0 : tensor.rows == rows;
    if (rows_fit && tensor.columns == columns) return {};
    const std::string wanted_rows = rows < 0 ? std::string("any") : std::to_string(rows);
    return make_error(ErrorKind::Model, "The tensor \"" + tensor.name + "\" is " + std::to_string(tensor.rows) + " x " +
                                            std::to_string(tensor.columns) + "; " + op_text(op) + " needs " +
                                            wanted_rows + " x " + std::to_string(columns) + ".");
}

}  // namespace detail

// Checks that the operations refer to values that exist, with matching widths and heads.
inline Status validate_program(const StepProgram& program) {
    using namespace detail;
    for (const OpDesc& op : program.ops) {
        DS_RETURN_IF_ERROR(check_op_heads(op, program));
        const OpWidths widths = op_widths(op);
        const bool select = op.kind == OpKind::SelectRows;
        DS_RETURN_IF_ERROR(check_value(op, program, op.in0, widths.in0, "first input", !select && op.logits_rows_only));
        DS_RETURN_IF_ERROR(check_value(op, program, op.in1, widths.in1, "second input", op.logits_rows_only));
        DS_RETURN_IF_ERROR(check_value(op, program, op.out, widths.out, "output", select || op.logits_rows_only));
        const bool rows_of_a_sequence = op.kind == OpKind::Attention || op.kind == OpKind::CacheStore ||
                                        op.kind == OpKind::Rope || op.kind == OpKind::Embed ||
                                        op.kind == OpKind::AddPosition;
        if (rows_of_a_sequence && op.logits_rows_only) return bad_step(op_text(op) + " cannot run on selected rows.");
    }
    if (!index_fits(program.logits_value, program.values.size())) return bad_step("The step program has no logits.");
    const ValueDesc& logits = program.values[static_cast<std::size_t>(program.logits_value)];
    if (!logits.logits_rows_only || logits.width != program.vocabulary)
        return bad_step("The logits are not of the selected rows and of the vocabulary's width.");
    return {};
}

// Checks that every operation's weight and bias are in the table, have data, and have the shape that it needs.
inline Status validate_weights(const StepProgram& program, const WeightTable& table) {
    using namespace detail;
    for (const OpDesc& op : program.ops) {
        if (!needs_weight(op)) continue;
        if (!index_fits(op.weight, table.tensors.size()))
            return make_error(ErrorKind::Model, "The model has no weight for " + op_text(op) + ".");
        const WeightTensor& weight = table.tensors[static_cast<std::size_t>(op.weight)];
        const bool lookup = op.kind == OpKind::Embed || op.kind == OpKind::AddPosition;
        if (lookup) DS_RETURN_IF_ERROR(check_matrix(op, weight, -1, op.out_width));
        if (op.kind == OpKind::Linear) DS_RETURN_IF_ERROR(check_matrix(op, weight, op.out_width, op.in_width));
        const bool norm = op.kind == OpKind::RmsNorm || op.kind == OpKind::LayerNorm;
        if (norm) DS_RETURN_IF_ERROR(check_matrix(op, weight, norm_width(op), 1));
        if (op.bias == kNone && !needs_bias(op)) continue;
        if (!index_fits(op.bias, table.tensors.size()))
            return make_error(ErrorKind::Model, "The model has no bias for " + op_text(op) + ".");
        DS_RETURN_IF_ERROR(check_matrix(op, table.tensors[static_cast<std::size_t>(op.bias)], op.out_width, 1));
    }
    return {};
}

// The limits of a compiled step: rows from the options, tables from the weights that its lookups use.
inline StepLimits step_limits(const StepProgram& program, const CompileOptions& options,
                              const std::vector<std::int64_t>& weight_rows) {
    StepLimits limits;
    limits.max_rows = options.max_rows;
    limits.max_logits_rows = options.max_logits_rows;
    for (const OpDesc& op : program.ops) {
        if (op.kind != OpKind::Embed && op.kind != OpKind::AddPosition) continue;
        std::int64_t& rows = op.kind == OpKind::Embed ? limits.token_rows : limits.position_rows;
        rows = std::min(rows, weight_rows[static_cast<std::size_t>(op.weight)]);
    }
    return limits;
}

namespace detail {

inline Status check_rows(const StepProgram& program, const StepInputs& inputs, const StepOutputs& outputs,
                         const StepLimits& limits) {
    const auto rows = static_cast<std::int64_t>(inputs.tokens.size());
    if (rows < 1 || rows > limits.max_rows)
        return bad_step("A step of " + std::to_string(rows) + " tokens was asked for; this one takes 1 to " +
                        std::to_string(limits.max_rows) + ".");
    if (inputs.positions.size() != inputs.tokens.size() || inputs.visibility.size() != inputs.tokens.size())
        return bad_step("A step of " + std::to_string(rows) + " tokens has " + std::to_string(inputs.positions.size()) +
                        " positions and " + std::to_string(inputs.visibility.size()) + " visibility rows.");
    for (std::int32_t token : inputs.tokens)
        if (token < 0 || token >= limits.token_rows)
            return bad_step("Token id " + std::to_string(token) + " is outside the vocabulary of " +
                            std::to_string(limits.token_rows) + ".");
    for (std::int32_t position : inputs.positions)
        if (position < 0 || position >= limits.position_rows)
            return bad_step("Position " + std::to_string(position) + " is outside the " +
                            std::to_string(limits.position_rows) + " positions that the model has.");
    const auto selected = static_cast<std::int64_t>(inputs.logits_rows.size());
    if (selected > limits.max_logits_rows)
        return bad_step("Logits of " + std::to_string(selected) + " rows were asked for; this step gives up to " +
                        std::to_string(limits.max_logits_rows) + ".");
    std::int32_t previous = -1;
    for (std::int32_t row : inputs.logits_rows) {
        if (row <= previous || row >= rows)
            return bad_step("Row " + std::to_string(row) + " is not an ascending row of a step of " +
                            std::to_string(rows) + " tokens.");
        previous = row;
    }
    if (static_cast<std::int64_t>(outputs.logits.size()) != selected * program.vocabulary)
        return bad_step("The room for logits is " + std::to_string(outputs.logits.size()) + " numbers, not " +
                        std::to_string(selected) + " x " + std::to_string(program.vocabulary) + ".");
    return {};
}

inline Status check_table(const EntryTable& table, std::int32_t new_rows) {
    if (table.count < 0 || table.log2_page < 0 || table.log2_page > 30)
        return bad_step("A cache has a broken entry table.");
    if (table.store_entries == nullptr) {
        if (table.count < new_rows)
            return bad_step("A cache of " + std::to_string(table.count) + " entries cannot hold " +
                            std::to_string(new_rows) + " new rows.");
    } else {
        std::vector<bool> taken(static_cast<std::size_t>(table.count), false);
        for (std::int32_t i = 0; i < new_rows; ++i) {
            const std::int32_t entry = table.store_entries[i];
            if (entry < 0 || entry >= table.count)
                return bad_step("A row is to be stored in entry " + std::to_string(entry) + " of a cache of " +
                                std::to_string(table.count) + " entries.");
            if (taken[static_cast<std::size_t>(entry)])
                return bad_step("Two rows of one step are to be stored in entry " + std::to_string(entry) + ".");
            taken[static_cast<std::size_t>(entry)] = true;
        }
    }
    if (table.pages != nullptr) {
        const std::int64_t pages =
            (static_cast<std::int64_t>(table.count) + (std::int64_t{1} << table.log2_page) - 1) >> table.log2_page;
        for (std::int64_t p = 0; p < pages; ++p)
            if (table.pages[p] < 0)
                return bad_step("A cache page has the number " + std::to_string(table.pages[p]) + ".");
    }
    return {};
}

// What is kept in full precision beside the cache, and groups that share scales.
inline Status check_tail(const KvSide& side, const EntryTable& table, std::int32_t new_rows) {
    if (side.group < 0 || (side.group > 0 && (side.type != ElementType::I8 || side.tail == nullptr)))
        return bad_step("A cache quantized in groups is not stored as int8 with its last rows beside it.");
    if (side.tail == nullptr) return {};
    if (side.tail_first < 0 || side.tail_rows < 1 || table.count - side.tail_first > side.tail_rows)
        return bad_step("A cache keeps " + std::to_string(table.count - side.tail_first) +
                        " rows in full precision and has room for " + std::to_string(side.tail_rows) + ".");
    if (table.positions != nullptr || table.store_entries != nullptr || table.staged_first != kNothingStaged)
        return bad_step("A cache that keeps rows in full precision must hold position e in entry e.");
    if (table.count - new_rows < side.tail_first)
        return bad_step("New rows are to be stored in a part of a cache that is quantized already.");
    if (side.group > 0 && table.pages != nullptr && (std::int64_t{1} << table.log2_page) % side.group != 0)
        return bad_step("Pages of " + std::to_string(std::int64_t{1} << table.log2_page) +
                        " rows do not hold whole groups of " + std::to_string(side.group) + ".");
    return {};
}

inline Status check_view(const KvView& view, const OpDesc& op, std::int32_t new_rows) {
    if (view.kv_heads != op.kv_heads || view.head_dim != op.head_dim)
        return bad_step("A cache of " + std::to_string(view.kv_heads) + " heads of " + std::to_string(view.head_dim) +
                        " was given to " + op_text(op) + ", which has " + std::to_string(op.kv_heads) + " of " +
                        std::to_string(op.head_dim) + ".");
    const auto missing = [](const KvSide& side) { return side.data == nullptr && side.tail_first > 0; };
    if (missing(view.k) || missing(view.v)) return bad_step("A cache has no storage.");
    if (view.table.staged_first != kNothingStaged && (view.k.staged == nullptr || view.v.staged == nullptr))
        return bad_step("A cache has no staging buffer.");
    DS_RETURN_IF_ERROR(check_table(view.table, new_rows));
    DS_RETURN_IF_ERROR(check_tail(view.k, view.table, new_rows));
    return check_tail(view.v, view.table, new_rows);
}

inline Status check_sink_shifts(const OpDesc& op, const StepInputs& inputs, const SequenceRows& sequence) {
    for (std::int32_t r = 0; r < sequence.row_count; ++r) {
        const RowVisibility& row = row_visibility(inputs, sequence, op.layer, sequence.first_row + r);
        if (row.sink_shift == 0) continue;
        if (row.sink_shift < 0)
            return bad_step("A query cannot be turned back by " + std::to_string(row.sink_shift) + " positions.");
        if (op.rope.rotary_dim == 0)
            return make_error(ErrorKind::Unsupported, "The query of " + op_text(op) + " cannot be turned back by " +
                                                          std::to_string(row.sink_shift) +
                                                          " positions: it has no rotary embedding.");
        const KvView& view = sequence.views[static_cast<std::size_t>(op.layer)];
        if (view.k.tail != nullptr || view.v.tail != nullptr)
            return make_error(ErrorKind::Unsupported,
                              "A query cannot be turned back for a cache that keeps its last rows apart.");
    }
    return {};
}

inline Status check_layer_tables(const StepProgram& program, const SequenceRows& sequence) {
    const auto layers = static_cast<std::size_t>(program.layers);
    const auto fits = [&](std::size_t size) { return size == 0 || size == layers; };
    if (!fits(sequence.layer_visibility.size()) || !fits(sequence.weight_sums.size()))
        return bad_step("A sequence has visibility of " + std::to_string(sequence.layer_visibility.size()) +
                        " and weight sums of " + std::to_string(sequence.weight_sums.size()) +
                        " layers; the model has " + std::to_string(program.layers) + ".");
    for (const RowVisibility* rows : sequence.layer_visibility)
        if (rows == nullptr) return bad_step("A layer has no visibility.");
    return {};
}

inline Status check_sequences(const StepProgram& program, const StepInputs& inputs) {
    std::int32_t next = 0;
    for (const SequenceRows& sequence : inputs.sequences) {
        if (sequence.first_row != next || sequence.row_count < 1)
            return bad_step("The rows of the sequences do not follow one another.");
        if (sequence.row_count > static_cast<std::int64_t>(inputs.tokens.size()) - next)
            return bad_step("The sequences have more rows than the step.");
        next += sequence.row_count;
        if (sequence.views.size() != static_cast<std::size_t>(program.layers))
            return bad_step("A cache of " + std::to_string(sequence.views.size()) + " layers was given to a model of " +
                            std::to_string(program.layers) + ".");
        DS_RETURN_IF_ERROR(check_layer_tables(program, sequence));
    }
    if (static_cast<std::size_t>(next) != inputs.tokens.size())
        return bad_step("The sequences cover " + std::to_string(next) + " of " + std::to_string(inputs.tokens.size()) +
                        " rows.");
    for (const OpDesc& op : program.ops) {
        if (op.kind != OpKind::Attention && op.kind != OpKind::CacheStore) continue;
        for (const SequenceRows& sequence : inputs.sequences) {
            if (op.kind == OpKind::Attention) DS_RETURN_IF_ERROR(check_sink_shifts(op, inputs, sequence));
            DS_RETURN_IF_ERROR(check_view(sequence.views[static_cast<std::size_t>(op.layer)], op, sequence.row_count));
        }
    }
    return {};
}

inline Status check_capture(const StepProgram& program, const StepInputs& inputs) {
    if (inputs.attention_out.empty()) return {};
    if (inputs.attention_out.size() != static_cast<std::size_t>(program.layers))
        return bad_step("Attention was asked of " + std::to_string(inputs.attention_out.size()) +
                        " layers; the model has " + std::to_string(program.layers) + ".");
    for (std::size_t layer = 0; layer < inputs.attention_out.size(); ++layer) {
        if (inputs.attention_out[layer] == nullptr) continue;
        for (const SequenceRows& sequence : inputs.sequences)
            if (sequence.views[layer].table.count > inputs.attention_stride)
                return bad_step("The room for attention is " + std::to_string(inputs.attention_stride) +
                                " wide; the cache has " + std::to_string(sequence.views[layer].table.count) +
                                " entries.");
    }
    return {};
}

}  // namespace detail

// Checks the values of one step against the program and the limits that it was compiled for.
inline Status validate(const StepProgram& program, const StepInputs& inputs, const StepOutputs& outputs,
                       const StepLimits& limits) {
    DS_RETURN_IF_ERROR(detail::check_rows(program, inputs, outputs, limits));
    const bool has_cache = std::any_of(program.ops.begin(), program.ops.end(), [](const OpDesc& op) {
        return op.kind == OpKind::Attention || op.kind == OpKind::CacheStore;
    });
    if (!has_cache) return {};
    DS_RETURN_IF_ERROR(detail::check_sequences(program, inputs));
    return detail::check_capture(program, inputs);
}

}  // namespace decodescope
