#include "engine/trace/memory_ledger.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "engine/cache/kv_format.h"
#include "engine/model/layer_kinds.h"
#include "engine/support/numbers.h"

namespace decodescope {

namespace {

std::optional<std::int64_t> bytes_of_type(const std::string& name) {
    for (const ElementType type : {ElementType::F32, ElementType::F16, ElementType::BF16, ElementType::I8})
        if (name == element_name(type)) return static_cast<std::int64_t>(element_bytes(type));
    return std::nullopt;
}

std::int64_t bytes_for(const MemoryFacts& memory, MemoryPurpose purpose) {
    return memory.bytes[static_cast<std::size_t>(purpose)];
}

std::string more_or_less(std::int64_t measured, std::int64_t derived) {
    const std::int64_t difference = measured - derived;
    return fmt::format("{} bytes {}", format_grouped(difference < 0 ? -difference : difference),
                       difference < 0 ? "fewer" : "more");
}

bool is_ring(const RunFacts& facts) { return facts.cache_spec.rfind("ring", 0) == 0; }

// What the format says that K and V take. Plain elements: the field's formula when K and V have the same type.
class KvFormula {
public:
    explicit KvFormula(const RunFacts& facts) {
        const auto format = parse_kv_format(facts.kv_type);
        if (!format.ok()) return;
        const ModelConfig& c = facts.config;
        shape_ = KvShape::of(c, *format);
        if (!format->has_residual()) write_token_formula();
        if (!format->has_residual()) local_ = local_kind(c).layers;
        window_ = c.window;
        is_ring_ = is_ring(facts);
    }

    // All layers; -1: tokens do not all take the same, or the format is not known.
    std::int64_t bytes_per_token() const {
        return shape_ && !shape_->format.has_residual() ? shape_->layers * shape_->entry_bytes() : -1;
    }
    std::int64_t scale_bytes(const KvFacts& kv) const {
        if (!shape_ || local_ == 0) return shape_ ? shape_->scale_bytes(kv.tokens_stored) : 0;
        KvShape one = *shape_;
        one.layers = 1;
        return (shape_->layers - local_) * one.scale_bytes(kv.tokens_stored) +
               local_ * one.scale_bytes(local_rows(kv.tokens_stored, kv.tokens_seen));
    }
    std::int64_t local_layers() const { return local_; }
    std::int64_t local_capacity() const { return window_; }

    LedgerLine used(const StepFacts& step) const {
        const std::int64_t tokens = step.kv.tokens_stored;
        LedgerLine line = line_of("KV used", step.kv.used_bytes);
        if (!shape_) return line;
        line.derived_bytes = shape_->stored_bytes(tokens);
        if (local_ > 0)
            return by_layer(line, "tokens stored", tokens, tokens == 0 ? 0 : local_rows(tokens, step.kv.tokens_seen));
        if (!shape_->format.has_residual()) return with_tokens(line, "tokens stored", tokens);
        const std::int64_t quantized = shape_->format.quantized_tokens(tokens);
        line.formula = "L · H_kv · (quantized rows and their scales + residual rows in f32)";
        line.filled_in = fmt::format("{} · {} · ({} for {} tokens + {} for {}) = {}", shape_->layers, shape_->kv_heads,
                                     format_grouped(shape_->layer_bytes(quantized, 0) / shape_->kv_heads),
                                     format_grouped(quantized),
                                     format_grouped(shape_->layer_bytes(0, tokens - quantized) / shape_->kv_heads),
                                     format_grouped(tokens - quantized), format_grouped(line.derived_bytes));
        return line;
    }

