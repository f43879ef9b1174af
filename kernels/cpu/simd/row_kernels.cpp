// Operations on one row of an activation, and the two loops that measure the machine.
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/row_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <cmath>

#include <hwy/contrib/math/math-inl.h>
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {
namespace {

HWY_INLINE std::int64_t LaneCount() { return static_cast<std::int64_t>(hn::Lanes(DF())); }

// sum (x - center)^2
float SquareSum(const float* x, float center, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = LaneCount();
    const VF c = hn::Set(d, center);
    VF a = hn::Zero(d), b = a;
    std::int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        const VF u = hn::Sub(hn::LoadU(d, x + i), c), v = hn::Sub(hn::LoadU(d, x + i + lanes), c);
        a = hn::MulAdd(u, u, a);
        b = hn::MulAdd(v, v, b);
    }
    float sum = LaneSum(d, hn::Add(a, b));
    for (; i < count; ++i) sum += (x[i] - center) * (x[i] - center);
    return sum;
}

float Sum(const float* x, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = LaneCount();
    VF a = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) a = hn::Add(a, hn::LoadU(d, x + i));
    float sum = LaneSum(d, a);
    for (; i < count; ++i) sum += x[i];
    return sum;
}

void RmsNorm(const float* x, const float* weight, float epsilon, float* out, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = LaneCount();
    const float factor = 1.0f / std::sqrt(SquareSum(x, 0.0f, count) / static_cast<float>(count) + epsilon);
    const VF f = hn::Set(d, factor);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), f), hn::LoadU(d, weight + i)), d, out + i);
    for (; i < count; ++i) out[i] = x[i] * factor * weight[i];
}

void LayerNorm(const float* x, const float* weight, const float* bias, float epsilon, float* out, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = LaneCount();
    const float mean = Sum(x, count) / static_cast<float>(count);
    const float factor = 1.0f / std::sqrt(SquareSum(x, mean, count) / static_cast<float>(count) + epsilon);
    const VF m = hn::Set(d, mean), f = hn::Set(d, factor);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const VF scaled = hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), f);
        hn::StoreU(hn::Add(hn::Mul(scaled, hn::LoadU(d, weight + i)), hn::LoadU(d, bias + i)), d, out + i);
    }
    for (; i < count; ++i) out[i] = (x[i] - mean) * factor * weight[i] + bias[i];
}

void RopeHead(const float* x, const float* cosines, const float* sines, float* out, std::int64_t half) {
    const DF d;
    const std::int64_t lanes = LaneCount();
    std::int64_t i = 0;
    for (; i + lanes <= half; i += lanes) {
        const VF a = hn::LoadU(d, x + i), b = hn::LoadU(d, x + half + i);
        const VF c = hn::LoadU(d, cosines + i), s = hn::LoadU(d, sines + i);
        hn::StoreU(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), d, out + i);
        hn::StoreU(hn::Add(hn::Mul(b, c), hn::Mul(a, s)), d, out + half + i);
    }
    for (; i < half; ++i) {
        const float a = x[i], b = x[half + i];
        out[i] = a * cosines[i] - b * sines[i];
        out[half + i] = b * cosines[i] + a * sines[i];
    }
}

// 1 / (1 + exp(-x)), from exp(-|x|) so that nothing overflows and small results keep their digits.
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
    const V e = hn::Exp(d, hn::Neg(hn::Abs(x)));
    const V one = hn::Set(d, static_cast<hn::TFromD<D>>(1));
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

template <class D>
HWY_INLINE void SwiGluAt(D d, const float* gate, const float* up, float* out) {
    const auto g = hn::LoadU(d, gate);
    hn::StoreU(hn::Mul(hn::Mul(g, Sigmoid(d, g)), hn::LoadU(d, up)), d, out);
}

void SwiGlu(const float* gate, const float* up, float* out, std::int64_t count) {
    const std::int64_t lanes = LaneCount();
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) SwiGluAt(DF(), gate + i, up + i, out + i);
    for (; i < count; ++i) SwiGluAt(hn::CappedTag<float, 1>(), gate + i, up + i, out + i);
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u). The exponent is formed in double: its error in f32 would show in the tail.
template <class DD, class V>
HWY_INLINE V Gelu(DD dd, V value) {
    const hn::Rebind<float, DD> d;
    const auto wide = hn::PromoteTo(dd, value);
    const auto cubic = hn::MulAdd(hn::Mul(wide, wide), hn::Set(dd, 0.044715), hn::Set(dd, 1.0));
    const auto u2 = hn::Mul(hn::Mul(wide, cubic), hn::Set(dd, 1.5957691216057308));
    const auto high = hn::DemoteTo(d, u2);
    const auto low = hn::DemoteTo(d, hn::Sub(u2, hn::PromoteTo(dd, high)));
    // sigmoid(high + low) = sigmoid(high) + low sigmoid'(high), with sigmoid' = sigmoid (1 - sigmoid).
    const auto one = hn::Set(d, 1.0f);
    const auto e = hn::Exp(d, hn::Neg(hn::Abs(high)));
    const auto inverse = hn::Div(one, hn::Add(one, e));
    const auto negative = hn::Lt(high, hn::Zero(d));
    const auto sigmoid = hn::Mul(hn::IfThenElse(negative, e, one), inverse);
    const auto rest = hn::Mul(hn::IfThenElse(negative, one, e), inverse);
    return hn::Mul(value, hn::Add(sigmoid, hn::Mul(hn::Mul(sigmoid, rest), low)));
}

