#include "engine/backend/backend_registry.h"

#include <fmt/format.h>

namespace decodescope {
namespace {

// "cuda" serves "cuda:1".
bool serves(const BackendEntry& entry, const std::string& id) {
    return entry.id == id || entry.id == id.substr(0, id.find(':'));
}

}  // namespace

Result<std::shared_ptr<Backend>> BackendRegistry::create(const BackendRequest& request) const {
    std::string known;
    for (const auto& entry : entries_) {
        if (serves(entry, request.id)) {
            if (entry.available && entry.create) return entry.create(request);
            return make_error(ErrorKind::Unsupported,
                              fmt::format("The backend \"{}\" does not work here: {}", request.id, entry.reason));
        }
        known += (known.empty() ? "" : ", ") + entry.id;
    }
    return make_error(ErrorKind::Argument, fmt::format("Unknown backend \"{}\".", request.id),
                      known.empty() ? "There is none." : fmt::format("There are {}.", known));
}

}  // namespace decodescope
