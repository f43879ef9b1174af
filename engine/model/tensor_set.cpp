#include "engine/model/tensor_set.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/model/safetensors.h"
#include "engine/support/file.h"
#include "engine/support/hash.h"
#include "engine/support/json_value.h"

namespace decodescope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr std::int64_t kIndexLimit = 64 << 20;  // bytes
constexpr std::size_t kShardLimit = 4096;

struct OpenFile {
    std::shared_ptr<const FileMap> map;
    SafetensorsHeader header;
};

Result<OpenFile> open_file(const std::string& path) {
    auto map = FileMap::open(path);
    if (!map) return map.error();
    auto header = read_safetensors((*map)->bytes(), path);
    if (!header) return header.error();
    return OpenFile{*map, std::move(*header)};
}

Tensor tensor_of(const OpenFile& file, const SafetensorsEntry& entry) {
    return {entry.dtype, entry.shape, file.map->bytes().data() + file.header.data_offset + entry.begin,
            entry.end - entry.begin};
}

// The path of a shard; refused when the name is more than a name, or leads out of the folder through a link.
Result<std::string> shard_path(const std::string& folder, const std::string& shard) {
    const auto refuse = [&](const std::string& why) {
        return make_error(ErrorKind::Model,
                          fmt::format("{} names the shard \"{}\", {}.", kIndexFile, shard.substr(0, 200), why),
                          "Shards must be files in the model's own folder.");
    };
    const bool plain = !shard.empty() && shard != "." && shard != ".." &&
                       shard.find_first_of(std::string("/\\:\0", 4)) == std::string::npos;
    if (!plain) return refuse("which is not a plain file name");
    const fs::path path = fs::path(folder) / shard;
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error) return refuse(fmt::format("which cannot be found ({})", error.message()));
    const fs::path home = fs::canonical(folder, error);
    if (error) return refuse(fmt::format("whose folder cannot be found ({})", error.message()));
    // A download cache keeps the files of snapshots/NAME/ as links into blobs/ beside snapshots/.
    const bool cache = home.parent_path().filename() == "snapshots" &&
                       real.parent_path() == home.parent_path().parent_path() / "blobs";
    if (real.parent_path() != home && !cache)
        return refuse(fmt::format("a link that leaves the folder, to {}", real.string()));
    return real.string();
}

// Tensor name -> shard name.
Result<std::map<std::string, std::string>> read_index(const std::string& path) {
    const auto refuse = [&](const std::string& why) {
        return make_error(ErrorKind::Model, fmt::format("{}: {}", path, why), "The file is damaged; get it again.");
    };
    auto text = read_file(path, kIndexLimit);
    if (!text) return text.error();
    auto root = parse_json(*text, path);
    if (!root) return root.error();
    const JsonValue* map = root->find("weight_map");
    if (map == nullptr || !map->is_object()) return refuse("\"weight_map\" is missing or no object.");
    std::map<std::string, std::string> out;
    for (const auto& [tensor, shard] : map->members()) {
        if (!shard.is_string()) return refuse(fmt::format("the shard of \"{}\" is {}.", tensor, shard.described()));
        out.emplace(tensor, shard.as_string());
    }
    return out;
}

Result<TensorSet> open_shards(const std::string& folder) {
    auto index = read_index((fs::path(folder) / kIndexFile).string());
    if (!index) return index.error();
    std::set<std::string> names;
    for (const auto& [tensor, shard] : *index) names.insert(shard);
    if (names.size() > kShardLimit)
        return make_error(ErrorKind::Model, fmt::format("{} names {} shards; at most {} are opened.", kIndexFile,
                                                        names.size(), kShardLimit));
    auto maps = std::make_shared<std::vector<std::shared_ptr<const FileMap>>>();
    std::map<std::string, std::map<std::string, Tensor, std::less<>>> content;
    Hasher hasher;
    for (const std::string& name : names) {
        const auto path = shard_path(folder, name);
        if (!path) return path.error();
        const auto file = open_file(*path);
        if (!file) return file.error();
        maps->push_back(file->map);
        add_file(hasher, file->map->bytes(), file->header.data_offset);
        for (const auto& entry : file->header.entries) content[name].emplace(entry.name, tensor_of(*file, entry));
    }
    TensorSet out;
    for (const auto& [tensor, shard] : *index) {
        const auto found = content[shard].find(tensor);
        if (found == content[shard].end())
            return make_error(ErrorKind::Model,
                              fmt::format("The shard \"{}\" lacks the tensor \"{}\" that {} looks for in it.", shard,
                                          tensor, kIndexFile),
                              "The files do not belong together; get them again.");
        out.tensors.emplace(tensor, found->second);
    }
    out.owner = maps;
    out.fingerprint = hasher.text();
    return out;
}

}  // namespace

void add_file(Hasher& hasher, std::span<const std::byte> bytes, std::int64_t data_offset) {
    constexpr std::size_t kWhole = 64 << 20, kSamples = 256, kSample = 4096;
    hasher.add_integer(bytes.size());
    if (bytes.size() <= kWhole) return hasher.add(bytes);
    hasher.add(bytes.first(static_cast<std::size_t>(data_offset)));
    const std::size_t step = (bytes.size() - static_cast<std::size_t>(data_offset)) / kSamples + 1;
    for (std::size_t at = static_cast<std::size_t>(data_offset); at < bytes.size(); at += step)
        hasher.add(bytes.subspan(at, std::min(kSample, bytes.size() - at)));
    hasher.add(bytes.last(kSample));
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Result<TensorSet> open_weights(const std::string& folder) {
    const std::string single = (fs::path(folder) / kSingleFile).string();
    if (!file_exists(single)) {
        if (file_exists((fs::path(folder) / kIndexFile).string())) return open_shards(folder);
        const bool pickled = file_exists((fs::path(folder) / "pytorch_model.bin").string());
        return make_error(ErrorKind::File, fmt::format("{} has neither {} nor {}.", folder, kSingleFile, kIndexFile),
                          pickled ? "pytorch_model.bin is not read; save the model again as safetensors."
                                  : "Give the folder of a Hugging Face model.");
    }
    const auto file = open_file(single);
    if (!file) return file.error();
    TensorSet out;
    for (const auto& entry : file->header.entries) out.tensors.emplace(entry.name, tensor_of(*file, entry));
    out.owner = file->map;
    Hasher hasher;
    add_file(hasher, file->map->bytes(), file->header.data_offset);
    out.fingerprint = hasher.text();
    return out;
}

}  // namespace decodescope
