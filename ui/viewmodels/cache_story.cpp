#include "ui/viewmodels/cache_story.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "engine/cache/strategy_descriptor.h"
#include "engine/trace/memory_ledger.h"
#include "ui/viewmodels/format.h"

namespace decodescope {
namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(CacheStory)
};

CacheKind kind_of(const std::string& spec) {
    const std::string id = spec.substr(0, spec.find(':'));
    if (id == "recompute") return CacheKind::Recompute;
    if (id == "growing") return CacheKind::Growing;
    if (id == "preallocated") return CacheKind::Preallocated;
    return CacheKind::Other;
}

std::int64_t differing_layers(const RunFacts& facts) {
    const StrategyDescriptor* strategy = find_strategy(facts.cache_spec.substr(0, facts.cache_spec.find(':')));
    return strategy != nullptr && strategy->per_layer && facts.config.layers > 1 ? facts.config.layers : 0;
}

ExportCell number_or_nothing(float value) {
    if (!std::isfinite(value)) return std::monostate{};
    return static_cast<double>(value);
}

}  // namespace

void CacheStory::update(const RunRecording* recording) {
    if (recording != source_) {
        source_ = recording;
        copied_.clear();
        kind_ = recording == nullptr ? CacheKind::None : kind_of(recording->facts().cache_spec);
        layers_ = recording == nullptr ? 0 : differing_layers(recording->facts());
        local_ = recording == nullptr ? LayerKind{} : local_kind(recording->facts().config);
    }
    const int count = recording == nullptr ? 0 : recording->step_count();
    for (int step = static_cast<int>(copied_.size()); step < count; ++step) {
        const auto facts = recording->step(step);
        copied_.push_back((copied_.empty() ? 0 : copied_.back()) + (facts ? facts->kv.copied_bytes : 0));
    }
}

QString CacheStory::layer_words() const {
    if (layers_ > 0)
        return Words::tr("layer %1 of %2: each layer keeps tokens of its own")
            .arg(placed_layer(source_->facts().config))
            .arg(layers_);
    if (!has_local() || local_.layers == source_->facts().config.layers) return {};
    return Words::tr("layer %1 of %2, which sees everything")
        .arg(placed_layer(source_->facts().config))
        .arg(source_->facts().config.layers);
}

bool CacheStory::is_local(int layer) const {
    return source_ != nullptr && layer_window(source_->facts().config, layer) > 0;
}

std::int64_t CacheStory::rows_kept(const ViewedStep& view, int layer) const {
    return view.facts ? decodescope::rows_kept(source_->facts(), view.facts->kv, layer) : 0;
}

std::int64_t CacheStory::rows_room(const ViewedStep& view, int layer) const {
    if (!view.facts) return 0;
    const std::int64_t room = view.facts->kv.capacity_tokens;
    return is_local(layer) ? std::max(local_.window, rows_kept(view, layer)) : room;
}

bool CacheStory::some_left(const ViewedStep& view) const {
    if (!view.facts || kind_ == CacheKind::Recompute) return false;
    const KvFacts& kv = view.facts->kv;
    return kv.tokens_stored < kv.tokens_seen || (has_local() && local_.window < kv.tokens_seen);
}

QString CacheStory::kind_label(const ViewedStep& view, int layer) const {
    if (!has_local() || kind_ == CacheKind::Recompute) return {};
    const QString rows = format_count(rows_kept(view, layer));
    return is_local(layer) ? Words::tr("%1 local").arg(rows) : Words::tr("%1 global").arg(rows);
}

// What the model's own windows leave, beside what the strategy does.
QString CacheStory::window_words(const ViewedStep& view) const {
    if (!has_local() || view.facts->kv.tokens_seen <= local_.window) return {};
    if (local_.layers == source_->facts().config.layers)
        return Words::tr("every layer attends to the last %1 tokens and keeps no more").arg(local_.window);
    return Words::tr("%1 local layers keep the last %2 tokens only").arg(local_.layers).arg(local_.window);
}

std::int64_t CacheStory::copied_bytes(int step) const {
    if (copied_.empty() || step < 0) return 0;
    return copied_[std::min(static_cast<std::size_t>(step), copied_.size() - 1)];
}

QString CacheStory::facts_line(const ViewedStep& view) const {
    if (!view.facts) return {};
    const KvFacts& kv = view.facts->kv;
    if (kind_ == CacheKind::Recompute) return Words::tr("0 slots · nothing is kept [measured]");
    if (const std::int64_t layers = source_->facts().config.layers; has_local() && local_.layers < layers) {
        int first = 0;
        while (!is_local(first)) ++first;
        return Words::tr("%1 global × %2 + %3 local × %4 rows · %5 of %6 used [measured]")
            .arg(layers - local_.layers)
            .arg(format_count(kv.tokens_stored))
            .arg(local_.layers)
            .arg(format_count(rows_kept(view, first)), format_bytes(kv.used_bytes), format_bytes(kv.reserved_bytes));
    }
    return Words::tr("%1 of %2 slots · %3 of %4 used [measured]")
        .arg(format_count(kv.tokens_stored), format_count(kv.capacity_tokens), format_bytes(kv.used_bytes),
             format_bytes(kv.reserved_bytes));
}

