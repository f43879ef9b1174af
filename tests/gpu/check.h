// Shared by the parts of the check on a GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/decode/decode_session.h"
#include "kernels/api/backend_module.h"

namespace decodescope::gpu {

struct Device {
    const BackendModule* module = nullptr;
    int index = 0;
    std::shared_ptr<Backend> backend(bool graphs = true) const;  // ends the program with a sentence when it fails
};

// Ends the program with the sentence and code 1.
[[noreturn]] void stop_with(const std::string& sentence);

std::unique_ptr<DecodeSession> open_session(const LoadedModelPtr& model, const std::string& cache, const std::string& kv,
                                            const std::function<void(SessionConfig&)>& change = {});

// The table of times and rates; `quick`: one model and two lengths.
void print_rates(const Device& device, bool quick);

}  // namespace decodescope::gpu