template <class DD>
HWY_INLINE void GeluAt(DD dd, const float* x, float* out) {
    const hn::Rebind<float, DD> d;
    hn::StoreU(Gelu(dd, hn::LoadU(d, x)), d, out);
}

template <class DD>
HWY_INLINE void GeGluAt(DD dd, const float* gate, const float* up, float* out) {
    const hn::Rebind<float, DD> d;
    hn::StoreU(hn::Mul(Gelu(dd, hn::LoadU(d, gate)), hn::LoadU(d, up)), d, out);
}

void GeluTanh(const float* x, float* out, std::int64_t count) {
    const hn::ScalableTag<double> dd;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(dd));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) GeluAt(dd, x + i, out + i);
    for (; i < count; ++i) GeluAt(hn::CappedTag<double, 1>(), x + i, out + i);
}

void GeGlu(const float* gate, const float* up, float* out, std::int64_t count) {
    const hn::ScalableTag<double> dd;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(dd));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) GeGluAt(dd, gate + i, up + i, out + i);
    for (; i < count; ++i) GeGluAt(hn::CappedTag<double, 1>(), gate + i, up + i, out + i);
}

// 0.5 x (1 + erf(x / sqrt(2))) as 0.5 x erfc(-x / sqrt(2)), which keeps the digits of the tail. One value at a time, by
// the standard library: a few thousand per layer beside the products that they follow.
void GeluErf(const float* x, float* out, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        const double value = static_cast<double>(x[i]);
        out[i] = static_cast<float>(0.5 * value * std::erfc(-value * 0.70710678118654752440));
    }
}

void AddTo(const float* a, const float* b, float* out, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = LaneCount();
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
    for (; i < count; ++i) out[i] = a[i] + b[i];
}

void ScaleBy(float* x, float factor, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = LaneCount();
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, x + i);
    for (; i < count; ++i) x[i] *= factor;
}

void AddScaled(const float* x, float factor, float* out, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = LaneCount();
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), hn::Set(d, factor), hn::LoadU(d, out + i)), d, out + i);
    for (; i < count; ++i) out[i] += factor * x[i];
}

float ReadSum(const float* data, std::int64_t count) {
    const DF d;
    const std::int64_t lanes = LaneCount();
    const std::int64_t part = count / 4 / lanes * lanes;
    VF a = hn::Zero(d), b = a, c = a, e = a;
    for (std::int64_t i = 0; i < part; i += lanes) {
        a = hn::Add(a, hn::LoadU(d, data + i));
        b = hn::Add(b, hn::LoadU(d, data + part + i));
        c = hn::Add(c, hn::LoadU(d, data + 2 * part + i));
        e = hn::Add(e, hn::LoadU(d, data + 3 * part + i));
    }
    return LaneSum(d, hn::Add(hn::Add(a, b), hn::Add(c, e)));
}

double MultiplyAddRounds(std::int64_t rounds, float* sink) {
    const DF d;
    const VF m = hn::Set(d, 0.999f), k = hn::Set(d, 0.001f);
    constexpr int kChains = 10;
    VF v[kChains];
    for (int i = 0; i < kChains; ++i) v[i] = hn::Set(d, static_cast<float>(i));
    for (std::int64_t r = 0; r < rounds; ++r)
        for (int i = 0; i < kChains; ++i) v[i] = hn::MulAdd(v[i], m, k);
    for (int i = 1; i < kChains; ++i) v[0] = hn::Add(v[0], v[i]);
    *sink = LaneSum(d, v[0]);
    return 2.0 * kChains * static_cast<double>(LaneCount()) * static_cast<double>(rounds);
}

}  // namespace

void FillRowKernels(CpuKernelTable& table) {
    table.rms_norm = &RmsNorm;
    table.layer_norm = &LayerNorm;
    table.rope = &RopeHead;
    table.swiglu = &SwiGlu;
    table.gelu_tanh = &GeluTanh;
    table.gelu_erf = &GeluErf;
    table.geglu = &GeGlu;
    table.add = &AddTo;
    table.scale = &ScaleBy;
    table.add_scaled = &AddScaled;
    table.read_sum = &ReadSum;
    table.multiply_add_rounds = &MultiplyAddRounds;
}

}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace decodescope {

bool fill_row_kernels(std::int64_t target, CpuKernelTable& table) {
    DECODESCOPE_CALL_TARGET(target, FillRowKernels, table);
}

}  // namespace decodescope
#endif