    LedgerLine reserved(const StepFacts& step) const {
        LedgerLine line = line_of("KV reserved", step.kv.reserved_bytes);
        if (!shape_) return line;
        if (local_ > 0) {
            const std::int64_t capacity = step.kv.reserved_bytes > 0 ? step.kv.capacity_tokens : 0;
            return by_layer(line, "capacity", capacity, capacity == 0 ? 0 : local_rows(capacity, window_));
        }
        const auto rows = shape_->total_bytes(step.kv.capacity_tokens, step.kv.page_tokens > 0);
        if (!rows.ok()) return line;
        const std::int64_t residual = step.kv.reserved_bytes > 0 ? shape_->residual_bytes() : 0;
        line.derived_bytes = *rows + residual;
        if (!shape_->format.has_residual()) return with_tokens(line, "capacity", step.kv.capacity_tokens);
        line.formula = "rows of the capacity that can be quantized + (residual + group) rows in f32";
        line.filled_in = fmt::format("{} + {} = {}", format_grouped(*rows), format_grouped(residual),
                                     format_grouped(line.derived_bytes));
        return line;
    }

private:
    // Without "tokens".
    void write_token_formula() {
        const KvShape& s = *shape_;
        const auto k = s.head_bytes(KvPart::K, 1), v = s.head_bytes(KvPart::V, 1);
        if (s.format.k == ElementType::I8 || s.format.v == ElementType::I8) {
            formula_ = "L · H_kv · (bytes of a K row + bytes of a V row; int8: d codes and a scale of 4 bytes)";
            filled_in_ = fmt::format("{} · {} · ({} + {})", s.layers, s.kv_heads, k, v);
            return;
        }
        const auto k_bytes = element_bytes(s.format.k), v_bytes = element_bytes(s.format.v);
        formula_ = k == v ? "2 · L · H_kv · d · bytes" : "L · H_kv · d · (bytes of K + bytes of V)";
        filled_in_ = k == v ? fmt::format("2 · {} · {} · {} · {}", s.layers, s.kv_heads, s.head_dim, k_bytes)
                            : fmt::format("{} · {} · {} · ({} + {})", s.layers, s.kv_heads, s.head_dim, k_bytes,
                                          v_bytes);
    }

    // Rows of a layer that attends to a window, when `rows` are those of the layers that keep most.
    std::int64_t local_rows(std::int64_t rows, std::int64_t seen) const {
        const std::int64_t most = is_ring_ || local_ == shape_->layers ? std::min(rows, window_) : window_;
        return std::min(most, seen);
    }

    // Layers that attend to a window keep `local` rows, the others `rows`.
    LedgerLine by_layer(LedgerLine line, const char* count_name, std::int64_t rows, std::int64_t local) const {
        const std::int64_t all = shape_->layers - local_, row_bytes = shape_->entry_bytes();
        line.derived_bytes = row_bytes * (all * rows + local_ * local);
        line.formula =
            fmt::format("bytes of a row of K and V · (global layers · {} + local layers · rows of the window)", count_name);
        const std::string of_all = fmt::format("{} global · {}", all, format_grouped(rows));
        line.filled_in = fmt::format("{} · ({}{} local · {}) = {}", format_grouped(row_bytes),
                                     all == 0 ? std::string() : of_all + " + ", local_, format_grouped(local),
                                     format_grouped(line.derived_bytes));
        return line;
    }

    static LedgerLine line_of(const char* purpose, std::int64_t measured) {
        LedgerLine line;
        line.purpose = purpose;
        line.measured_bytes = measured;
        line.derived_bytes = -1;
        return line;
    }

    LedgerLine with_tokens(LedgerLine line, const char* count_name, std::int64_t count) const {
        line.formula = fmt::format("{} · {}", formula_, count_name);
        line.filled_in =
            fmt::format("{} · {} = {}", filled_in_, format_grouped(count), format_grouped(line.derived_bytes));
        return line;
    }

