// `pool`: the bookkeeping of pages, line by line, without a model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "engine/cache/pool_script.h"
#include "engine/support/file.h"

namespace decodescope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostScriptBytes = std::int64_t{16} << 20;

Json state_json(const PoolState& state) {
    Json tables = Json::object(), owners = Json::object();
    for (const auto& [name, pages] : state.tables) tables[name] = pages;
    for (const auto& [page, count] : state.owners) owners[fmt::format("{}", page)] = count;
    Json j;
    j["line"] = state.line;
    j["tables"] = std::move(tables);
    j["free"] = state.free;
    j["cached"] = state.cached;
    j["hits"] = state.hits;
    j["copied"] = state.copied;
    j["owners"] = std::move(owners);
    j["error"] = state.error.empty() ? Json() : Json(state.error);
    if (!state.note.empty()) j["note"] = state.note;
    return j;
}

void print_state(const PoolState& state) {
    decodescope::print("{}\n", state.line);
    if (!state.error.empty()) decodescope::print("  refused: {}\n", state.error);
    if (!state.note.empty()) decodescope::print("  {}\n", state.note);
    for (const auto& [name, pages] : state.tables)
        decodescope::print("  {}: pages {}\n", name, fmt::join(pages, " "));
    decodescope::print("  free: {}; can be found: {}; found {}, copied {}\n", fmt::join(state.free, " "),
                       fmt::join(state.cached, " "), state.hits, state.copied);
}

}  // namespace

Status run_pool(const Arguments& arguments) {
    auto text = read_file(arguments.script, kMostScriptBytes);
    if (!text) return text.error();
    PoolScript script;
    std::string_view rest = *text;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
        const PoolState state = script.run(line);
        if (arguments.json) {
            decodescope::print("{}\n", state_json(state).dump(-1, ' ', false, Json::error_handler_t::replace));
        } else {
            print_state(state);
        }
    }
    return {};
}

}  // namespace decodescope
