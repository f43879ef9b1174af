#include "ui/viewmodels/export_table.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace decodescope {

namespace {

// A field is quoted when it holds a comma, a quote or the end of a line.
std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string out = "\"";
    for (char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

std::string one_line(std::string text) {
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    return text;
}

struct ToText {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const {
        return std::isfinite(value) ? fmt::format("{}", value) : std::string();
    }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(const std::string& value) const { return value; }
};

struct ToJson {
    nlohmann::ordered_json operator()(std::monostate) const { return nullptr; }
    nlohmann::ordered_json operator()(double value) const {
        return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
    }
    template <class T>
    nlohmann::ordered_json operator()(const T& value) const {
        return value;
    }
};

}  // namespace

std::vector<std::pair<std::string, ExportCell>> run_fact_cells(const RunFacts& f) {
    const auto number = [](std::int64_t value) { return ExportCell(value); };
    return {
        {"program", std::string("decodescope ") + f.program_version},
        {"commit", f.commit},
        {"date", f.date},
        {"model", f.model_source},
        {"model_name", f.model_name},
        {"model_identity", f.model_identity},
        {"weights", f.weights_type},
        {"cache", f.cache_spec},
        {"kv_type", f.kv_type},
        {"backend", f.backend},
        {"device", f.device},
        {"cpu", f.cpu},
        {"instruction_set", f.instruction_set},
        {"threads", number(f.threads)},
        {"seed", number(static_cast<std::int64_t>(f.sampler.seed))},
        {"temperature", f.sampler.temperature},
        {"top_k", number(f.sampler.top_k)},
        {"top_p", f.sampler.top_p},
        {"prompt_tokens", number(f.prompt_tokens)},
        {"weight_bytes", number(f.weight_bytes)},
        {"bandwidth_gb_s", f.bandwidth_gb_s > 0 ? ExportCell(f.bandwidth_gb_s) : ExportCell()},
    };
}

std::string to_csv(const ExportTable& table, const RunFacts& facts) {
    std::string out = fmt::format("# {}\n", one_line(table.title));
    for (const auto& [name, value] : run_fact_cells(facts))
        out += fmt::format("# {}: {}\n", name, one_line(std::visit(ToText{}, value)));
    for (std::size_t c = 0; c < table.columns.size(); ++c) out.append(c == 0 ? "" : ",").append(quoted(table.columns[c]));
    out += '\n';
    for (const auto& row : table.rows) {
        for (std::size_t c = 0; c < row.size(); ++c)
            out.append(c == 0 ? "" : ",").append(quoted(std::visit(ToText{}, row[c])));
        out += '\n';
    }
    return out;
}

std::string to_json(const ExportTable& table, const RunFacts& facts) {
    nlohmann::ordered_json json;
    json["title"] = table.title;
    for (const auto& [name, value] : run_fact_cells(facts)) json["run"][name] = std::visit(ToJson{}, value);
    json["columns"] = table.columns;
    json["rows"] = nlohmann::ordered_json::array();
    for (const auto& row : table.rows) {
        nlohmann::ordered_json object = nlohmann::ordered_json::object();
        for (std::size_t c = 0; c < std::min(row.size(), table.columns.size()); ++c)
            object[table.columns[c]] = std::visit(ToJson{}, row[c]);
        json["rows"].push_back(std::move(object));
    }
    return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace decodescope
