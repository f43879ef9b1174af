// Whether the devices of this machine can be used, each answer in one sentence.
#pragma once

#include <string>

#include "kernels/api/backend_module.h"
#include "kernels/api/status.h"

namespace decodescope::cuda {

ModuleReport probe_devices();

// The device's name, or why it cannot be used. Runs a kernel: a device that is there may still be too new or too old
// for our code, or its driver too old.
Result<std::string> probe_device(int device);

}  // namespace decodescope::cuda