std::int64_t CacheStory::slots_before(const ViewedStep& view) const {
    if (!view.facts) return 0;
    const KvFacts& kv = view.facts->kv;
    return kv.copied_bytes > 0 ? kv.tokens_stored - kv.rows_written : kv.capacity_tokens;
}

QString CacheStory::sentence(const ViewedStep& view) const {
    if (!view.facts) return {};
    QStringList parts{strategy_words(view), kind_ == CacheKind::Recompute ? QString() : window_words(view)};
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

QString CacheStory::strategy_words(const ViewedStep& view) const {
    const KvFacts& kv = view.facts->kv;
    const QString total = format_bytes(copied_bytes(view.facts->index));
    switch (kind_) {
        case CacheKind::None: return {};
        case CacheKind::Recompute:
            return Words::tr("no cache: all %1 tokens are computed again each step, and nothing is kept")
                .arg(format_count(kv.tokens_seen));
        case CacheKind::Growing:
            if (kv.copied_bytes > 0)
                return Words::tr("%1 copied in this step, %2 in all · peak old + new %3 [measured]")
                    .arg(format_bytes(kv.copied_bytes), total, format_bytes(kv.peak_bytes));
            return Words::tr("nothing copied in this step · %1 copied in all [measured]").arg(total);
        case CacheKind::Preallocated: {
            const std::int64_t empty = kv.capacity_tokens - kv.tokens_stored;
            if (empty <= 0)
                return Words::tr("set aside at the start, and full now: room for %1 tokens")
                    .arg(format_count(kv.capacity_tokens));
            return Words::tr("set aside at the start: room for %1 tokens, %2 still empty · nothing is ever copied")
                .arg(format_count(kv.capacity_tokens), format_count(empty));
        }
        case CacheKind::Other:
            if (kv.tokens_stored < kv.tokens_seen && layers_ > 0)
                return Words::tr("%1 of %2 tokens are kept in each layer; the others have left it")
                    .arg(format_count(kv.tokens_stored), format_count(kv.tokens_seen));
            if (kv.tokens_stored < kv.tokens_seen)
                return Words::tr("%1 of %2 tokens are kept; the others have left the cache")
                    .arg(format_count(kv.tokens_stored), format_count(kv.tokens_seen));
            if (has_local()) return Words::tr("layers that see everything keep all %1 tokens").arg(kv.tokens_stored);
            return Words::tr("all %1 tokens are kept").arg(format_count(kv.tokens_stored));
    }
    return {};
}

std::optional<float> eviction_score(const RunRecording& recording, int step, int layer, int position) {
    const auto facts = recording.step(step);
    for (const EvictedEntry& entry : facts->evicted)
        if (entry.layer == layer && entry.position == position && entry.scored()) return entry.score;
    return std::nullopt;
}

ExportTable cache_table(const RunRecording& recording, int step) {
    ExportTable table;
    table.title = "KV cache";
    table.columns = {"layer",           "position",        "token", "text", "state",
                     "written_in_step", "evicted_in_step", "k_rms", "v_rms"};
    const ViewedStep view = viewed_step(&recording, step);
    TokenTrack track;
    track.update(&recording);
    const bool keeps = kind_of(recording.facts().cache_spec) != CacheKind::Recompute;
    for (int layer = 0; layer < recording.facts().config.layers; ++layer) {
        for (int position = 0; position < track.positions(); ++position) {
            const int row = track.row_of(position);
            if (row < 0 || row >= view.row_limit) continue;
            const TokenRow& token = recording.row(row);
            const auto evicted = recording.evicted_at(position, step, layer);
            const char* state = !keeps                  ? "not kept"
                                : evicted               ? "evicted"
                                : row >= view.first_new ? "just written"
                                                        : "stored";
            table.rows.push_back({std::int64_t{layer}, std::int64_t{position}, std::int64_t{token.token},
                                  recording.row_display(row), std::string(state), std::int64_t{token.step},
                                  evicted ? ExportCell(std::int64_t{*evicted}) : ExportCell(),
                                  number_or_nothing(recording.k_rms(row, layer)),
                                  number_or_nothing(recording.v_rms(row, layer))});
        }
    }
    return table;
}

}  // namespace decodescope