    std::optional<KvShape> shape_;
    std::int64_t local_ = 0, window_ = 0;  // layers that attend to a window shorter than the context, and its length
    bool is_ring_ = false;                 // so do the others, to one that was asked for
    std::string formula_, filled_in_;
};

LedgerLine weights_line(const RunFacts& facts, const StepFacts& step) {
    LedgerLine line;
    line.purpose = "weights";
    line.measured_bytes = bytes_for(step.memory, MemoryPurpose::Weights);
    line.derived_bytes = -1;
    const auto each = bytes_of_type(facts.weights_type);
    const ModelConfig& c = facts.config;
    if (c.kept_bytes > 0 && facts.weights_type == c.stored_as) {
        line.derived_bytes = c.kept_bytes;
        line.formula = "blocks of codes and their scales, by the type of each matrix + norm and bias parameters · 4";
        line.filled_in = fmt::format("mostly {}: {}", c.stored_as, format_grouped(c.kept_bytes));
        if (line.measured_bytes != line.derived_bytes)
            line.gap = fmt::format("{}: the backend starts every tensor at an aligned address and fills up its last rows.",
                                   more_or_less(line.measured_bytes, line.derived_bytes));
        return line;
    }
    if (!each || c.vocabulary <= 0 || c.hidden <= 0) return line;
    const std::int64_t matrices = c.matrix_parameters();
    const std::int64_t vectors = c.parameters() - matrices;  // norms and biases, always f32
    line.derived_bytes = matrices * *each + vectors * 4;
    line.formula = "matrix parameters · bytes + norm and bias parameters · 4";
    line.filled_in = fmt::format("{} · {} + {} · 4 = {}", format_grouped(matrices), *each, format_grouped(vectors),
                                 format_grouped(line.derived_bytes));
    if (line.measured_bytes == line.derived_bytes) return line;
    line.gap = line.measured_bytes > line.derived_bytes
                   ? fmt::format(
                         "{}: the backend starts every tensor at an aligned address and may keep a second layout "
                         "of a matrix.",
                         more_or_less(line.measured_bytes, line.derived_bytes))
                   : fmt::format("{}: a part of the weights is read where the file lies in memory.",
                                 more_or_less(line.measured_bytes, line.derived_bytes));
    return line;
}

LedgerLine used_line(const KvFormula& kv, const RunFacts& facts, const StepFacts& step) {
    LedgerLine line = kv.used(step);
    if (step.kv.tokens_stored == 0 && step.kv.tokens_seen > 0) {
        line.gap =
            "Nothing is kept without a cache: every step computes all K and V again, in scratch that counts as "
            "activations.";
    } else if (line.derived_bytes >= 0 && line.measured_bytes != line.derived_bytes) {
        line.gap = fmt::format("{}: scales and padding of the storage format.",
                               more_or_less(line.measured_bytes, line.derived_bytes));
    } else if (step.kv.tokens_stored < step.kv.tokens_seen) {
        line.gap = fmt::format("{} of {} tokens seen are kept; the others have left.",
                               format_grouped(step.kv.tokens_stored), format_grouped(step.kv.tokens_seen));
    } else if (facts.kv_type != "f32" && line.derived_bytes >= 0) {
        line.gap = fmt::format("The format {} is the cache's own choice, whatever the weights have ({}).",
                               facts.kv_type, facts.weights_type);
        if (const std::int64_t scales = kv.scale_bytes(step.kv); scales > 0)
            line.gap += fmt::format(" {} bytes of it are scales.", format_grouped(scales));
    }
    return line;
}

LedgerLine reserved_line(const KvFormula& kv, const StepFacts& step) {
    LedgerLine line = kv.reserved(step);
    const std::int64_t free_tokens = step.kv.capacity_tokens - step.kv.tokens_stored;
    if (free_tokens > 0)
        line.gap = fmt::format(
            "Room for {} more tokens is reserved and not used yet: {} bytes, {:.1f} % of it in use.",
            format_grouped(free_tokens), format_grouped(step.kv.reserved_bytes - step.kv.used_bytes),
            100.0 * static_cast<double>(step.kv.tokens_stored) / static_cast<double>(step.kv.capacity_tokens));
    else if (line.derived_bytes >= 0 && line.measured_bytes != line.derived_bytes)
        line.gap = fmt::format("{}: padding of the storage.", more_or_less(line.measured_bytes, line.derived_bytes));
    return line;
}

// The moment at which a growing cache holds the old and the new buffer of one layer.
std::optional<LedgerLine> peak_line(const KvFormula& kv, const RunFacts& facts, const StepFacts& step) {
    if (step.kv.peak_bytes <= step.kv.reserved_bytes) return std::nullopt;
    LedgerLine line;
    line.purpose = "KV peak";
    line.measured_bytes = step.kv.peak_bytes;
    line.derived_bytes = -1;
    const std::int64_t stored = step.kv.tokens_stored, layers = facts.config.layers;
    const std::int64_t before = stored - step.kv.rows_written;
    const std::int64_t rings = kv.local_layers() * kv.local_capacity();  // rows of layers that never grow
    if (kv.bytes_per_token() >= 0 && layers > 0 && step.row_count == step.kv.rows_written &&
        step.phase == Phase::Decode) {
        const std::int64_t layer_row = kv.bytes_per_token() / layers;
        const std::int64_t growing = layers - kv.local_layers();
        line.derived_bytes = (growing * stored + before + rings) * layer_row;
        line.formula = fmt::format("(L · new tokens stored + old tokens stored{}) · bytes of a token in one layer",
                                   rings > 0 ? " + rows of local layers" : "");
        line.filled_in =
            fmt::format("({} · {} + {}{}) · {} = {}", growing, format_grouped(stored), format_grouped(before),
                        rings > 0 ? " + " + format_grouped(rings) : std::string(), format_grouped(layer_row),
                        format_grouped(line.derived_bytes));
    }
    line.gap = fmt::format(
        "While a layer grows, its old and its new buffer live side by side; {} bytes were copied in this step.",
        format_grouped(step.kv.copied_bytes));
    return line;
}

LedgerLine counted_line(const char* purpose, std::int64_t bytes, std::string gap) {
    LedgerLine line;
    line.purpose = purpose;
    line.measured_bytes = bytes;
    line.derived_bytes = -1;
    line.gap = std::move(gap);
    return line;
}

}  // namespace

std::int64_t rows_kept(const RunFacts& facts, const KvFacts& kv, std::int64_t layer) {
    const std::int64_t window = layer_window(facts.config, layer);
    if (window == 0 || kv.tokens_stored == 0) return kv.tokens_stored;
    const bool bounded = is_ring(facts) || local_kind(facts.config).layers == facts.config.layers;
    return std::min({window, kv.tokens_seen, bounded ? kv.tokens_stored : window});
}

std::vector<LedgerLine> memory_ledger(const RunFacts& facts, const StepFacts& step) {
    const KvFormula kv(facts);
    std::vector<LedgerLine> lines = {weights_line(facts, step), used_line(kv, facts, step), reserved_line(kv, step)};
    if (step.kv.page_tokens > 0)
        lines.push_back(counted_line(
            "KV pool", step.kv.pool_bytes,
            fmt::format(
                "Counted only: all pages of {} tokens that were allocated; {} of them are in use here and {} are free.",
                step.kv.page_tokens, format_grouped(step.kv.pages_used), format_grouped(step.kv.pages_free))));
    if (step.kv.offload != OffloadPlace::None)
        lines.push_back(counted_line(
            "KV offload pool", step.kv.offload_pool_bytes,
            fmt::format("Counted only: room on the device for the layer that runs; the cache itself lies in {}. Moved "
                        "in this step: {} bytes.",
                        step.kv.offload == OffloadPlace::Host ? "host memory" : "a file",
                        format_grouped(step.kv.offload_moved_bytes()))));
    if (auto peak = peak_line(kv, facts, step)) lines.push_back(std::move(*peak));
    lines.push_back(counted_line(
        "activations", bytes_for(step.memory, MemoryPurpose::Activations),
        "Counted only: buffers for the rows of the largest pass so far, used again by every layer and step."));
    if (const std::int64_t staging = bytes_for(step.memory, MemoryPurpose::Staging); staging > 0)
        lines.push_back(counted_line("staging", staging, "Counted only: what is on its way to or from the device."));
    lines.push_back(counted_line("recording", step.memory.history_bytes,
                                 "Counted only: this history; attention is kept as f16, two bytes a weight."));
    return lines;
}

}  // namespace decodescope
