#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/measure/compare.h"
#include "engine/measure/compare_commentary.h"
#include "engine/measure/export_tables.h"
#include "engine/measure/run_export.h"

namespace decodescope {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMicroDigits = 1;

ExportCell micros(double value, int count) {
    return count > 0 ? ExportCell(Decimal{value, kMicroDigits}) : ExportCell();
}
ExportCell ratio(double value, int count) { return count > 0 ? ExportCell(Decimal{value, 4}) : ExportCell(); }

std::vector<ExportCell> table_row(const CompareLane& lane, const PairedTimes& pair, std::int64_t number) {
    return {number,
            lane.name,
            to_string(lane.config.cache),
            lane.kv_type,
            lane.weights,
            lane.backend,
            micros(lane.prefill_micros.median, lane.prefill_repeats),
            micros(lane.prefill_micros.lowest, lane.prefill_repeats),
            micros(lane.prefill_micros.highest, lane.prefill_repeats),
            micros(lane.decode_micros.median, lane.decode_steps),
            micros(lane.decode_micros.lowest, lane.decode_steps),
            micros(lane.decode_micros.highest, lane.decode_steps),
            std::int64_t{lane.decode_steps},
            ratio(pair.ratio, pair.steps),
            ratio(pair.low, pair.steps),
            ratio(pair.high, pair.steps),
            lane.kv_bytes_used,
            lane.kv_bytes_reserved,
            lane.kv_bytes_peak,
            lane.kv_bytes_copied,
            lane.weight_bytes,
            lane.max_abs_logit_diff,
            lane.max_diff_length > 0 ? ExportCell(lane.max_diff_length) : ExportCell(),
            lane.max_kl,
            lane.mean_kl,
            lane.layers.empty() ? ExportCell() : ExportCell(lane.largest_layer_error().k),
            lane.layers.empty() ? ExportCell() : ExportCell(lane.largest_layer_error().v),
            lane.first_different >= 0 ? ExportCell(lane.first_different) : ExportCell(),
            lane.stop_reason,
            lane.error.empty() ? ExportCell() : ExportCell(lane.error),
            lane.text};
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json steps_json(const CompareLane& lane) {
    Json steps = Json::array();
    for (const ComparePass& pass : lane.passes)
        steps.push_back({{"length", pass.length},
                         {"micros", pass.micros},
                         {"warm_up", pass.warm_up},
                         {"kv_bytes_used", pass.kv_bytes_used},
                         {"kv_bytes_reserved", pass.kv_bytes_reserved},
                         {"kv_bytes_peak", pass.kv_bytes_peak},
                         {"kv_bytes_copied", pass.kv_bytes_copied},
                         {"max_abs_logit_diff", number(pass.max_abs_logit_diff)},
                         {"kl", number(pass.kl)},
                         {"same_token", pass.same_token}});
    return steps;
}

Json layers_json(const CompareLane& lane) {
    Json layers = Json::array();
    for (const LayerFormatError& layer : lane.layers)
        layers.push_back({{"k_rows_l2", number(layer.k)}, {"v_rows_l2", number(layer.v)}});
    return layers;
}

RunTable compare_table(const CompareResult& result) {
    RunTable table;
    table.kind = "compare";
    table.columns = {"config",
                     "name",
                     "cache",
                     "kv_type",
                     "weights",
                     "backend",
                     "prefill_micros",
                     "prefill_micros_min",
                     "prefill_micros_max",
                     "decode_micros",
                     "decode_micros_min",
                     "decode_micros_max",
                     "decode_steps",
                     "decode_ratio",
                     "decode_ratio_low",
                     "decode_ratio_high",
                     "kv_bytes_used",
                     "kv_bytes_reserved",
                     "kv_bytes_peak",
                     "kv_bytes_copied",
                     "weight_bytes",
                     "max_abs_logit_diff",
                     "max_abs_logit_diff_length",
                     "max_kl",
                     "mean_kl",
                     "max_k_rows_l2",
                     "max_v_rows_l2",
                     "first_different_token",
                     "stop_reason",
                     "error",
                     "text"};
    table.notes = {{"reference", "1"},
                   {"new_tokens", fmt::format("{}", result.new_tokens)},
                   {"stop_reason", result.stop_reason},
                   {"decode_ratio", "time of a step / time of the same step of the reference, median and middle half"}};
    for (const Sentence& sentence : compare_commentary(result)) table.notes.emplace_back("note", sentence.english);
    if (result.cancelled) table.notes.emplace_back("cancelled", "what was measured until then");
    for (const CompareLane& lane : result.lanes)
        table.rows.push_back(table_row(lane, paired_times(lane, result.lanes.front()), std::ssize(table.rows) + 1));
    return table;
}

}  // namespace

std::string compare_csv(const CompareResult& result) { return table_csv(compare_table(result), result.run); }

std::string compare_json(const CompareResult& result) {
    // The rows of the table, so that both files say the same, with what a table has no room for.
    const Json table = Json::parse(table_json(compare_table(result), result.run));
    Json json;
    json["run"] = table["run"];
    json["reference"] = 1;
    json["prompt_tokens"] = result.prompt;
    json["new_tokens"] = result.new_tokens;
    json["stop_reason"] = result.stop_reason;
    json["cancelled"] = result.cancelled;
    json["configs"] = table["rows"];
    for (std::size_t i = 0; i < result.lanes.size(); ++i) {
        Json& config = json["configs"][i];
        config["spec"] = to_string(result.lanes[i].config);
        config["tokens"] = result.lanes[i].tokens;
        config["steps"] = steps_json(result.lanes[i]);
        if (!result.lanes[i].layers.empty()) config["layers"] = layers_json(result.lanes[i]);
    }
    json["comments"] = Json::array();
    for (const Sentence& sentence : compare_commentary(result)) json["comments"].push_back(sentence.english);
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace decodescope
