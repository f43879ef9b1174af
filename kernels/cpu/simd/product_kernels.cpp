// Products of many rows with weights in f32: tiles of a few rows by four outputs, summed along the inputs. Nothing is
// packed, both operands lie along the inputs already.
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/product_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {
namespace {

// Rows of a tile: as many as the registers hold, four sums each.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kTileRows = 6;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 3;
#else
constexpr int kTileRows = 2;
#endif

struct Operands {
    const float* x[6];
    const float* w[4];
};

// Sums of one row with four outputs.
struct RowSums {
    VF s0, s1, s2, s3;

    HWY_INLINE void Clear(DF d) { s0 = s1 = s2 = s3 = hn::Zero(d); }
    HWY_INLINE void Add(VF x, VF w0, VF w1, VF w2, VF w3) {
        s0 = hn::MulAdd(x, w0, s0);
        s1 = hn::MulAdd(x, w1, s1);
        s2 = hn::MulAdd(x, w2, s2);
        s3 = hn::MulAdd(x, w3, s3);
    }
    HWY_INLINE void Store(DF d, float* out) const { StoreSums(d, s0, s1, s2, s3, out); }
};

// sums[r * 4 + o] = x[r] . w[o] for kTileRows rows and four outputs.
HWY_INLINE void TileSums(const Operands& p, std::int64_t length, float* HWY_RESTRICT sums) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    RowSums r0, r1, r2, r3, r4, r5;
    r0.Clear(d), r1.Clear(d), r2.Clear(d), r3.Clear(d), r4.Clear(d), r5.Clear(d);
    std::int64_t i = 0;
    for (; i + lanes <= length; i += lanes) {
        const VF w0 = hn::LoadU(d, p.w[0] + i), w1 = hn::LoadU(d, p.w[1] + i);
        const VF w2 = hn::LoadU(d, p.w[2] + i), w3 = hn::LoadU(d, p.w[3] + i);
        r0.Add(hn::LoadU(d, p.x[0] + i), w0, w1, w2, w3);
        r1.Add(hn::LoadU(d, p.x[1] + i), w0, w1, w2, w3);
        if constexpr (kTileRows > 2) r2.Add(hn::LoadU(d, p.x[2] + i), w0, w1, w2, w3);
        if constexpr (kTileRows > 3) {
            r3.Add(hn::LoadU(d, p.x[3] + i), w0, w1, w2, w3);
            r4.Add(hn::LoadU(d, p.x[4] + i), w0, w1, w2, w3);
            r5.Add(hn::LoadU(d, p.x[5] + i), w0, w1, w2, w3);
        }
    }
    r0.Store(d, sums);
    r1.Store(d, sums + 4);
    if constexpr (kTileRows > 2) r2.Store(d, sums + 8);
    if constexpr (kTileRows > 3) {
        r3.Store(d, sums + 12);
        r4.Store(d, sums + 16);
        r5.Store(d, sums + 20);
    }
    for (; i < length; ++i)
        for (int r = 0; r < kTileRows; ++r)
            for (int o = 0; o < 4; ++o) sums[r * 4 + o] += p.x[r][i] * p.w[o][i];
}

// At the edges the last row or output is computed again and not kept.
void Product(const float* x, std::int64_t x_stride, std::int64_t rows, const float* w, std::int64_t w_stride,
             std::int64_t outputs, std::int64_t length, bool add, float* out, std::int64_t out_stride) {
    HWY_ALIGN float sums[kTileRows * 4];
    Operands p{};
    for (std::int64_t row = 0; row < rows; row += kTileRows) {
        for (std::int64_t r = 0; r < kTileRows; ++r) p.x[r] = x + std::min(row + r, rows - 1) * x_stride;
        const std::int64_t row_count = std::min<std::int64_t>(kTileRows, rows - row);
        for (std::int64_t output = 0; output < outputs; output += 4) {
            for (std::int64_t o = 0; o < 4; ++o) p.w[o] = w + std::min(output + o, outputs - 1) * w_stride;
            TileSums(p, length, sums);
            const std::int64_t output_count = std::min<std::int64_t>(4, outputs - output);
            for (std::int64_t r = 0; r < row_count; ++r) {
                float* line = out + (row + r) * out_stride + output;
                for (std::int64_t o = 0; o < output_count; ++o)
                    line[o] = add ? line[o] + sums[r * 4 + o] : sums[r * 4 + o];
            }
        }
    }
}

// Rows of a mixing tile: two vectors of the result each.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
constexpr int kMixRows = 6;
#else
constexpr int kMixRows = 3;
#endif

// kVectors (1 or 2) vectors of the sums of one row.
template <int kVectors>
struct MixSums {
    VF s0, s1;

    HWY_INLINE void Load(DF d, const float* out) {
        s0 = hn::LoadU(d, out);
        if constexpr (kVectors > 1) s1 = hn::LoadU(d, out + hn::Lanes(d));
    }
    HWY_INLINE void Add(VF weight, VF v0, VF v1) {
        s0 = hn::MulAdd(weight, v0, s0);
        if constexpr (kVectors > 1) s1 = hn::MulAdd(weight, v1, s1);
    }
    HWY_INLINE void Store(DF d, float* out) const {
        hn::StoreU(s0, d, out);
        if constexpr (kVectors > 1) hn::StoreU(s1, d, out + hn::Lanes(d));
    }
};

// out[r] += sum_e weights[r][e] * values[e] in kVectors vectors, for kMixRows rows. Rows may be the same one again.
template <int kVectors>
HWY_INLINE void MixTile(const float* const* weights, const float* values, std::int64_t head_dim, std::int64_t count,
                        float* const* out) {
    const DF d;
    MixSums<kVectors> r0, r1, r2, r3, r4, r5;
    r0.Load(d, out[0]), r1.Load(d, out[1]), r2.Load(d, out[2]);
    if constexpr (kMixRows > 3) r3.Load(d, out[3]), r4.Load(d, out[4]), r5.Load(d, out[5]);
    for (std::int64_t e = 0; e < count; ++e) {
        const VF v0 = hn::LoadU(d, values + e * head_dim);
        VF v1 = v0;
        if constexpr (kVectors > 1) v1 = hn::LoadU(d, values + e * head_dim + hn::Lanes(d));
        r0.Add(hn::Set(d, weights[0][e]), v0, v1);
        r1.Add(hn::Set(d, weights[1][e]), v0, v1);
        r2.Add(hn::Set(d, weights[2][e]), v0, v1);
        if constexpr (kMixRows > 3) {
            r3.Add(hn::Set(d, weights[3][e]), v0, v1);
            r4.Add(hn::Set(d, weights[4][e]), v0, v1);
            r5.Add(hn::Set(d, weights[5][e]), v0, v1);
        }
    }
    r0.Store(d, out[0]), r1.Store(d, out[1]), r2.Store(d, out[2]);
    if constexpr (kMixRows > 3) r3.Store(d, out[3]), r4.Store(d, out[4]), r5.Store(d, out[5]);
}

void MixRows(const float* weights, std::int64_t weights_stride, std::int64_t rows, const float* values,
             std::int64_t count, std::int64_t head_dim, float* out) {
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(DF()));
    const float* w[6];
    float* to[6];
    for (std::int64_t row = 0; row < rows; row += kMixRows) {
        for (std::int64_t r = 0; r < kMixRows; ++r) {
            w[r] = weights + std::min(row + r, rows - 1) * weights_stride;
            to[r] = out + std::min(row + r, rows - 1) * head_dim;
        }
        std::int64_t column = 0;
        for (; column + 2 * lanes <= head_dim; column += 2 * lanes) {
            MixTile<2>(w, values + column, head_dim, count, to);
            for (int r = 0; r < kMixRows; ++r) to[r] += 2 * lanes;
        }
        for (; column + lanes <= head_dim; column += lanes) {
            MixTile<1>(w, values + column, head_dim, count, to);
            for (int r = 0; r < kMixRows; ++r) to[r] += lanes;
        }
        for (; column < head_dim; ++column)
            for (std::int64_t r = row; r < std::min(row + kMixRows, rows); ++r)
                for (std::int64_t e = 0; e < count; ++e)
                    out[r * head_dim + column] += weights[r * weights_stride + e] * values[e * head_dim + column];
    }
}

}  // namespace

void FillProductKernels(CpuKernelTable& table) {
    table.product = &Product;
    table.mix_rows = &MixRows;
}

}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace decodescope {

bool fill_product_kernels(std::int64_t target, CpuKernelTable& table) {
    DECODESCOPE_CALL_TARGET(target, FillProductKernels, table);
}

}  // namespace decodescope
#endif
