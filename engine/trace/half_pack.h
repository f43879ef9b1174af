// Rows of f32 to binary16, round to nearest, ties to even; the same bits as kernels/api/half.h on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace decodescope {

// Uses the processor's conversion where it has one (8 values an instruction), else the scalar one.
void pack_f16(const float* from, std::uint16_t* to, std::size_t count);
// The scalar path, for comparison in tests.
void pack_f16_scalar(const float* from, std::uint16_t* to, std::size_t count);

}  // namespace decodescope
