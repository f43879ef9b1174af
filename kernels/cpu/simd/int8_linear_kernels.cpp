// Products of one row with int8 weights, and such weights as f32. See kernels/api/int8_weights.h.
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/int8_linear_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/api/int8_weights.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {
namespace {

static_assert(hn::MaxLanes(DF()) * 2 <= 32, "a step of two vectors stays within a block");

constexpr std::int64_t kScalesAtOnce = 16;

// Scales of blocks `first` .. `last` - 1 of a row as f32.
HWY_INLINE void LoadScales(const std::byte* row, std::int64_t columns, std::int64_t first, std::int64_t last,
                           float* HWY_RESTRICT out) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto* scales = reinterpret_cast<const F16Element*>(weight_scales(row, columns));
    std::int64_t b = first;
    for (; b + lanes <= last; b += lanes) hn::StoreU(LoadF(d, scales + b), d, out + (b - first));
    for (; b < last; ++b) out[b - first] = ToFloat(scales[b]);
}

HWY_INLINE VF LoadWeight(DF d, const std::byte* row, std::int64_t column, VF scale) {
    return hn::Mul(scale, LoadCodes(d, reinterpret_cast<const std::int8_t*>(row) + column));
}

// Four dot products of length n with the same x, by the same steps in the same order as DotPairs takes on the values in
// f32: a row alone and one among several give the same bits.
HWY_INLINE void DotRows(const std::byte* const* row, const float* x, std::int64_t n, float* HWY_RESTRICT out) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    HWY_ALIGN float scales[4][kScalesAtOnce];
    VF a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    std::int64_t i = 0;
    for (std::int64_t first = 0; first * kWeightBlock < n; first += kScalesAtOnce) {
        const std::int64_t last = std::min(first + kScalesAtOnce, weight_blocks(n));
        for (int s = 0; s < 4; ++s) LoadScales(row[s], n, first, last, scales[s]);
        for (std::int64_t block = first; block < last; ++block) {
            const std::int64_t end = std::min((block + 1) * kWeightBlock, n);
            const VF s0 = hn::Set(d, scales[0][block - first]), s1 = hn::Set(d, scales[1][block - first]);
            const VF s2 = hn::Set(d, scales[2][block - first]), s3 = hn::Set(d, scales[3][block - first]);
            for (; i + 2 * lanes <= end; i += 2 * lanes) {
                const std::int64_t j = i + lanes;
                const VF x0 = hn::LoadU(d, x + i), x1 = hn::LoadU(d, x + j);
                a0 = hn::MulAdd(LoadWeight(d, row[0], i, s0), x0, a0);
                b0 = hn::MulAdd(LoadWeight(d, row[0], j, s0), x1, b0);
                a1 = hn::MulAdd(LoadWeight(d, row[1], i, s1), x0, a1);
                b1 = hn::MulAdd(LoadWeight(d, row[1], j, s1), x1, b1);
                a2 = hn::MulAdd(LoadWeight(d, row[2], i, s2), x0, a2);
                b2 = hn::MulAdd(LoadWeight(d, row[2], j, s2), x1, b2);
                a3 = hn::MulAdd(LoadWeight(d, row[3], i, s3), x0, a3);
                b3 = hn::MulAdd(LoadWeight(d, row[3], j, s3), x1, b3);
            }
            if (i + lanes <= end) {  // in the last block only
                const VF x0 = hn::LoadU(d, x + i);
                a0 = hn::MulAdd(LoadWeight(d, row[0], i, s0), x0, a0);
                a1 = hn::MulAdd(LoadWeight(d, row[1], i, s1), x0, a1);
                a2 = hn::MulAdd(LoadWeight(d, row[2], i, s2), x0, a2);
                a3 = hn::MulAdd(LoadWeight(d, row[3], i, s3), x0, a3);
                i += lanes;
            }
        }
    }
    StoreSums(d, hn::Add(a0, b0), hn::Add(a1, b1), hn::Add(a2, b2), hn::Add(a3, b3), out);
    for (; i < n; ++i)
        for (int s = 0; s < 4; ++s) out[s] += int8_weight(row[s], n, i) * x[i];
}

// As linear_rows for one row: the outputs are cut in four parts and one weight row of each part is read at a time.
void Int8Row(const std::byte* weight, std::int64_t columns, const float* x, const float* bias, float* out,
             std::int64_t first, std::int64_t last) {
    const std::int64_t bytes = weight_row_bytes(ElementType::I8, columns), part = (last - first) / 4;
    HWY_ALIGN float sums[4];
    const auto put = [&](std::int64_t o, float sum) { out[o] = bias != nullptr ? sum + bias[o] : sum; };
    for (std::int64_t o = first; o < first + part; ++o) {
        const std::byte* rows[4];
        for (int s = 0; s < 4; ++s) rows[s] = weight + (o + s * part) * bytes;
        DotRows(rows, x, columns, sums);
        for (int s = 0; s < 4; ++s) put(o + s * part, sums[s]);
    }
    for (std::int64_t o = first + 4 * part; o < last; ++o) {
        const std::byte* row = weight + o * bytes;
        const std::byte* rows[4] = {row, row, row, row};
        DotRows(rows, x, columns, sums);
        put(o, sums[0]);
    }
}

void Int8RowToF32(const std::byte* row, std::int64_t columns, std::int64_t first, std::int64_t count, float* to) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = first;
    while (i < first + count) {
        const std::int64_t block = i / kWeightBlock, end = std::min((block + 1) * kWeightBlock, first + count);
        const float scale = int8_weight_scale(row, columns, block);
        for (; i + lanes <= end; i += lanes) hn::StoreU(LoadWeight(d, row, i, hn::Set(d, scale)), d, to + (i - first));
        for (; i < end; ++i) to[i - first] = scale * static_cast<float>(static_cast<std::int8_t>(row[i]));
    }
}

}  // namespace

void FillInt8LinearKernels(CpuKernelTable& table) {
    table.int8_row = &Int8Row;
    table.int8_row_to_f32 = &Int8RowToF32;
}

}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace decodescope {

bool fill_int8_linear_kernels(std::int64_t target, CpuKernelTable& table) {
    DECODESCOPE_CALL_TARGET(target, FillInt8LinearKernels, table);
}

}  // namespace decodescope
#endif
