// `--weights`: what matrices are stored as, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/api/status.h"

namespace decodescope {

// Names of all types that can be asked for, in the order in which they are offered.
std::vector<std::string> weight_type_names();
// Argument error that names the value and what there is; the message is "'f8' is not known.".
Result<WeightType> parse_weight_type(std::string_view name);
std::string to_string(WeightType type);  // empty for AsInFile, which has no name

}  // namespace decodescope
