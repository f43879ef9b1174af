#include "ui/viewmodels/what_if_model.h"

#include <QCoreApplication>

#include "engine/cache/supported_pairs.h"
#include "ui/viewmodels/engine_words.h"
#include "ui/viewmodels/format.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(WhatIfModel)
};

bool can_be_combined(const KvModelShape& shape, const CacheSpec& cache, const KvFormat& format,
                     WhatIfCell* cell = nullptr) {
    RunChoice choice;
    choice.local_layers = shape.local_layers > 0;
    choice.cache = cache;
    choice.kv = format;
    const UnsupportedPair* pair = find_unsupported(choice);
    if (pair != nullptr && cell != nullptr)
        *cell = {QStringLiteral("–"), translated(std::string(pair->reason)), false, true};
    return pair == nullptr;
}

WhatIfCell cell(const Result<CacheSlots>& slots, const KvModelShape& shape, const KvFormat& format,
                std::int64_t memory_bytes) {
    WhatIfCell cell;
    const auto need = slots.ok() ? cache_need(shape, *slots, format) : Result<CacheNeed>(slots.error());
    if (!need.ok()) {
        cell.text = QStringLiteral("–");
        cell.tip = translated(need.error().message);
        return cell;
    }
    cell.known = true;
    cell.text = format_bytes(need->reserved_bytes);
    cell.fits = memory_bytes <= 0 || need->peak_bytes <= memory_bytes;
    cell.tip = Text::tr("%1 reserved for %2 of %3 tokens [derived]")
                   .arg(format_bytes_exact(need->reserved_bytes))
                   .arg(need->stored)
                   .arg(need->tokens);
    if (shape.local_layers > 0)
        cell.tip += QLatin1Char('\n') + Text::tr("%1 global layers × %2 rows + %3 local layers × %4 rows")
                                            .arg(shape.layers - shape.local_layers)
                                            .arg(shape.local_layers < shape.layers ? need->stored : 0)
                                            .arg(shape.local_layers)
                                            .arg(need->local_stored);
    if (need->peak_bytes > need->reserved_bytes)
        cell.tip += QLatin1Char('\n') + Text::tr("%1 while a token is added: old and new storage together")
                                            .arg(format_bytes_exact(need->peak_bytes));
    if (shape.context > 0 && need->tokens > shape.context)
        cell.tip +=
            QLatin1Char('\n') + Text::tr("beyond the %1 tokens that this model was trained for").arg(shape.context);
    if (!cell.fits) cell.tip += QLatin1Char('\n') + Text::tr("more than this machine has");
    return cell;
}

}  // namespace

WhatIfSlots what_if_slots(const CacheSpec& chosen) {
    WhatIfSlots all;
    all.caches = what_if_caches(chosen);
    for (const CacheSpec& cache : all.caches) {
        auto& row = all.slots.emplace_back();
        for (const std::int64_t tokens : what_if_lengths()) row.push_back(cache_slots(cache, tokens));
    }
    return all;
}

std::vector<std::vector<WhatIfCell>> what_if_cells(const WhatIfSlots& slots, const KvModelShape& shape,
                                                   const KvFormat& format, std::int64_t memory_bytes) {
    std::vector<std::vector<WhatIfCell>> cells;
    for (std::size_t c = 0; c < slots.caches.size(); ++c) {
        auto& made = cells.emplace_back();
        WhatIfCell refused;
        const bool possible = can_be_combined(shape, slots.caches[c], format, &refused);
        for (const auto& one : slots.slots[c])
            made.push_back(possible ? cell(one, shape, format, memory_bytes) : refused);
    }
    return cells;
}

QString what_if_words(const KvModelShape& shape, std::int64_t memory_bytes) {
    const KvModelShape example = article_example();
    if (shape.name == example.name) {
        const auto slots = cache_slots({}, example.context);
        const auto need = slots.ok() ? cache_need(example, *slots, {ElementType::F16, ElementType::F16})
                                     : Result<CacheNeed>(slots.error());
        if (need.ok())
            return Text::tr("An article prints about 1.05 MB per layer and 33.6 MB for %1 tokens of this shape in f16. "
                            "It is twice that, %2 per layer and %3 in all [derived]: only one of K and V was counted.")
                .arg(example.context)
                .arg(format_bytes_exact(need->reserved_bytes / example.layers),
                     format_bytes_exact(need->reserved_bytes));
    }
    QString words = Text::tr("Bytes reserved for as many tokens [derived]. Shaded: more than the %1 that this machine "
                             "has free [measured].")
                        .arg(format_bytes(memory_bytes));
    if (shape.local_layers == shape.layers && shape.window > 0)
        words += QLatin1Char(' ') +
                 Text::tr("All its layers attend to the last %1 tokens and keep no more, whatever the strategy.")
                     .arg(shape.window);
    else if (shape.local_layers > 0)
        words += QLatin1Char(' ') + Text::tr("%1 of its %2 layers attend to the last %3 tokens and keep no more; the "
                                             "strategy rules the other %4.")
                                        .arg(shape.local_layers)
                                        .arg(shape.layers)
                                        .arg(shape.window)
                                        .arg(shape.layers - shape.local_layers);
    return words;
}

QString what_if_row_name(const CacheSpec& cache) { return QString::fromStdString(to_string(cache)); }

QString what_if_column_name(std::int64_t tokens) {
    return tokens >= 1 << 20 ? QStringLiteral("%1M").arg(tokens >> 20) : QStringLiteral("%1k").arg(tokens >> 10);
}

ExportTable what_if_table(const WhatIfSlots& slots, const KvModelShape& shape, std::int64_t memory_bytes) {
    ExportTable table{"what a cache of " + shape.name + " would take, derived",
                      {"cache", "kv_type", "length", "tokens_stored", "tokens_stored_local", "kv_bytes_used",
                       "kv_bytes_reserved", "kv_bytes_peak", "fits"},
                      {}};
    for (std::size_t c = 0; c < slots.caches.size(); ++c)
        for (const KvFormat& format : what_if_formats())
            for (const auto& one : slots.slots[c]) {
                if (!one.ok() || !can_be_combined(shape, slots.caches[c], format)) continue;
                const auto need = cache_need(shape, *one, format);
                if (!need.ok()) continue;
                table.rows.push_back({to_string(slots.caches[c]), to_string(format), need->tokens, need->stored,
                                      need->local_stored, need->used_bytes, need->reserved_bytes, need->peak_bytes,
                                      memory_bytes <= 0 || need->peak_bytes <= memory_bytes});
            }
    return table;
}

}  // namespace decodescope
