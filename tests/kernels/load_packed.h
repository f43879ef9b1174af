// Weights as the CPU backend keeps them, without a backend.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/cpu/packed_weights.h"
#include "kernels/reference/host_memory.h"
#include "tests/support/kernel_cases.h"

namespace decodescope::test {

inline std::shared_ptr<PackedWeights> load_packed(const ProgramBuilder& builder, WeightType type, HostMemory& memory) {
    auto weights = PackedWeights::plan(builder.table, builder.program, type, [&memory](std::size_t bytes) {
                       return memory.allocate(bytes, MemoryPurpose::Weights);
                   }).value();
    const ProgressFn nobody;
    PackWork work(builder.table, *weights, nobody, {});
    std::vector<std::byte> scratch(static_cast<std::size_t>(work.scratch_bytes()));
    work.use_scratch(scratch.data());
    ThreadPool(1).run(work);
    return weights;
}

}  // namespace decodescope::test
