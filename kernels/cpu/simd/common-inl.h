// Shared by the SIMD sources; compiled once per instruction set (Highway's per-target include guard).
#if defined(DECODESCOPE_SIMD_COMMON_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DECODESCOPE_SIMD_COMMON_INL_H
#undef DECODESCOPE_SIMD_COMMON_INL_H
#else
#define DECODESCOPE_SIMD_COMMON_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>
#include "kernels/api/half.h"

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// Stored elements. Distinct types, so that overloads pick the conversion.
struct F32Element {
    float value;
};
struct F16Element {
    std::uint16_t bits;
};
struct BF16Element {
    std::uint16_t bits;
};
struct I8Element {  // a code of a row that has its scale behind it
    std::int8_t code;
};
struct GroupedElement {  // a code of a row whose scales lie elsewhere
    std::int8_t code;
};

HWY_INLINE float ToFloat(F32Element e) { return e.value; }
HWY_INLINE float ToFloat(F16Element e) { return f16_to_f32(e.bits); }
HWY_INLINE float ToFloat(BF16Element e) { return bf16_to_f32(e.bits); }
HWY_INLINE float ToFloat(I8Element e) { return static_cast<float>(e.code); }
HWY_INLINE float ToFloat(GroupedElement e) { return static_cast<float>(e.code); }

HWY_INLINE VF LoadF(DF d, const F32Element* p) { return hn::LoadU(d, &p->value); }

HWY_INLINE VF LoadF(DF d, const BF16Element* p) {
    const hn::Rebind<std::uint16_t, DF> d16;
    const hn::RebindToUnsigned<DF> d32;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, &p->bits))));
}

HWY_INLINE VF LoadCodes(DF d, const std::int8_t* p) {
    const hn::Rebind<std::int8_t, DF> d8;
    const hn::RebindToSigned<DF> d32;
    return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d8, p)));
}
HWY_INLINE VF LoadF(DF d, const I8Element* p) { return LoadCodes(d, &p->code); }
HWY_INLINE VF LoadF(DF d, const GroupedElement* p) { return LoadCodes(d, &p->code); }

// Instruction sets with conversion instructions use them; the others shift bits, with the same result for every half.
#define DECODESCOPE_F16_INSTRUCTIONS \
    (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON)

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE VF LoadF(DF d, const F16Element* p) { return hn::Set(d, f16_to_f32(p->bits)); }
#elif DECODESCOPE_F16_INSTRUCTIONS
HWY_INLINE VF LoadF(DF d, const F16Element* p) {
    const hn::Rebind<hwy::float16_t, DF> d16;
    return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(p)));
}
#else
HWY_INLINE VF LoadF(DF d, const F16Element* p) {
    const hn::Rebind<std::uint16_t, DF> d16;
    const hn::RebindToUnsigned<DF> d32;
    const hn::RebindToSigned<DF> di;
    const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, &p->bits));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d32, 0x8000u)));
    const auto magnitude = hn::And(bits, hn::Set(d32, 0x7FFFu));
    const auto shifted = hn::ShiftLeft<13>(magnitude);
    const auto normal = hn::Add(shifted, hn::Set(d32, 112u << 23));
    const auto small = hn::Mul(hn::ConvertTo(d, hn::BitCast(di, magnitude)), hn::Set(d, 0x1p-24f));
    const auto quiet = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(d32, 0x7C00u)), hn::Set(d32, 0x400000u));
    const auto special = hn::Or(hn::Add(shifted, hn::Set(d32, 224u << 23)), quiet);
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d32, 0x400u)), hn::BitCast(d32, small), normal);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d32, 0x7BFFu)), special, result);
    return hn::BitCast(d, hn::Or(result, sign));
}
#endif

#if HWY_TARGET != HWY_SCALAR
template <class D, class V>
HWY_INLINE void StoreBlockSum(D d, V v, float* out) {
    if constexpr (hn::MaxLanes(D()) > 4) {
        const hn::Half<D> half;
        StoreBlockSum(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), out);
    } else {
        hn::StoreU(v, d, out);
    }
}
#endif

// out[0..3] = the sums of the lanes of four vectors. Each sum is formed in the same order, whatever the other three
// are.
HWY_INLINE void StoreSums(DF d, VF v0, VF v1, VF v2, VF v3, float* out) {
#if HWY_TARGET == HWY_SCALAR
    out[0] = hn::GetLane(v0);
    out[1] = hn::GetLane(v1);
    out[2] = hn::GetLane(v2);
    out[3] = hn::GetLane(v3);
#else
    const hn::Repartition<std::uint64_t, DF> d64;
    const VF v01 = hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1));
    const VF v23 = hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3));
    const VF low = hn::BitCast(d, hn::InterleaveLower(d64, hn::BitCast(d64, v01), hn::BitCast(d64, v23)));
    const VF high = hn::BitCast(d, hn::InterleaveUpper(d64, hn::BitCast(d64, v01), hn::BitCast(d64, v23)));
    StoreBlockSum(d, hn::Add(low, high), out);
#endif
}

HWY_INLINE float LaneSum(DF d, VF v) { return hn::GetLane(hn::SumOfLanes(d, v)); }

// Four dot products of length n: pairs (w0, x0) .. (w3, x3). Every pair goes through the same steps in the same order,
// whichever place it has, so a result never depends on what it is computed beside.
template <class T>
HWY_INLINE void DotPairs(const T* w0, const T* w1, const T* w2, const T* w3, const float* x0, const float* x1,
                         const float* x2, const float* x3, std::int64_t n, float* HWY_RESTRICT out) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    VF a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    std::int64_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        const std::int64_t j = i + lanes;
        a0 = hn::MulAdd(LoadF(d, w0 + i), hn::LoadU(d, x0 + i), a0);
        b0 = hn::MulAdd(LoadF(d, w0 + j), hn::LoadU(d, x0 + j), b0);
        a1 = hn::MulAdd(LoadF(d, w1 + i), hn::LoadU(d, x1 + i), a1);
        b1 = hn::MulAdd(LoadF(d, w1 + j), hn::LoadU(d, x1 + j), b1);
        a2 = hn::MulAdd(LoadF(d, w2 + i), hn::LoadU(d, x2 + i), a2);
        b2 = hn::MulAdd(LoadF(d, w2 + j), hn::LoadU(d, x2 + j), b2);
        a3 = hn::MulAdd(LoadF(d, w3 + i), hn::LoadU(d, x3 + i), a3);
        b3 = hn::MulAdd(LoadF(d, w3 + j), hn::LoadU(d, x3 + j), b3);
    }
    if (i + lanes <= n) {
        a0 = hn::MulAdd(LoadF(d, w0 + i), hn::LoadU(d, x0 + i), a0);
        a1 = hn::MulAdd(LoadF(d, w1 + i), hn::LoadU(d, x1 + i), a1);
        a2 = hn::MulAdd(LoadF(d, w2 + i), hn::LoadU(d, x2 + i), a2);
        a3 = hn::MulAdd(LoadF(d, w3 + i), hn::LoadU(d, x3 + i), a3);
        i += lanes;
    }
    StoreSums(d, hn::Add(a0, b0), hn::Add(a1, b1), hn::Add(a2, b2), hn::Add(a3, b3), out);
    for (; i < n; ++i) {
        out[0] += ToFloat(w0[i]) * x0[i];
        out[1] += ToFloat(w1[i]) * x1[i];
        out[2] += ToFloat(w2[i]) * x2[i];
        out[3] += ToFloat(w3[i]) * x3[i];
    }
}

}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
