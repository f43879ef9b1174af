// Attention of one query: scores against keys, softmax, weighted sum of values.
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/attention_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include <hwy/contrib/math/math-inl.h>
#include "kernels/api/int8_row.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {
namespace {

template <class T>
struct StridedRows {
    const std::byte* base;
    std::int64_t stride;
    HWY_INLINE const T* At(std::int64_t e) const { return reinterpret_cast<const T*>(base + e * stride); }
};

template <class T>
struct ListedRows {
    const std::byte* base;
    const std::int64_t* offsets;
    HWY_INLINE const T* At(std::int64_t e) const { return reinterpret_cast<const T*>(base + offsets[e]); }
};

// What the dot product or the weight of a whole row is multiplied by.
template <class T>
HWY_INLINE float RowScale(const T*, std::int64_t) {
    return 1.0f;
}
HWY_INLINE float RowScale(const I8Element* row, std::int64_t head_dim) {
    return int8_row_scale(reinterpret_cast<const std::byte*>(row), head_dim);
}

// Entries are taken from four far-apart quarters in turn, then the rest: an order that depends on the count alone.
template <class Rows>
void ScoresOf(const float* q, std::int64_t head_dim, const Rows& keys, std::int64_t count, float scale, float* out) {
    const std::int64_t part = count / 4;
    HWY_ALIGN float sums[4];
    for (std::int64_t e = 0; e < part; ++e) {
        DotPairs(keys.At(e), keys.At(e + part), keys.At(e + 2 * part), keys.At(e + 3 * part), q, q, q, q, head_dim,
                 sums);
        for (int s = 0; s < 4; ++s)
            out[e + s * part] = sums[s] * scale * RowScale(keys.At(e + s * part), head_dim);
    }
    for (std::int64_t e = 4 * part; e < count; ++e) {
        DotPairs(keys.At(e), keys.At(e), keys.At(e), keys.At(e), q, q, q, q, head_dim, sums);
        out[e] = sums[0] * scale * RowScale(keys.At(e), head_dim);
    }
}

template <class T>
void Scores(const float* q, std::int64_t head_dim, const KvRows& keys, std::int64_t count, float scale, float* out) {
    if (keys.offsets != nullptr) ScoresOf(q, head_dim, ListedRows<T>{keys.base, keys.offsets}, count, scale, out);
    else ScoresOf(q, head_dim, StridedRows<T>{keys.base, keys.stride}, count, scale, out);
}

// q . (centres + scales * codes) = q . centres + (q * scales) . codes: one vector for all keys of a group.
void GroupScores(const float* q, std::int64_t head_dim, const float* channels, const KvRows& keys, std::int64_t count,
                 float scale, float* scaled, float* out) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const float* centres = channels + head_dim;
    VF sums = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + lanes <= head_dim; i += lanes) {
        const VF query = hn::LoadU(d, q + i);
        hn::StoreU(hn::Mul(query, hn::LoadU(d, channels + i)), d, scaled + i);
        sums = hn::MulAdd(query, hn::LoadU(d, centres + i), sums);
    }
    float centre = LaneSum(d, sums);
    for (; i < head_dim; ++i) {
        scaled[i] = q[i] * channels[i];
        centre += q[i] * centres[i];
    }
    Scores<GroupedElement>(scaled, head_dim, keys, count, scale, out);
    for (std::int64_t e = 0; e < count; ++e) out[e] += centre * scale;
}

// Adds weight * value to kVectors vectors of the sum.
template <int kVectors, class T>
HWY_INLINE void AddValue(DF d, const T* value, float weight, VF* sum) {
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const VF w = hn::Set(d, weight);
    for (int i = 0; i < kVectors; ++i) sum[i] = hn::MulAdd(LoadF(d, value + i * lanes), w, sum[i]);
}

// kVectors vectors of the result, from element `column` on.
template <int kVectors, class Rows>
void MixColumns(const float* weights, const Rows& values, std::int64_t count, std::int64_t head_dim,
                std::int64_t column, float* out) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    VF sum[kVectors];
    for (int i = 0; i < kVectors; ++i) sum[i] = hn::Zero(d);
    const std::int64_t part = count / 4;
    const auto add = [&](std::int64_t e) HWY_ATTR {
        AddValue<kVectors>(d, values.At(e) + column, weights[e] * RowScale(values.At(e), head_dim), sum);
    };
    for (std::int64_t e = 0; e < part; ++e) {
        add(e);
        add(e + part);
        add(e + 2 * part);
        add(e + 3 * part);
    }
    for (std::int64_t e = 4 * part; e < count; ++e) add(e);
    for (int i = 0; i < kVectors; ++i) hn::StoreU(sum[i], d, out + column + i * lanes);
}

