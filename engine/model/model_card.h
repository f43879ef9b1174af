// heads.json and presets.json beside a model, both optional: what its card says of the heads, prompts to start with.
#pragma once

#include <string>
#include <vector>

#include "engine/model/model.h"

namespace decodescope {

// [{"layer": 0, "head": 1, "role": "previous", "previous": 0.9, "induction": 0.01, "first": 0.05}, ...], or an object
// with that list under "roles". Empty when the file is absent.
Result<std::vector<HeadRole>> read_head_roles(const std::string& folder, const ModelConfig& config);
// [{"id": ..., "lang": "en", "title": ..., "text": ..., "what": ...}, ...], or an object with it under "presets".
// The general ones when the file is absent or empty.
Result<std::vector<PromptPreset>> read_presets(const std::string& folder);
std::vector<PromptPreset> general_presets();

}  // namespace decodescope
