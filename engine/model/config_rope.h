// What config.json says of rotary positions: "rope_theta", "rope_scaling" of older files, "rope_parameters" of newer.
#pragma once

#include "engine/model/config_fields.h"
#include "engine/model/model_config.h"

namespace decodescope {

// Theta, divisors and, where layers with a window have their own object, the local theta. Needs head_dim, rotary_dim
// and family. Kinds of rotation other than plain, linear and llama3, and members of the objects that would go unread, are
// Unsupported errors with their name. `usual_theta`: where no file says it.
void read_rope(Fields& fields, ModelConfig& config, double usual_theta = 10000.0);

// The part of each head that is rotated, wherever it is written.
double rotary_part(Fields& fields, double usual);

}  // namespace decodescope
