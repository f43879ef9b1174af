#include "ui/viewmodels/placement_text.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "ui/viewmodels/format.h"
#include "ui/viewmodels/token_text.h"

namespace decodescope {
namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(CachePlacement)
};

QString bytes_of(const Placement& state, const KvFacts& kv, std::int64_t slot_count) {
    return format_bytes(std::llround(slot_bytes(state, kv) * static_cast<double>(slot_count)));
}

QString owner_names(const std::vector<std::int32_t>& owners) {
    QStringList names;
    for (const std::int32_t owner : owners) names << QString::number(owner + 1);
    return names.join(QStringLiteral(", "));
}

QString use_words(const PageRun& page, std::int32_t sequence) {
    switch (use_of(page, sequence)) {
        case SlotUse::Own: return Words::tr("owned by this conversation (%1) alone").arg(sequence + 1);
        case SlotUse::Shared:
            return Words::tr("shared: owned by conversations %1; this one is %2")
                .arg(owner_names(page.owners))
                .arg(sequence + 1);
        case SlotUse::Other:
            return Words::tr("owned by conversation %1, not by this one").arg(owner_names(page.owners));
        case SlotUse::Findable: return Words::tr("free, but its tokens can still be found, until it is reclaimed");
        case SlotUse::Free: return Words::tr("free: nobody owns it any more");
        case SlotUse::Reserved: return Words::tr("set aside, never written");
    }
    return {};
}

const char* use_name(SlotUse use) {
    switch (use) {
        case SlotUse::Own: return "own";
        case SlotUse::Shared: return "shared";
        case SlotUse::Other: return "other";
        case SlotUse::Findable: return "free, findable";
        case SlotUse::Free: return "free";
        case SlotUse::Reserved: return "reserved";
    }
    return "";
}

QString token_words(const PlacementScene& scene, int position) {
    const int row = scene.tokens.row_of(position);
    if (row < 0 || row >= scene.step.row_limit) return {};
    return token_label(scene.recording.row_display(row), scene.recording.row(row).special).spoken;
}

QStringList page_facts(const PlacementTrack& track, const KvFacts& kv, int page) {
    const Placement& state = track.state();
    const PageRun* run = track.page(page);
    const auto size = static_cast<int>(state.page_tokens);
    const int first = page * size, rows = track.rows_in(first, first + size);
    QStringList lines{size == 1 ? Words::tr("Page %1, one slot").arg(page)
                                : Words::tr("Page %1 · slots %2 to %3").arg(page).arg(first).arg(first + size - 1)};
    if (run == nullptr) return lines;
    lines << use_words(*run, state.sequence);
    const QString bytes = bytes_of(state, kv, size);
    if (rows > 0 && size == 1) {
        lines << Words::tr("holds position %1 · %2 in all layers [derived]")
                     .arg(track.position_in(first).value_or(-1))
                     .arg(bytes);
    } else if (rows == 0) {
        lines << Words::tr("%1 in all layers [derived]").arg(bytes);
    } else {
        const int from = track.position_in(first).value_or(-1);
        lines << Words::tr("%1 of %2 tokens: positions %3 to %4 · %5 in all layers [derived]")
                     .arg(rows)
                     .arg(size)
                     .arg(from)
                     .arg(from + rows - 1)
                     .arg(bytes);
        if (rows < size)
            lines << Words::tr("last page: %1 slots empty, %2 wasted [derived]")
                         .arg(size - rows)
                         .arg(bytes_of(state, kv, size - rows));
    }
    if (run->reclaimed && !run->owners.empty())
        lines << Words::tr("reclaimed: it was free the longest, and what it held can no longer be found");
    return lines;
}

QStringList slot_facts(const PlacementScene& scene, const PlacementHit& hit) {
    const QString name = Words::tr("Slot %1").arg(hit.slot);
    const QString bytes =
        Words::tr("%1 in all layers [derived]").arg(bytes_of(scene.track.state(), scene.step.facts->kv, 1));
    if (hit.position < 0) return {name, Words::tr("reserved, empty"), bytes};
    return {name + Words::tr(" · holds position %1 · ").arg(hit.position) + token_words(scene, hit.position), bytes};
}

QString next_words(const PlacementTrack& track) {
    const Placement& state = track.state();
    const auto slot = static_cast<int>(state.next_slot);
    if (state.next_slot == kNotStored) return {};
    if (state.next_copies)
        return Words::tr("the next token needs a copy of the last page first: it is shared, and goes to page %1")
            .arg(slot / static_cast<int>(std::max<std::int64_t>(state.page_tokens, 1)));
    if (const auto over = track.position_in(slot))
        return Words::tr("the next token goes to slot %1, over position %2").arg(slot).arg(*over);
    return Words::tr("the next token goes to slot %1").arg(slot);
}

}  // namespace

double slot_bytes(const Placement& state, const KvFacts& kv) {
    const std::int64_t bytes = state.page_tokens > 0 ? kv.pool_bytes : kv.reserved_bytes;
    const std::int64_t count = state.page_tokens > 0 ? state.slots : kv.capacity_tokens;
    return count > 0 ? static_cast<double>(bytes) / static_cast<double>(count) : 0.0;
}

