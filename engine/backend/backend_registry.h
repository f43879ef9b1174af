// The backends that work here, and for the others the sentence why not. The engine includes no backend: whoever puts
// the program together registers them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/backend.h"

namespace decodescope {

struct BackendRequest {
    std::string id = "cpu";       // "cpu", "reference", "cuda:1"
    int threads = 0;              // 0 = all
    std::string instruction_set;  // empty = best
};

struct BackendEntry {
    std::string id, title;
    bool available = false;
    std::string reason;           // why not, one sentence
    std::function<Result<std::shared_ptr<Backend>>(const BackendRequest&)> create;
    // Finds out whether it works, which may take seconds: what the entry turns out to be, and one more for each further
    // device. Empty where that is known from the start.
    std::function<std::vector<BackendEntry>(const BackendEntry&)> probe = {};
};

class BackendRegistry {
public:
    void add(BackendEntry entry) { entries_.push_back(std::move(entry)); }
    const std::vector<BackendEntry>& entries() const { return entries_; }
    // Asks those that have not been asked yet. Not for the thread of the window. Nothing else touches their drivers, but
    // create() of one of them.
    void probe();
    // Unknown id or not available: error that names what there is.
    Result<std::shared_ptr<Backend>> create(const BackendRequest& request) const;

private:
    std::vector<BackendEntry> entries_;
};

// Names only: whether the backend works here is found out when it is made. The message is "'tpu' is not known.".
Status check_backend_name(std::string_view id);

}  // namespace decodescope