template <class Rows>
void MixOf(const float* weights, const Rows& values, std::int64_t count, std::int64_t head_dim, float* out) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t column = 0;
    for (; column + 8 * lanes <= head_dim; column += 8 * lanes)
        MixColumns<8>(weights, values, count, head_dim, column, out);
    for (; column + 4 * lanes <= head_dim; column += 4 * lanes)
        MixColumns<4>(weights, values, count, head_dim, column, out);
    for (; column + lanes <= head_dim; column += lanes) MixColumns<1>(weights, values, count, head_dim, column, out);
    for (; column < head_dim; ++column) {
        float sum = 0.0f;
        for (std::int64_t e = 0; e < count; ++e)
            sum += weights[e] * RowScale(values.At(e), head_dim) * ToFloat(values.At(e)[column]);
        out[column] = sum;
    }
}

template <class T>
void Mix(const float* weights, const KvRows& values, std::int64_t count, std::int64_t head_dim, float* out) {
    if (values.offsets != nullptr) MixOf(weights, ListedRows<T>{values.base, values.offsets}, count, head_dim, out);
    else MixOf(weights, StridedRows<T>{values.base, values.stride}, count, head_dim, out);
}

float Largest(const float* x, std::int64_t count, bool* has_nan) {
    const DF d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    VF top = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto nan = hn::IsNaN(top);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const VF v = hn::LoadU(d, x + i);
        nan = hn::Or(nan, hn::IsNaN(v));  // Ne(v, v) is false for NaN on x86
        top = hn::Max(top, v);
    }
    *has_nan = !hn::AllFalse(d, nan);
    float largest = hn::GetLane(hn::MaxOfLanes(d, top));
    for (; i < count; ++i) {
        if (x[i] != x[i]) *has_nan = true;
        if (x[i] > largest) largest = x[i];
    }
    return largest;
}

// exp(x), and 0 below exp(-64) = 1.6e-28: beside the largest weight, which is 1, that is nothing, but left to itself it
// becomes a subnormal number further on, with which a processor multiplies a hundred times slower.
template <class D>
HWY_INLINE hn::Vec<D> Weight(D d, hn::Vec<D> x) {
    return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, -64.0f)), hn::Exp(d, x));
}

SoftmaxPart SoftmaxOf(float* scores, std::int64_t count) {
    bool has_nan = false;
    const float largest = Largest(scores, count, &has_nan);
    if (has_nan) {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        for (std::int64_t i = 0; i < count; ++i) scores[i] = nan;
        return {nan, nan};
    }
    if (largest == -std::numeric_limits<float>::infinity()) {  // nothing is seen
        for (std::int64_t i = 0; i < count; ++i) scores[i] = 0.0f;
        return {largest, 0.0f};
    }
    const DF d;
    const hn::CappedTag<float, 1> d1;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    VF sums = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const VF e = Weight(d, hn::Sub(hn::LoadU(d, scores + i), hn::Set(d, largest)));
        sums = hn::Add(sums, e);
        hn::StoreU(e, d, scores + i);
    }
    float sum = LaneSum(d, sums);
    for (; i < count; ++i) {
        scores[i] = hn::GetLane(Weight(d1, hn::Set(d1, scores[i] - largest)));
        sum += scores[i];
    }
    return {largest, sum};
}

}  // namespace

void FillAttentionKernels(CpuKernelTable& table) {
    table.scores = {&Scores<F32Element>, &Scores<F16Element>, &Scores<BF16Element>, &Scores<I8Element>};
    table.group_scores = &GroupScores;
    table.mix = {&Mix<F32Element>, &Mix<F16Element>, &Mix<BF16Element>, &Mix<I8Element>};
    table.softmax_part = &SoftmaxOf;
}

}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace decodescope {

bool fill_attention_kernels(std::int64_t target, CpuKernelTable& table) {
    DECODESCOPE_CALL_TARGET(target, FillAttentionKernels, table);
}

}  // namespace decodescope
#endif
