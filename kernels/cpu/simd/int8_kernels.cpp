// Rows of a cache as int8, and back: the same bytes as the plain code in kernels/api/int8_row.h.
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/int8_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/api/int8_row.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {
namespace {

// NaN when one of the values is not finite.
float LargestMagnitude(const float* x, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    VF top = hn::Zero(d);
    auto finite = hn::Eq(top, top);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const VF magnitude = hn::Abs(hn::LoadU(d, x + i));
        finite = hn::And(finite, hn::Le(magnitude, hn::Set(d, std::numeric_limits<float>::max())));
        top = hn::Max(top, magnitude);
    }
    if (!hn::AllTrue(d, finite)) return std::numeric_limits<float>::quiet_NaN();
    const float rest = largest_magnitude(x + i, count - i);
    const float largest = hn::GetLane(hn::MaxOfLanes(d, top));
    return std::isnan(rest) || rest > largest ? rest : largest;
}

void QuantizeRow(const float* x, std::byte* row, std::int64_t head_dim) {
    const float scale = int8_scale(LargestMagnitude(x, head_dim));
    std::memset(row, 0, static_cast<std::size_t>(int8_code_bytes(head_dim)));
    std::memcpy(row + int8_code_bytes(head_dim), &scale, 4);
    if (!(scale > 0.0f)) return;
    const DF d;
    const hn::RebindToSigned<DF> d32;
    const hn::Rebind<std::int8_t, DF> d8;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const VF limit = hn::Set(d, kInt8Levels);
    auto* codes = reinterpret_cast<std::int8_t*>(row);
    std::int64_t i = 0;
    for (; i + lanes <= head_dim; i += lanes) {
        const VF quotient = hn::Div(hn::LoadU(d, x + i), hn::Set(d, scale));  // a reciprocal would round differently
        const VF clamped = hn::Min(hn::Max(hn::Round(quotient), hn::Neg(limit)), limit);
        hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(d32, clamped)), d8, codes + i);
    }
    for (; i < head_dim; ++i) codes[i] = int8_code(x[i], scale);
}

void DequantizeRow(const std::byte* row, float* to, std::int64_t head_dim) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const float scale = int8_row_scale(row, head_dim);
    const auto* codes = reinterpret_cast<const std::int8_t*>(row);
    std::int64_t i = 0;
    for (; i + lanes <= head_dim; i += lanes)
        hn::StoreU(hn::Mul(LoadCodes(d, codes + i), hn::Set(d, scale)), d, to + i);
    for (; i < head_dim; ++i) to[i] = scale * static_cast<float>(codes[i]);
}

void DequantizeGroupRow(const std::byte* row, const float* channels, float* to, std::int64_t head_dim) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto* codes = reinterpret_cast<const std::int8_t*>(row);
    std::int64_t i = 0;
    for (; i + lanes <= head_dim; i += lanes) {
        const VF scaled = hn::Mul(LoadCodes(d, codes + i), hn::LoadU(d, channels + i));
        hn::StoreU(hn::Add(scaled, hn::LoadU(d, channels + head_dim + i)), d, to + i);
    }
    for (; i < head_dim; ++i) to[i] = int8_group_value(row, channels, head_dim, i);
}

}  // namespace

void FillInt8Kernels(CpuKernelTable& table) {
    table.row_to_f32 = {table.to_f32[0], table.to_f32[1], table.to_f32[2], &DequantizeRow};
    table.row_from_f32 = {table.from_f32[0], table.from_f32[1], table.from_f32[2], &QuantizeRow};
    table.group_row_to_f32 = &DequantizeGroupRow;
}

}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace decodescope {

bool fill_int8_kernels(std::int64_t target, CpuKernelTable& table) {
    DECODESCOPE_CALL_TARGET(target, FillInt8Kernels, table);
}

}  // namespace decodescope
#endif
