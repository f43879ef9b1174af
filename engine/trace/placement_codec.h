// The placement of a step's rows within a STEP record. It follows the step's other fields where it was recorded.
#pragma once

#include "engine/trace/byte_stream.h"
#include "engine/trace/placement.h"

namespace decodescope {

void encode_placement(ByteWriter& out, const Placement& placement);
// Checks every number: runs come in order, slots and pages are those of the cache.
Placement decode_placement(ByteReader& in);

}  // namespace decodescope
