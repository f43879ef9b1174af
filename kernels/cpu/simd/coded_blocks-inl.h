// Weights that are kept as codes (kernels/cpu/panel_layout.h) become f32, a block of a panel at a time; compiled once per
// instruction set (Highway's per-target include guard).
#if defined(DECODESCOPE_CODED_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DECODESCOPE_CODED_BLOCKS_INL_H
#undef DECODESCOPE_CODED_BLOCKS_INL_H
#else
#define DECODESCOPE_CODED_BLOCKS_INL_H
#endif

#include <hwy/highway.h>

#include "kernels/cpu/panel_layout.h"
#include "kernels/cpu/simd/common-inl.h"

// Without it the sums of a tile stay in memory.
#ifndef DECODESCOPE_UNROLL
#if HWY_COMPILER_GCC_ACTUAL
#define DECODESCOPE_UNROLL _Pragma("GCC unroll 32")
#else
#define DECODESCOPE_UNROLL
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {
namespace {

constexpr int kLanes = static_cast<int>(hn::MaxLanes(DF()));
constexpr int kVectors = static_cast<int>(kPanelOutputs) / kLanes;  // of a panel and column

// A block of coded weights as f32, [32][16]: scale * code - minimum, as widened.
template <ElementType kType>
HWY_INLINE void DecodeBlock(const std::byte* block, float* HWY_RESTRICT out) {
    const DF d;
    const hn::RebindToSigned<DF> d32;
    const hn::Rebind<std::uint8_t, DF> d8;
    constexpr int kHalf = static_cast<int>(kWeightBlock) / 2;
    const auto* nibbles = reinterpret_cast<const std::uint8_t*>(block);
    const auto* high = nibbles + kPanelNibbleBytes;
    const auto* scales = reinterpret_cast<const float*>(block + kPanelNibbleBytes + panel_high_bytes(kType));
    constexpr int kHighColumns = kType == ElementType::Q5 ? 8 : 4;
    constexpr int kHighMask = kType == ElementType::Q5 ? 16 : 48;
    const auto with_high = [&](hn::Vec<decltype(d32)> code, int k, int lane) HWY_ATTR {
        if constexpr (kType == ElementType::Q4) return code;
        const auto bits = hn::PromoteTo(d32, hn::LoadU(d8, high + k / kHighColumns * kPanelOutputs + lane));
        const int shift = 4 - k % kHighColumns * (8 / kHighColumns);
        const auto moved = shift >= 0 ? hn::ShiftLeftSame(bits, shift) : hn::ShiftRightSame(bits, -shift);
        return hn::Or(code, hn::And(moved, hn::Set(d32, kHighMask)));
    };
    DECODESCOPE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
        const int lane = v * kLanes;
        const VF scale = hn::LoadU(d, scales + lane), other = hn::LoadU(d, scales + kPanelOutputs + lane);
        const VF later = kType == ElementType::Q6 ? other : scale;  // of the second half of the columns
        const VF minimum = kType == ElementType::Q6 ? hn::Mul(scale, hn::Set(d, 32.0f)) : other;
        const VF later_minimum = kType == ElementType::Q6 ? hn::Mul(other, hn::Set(d, 32.0f)) : other;
        DECODESCOPE_UNROLL
        for (int k = 0; k < kHalf; ++k) {
            const auto both = hn::PromoteTo(d32, hn::LoadU(d8, nibbles + k * kPanelOutputs + lane));
            const auto low = with_high(hn::And(both, hn::Set(d32, 15)), k, lane);
            const auto upper = with_high(hn::ShiftRight<4>(both), k + kHalf, lane);
            hn::StoreU(hn::MulSub(hn::ConvertTo(d, low), scale, minimum), d, out + k * kPanelOutputs + lane);
            hn::StoreU(hn::MulSub(hn::ConvertTo(d, upper), later, later_minimum), d,
                       out + (k + kHalf) * kPanelOutputs + lane);
        }
    }
}

}  // namespace
}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
