#include "ui/viewmodels/memory_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "engine/trace/memory_ledger.h"
#include "ui/viewmodels/format.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(MemoryText)
};

QString purpose_name(const std::string& purpose) {
    if (purpose == "weights") return Text::tr("weights");
    if (purpose == "KV used") return Text::tr("KV used");
    if (purpose == "KV reserved") return Text::tr("KV reserved");
    if (purpose == "activations") return Text::tr("activations");
    if (purpose == "staging") return Text::tr("staging");
    return QString::fromStdString(purpose);
}

QString capacity_words(const KvFacts& kv) {
    if (kv.capacity_tokens <= 0) return {};
    const std::int64_t empty = std::max<std::int64_t>(0, kv.capacity_tokens - kv.tokens_stored);
    return Text::tr("%1 reserved: room for %2 tokens, %3 of them empty so far").arg(format_bytes_exact(kv.reserved_bytes)).arg(kv.capacity_tokens).arg(empty);
}

}  // namespace

ByteUnit byte_unit(double largest_bytes) {
    if (largest_bytes >= 1024.0 * 1024 * 1024) return {QStringLiteral("GiB"), 1024.0 * 1024 * 1024};
    if (largest_bytes >= 1024.0 * 1024) return {QStringLiteral("MiB"), 1024.0 * 1024};
    if (largest_bytes >= 1024.0) return {QStringLiteral("KiB"), 1024.0};
    return {QStringLiteral("B"), 1.0};
}

QString memory_words(const RunFacts& facts, const StepFacts& step, const QColor& quiet) {
    const auto derived = [&](const QString& text) { return QStringLiteral("<span style='color:%1'>%2</span>").arg(quiet.name(), text.toHtmlEscaped()); };
    QStringList lines;
    for (const LedgerLine& line : memory_ledger(facts, step)) {
        const bool cache_line = line.purpose == "KV used";
        if (cache_line && !line.formula.empty()) {
            lines << QString::fromStdString(line.formula).toHtmlEscaped();
            lines << derived(QString::fromStdString(line.filled_in) + Text::tr(" B [derived]"));
            lines << Text::tr("counted %1 used [measured]").arg(format_bytes_exact(line.measured_bytes)).toHtmlEscaped();
        } else if (line.purpose == "KV reserved") {
            if (const QString words = capacity_words(step.kv); !words.isEmpty()) lines << words.toHtmlEscaped();
        } else {
            lines << Text::tr("%1 %2 [measured]").arg(purpose_name(line.purpose), format_bytes_exact(line.measured_bytes)).toHtmlEscaped();
        }
        if (!line.gap.empty()) lines << derived(QString::fromStdString(line.gap));
    }
    if (step.kv.copied_bytes > 0)
        lines << Text::tr("This step copied %1 to grow the cache; old and new together took %2 [measured]")
                     .arg(format_bytes_exact(step.kv.copied_bytes), format_bytes_exact(step.kv.peak_bytes)).toHtmlEscaped();
    if (step.memory.history_bytes > 0) lines << derived(Text::tr("What this window keeps to draw: %1, not part of the run").arg(format_bytes(step.memory.history_bytes)));
    QString html;
    for (const QString& line : lines) html += QStringLiteral("<p style='margin:0 0 4px 0'>%1</p>").arg(line);
    return html;
}

}  // namespace decodescope
