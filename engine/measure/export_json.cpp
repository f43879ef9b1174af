#include <cmath>

#include <nlohmann/json.hpp>

#include "engine/measure/export_tables.h"
#include "engine/measure/run_export.h"
#include "engine/measure/statistics.h"
#include "engine/measure/sweep.h"
#include "engine/measure/sweep_commentary.h"

namespace decodescope {

namespace {

using Json = nlohmann::ordered_json;

Json run_object(const RunFacts& facts) {
    Json run;
    for (const auto& [name, value] : run_fact_lines(facts)) {
        if (name == "text") continue;
        run[name] = value.empty() ? Json() : Json(value);
    }
    run["meaningless_text"] = facts.meaningless_text;
    run["threads"] = facts.threads;
    run["seed"] = facts.sampler.seed;
    run["bandwidth_gb_s"] = facts.bandwidth_gb_s > 0 ? Json(rounded(facts.bandwidth_gb_s, 2)) : Json();
    if (facts.prompt_tokens > 0) run["prompt_tokens"] = facts.prompt_tokens;
    return run;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

struct CellJson {
    Json operator()(std::monostate) const { return {}; }
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(bool value) const { return value; }
    Json operator()(const std::string& value) const { return value; }
    Json operator()(float value) const { return number(static_cast<double>(value)); }
    Json operator()(double value) const { return number(value); }
    Json operator()(const Decimal& value) const { return number(rounded(value.value, value.digits)); }
};

// A path or a token may hold bytes that are no UTF-8: replaced, so that the file can be read.
std::string dumped(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json fit_object(const PowerLawFit& fit) {
    if (!fit.valid) return {{"exponent", nullptr}, {"residual", nullptr}, {"reason", fit.reason}};
    return {{"exponent", rounded(fit.exponent, 4)}, {"residual", rounded(fit.residual, 6)}};
}

Json row_object(const SweepRow& r) {
    return {{"length", r.length},
            {"cache", r.cache},
            {"kv_type", r.kv_type},
            {"weights", r.weights},
            {"backend", r.backend},
            {"phase", r.phase},
            {"median_ms", r.median_ms},
            {"min_ms", r.min_ms},
            {"max_ms", r.max_ms},
            {"repeats", r.repeats},
            {"kv_bytes_used", r.kv_bytes_used},
            {"kv_bytes_reserved", r.kv_bytes_reserved},
            {"flops", r.flops},
            {"bytes", r.bytes}};
}

// Rates and shares are derived from the measured time; null where nothing is read, computed or known.
Json op_object(const OpTiming& op, const MachineCeiling& ceiling) {
    const Cost cost = op.use.cost.value_or(Cost());
    const auto rate = [](double value) { return value > 0 ? Json(rounded(value, 3)) : Json(); };
    const auto share = share_of(op.use, ceiling);
    return {{"length", op.length},
            {"cache", op.cache},
            {"stage", op.use.stage},
            {"micros", rounded(op.use.micros, 3)},
            {"bytes", cost.bytes},
            {"flops", cost.flops},
            {"gb_s", rate(op.use.gb_s())},
            {"gflop_s", rate(op.use.gflop_s())},
            {"share", share ? Json(rounded(share->value, 4)) : Json()},
            {"share_of", share ? Json(share->of_flops ? "flop_rate" : "bandwidth") : Json()}};
}

}  // namespace

std::string run_facts_json(const RunFacts& facts) { return dumped(run_object(facts)); }

std::string table_json(const RunTable& table, const RunFacts& facts) {
    Json json;
    json["kind"] = table.kind;
    json["run"] = run_object(facts);
    for (const auto& [name, value] : table.notes) json["selection"][name] = value;
    json["rows"] = Json::array();
    for (const auto& row : table.rows) {
        Json object;
        for (std::size_t c = 0; c < row.size(); ++c) object[table.columns[c]] = std::visit(CellJson(), row[c]);
        json["rows"].push_back(std::move(object));
    }
    return dumped(json);
}

std::string timing_json(const RunRecording& recording) {
    return table_json(timing_table(recording), recording.facts());
}
std::string memory_json(const RunRecording& recording) {
    return table_json(memory_table(recording), recording.facts());
}
std::string attention_json(const RunRecording& recording, std::int32_t row, std::int32_t layer, std::int32_t head) {
    return table_json(attention_table(recording, row, layer, head), recording.facts());
}
std::string next_token_json(const RunRecording& recording, std::int32_t step) {
    return table_json(next_token_table(recording, step), recording.facts());
}

std::string sweep_json(const SweepResult& result) {
    Json json;
    json["run"] = run_object(result.run);
    json["rows"] = Json::array();
    for (const SweepRow& row : result.rows) json["rows"].push_back(row_object(row));
    json["speedup"] = Json::array();
    for (const SpeedUp& s : result.speedup)
        json["speedup"].push_back({{"length", s.length},
                                   {"value", s.value},
                                   {"low", s.low},
                                   {"high", s.high},
                                   {"cache", s.cache},
                                   {"kv_type", s.kv_type}});
    // By cache; where one cache was measured with several KV formats the format is part of the name.
    json["fit"] = Json::object();
    for (const auto& [cache, fit, kv_type] : result.fits)
        json["fit"][json["fit"].contains(cache) ? cache + " " + kv_type : cache] = fit_object(fit);
    if (!result.profile.empty()) {
        json["profile"] = Json::array();
        for (const OpTiming& op : result.profile) json["profile"].push_back(op_object(op, result.ceiling));
        json["profile_limits"] = {{"read_gb_s", rounded(result.ceiling.read_gb_s, 1)},
                                  {"gflop_s", rounded(result.ceiling.gflop_s, 1)}};
    }
    json["notes"] = result.notes;
    json["comments"] = Json::array();
    for (const LengthCommentary& comment : sweep_commentary(result))
        json["comments"].push_back({{"length", comment.length}, {"text", comment.english}});
    json["cancelled"] = result.cancelled;
    return dumped(json);
}

}  // namespace decodescope