std::int64_t wasted_slots(const Placement& state, const KvFacts& kv) {
    return state.page_tokens > 0 ? std::max<std::int64_t>(0, kv.pages_used * state.page_tokens - kv.tokens_stored) : 0;
}

QString placement_sentence(const PlacementTrack& track, const ViewedStep& view, const CacheStory& story) {
    const Placement& state = track.state();
    if (!view.facts || story.kind() == CacheKind::Recompute) return story.sentence(view);
    if (!state.known) return Words::tr("where the rows lie is not captured in this recording");
    const KvFacts& kv = view.facts->kv;
    if (state.page_tokens == 0) {
        QStringList parts{story.layer_words(), story.sentence(view)};
        if (kv.tokens_stored < kv.tokens_seen || story.kind() == CacheKind::Other) parts << next_words(track);
        parts.removeAll(QString());
        return parts.join(QStringLiteral(" · "));
    }
    const std::int64_t wasted = wasted_slots(state, kv);
    QStringList parts{Words::tr("%1 pages for %2 tokens, %3 shared [measured]")
                          .arg(format_count(kv.pages_used), format_count(kv.tokens_stored),
                               format_count(kv.pages_shared)),
                      wasted == 0 ? Words::tr("no slot wasted [derived]")
                                  : Words::tr("last page: %1 empty, %2 wasted [derived]")
                                        .arg(format_count(wasted), bytes_of(state, kv, wasted))};
    if (kv.pages_copied > 0)
        parts << Words::tr("%1 page copied: it was shared and had to be written").arg(kv.pages_copied);
    else if (state.next_copies) parts << next_words(track);
    return parts.join(QStringLiteral(" · "));
}

QString memory_words(const Placement& state, std::int64_t layers) {
    const QString where = state.one_slab ? Words::tr("one slab for all %1 layers").arg(layers)
                                         : Words::tr("one allocation for each of %1 layers").arg(layers);
    if (state.page_tokens == 0) return Words::tr("%1 slots, %2").arg(format_count(state.slots), where);
    return Words::tr("%1 pages of %2 slots, %3")
        .arg(format_count(state.slots / state.page_tokens), format_count(state.page_tokens), where);
}

QStringList placement_facts(const PlacementScene& scene, const PlacementHit& hit) {
    const Placement& state = scene.track.state();
    if (!scene.step.facts || !state.known) return {};
    const KvFacts& kv = scene.step.facts->kv;
    QStringList lines;
    if (!hit.in_memory) {
        const QString name = Words::tr("Position %1 · ").arg(hit.position) + token_words(scene, hit.position);
        const auto gone = scene.recording.evicted_at(hit.position, scene.step.facts->index,
                                                     placed_layer(scene.recording.facts().config));
        if (hit.slot < 0)
            return {name, gone ? Words::tr("evicted in step %1: no later token reads it").arg(*gone)
                               : Words::tr("not stored")};
        lines << name;
        lines << (hit.page < 0 ? Words::tr("lies in slot %1").arg(hit.slot)
                               : Words::tr("lies in slot %1: page %2, place %3")
                                     .arg(hit.slot)
                                     .arg(hit.page)
                                     .arg(hit.slot % static_cast<int>(state.page_tokens)));
    }
    if (hit.page >= 0) lines << page_facts(scene.track, kv, hit.page);
    else if (hit.in_memory) lines << slot_facts(scene, hit);
    else lines << Words::tr("%1 in all layers [derived]").arg(bytes_of(state, kv, 1));
    const std::int64_t unit = hit.page >= 0 ? state.page_tokens : 1;
    const bool next_here = hit.in_memory && state.next_slot >= 0 && state.next_slot / unit == hit.slot / unit;
    if (next_here) lines << next_words(scene.track);
    return lines;
}

ExportTable placement_table(const RunRecording& recording, int step) {
    ExportTable table;
    table.title = "Cache map";
    table.columns = {"slot", "page", "use", "owners", "position", "token", "text"};
    const ViewedStep view = viewed_step(&recording, step);
    PlacementTrack track;
    track.update(&recording, step);
    TokenTrack tokens;
    tokens.update(&recording);
    const Placement& state = track.state();
    for (int slot = 0; state.known && slot < static_cast<int>(state.slots); ++slot) {
        const auto position = track.position_in(slot);
        std::vector<ExportCell> row{std::int64_t{slot}, ExportCell(), std::string(position ? "own" : "reserved"),
                                    ExportCell(), ExportCell(), ExportCell(), ExportCell()};
        if (state.page_tokens > 0) {
            const auto page = static_cast<int>(slot / state.page_tokens);
            row[1] = std::int64_t{page};
            if (const PageRun* run = track.page(page)) {
                row[2] = std::string(use_name(use_of(*run, state.sequence)));
                row[3] = owner_names(run->owners).toStdString();
            }
        }
        const int at = position ? tokens.row_of(*position) : -1;
        if (position) row[4] = std::int64_t{*position};
        if (at >= 0 && at < view.row_limit) {
            row[5] = std::int64_t{recording.row(at).token};
            row[6] = recording.row_display(at);
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace decodescope
