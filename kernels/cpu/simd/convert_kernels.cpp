// Element conversions.
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/convert_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {
namespace {

template <class T>
void ToF32(const std::byte* from, float* to, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const T* source = reinterpret_cast<const T*>(from);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(LoadF(d, source + i), d, to + i);
    for (; i < count; ++i) to[i] = ToFloat(source[i]);
}

void CopyF32(const float* from, std::byte* to, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    float* target = reinterpret_cast<float*>(to);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, target + i);
    for (; i < count; ++i) target[i] = from[i];
}

void F32ToF16(const float* from, std::byte* to, std::int64_t count) {
    std::uint16_t* target = reinterpret_cast<std::uint16_t*>(to);
    std::int64_t i = 0;
#if DECODESCOPE_F16_INSTRUCTIONS
    const DF d;
    const hn::Rebind<hwy::float16_t, DF> d16;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::DemoteTo(d16, hn::LoadU(d, from + i)), d16, reinterpret_cast<hwy::float16_t*>(target + i));
#endif
    for (; i < count; ++i) target[i] = f32_to_f16(from[i]);
}

void F32ToBF16(const float* from, std::byte* to, std::int64_t count) {
    std::uint16_t* target = reinterpret_cast<std::uint16_t*>(to);
    std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const DF d;
    const hn::RebindToUnsigned<DF> d32;
    const hn::Rebind<std::uint16_t, DF> d16;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + lanes <= count; i += lanes) {
        const auto bits = hn::BitCast(d32, hn::LoadU(d, from + i));
        const auto top = hn::ShiftRight<16>(bits);
        const auto odd = hn::And(top, hn::Set(d32, 1u));
        const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d32, 0x7FFFu)), odd));
        const auto nan = hn::Gt(hn::And(bits, hn::Set(d32, 0x7FFFFFFFu)), hn::Set(d32, 0x7F800000u));
        const auto kept = hn::IfThenElse(nan, hn::Or(top, hn::Set(d32, 0x40u)), rounded);
        hn::StoreU(hn::TruncateTo(d16, kept), d16, target + i);
    }
#endif
    for (; i < count; ++i) target[i] = f32_to_bf16(from[i]);
}

}  // namespace

void FillConvertKernels(CpuKernelTable& table) {
    table.to_f32 = {&ToF32<F32Element>, &ToF32<F16Element>, &ToF32<BF16Element>};
    table.from_f32 = {&CopyF32, &F32ToF16, &F32ToBF16};
}

}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace decodescope {

bool fill_convert_kernels(std::int64_t target, CpuKernelTable& table) {
    DECODESCOPE_CALL_TARGET(target, FillConvertKernels, table);
}

}  // namespace decodescope
#endif
