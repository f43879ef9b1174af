// The one header that kernels and their launchers include, and the only place that knows who compiles them: nvcc for a
// GPU, or a C++ compiler for the emulation. Rules for kernels:
// - Nothing of CUDA but this header; no other #ifdef, no inline PTX, no cooperative groups, no <<<>>>.
// - Shared memory by DS_SHARED and DS_DYNAMIC_SHARED, launches by DS_LAUNCH.
// - Barriers and warp collectives are reached by every thread of the block, or lane of the mask, on the same line:
//   guard the work, not the barrier. Whole blocks may return early, single threads may not before a barrier.
// - Blocks of one launch never talk to each other; threads per block are a multiple of 32.
// - Arguments by value: numbers, pointers, plain structs.
#pragma once

#ifdef __CUDACC__

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define DS_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
    (kernel)<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__)
#define DS_SHARED(type, name, count) __shared__ type name[count]
#define DS_DYNAMIC_SHARED(type, name)                                     \
    extern __shared__ __align__(16) unsigned char ds_dynamic_shared[]; \
    type* const name = reinterpret_cast<type*>(ds_dynamic_shared)

#else

#include "kernels/cuda/emulated/simt.h"

#endif
