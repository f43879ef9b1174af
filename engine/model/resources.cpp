#include <cstdlib>
#include <filesystem>
#include <vector>

#include "engine/model/model.h"

namespace decodescope {
namespace {

namespace fs = std::filesystem;

bool is_resource_folder(const fs::path& path) {
    std::error_code error;
    return fs::is_directory(path / "model", error);
}

}  // namespace

std::string find_resources() {
    std::vector<fs::path> places;
    if (const char* named = std::getenv("DECODESCOPE_RESOURCES"); named != nullptr && *named != '\0')
        places.emplace_back(named);
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) {
        const fs::path folder = program.parent_path();
        places.push_back(folder / "resources");
        places.push_back(folder.parent_path() / "share" / "decodescope");
    }
    places.emplace_back(DECODESCOPE_SOURCE_RESOURCES);
    for (const fs::path& place : places)
        if (is_resource_folder(place)) return place.string();
    return {};
}

}  // namespace decodescope
