#include "engine/trace/half_pack.h"

#include "kernels/api/half.h"

#if defined(__x86_64__) || defined(__i386__)
#define DECODESCOPE_HAS_F16C_PATH 1
#include <immintrin.h>
#endif

namespace decodescope {

void pack_f16_scalar(const float* from, std::uint16_t* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] = f32_to_f16(from[i]);
}

#ifdef DECODESCOPE_HAS_F16C_PATH
__attribute__((target("avx,f16c"))) static void pack_f16_f16c(const float* from, std::uint16_t* to, std::size_t count) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
    }
    pack_f16_scalar(from + i, to + i, count - i);
}
#endif

void pack_f16(const float* from, std::uint16_t* to, std::size_t count) {
#ifdef DECODESCOPE_HAS_F16C_PATH
    static const bool has_f16c = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
    if (has_f16c) return pack_f16_f16c(from, to, count);
#endif
    pack_f16_scalar(from, to, count);
}

}  // namespace decodescope
