// Which instruction sets are compiled. Between SSE4 and none there is too little to gain, and scalable vectors cannot
// be members of arrays; a plain one-lane fallback runs everywhere.
#pragma once

#if defined(__SANITIZE_THREAD__)  // who races does not depend on the width of a vector
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

// Calls FUNCTION of the namespace compiled for `target`; false when there is none.
#define DECODESCOPE_CALL_TARGET(target, FUNCTION, table)          \
    do {                                                          \
        using Fill = void (*)(CpuKernelTable&);                   \
        Fill fill = nullptr;                                      \
        if ((target) == HWY_AVX3) fill = HWY_CHOOSE_AVX3(FUNCTION);  \
        if ((target) == HWY_AVX2) fill = HWY_CHOOSE_AVX2(FUNCTION);  \
        if ((target) == HWY_SSE4) fill = HWY_CHOOSE_SSE4(FUNCTION);  \
        if ((target) == HWY_NEON) fill = HWY_CHOOSE_NEON(FUNCTION);  \
        if ((target) == HWY_STATIC_TARGET) fill = &HWY_STATIC_DISPATCH(FUNCTION); \
        if (fill == nullptr) return false;                        \
        fill(table);                                              \
        return true;                                              \
    } while (false)
