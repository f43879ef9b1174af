// The processor backend: SIMD kernels chosen at run time and its own thread pool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace decodescope {

struct CpuBackendOptions {
    int threads = 0;                     // 0: all cores
    std::string instruction_set{};       // empty: the best of this machine; else one of cpu_instruction_sets()
    std::int64_t memory_limit_bytes = 0; // in all; 0: what the machine has
    std::int64_t fail_allocation = 0;    // tests: the n-th allocation fails, counted from 1
    // Tests: called before each piece of work that a stop can end, with its multiply-adds times two, from any thread.
    std::function<void(std::int64_t flops)> on_tile{};
};

// Error of kind Argument for an unknown instruction set or a thread count that is not in 0 .. 1024.
Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuBackendOptions& options = {});

// Names of the instruction sets that were compiled and that this machine has, best first.
std::vector<std::string> cpu_instruction_sets();

}  // namespace decodescope
