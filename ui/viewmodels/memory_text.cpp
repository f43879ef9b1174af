#include "ui/viewmodels/memory_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "engine/cache/kv_format.h"
#include "engine/model/layer_kinds.h"
#include "engine/trace/memory_ledger.h"
#include "ui/viewmodels/format.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(MemoryText)
};

// Why count and formula differ; empty when they agree.
QString gap_words(const LedgerLine& line) {
    const std::int64_t gap = line.measured_bytes - line.derived_bytes;
    if (line.derived_bytes < 0 || gap == 0) return {};
    const QString size = format_bytes_exact(gap < 0 ? -gap : gap);
    if (line.purpose != "weights")
        return Text::tr("; %1 beside the formula: scales and padding of the format").arg(size);
    return gap > 0 ? Text::tr("; %1 more than the formula: aligned addresses, second layouts").arg(size)
                   : Text::tr("; %1 less than the formula: read where the file lies").arg(size);
}

// Waste of a cache with pages: inside the pages of this sequence, and outside of them.
QStringList page_words(const KvFacts& kv, std::int64_t residual_bytes, std::int64_t ring_bytes) {
    const std::int64_t rows = kv.pages_used * kv.page_tokens;
    const std::int64_t empty = std::max<std::int64_t>(0, rows - kv.tokens_stored);
    const std::int64_t page_bytes = kv.reserved_bytes - residual_bytes - ring_bytes, row_bytes = rows > 0 ? page_bytes / rows : 0;
    QStringList words;
    words << Text::tr("%1 in %2 pages of %3 tokens, %4 of it empty inside the last page (rows: %5)")
                 .arg(format_bytes_exact(page_bytes))
                 .arg(kv.pages_used)
                 .arg(kv.page_tokens)
                 .arg(format_bytes_exact(empty * row_bytes))
                 .arg(empty);
    if (residual_bytes > 0)
        words << Text::tr("%1 beside the pages hold the newest rows in full precision")
                     .arg(format_bytes_exact(residual_bytes));
    if (ring_bytes > 0)
        words << Text::tr("%1 beside the pages hold the windows of the local layers")
                     .arg(format_bytes_exact(ring_bytes));
    if (kv.pages_shared > 0)
        words << Text::tr("%1 of these pages belong to other branches as well and exist once").arg(kv.pages_shared);
    words << Text::tr("%1 allocated for the pool; outside this sequence's pages %2 are free")
                 .arg(format_bytes_exact(kv.pool_bytes))
                 .arg(kv.pages_free);
    return words;
}

// Of a format that keeps the newest rows in full precision: the room for them, which is not in the pages.
std::int64_t residual_bytes(const RunFacts& facts) {
    const auto format = parse_kv_format(facts.kv_type);
    if (!format.ok() || !format->has_residual()) return 0;
    return KvShape::of(facts.config, *format).residual_bytes();
}

// Of layers that attend to a window and keep a ring of it, whatever the strategy of the others.
std::int64_t ring_bytes(const RunFacts& facts) {
    const auto format = parse_kv_format(facts.kv_type);
    const LayerKind local = local_kind(facts.config);
    if (!format.ok() || format->has_residual()) return 0;
    return local.layers * local.window * KvShape::of(facts.config, *format).entry_bytes();
}

QString capacity_words(const KvFacts& kv) {
    if (kv.capacity_tokens <= 0) return {};
    const std::int64_t empty = std::max<std::int64_t>(0, kv.capacity_tokens - kv.tokens_stored);
    if (empty == 0)
        return Text::tr("%1 reserved: room for %2 tokens, all of it in use")
            .arg(format_bytes_exact(kv.reserved_bytes))
            .arg(kv.capacity_tokens);
    return Text::tr("%1 reserved: room for %2 tokens, %3 of them empty so far")
        .arg(format_bytes_exact(kv.reserved_bytes))
        .arg(kv.capacity_tokens)
        .arg(empty);
}

}  // namespace

ByteUnit byte_unit(double largest_bytes) {
    if (largest_bytes >= 1024.0 * 1024 * 1024) return {QStringLiteral("GiB"), 1024.0 * 1024 * 1024};
    if (largest_bytes >= 1024.0 * 1024) return {QStringLiteral("MiB"), 1024.0 * 1024};
    if (largest_bytes >= 1024.0) return {QStringLiteral("KiB"), 1024.0};
    return {QStringLiteral("B"), 1.0};
}

QString memory_words(const RunFacts& facts, const StepFacts& step, const QColor& quiet, bool cache_only) {
    QStringList lines;
    const auto add = [&](const QString& text, bool derived = false) {
        const QString safe = text.toHtmlEscaped();
        lines << (derived ? QStringLiteral("<span style='color:%1'>%2</span>").arg(quiet.name(), safe) : safe);
    };
    const auto ledger = memory_ledger(facts, step);
    const auto line_of = [&](const char* purpose) {
        const auto at =
            std::find_if(ledger.begin(), ledger.end(), [&](const LedgerLine& line) { return line.purpose == purpose; });
        return at == ledger.end() ? nullptr : &*at;
    };
    if (const LedgerLine* used = line_of("KV used")) {
        if (!used->formula.empty()) add(QString::fromStdString(used->formula));
        if (!used->filled_in.empty()) add(QString::fromStdString(used->filled_in) + Text::tr(" B [derived]"), true);
        add(Text::tr("counted %1 used [measured]").arg(format_bytes_exact(used->measured_bytes)) + gap_words(*used));
    }
    if (step.kv.tokens_stored == 0)
        add(Text::tr("Nothing is kept: K and V of a pass are scratch and count as activations."), true);
    if (step.kv.page_tokens > 0)
        for (const QString& words : page_words(step.kv, residual_bytes(facts), ring_bytes(facts))) add(words);
    else if (const QString words = capacity_words(step.kv); !words.isEmpty()) add(words);
    if (step.kv.offload != OffloadPlace::None)
        add((step.kv.offload == OffloadPlace::Host
                 ? Text::tr("K and V lie in host memory; on the device is room for one layer: %1 [measured]")
                 : Text::tr("K and V lie in a file; on the device is room for one layer: %1 [measured]"))
                .arg(format_bytes_exact(step.kv.offload_pool_bytes)));
    if (step.kv.copied_bytes > 0)
        add(Text::tr("This step copied %1 to grow the cache; old and new together took %2 [measured]")
                .arg(format_bytes_exact(step.kv.copied_bytes), format_bytes_exact(step.kv.peak_bytes)));
    if (const LedgerLine* weights = line_of("weights"); weights != nullptr && !cache_only)
        add(Text::tr("weights %1 [measured]").arg(format_bytes_exact(weights->measured_bytes)) + gap_words(*weights));
    if (const LedgerLine* activations = line_of("activations"); activations != nullptr && !cache_only)
        add(Text::tr("activations %1 [measured]: buffers of the largest pass, used again by every step")
                .arg(format_bytes_exact(activations->measured_bytes)));
    if (step.memory.history_bytes > 0 && !cache_only)
        add(Text::tr("What this window keeps to draw: %1, not part of the run")
                .arg(format_bytes(step.memory.history_bytes)),
            true);
    QString html;
    for (const QString& line : lines) html += QStringLiteral("<p style='margin:0 0 4px 0'>%1</p>").arg(line);
    return html;
}

}  // namespace decodescope
