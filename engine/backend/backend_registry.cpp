#include "engine/backend/backend_registry.h"

#include <fmt/format.h>

#include "engine/support/numbers.h"

namespace decodescope {
namespace {

// "cuda" serves "cuda:1".
bool serves(const BackendEntry& entry, const std::string& id) {
    return entry.id == id || entry.id == id.substr(0, id.find(':'));
}

}  // namespace

void BackendRegistry::probe() {
    std::vector<BackendEntry> probed;
    for (const BackendEntry& entry : entries_) {
        if (!entry.probe) {
            probed.push_back(entry);
            continue;
        }
        for (BackendEntry& found : entry.probe(entry)) probed.push_back(std::move(found));
    }
    entries_ = std::move(probed);
}

Result<std::shared_ptr<Backend>> BackendRegistry::create(const BackendRequest& request) const {
    std::string known;
    for (const auto& entry : entries_) {
        if (serves(entry, request.id)) {
            if ((entry.available || entry.probe) && entry.create) return entry.create(request);
            return make_error(ErrorKind::Unsupported,
                              fmt::format("The backend \"{}\" does not work here: {}", request.id, entry.reason));
        }
        known += (known.empty() ? "" : ", ") + entry.id;
    }
    return make_error(ErrorKind::Argument, fmt::format("Unknown backend \"{}\".", request.id),
                      known.empty() ? "There is none." : fmt::format("There are {}.", known));
}

Status check_backend_name(std::string_view id) {
    for (const char* name : {"cpu", "reference", "cuda", "cuda-emulated"})
        if (id == name) return {};
    if (id.substr(0, 5) == "cuda:") {
        const auto device = parse_integer(id.substr(5));
        if (device && *device >= 0 && *device <= 1 << 20) return {};
    }
    return make_error(ErrorKind::Argument, fmt::format("'{}' is not known.", id),
                      "Use cpu, reference, cuda[:N] or cuda-emulated.");
}

}  // namespace decodescope
