#include "engine/model/model_card.h"

#include <filesystem>

#include <fmt/format.h>

#include "engine/support/file.h"
#include "engine/support/json_value.h"

namespace decodescope {
namespace {

constexpr std::int64_t kCardLimit = 4 << 20;  // bytes

// The list of objects in a file, itself or under `key`; empty when the file is absent.
Result<std::vector<JsonValue>> read_list(const std::string& folder, const char* name, const char* key) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    if (!file_exists(path)) return std::vector<JsonValue>();
    auto text = read_file(path, kCardLimit);
    if (!text) return text.error();
    auto root = parse_json(*text, path);
    if (!root) return root.error();
    const JsonValue* list = root->is_object() ? root->find(key) : &*root;
    if (list == nullptr || !list->is_array())
        return make_error(ErrorKind::Model, fmt::format("{}: the list of {} is missing.", path, key));
    for (const JsonValue& item : list->items())
        if (!item.is_object())
            return make_error(ErrorKind::Model, fmt::format("{}: one of the {} is {}.", path, key, item.described()));
    return list->items();
}

std::string text_of(const JsonValue& object, std::string_view key) {
    const JsonValue* value = object.find(key);
    return value != nullptr ? value->as_string() : std::string();
}

double number_of(const JsonValue& object, std::string_view key) {
    const JsonValue* value = object.find(key);
    return value != nullptr ? value->as_number() : 0.0;
}

}  // namespace

Result<std::vector<HeadRole>> read_head_roles(const std::string& folder, const ModelConfig& config) {
    const auto list = read_list(folder, "heads.json", "roles");
    if (!list) return list.error();
    std::vector<HeadRole> out;
    for (const JsonValue& item : *list) {
        HeadRole role;
        const JsonValue* layer = item.find("layer");
        const JsonValue* head = item.find("head");
        const bool inside = layer != nullptr && head != nullptr && layer->is_integer() && head->is_integer() &&
                            layer->as_integer() >= 0 && layer->as_integer() < config.layers &&
                            head->as_integer() >= 0 && head->as_integer() < config.heads;
        if (!inside)
            return make_error(ErrorKind::Model,
                              fmt::format("heads.json of {} names a head that the model does not have.", folder));
        role.layer = static_cast<int>(layer->as_integer());
        role.head = static_cast<int>(head->as_integer());
        role.role = text_of(item, "role");
        role.previous = number_of(item, "previous");
        role.induction = number_of(item, "induction");
        role.first = number_of(item, "first");
        out.push_back(std::move(role));
    }
    return out;
}

Result<std::vector<PromptPreset>> read_presets(const std::string& folder) {
    const auto list = read_list(folder, "presets.json", "presets");
    if (!list) return list.error();
    std::vector<PromptPreset> out;
    for (const JsonValue& item : *list) {
        out.push_back({text_of(item, "id"), text_of(item, "lang"), text_of(item, "title"), text_of(item, "text"),
                       text_of(item, "what")});
        if (out.back().id.empty() || out.back().text.empty())
            return make_error(ErrorKind::Model,
                              fmt::format("presets.json of {} has a preset without id or text.", folder));
    }
    return out.empty() ? general_presets() : out;
}

// Beginnings that say something to any model that has read stories, for models that bring none of their own.
std::vector<PromptPreset> general_presets() {
    return {{"story", "en", "Once upon a time", "Once upon a time there was a",
             "The cache gains one row per layer with every token."},
            {"story-zh", "zh_CN", "从前", "从前有一个", "每生成一个词元，每一层的缓存就多一行。"}};
}

}  // namespace decodescope
