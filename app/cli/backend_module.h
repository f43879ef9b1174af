// Backends in libraries of their own, opened when they are asked for and at no other time.
#pragma once

#include <string>
#include <vector>

#include "engine/backend/backend_registry.h"
#include "kernels/api/backend_module.h"

namespace decodescope {

// The library's description, or one sentence why there is none. `path` as dlopen takes it. A library stays open.
Result<const BackendModule*> open_backend_module(const std::string& path);

// Where a library of the program lies: beside it, or in ../lib/decodescope when it is installed. Empty: nowhere.
std::string find_module_file(const std::string& name);

// An entry whose library is touched only when it is probed or a backend of it is made. `missing`: the sentence for a
// program that has no such library.
BackendEntry module_entry(const std::string& id, const std::string& title, const std::string& file,
                          const std::string& missing);

}  // namespace decodescope
