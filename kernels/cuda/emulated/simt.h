// CUDA's device vocabulary for a C++ compiler, so that an unchanged .cu file runs thread by thread on the processor.
// Types and prototypes (dim3, float4, __half, cudaStream_t) are NVIDIA's own: their headers are plain C++ for a host
// compiler. Only what nvcc builds in stands here. Included by kernels/cuda/device.h and by tests.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#undef __launch_bounds__
#define __launch_bounds__(...)

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

// Set by the scheduler at every switch.
inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;

namespace decodescope::simt {

// Which of the threads that can go on does: one after the other, from the last to the first, any (from a seed), or one
// warp as far as it gets before the next one starts. A missing barrier gives a wrong answer in at least one of them.
enum class Schedule { Forward, Reverse, Seeded, WarpAhead };

struct Settings {
    Schedule schedule = Schedule::Forward;
    std::uint64_t seed = 1;
    std::size_t shared_bytes = 48 << 10;  // of a block
};
Settings& settings();

struct Launch {
    const char* kernel;
    dim3 grid, block;
    std::size_t shared_bytes;
};
// Why CUDA would refuse the launch; empty when it would not.
std::string refusal(const Launch& launch);
// Runs every block. "" or what the kernel did wrong, with block, thread and line.
std::string run_grid(const Launch& launch, const std::function<void()>& thread_body);
std::int64_t switches();  // since the program started

// Where launches go: the emulated runtime puts them into its streams.
using LaunchSink = void (*)(const Launch&, cudaStream_t, std::function<void()> thread_body);
extern LaunchSink launch_sink;

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
    std::tuple<Parameters...> copied{static_cast<Parameters>(std::forward<Arguments>(arguments))...};
    launch_sink({name, grid, block, shared_bytes}, stream,
                [kernel, copied = std::move(copied)] { std::apply(kernel, copied); });
}

struct Site {
    const char* file;
    int line;
};
enum class WarpOperation : std::uint8_t { Synchronize, Shuffle, Ballot };

void block_barrier(Site site);
bool block_any(bool vote, Site site);
std::uint64_t warp_collective(WarpOperation operation, unsigned mask, std::uint64_t value, int source_lane, Site site);
int lane_index();
void* dynamic_shared();
void* static_shared(const void* tag, std::size_t bytes);

template <class T>
T shuffle(unsigned mask, T value, int source_lane, Site site) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = warp_collective(WarpOperation::Shuffle, mask, bits, source_lane, site);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

// The tag is an object of its own for each declaration and template instance.
template <class Array>
Array& shared_array(const void* tag) {
    return *static_cast<Array*>(static_shared(tag, sizeof(Array)));
}

}  // namespace decodescope::simt

#define DS_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
    ::decodescope::simt::launch(#kernel, kernel, grid, block, shared_bytes, stream, __VA_ARGS__)
#define DS_SHARED(type, name, count)       \
    static const char name##_shared_tag = 0; \
    auto& name = ::decodescope::simt::shared_array<type[count]>(&name##_shared_tag)
#define DS_DYNAMIC_SHARED(type, name) type* const name = static_cast<type*>(::decodescope::simt::dynamic_shared())

#define DS_SITE const char *site_file = __builtin_FILE(), int site_line = __builtin_LINE()
#define DS_HERE ::decodescope::simt::Site{site_file, site_line}

inline void __syncthreads(DS_SITE) { decodescope::simt::block_barrier(DS_HERE); }
inline int __syncthreads_or(int vote, DS_SITE) { return decodescope::simt::block_any(vote != 0, DS_HERE) ? 1 : 0; }
inline void __syncwarp(unsigned mask = ~0u, DS_SITE) {
    decodescope::simt::warp_collective(decodescope::simt::WarpOperation::Synchronize, mask, 0, -1, DS_HERE);
}
inline unsigned __ballot_sync(unsigned mask, int vote, DS_SITE) {
    return static_cast<unsigned>(decodescope::simt::warp_collective(decodescope::simt::WarpOperation::Ballot, mask,
                                                                    vote != 0 ? 1 : 0, -1, DS_HERE));
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, DS_SITE) {
    const int lane = decodescope::simt::lane_index();
    return decodescope::simt::shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)), DS_HERE);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, DS_SITE) {
    const int lane = decodescope::simt::lane_index(), source = lane ^ lane_mask;
    return decodescope::simt::shuffle(mask, value, source <= (lane | (width - 1)) ? source : lane, DS_HERE);
}

template <class T>
    requires std::is_arithmetic_v<T>
constexpr T min(T a, T b) {
    return b < a ? b : a;
}
template <class T>
    requires std::is_arithmetic_v<T>
constexpr T max(T a, T b) {
    return a < b ? b : a;
}
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
