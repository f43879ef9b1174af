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

// Instruction sets with 32 registers hold the sums of four rows with two outputs, so that what is loaded of a row
// serves both; the others those with one.
constexpr bool kTwoOutputs = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON;

// Sums of one row with two outputs, each in the two parts that DotPairs has.
struct PairSums {
    VF a0, b0, a1, b1;

    HWY_INLINE void Clear(DF d) { a0 = b0 = a1 = b1 = hn::Zero(d); }
    HWY_INLINE void AddA(VF x, VF w, VF v) {
        a0 = hn::MulAdd(w, x, a0);
        a1 = hn::MulAdd(v, x, a1);
    }
    HWY_INLINE void AddB(VF x, VF w, VF v) {
        b0 = hn::MulAdd(w, x, b0);
        b1 = hn::MulAdd(v, x, b1);
    }
};

// sums[r] = w . x[r], sums[4 + r] = v . x[r], by the same steps in the same order as DotPairs.
template <class T>
HWY_INLINE void DotTile(const T* w, const T* v, const float* x0, const float* x1, const float* x2, const float* x3,
                        std::int64_t n, float* HWY_RESTRICT sums) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    PairSums r0, r1, r2, r3;
    r0.Clear(d), r1.Clear(d), r2.Clear(d), r3.Clear(d);
    std::int64_t i = 0;
    const auto add_a = [&](std::int64_t at) HWY_ATTR {
        const VF wa = LoadF(d, w + at), va = LoadF(d, v + at);
        r0.AddA(hn::LoadU(d, x0 + at), wa, va);
        r1.AddA(hn::LoadU(d, x1 + at), wa, va);
        r2.AddA(hn::LoadU(d, x2 + at), wa, va);
        r3.AddA(hn::LoadU(d, x3 + at), wa, va);
    };
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        add_a(i);
        const std::int64_t j = i + lanes;
        const VF wb = LoadF(d, w + j), vb = LoadF(d, v + j);
        r0.AddB(hn::LoadU(d, x0 + j), wb, vb);
        r1.AddB(hn::LoadU(d, x1 + j), wb, vb);
        r2.AddB(hn::LoadU(d, x2 + j), wb, vb);
        r3.AddB(hn::LoadU(d, x3 + j), wb, vb);
    }
    if (i + lanes <= n) {
        add_a(i);
        i += lanes;
    }
    StoreSums(d, hn::Add(r0.a0, r0.b0), hn::Add(r1.a0, r1.b0), hn::Add(r2.a0, r2.b0), hn::Add(r3.a0, r3.b0), sums);
    StoreSums(d, hn::Add(r0.a1, r0.b1), hn::Add(r1.a1, r1.b1), hn::Add(r2.a1, r2.b1), hn::Add(r3.a1, r3.b1), sums + 4);
    const float* x[4] = {x0, x1, x2, x3};
    for (; i < n; ++i) {
        for (int r = 0; r < 4; ++r) {
            sums[r] += ToFloat(w[i]) * x[r][i];
            sums[4 + r] += ToFloat(v[i]) * x[r][i];
        }
    }
}

// Three or four rows; with three the last one is computed twice and kept once.
template <class T>
void FourRows(const T* weight, std::int64_t columns, const float* x, std::int64_t x_stride, int row, int rows,
              const Target& to, std::int64_t first, std::int64_t last) {
    const float* x3 = x + (rows - 1) * x_stride;
    HWY_ALIGN float sums[8];
    const std::int64_t part = kTwoOutputs ? (last - first) / 2 : 0;
    for (std::int64_t o = first; o < first + part; ++o) {
        const T* w = weight + o * columns;
        DotTile(w, w + part * columns, x, x + x_stride, x + 2 * x_stride, x3, columns, sums);
        for (int s = 0; s < rows; ++s) {
            to.Put(row + s, o, sums[s]);
            to.Put(row + s, o + part, sums[4 + s]);
        }
    }
    for (std::int64_t o = first + 2 * part; o < last; ++o) {
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
