#include "kernels/cuda/rotation_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "kernels/cuda/cuda_error.h"

namespace decodescope::cuda {

Status RotationTable::ensure(std::int64_t positions, DeviceMemory& memory, cudaStream_t stream) {
    if (positions <= positions_) return {};
    constexpr std::uint64_t kFirst = 256;
    const auto grown =
        static_cast<std::int64_t>(std::bit_ceil(std::max(kFirst, static_cast<std::uint64_t>(positions))));
    const std::int64_t half = rope_.rotary_dim / 2;
    const auto bytes = static_cast<std::size_t>(grown * 2 * half) * sizeof(float);
    auto buffer = memory.allocate(bytes, MemoryPurpose::Activations);
    if (!buffer) return buffer.error();
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < half; ++i)
        frequencies.push_back(rope_frequency(rope_, i));
    std::vector<float> table(static_cast<std::size_t>(grown * 2 * half));
    auto line = table.begin();
    for (std::int64_t position = 0; position < grown; ++position, line += 2 * half)
        for (std::int64_t i = 0; i < half; ++i) {
            const double angle = static_cast<double>(position) * frequencies[static_cast<std::size_t>(i)];
            line[i] = static_cast<float>(std::cos(angle));
            line[half + i] = static_cast<float>(std::sin(angle));
        }
    DS_RETURN_IF_ERROR(check(cudaMemcpyAsync((*buffer)->data(), table.data(), bytes, cudaMemcpyHostToDevice, stream),
                             "copying the rotations"));
    DS_RETURN_IF_ERROR(check(cudaStreamSynchronize(stream), "copying the rotations"));
    buffer_ = std::move(*buffer);
    positions_ = grown;
    return {};
}

}  // namespace decodescope::cuda
