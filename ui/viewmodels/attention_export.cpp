#include "ui/viewmodels/attention_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ui/viewmodels/export_table.h"
#include "ui/viewmodels/pooled_map.h"
#include "ui/viewmodels/viewed_step.h"

namespace decodescope {
namespace {

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

std::string title_of(const RunRecording& recording, int layer, int head) {
    if (head >= 0) return fmt::format("attention, layer {}, head {}", layer, head);
    return fmt::format("attention, layer {}, mean over {} heads", layer, recording.facts().config.heads);
}

void row_values(const RunRecording& recording, int row, int layer, int head, std::vector<MapValue>& cells) {
    const AttentionRow attention = recording.attention(row, layer);
    if (head < 0) encode_mean_row(attention, recording.row(row).position, cells);
    else encode_row(attention, head, recording.row(row).position, cells);
}

bool captured(const std::vector<MapValue>& cells) { return cells.empty() || cells[0] != kNotCaptured; }

}  // namespace

std::string attention_map_csv(const RunRecording& recording, int layer, int head, int row_limit) {
    ExportTable header;
    header.title = title_of(recording, layer, head);
    header.columns = {"row", "row_text", "column", "column_text", "weight"};
    std::string out = to_csv(header, recording.facts());
    TokenTrack track;
    track.update(&recording);
    std::vector<MapValue> cells;
    for (int row = 0; row < std::min(row_limit, track.rows()); ++row) {
        row_values(recording, row, layer, head, cells);
        const std::string text = csv_field(recording.row_display(row));
        if (!captured(cells)) {
            out += fmt::format("{},{},,,\n", row, text);
            continue;
        }
        for (std::size_t column = 0; column < cells.size(); ++column) {
            if (!is_weight(cells[column])) continue;
            const int read = track.row_of(static_cast<int>(column));
            out += fmt::format("{},{},{},{},{}\n", row, text, column,
                               read < 0 ? std::string() : csv_field(recording.row_display(read)),
                               weight_of(cells[column]));
        }
    }
    return out;
}

std::string attention_map_json(const RunRecording& recording, int layer, int head, int row_limit) {
    using Json = nlohmann::ordered_json;
    ExportTable empty;
    empty.title = title_of(recording, layer, head);
    Json json = Json::parse(to_json(empty, recording.facts()));
    json.erase("columns");
    json["layer"] = layer;
    json["head"] = head < 0 ? Json("mean") : Json(head);
    Json& rows = json["rows"];
    std::vector<MapValue> cells;
    for (int row = 0; row < std::min(row_limit, recording.row_count()); ++row) {
        row_values(recording, row, layer, head, cells);
        Json columns = Json::array(), weights = Json::array();
        for (std::size_t column = 0; column < cells.size(); ++column) {
            if (!is_weight(cells[column])) continue;
            columns.push_back(column);
            weights.push_back(weight_of(cells[column]));
        }
        rows.push_back({{"row", row},
                        {"position", recording.row(row).position},
                        {"text", recording.row_display(row)},
                        {"captured", captured(cells)},
                        {"columns", std::move(columns)},
                        {"weights", std::move(weights)}});
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace decodescope
