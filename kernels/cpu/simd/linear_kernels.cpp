// Products of a few rows with a weight matrix, and element conversions.
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/linear_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {
namespace {

struct Target {
    const float* bias;
    float* out;
    std::int64_t stride;

    HWY_INLINE void Put(int row, std::int64_t o, float sum) const {
        out[row * stride + o] = bias != nullptr ? sum + bias[o] : sum;
    }
};

// One row: the outputs are cut in four parts and one weight row of each part is read at a time.
template <class T>
void OneRow(const T* weight, std::int64_t columns, const float* x, int row, const Target& to, std::int64_t first,
            std::int64_t last) {
    const std::int64_t part = (last - first) / 4;
    HWY_ALIGN float sums[4];
    for (std::int64_t o = first; o < first + part; ++o) {
        const T* w = weight + o * columns;
        DotPairs(w, w + part * columns, w + 2 * part * columns, w + 3 * part * columns, x, x, x, x, columns, sums);
        for (int s = 0; s < 4; ++s) to.Put(row, o + s * part, sums[s]);
    }
    for (std::int64_t o = first + 4 * part; o < last; ++o) {
        const T* w = weight + o * columns;
        DotPairs(w, w, w, w, x, x, x, x, columns, sums);
        to.Put(row, o, sums[0]);
    }
}

template <class T>
void TwoRows(const T* weight, std::int64_t columns, const float* x, std::int64_t x_stride, int row, const Target& to,
             std::int64_t first, std::int64_t last) {
    const std::int64_t part = (last - first) / 2;
    const float* y = x + x_stride;
    HWY_ALIGN float sums[4];
    for (std::int64_t o = first; o < first + part; ++o) {
        const T* w = weight + o * columns;
        const T* v = w + part * columns;
        DotPairs(w, w, v, v, x, y, x, y, columns, sums);
        for (int s = 0; s < 4; ++s) to.Put(row + s % 2, o + s / 2 * part, sums[s]);
    }
    for (std::int64_t o = first + 2 * part; o < last; ++o) {
        const T* w = weight + o * columns;
        DotPairs(w, w, w, w, x, y, x, y, columns, sums);
        for (int s = 0; s < 2; ++s) to.Put(row + s, o, sums[s]);
    }
}

// Three or four rows; with three the last one is computed twice and kept once.
template <class T>
void FourRows(const T* weight, std::int64_t columns, const float* x, std::int64_t x_stride, int row, int rows,
              const Target& to, std::int64_t first, std::int64_t last) {
    const float* x3 = x + (rows - 1) * x_stride;
    HWY_ALIGN float sums[4];
    for (std::int64_t o = first; o < last; ++o) {
        const T* w = weight + o * columns;
        DotPairs(w, w, w, w, x, x + x_stride, x + 2 * x_stride, x3, columns, sums);
        for (int s = 0; s < rows; ++s) to.Put(row + s, o, sums[s]);
    }
}

template <class T>
void LinearRows(const std::byte* weight, std::int64_t columns, const float* x, std::int64_t x_stride, int rows,
                const float* bias, float* out, std::int64_t out_stride, std::int64_t first, std::int64_t last) {
    const T* w = reinterpret_cast<const T*>(weight);
    const Target to{bias, out, out_stride};
    for (int row = 0; row < rows; row += 4) {
        const int left = rows - row < 4 ? rows - row : 4;
        const float* from = x + row * x_stride;
        if (left == 1) OneRow(w, columns, from, row, to, first, last);
        else if (left == 2) TwoRows(w, columns, from, x_stride, row, to, first, last);
        else FourRows(w, columns, from, x_stride, row, left, to, first, last);
    }
}

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

void FillLinearKernels(CpuKernelTable& table) {
    table.linear_rows = {&LinearRows<F32Element>, &LinearRows<F16Element>, &LinearRows<BF16Element>};
    table.to_f32 = {&ToF32<F32Element>, &ToF32<F16Element>, &ToF32<BF16Element>};
    table.from_f32 = {&CopyF32, &F32ToF16, &F32ToBF16};
}

}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace decodescope {

bool fill_linear_kernels(std::int64_t target, CpuKernelTable& table) {
    DECODESCOPE_CALL_TARGET(target, FillLinearKernels, table);
}

}  // namespace decodescope
#endif
