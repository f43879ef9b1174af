#include <cmath>

#include <fmt/format.h>

#include "engine/measure/export_tables.h"
#include "engine/measure/run_export.h"
#include "engine/measure/statistics.h"
#include "engine/measure/sweep.h"
#include "engine/measure/sweep_commentary.h"
#include "engine/support/numbers.h"

namespace decodescope {

namespace {

struct CellText {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(const std::string& value) const { return csv_field(value); }
    std::string operator()(float value) const { return std::isfinite(value) ? format_number(value) : std::string(); }
    std::string operator()(double value) const { return std::isfinite(value) ? format_number(value) : std::string(); }
    std::string operator()(const Decimal& value) const {
        return std::isfinite(value.value) ? format_fixed(value.value, value.digits) : std::string();
    }
};

std::string one_line(std::string text) {
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    return text;
}

std::string joined(const std::vector<std::string>& fields) {
    std::string line;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (i > 0) line += ',';
        line += fields[i];
    }
    line += '\n';
    return line;
}

}  // namespace

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    quoted += '"';
    return quoted;
}

std::vector<std::pair<std::string, std::string>> run_fact_lines(const RunFacts& facts) {
    const bool sampled = facts.sampler.temperature > 0;
    return {
        {"program", "Decodescope"},
        {"program_version", facts.program_version},
        {"commit", facts.commit},
        {"date", facts.date},
        {"model", facts.model_source.empty() ? facts.model_name : facts.model_source},
        {"model_identity", facts.model_identity},
        {"text", facts.meaningless_text ? "meaningless (synthetic weights)" : ""},
        {"weights", facts.weights_type},
        {"kv_type", facts.kv_type},
        {"cache", facts.cache_spec},
        {"backend", facts.backend},
        {"device", facts.device},
        {"cpu", facts.cpu},
        {"instruction_set", facts.instruction_set},
        {"threads", fmt::format("{}", facts.threads)},
        {"bandwidth_gb_s", facts.bandwidth_gb_s > 0 ? format_fixed(facts.bandwidth_gb_s, 2) : ""},
        {"sampler", sampled ? fmt::format("temperature={} top_k={} top_p={}", format_number(facts.sampler.temperature),
                                          facts.sampler.top_k, format_number(facts.sampler.top_p))
                            : "greedy"},
        {"seed", fmt::format("{}", facts.sampler.seed)},
        {"prompt_tokens", facts.prompt_tokens > 0 ? fmt::format("{}", facts.prompt_tokens) : ""}};
}

std::string run_fact_comments(const RunFacts& facts) {
    std::string text;
    for (const auto& [name, value] : run_fact_lines(facts))
        if (!value.empty()) text += fmt::format("# {}: {}\n", name, one_line(value));
    return text;
}

std::string table_csv(const RunTable& table, const RunFacts& facts) {
    std::string text = run_fact_comments(facts);
    for (const auto& [name, value] : table.notes) text += fmt::format("# {}: {}\n", name, one_line(value));
    text += joined(table.columns);
    for (const auto& row : table.rows) {
        std::vector<std::string> fields;
        for (const ExportCell& cell : row) fields.push_back(std::visit(CellText(), cell));
        text += joined(fields);
    }
    return text;
}

std::string timing_csv(const RunRecording& recording) { return table_csv(timing_table(recording), recording.facts()); }
std::string memory_csv(const RunRecording& recording) { return table_csv(memory_table(recording), recording.facts()); }
std::string attention_csv(const RunRecording& recording, std::int32_t row, std::int32_t layer, std::int32_t head) {
    return table_csv(attention_table(recording, row, layer, head), recording.facts());
}
std::string next_token_csv(const RunRecording& recording, std::int32_t step) {
    return table_csv(next_token_table(recording, step), recording.facts());
}

std::string sweep_csv(const SweepResult& result) {
    std::string text = run_fact_comments(result.run);
    for (const std::string& note : result.notes) text += fmt::format("# note: {}\n", one_line(note));
    for (const SpeedUp& s : result.speedup)
        text += fmt::format("# speed-up of {} ({}) at {}: {} ({} to {})\n", s.cache, s.kv_type, s.length,
                            format_fixed(s.value, kSpeedUpDigits), format_fixed(s.low, kSpeedUpDigits),
                            format_fixed(s.high, kSpeedUpDigits));
    for (const LengthCommentary& comment : sweep_commentary(result))
        text += fmt::format("# at {} tokens: {}\n", comment.length, comment.english);
    for (const auto& [cache, fit, kv_type] : result.fits)
        text += fit.valid ? fmt::format("# fit of {} ({}): exponent {}, residual {}\n", cache, kv_type,
                                        format_fixed(fit.exponent, 3), format_fixed(fit.residual, 4))
                          : fmt::format("# fit of {} ({}): {}\n", cache, kv_type, fit.reason);
    if (result.cancelled) text += "# cancelled: what was measured until then\n";
    text +=
        "length,cache,kv_type,weights,backend,phase,median_ms,min_ms,max_ms,repeats,kv_bytes_used,kv_bytes_reserved,"
        "flops,bytes\n";
    const auto ms = [](double value) { return format_fixed(value, kMillisecondDigits); };
    for (const SweepRow& r : result.rows)
        text +=
            fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", r.length, csv_field(r.cache),
                        csv_field(r.kv_type), csv_field(r.weights), csv_field(r.backend), r.phase, ms(r.median_ms),
                        ms(r.min_ms), ms(r.max_ms), r.repeats, r.kv_bytes_used, r.kv_bytes_reserved, r.flops, r.bytes);
    return text;
}

}  // namespace decodescope
