#include "engine/measure/export_tables.h"

#include <fmt/format.h>

namespace decodescope {

namespace {

Decimal milliseconds(double micros) { return {micros / 1000}; }

// Race points by step, the last one of each; nothing where the recompute lane did not run.
std::vector<std::optional<RacePoint>> race_by_step(const RunRecording& recording) {
    std::vector<std::optional<RacePoint>> points(static_cast<std::size_t>(recording.step_count()));
    const std::int32_t count = recording.race_count();
    for (std::int32_t i = 0; i < count; ++i) {
        const RacePoint point = recording.race_point(i);
        if (point.step >= 0 && static_cast<std::size_t>(point.step) < points.size())
            points[static_cast<std::size_t>(point.step)] = point;
    }
    return points;
}

std::string_view phase_name(Phase phase) {
    switch (phase) {
        case Phase::Prefill: return "prefill";
        case Phase::Decode: return "decode";
        case Phase::Refeed: return "refeed";
    }
    return "?";
}

float mean_weight(const AttentionRow& row, std::int32_t entry) {
    float sum = 0;
    for (std::int32_t head = 0; head < row.heads; ++head) sum += row.weight(head, entry);
    return sum / static_cast<float>(row.heads);
}

// The text of the token that held a position when `row` was computed.
std::string token_at(const RunRecording& recording, std::int32_t position, std::int32_t row) {
    if (position <= row && recording.row(position).position == position) return recording.row_display(position);
    for (std::int32_t r = row; r >= 0; --r)  // rows that were fed again
        if (recording.row(r).position == position) return recording.row_display(r);
    return {};
}

}  // namespace

RunTable timing_table(const RunRecording& recording) {
    RunTable table;
    table.kind = "timing";
    table.columns = {"step",
                     "length",
                     "phase",
                     "tokens_fed",
                     "cached_ms",
                     "recompute_ms",
                     "cached_total_ms",
                     "recompute_total_ms",
                     "max_abs_logit_diff",
                     "same_token",
                     "captured",
                     "warm_up"};
    const auto race = race_by_step(recording);
    double cached_total = 0, recompute_total = 0;
    bool every_step = true;
    for (std::size_t s = 0; s < race.size(); ++s) {
        const auto step = recording.step(static_cast<std::int32_t>(s));
        cached_total += step->micros;
        every_step = every_step && race[s].has_value();
        if (every_step) recompute_total += race[s]->recompute_micros;
        std::vector<ExportCell> row = {static_cast<std::int64_t>(s), step->kv.tokens_seen,
                                       std::string(phase_name(step->phase)), std::int64_t{step->row_count},
                                       milliseconds(step->micros)};
        row.push_back(race[s] ? ExportCell(milliseconds(race[s]->recompute_micros)) : ExportCell());
        row.push_back(milliseconds(cached_total));
        row.push_back(every_step ? ExportCell(milliseconds(recompute_total)) : ExportCell());
        row.push_back(race[s] ? ExportCell(race[s]->max_abs_logit_diff) : ExportCell());
        row.push_back(race[s] ? ExportCell(race[s]->same_token) : ExportCell());
        row.push_back(step->captured);
        row.push_back(step->warm_up);
        table.rows.push_back(std::move(row));
    }
    return table;
}

RunTable memory_table(const RunRecording& recording) {
    RunTable table;
    table.kind = "memory";
    table.columns = {"step",
                     "length",
                     "weights_bytes",
                     "kv_used_bytes",
                     "kv_reserved_bytes",
                     "kv_copied_bytes",
                     "kv_peak_bytes",
                     "kv_allocated_bytes",
                     "activations_bytes",
                     "staging_bytes",
                     "history_bytes"};
    const std::int32_t count = recording.step_count();
    for (std::int32_t s = 0; s < count; ++s) {
        const auto step = recording.step(s);
        const auto bytes = [&](MemoryPurpose purpose) { return step->memory.bytes[static_cast<std::size_t>(purpose)]; };
        table.rows.push_back({std::int64_t{s}, step->kv.tokens_seen, bytes(MemoryPurpose::Weights), step->kv.used_bytes,
                              step->kv.reserved_bytes, step->kv.copied_bytes, step->kv.peak_bytes,
                              bytes(MemoryPurpose::KvCache), bytes(MemoryPurpose::Activations),
                              bytes(MemoryPurpose::Staging), step->memory.history_bytes});
    }
    return table;
}

RunTable attention_table(const RunRecording& recording, std::int32_t row, std::int32_t layer, std::int32_t head) {
    RunTable table;
    table.kind = "attention";
    table.columns = {"entry", "position", "token", "weight"};
    const ModelConfig& config = recording.facts().config;
    if (row < 0 || row >= recording.row_count() || layer < 0 || layer >= config.layers || head >= config.heads)
        return table;
    const AttentionRow attention = recording.attention(row, layer);
    table.notes = {{"row", fmt::format("{}", row)},
                   {"position", fmt::format("{}", recording.row(row).position)},
                   {"token", recording.row_display(row)},
                   {"layer", fmt::format("{}", layer)},
                   {"head", head < 0 ? std::string("mean over heads") : fmt::format("{}", head)},
                   {"captured", attention.captured ? "true" : "false"}};
    for (std::int32_t e = 0; e < attention.entries; ++e) {
        ExportCell weight;
        if (attention.captured) weight = head < 0 ? mean_weight(attention, e) : attention.weight(head, e);
        const std::int32_t position = attention.position(e);
        table.rows.push_back({std::int64_t{e}, std::int64_t{position}, token_at(recording, position, row), weight});
    }
    return table;
}

RunTable next_token_table(const RunRecording& recording, std::int32_t step) {
    RunTable table;
    table.kind = "next-token";
    table.columns = {"rank", "token", "text", "probability", "sampled"};
    if (step < 0 || step >= recording.step_count()) return table;
    const auto facts = recording.step(step);
    table.notes = {{"step", fmt::format("{}", step)}};
    std::int64_t rank = 0;
    for (const TokenProbability& entry : facts->top)
        table.rows.push_back({++rank, std::int64_t{entry.token}, recording.token_display(entry.token),
                              entry.probability, entry.token == facts->sampled_token});
    return table;
}

}  // namespace decodescope
