// The kernels by themselves: they write what they are asked to and nothing beside it, whatever the alignment.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/kernel_table.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

constexpr float kGuard = 4321.5f;
constexpr std::size_t kPad = 40;

// Random floats; an output with guards; both start at an odd address.
struct Arena {
    explicit Arena(int count)
        : out(static_cast<std::size_t>(count) + 2 * kPad + 1, kGuard), count_(static_cast<std::size_t>(count)) {
        test::Random random(static_cast<std::uint64_t>(count));
        for (std::vector<float>* v : {&a, &b, &c}) {
            v->resize(static_cast<std::size_t>(count) + 1);
            for (float& x : *v) x = random.uniform(-2.0f, 2.0f);
        }
    }
    const float* first() const { return a.data() + 1; }
    const float* second() const { return b.data() + 1; }
    const float* third() const { return c.data() + 1; }
    float* target() { return out.data() + kPad + 1; }
    void expect_guards(const char* what) const {
        for (std::size_t i = 0; i < out.size(); ++i)
            if (i <= kPad || i > kPad + count_) {
                EXPECT_EQ(out[i], kGuard) << what << " wrote at " << i;
            }
    }

    std::vector<float> a, b, c, out;

private:
    std::size_t count_;
};

class KernelTable : public testing::TestWithParam<std::size_t> {
protected:
    const CpuKernelTable& table() const { return cpu_kernel_tables()[GetParam()]; }
};

TEST_P(KernelTable, RowKernelsStayInside) {
    for (int n = 1; n <= 70; ++n) {
        Arena arena(n);
        table().rms_norm(arena.first(), arena.second(), 1e-5f, arena.target(), n);
        table().layer_norm(arena.first(), arena.second(), arena.third(), 1e-5f, arena.target(), n);
        table().swiglu(arena.first(), arena.second(), arena.target(), n);
        table().gelu_tanh(arena.first(), arena.target(), n);
        table().add(arena.first(), arena.second(), arena.target(), n);
        table().scale(arena.target(), 0.5f, n);
        table().add_scaled(arena.first(), 0.5f, arena.target(), n);
        table().softmax_part(arena.target(), n);
        table().from_f32[0](arena.first(), reinterpret_cast<std::byte*>(arena.target()), n);
        if (n % 2 == 0) table().rope(arena.first(), arena.second(), arena.third(), arena.target(), n / 2);
        arena.expect_guards("a row kernel");
        std::vector<std::uint16_t> half(static_cast<std::size_t>(n) + 3, 0xABCD);
        for (const std::size_t type : {1u, 2u}) {
            table().from_f32[type](arena.first(), reinterpret_cast<std::byte*>(half.data() + 1), n);
            EXPECT_EQ(half.front(), 0xABCD);
            EXPECT_EQ(half[static_cast<std::size_t>(n) + 1], 0xABCD);
            table().to_f32[type](reinterpret_cast<const std::byte*>(half.data() + 1), arena.target(), n);
            arena.expect_guards("to_f32");
        }
    }
}

TEST_P(KernelTable, ManyRowProductsStayInside) {
    for (const int rows : {1, 2, 5, 6, 7, 13})
        for (const int length : {1, 3, 16, 21, 40})
            for (const int outputs : {1, 3, 4, 9, 33}) {
                Arena arena(rows * outputs);
                const std::vector<float> x(static_cast<std::size_t>(rows * length), 2.0f),
                    w(static_cast<std::size_t>(outputs * length), 0.25f);
                table().product(x.data(), length, rows, w.data(), length, outputs, length, false, arena.target(),
                                outputs);
                table().product(x.data(), length, rows, w.data(), length, outputs, length, true, arena.target(),
                                outputs);
                arena.expect_guards("product");
                for (int i = 0; i < rows * outputs; ++i) EXPECT_EQ(arena.target()[i], static_cast<float>(length));
                // Here `outputs` is the width of a value and `length` the number of entries.
                Arena mixed(rows * outputs);
                std::fill(mixed.target(), mixed.target() + rows * outputs, 1.0f);
                table().mix_rows(x.data(), length, rows, w.data(), length, outputs, mixed.target());
                mixed.expect_guards("mix_rows");
                for (int i = 0; i < rows * outputs; ++i)
                    EXPECT_EQ(mixed.target()[i], 1.0f + 0.5f * static_cast<float>(length));
            }
}

TEST_P(KernelTable, AttentionStaysInsideAndListedRowsGiveTheSameBits) {
    test::Random random(5);
    for (const int head_dim : {1, 7, 16, 20, 48, 64, 80, 128})
        for (const int count : {0, 1, 3, 4, 7, 33}) {
            std::vector<float> rows(static_cast<std::size_t>(count * head_dim));
            for (float& v : rows) v = random.uniform(-1, 1);
            const auto* base = reinterpret_cast<const std::byte*>(rows.data());
            const KvRows strided{base, head_dim * 4, nullptr};
            std::vector<std::int64_t> offsets;
            for (int e = 0; e < count; ++e) offsets.push_back(static_cast<std::int64_t>(e) * head_dim * 4);
            const KvRows listed{base, 0, offsets.data()};
            if (count == 0) offsets.push_back(0);
            Arena q(head_dim), scores(std::max(count, 1)), again(std::max(count, 1)), mixed(head_dim),
                mixed_again(head_dim);
            table().scores[0](q.first(), head_dim, strided, count, 0.3f, scores.target());
            table().scores[0](q.first(), head_dim, listed, count, 0.3f, again.target());
            EXPECT_EQ(0, std::memcmp(scores.target(), again.target(), static_cast<std::size_t>(count) * 4));
            table().mix[0](scores.target(), strided, count, head_dim, mixed.target());
            table().mix[0](scores.target(), listed, count, head_dim, mixed_again.target());
            EXPECT_EQ(0, std::memcmp(mixed.target(), mixed_again.target(), static_cast<std::size_t>(head_dim) * 4));
            for (const Arena* arena : {&scores, &again, &mixed, &mixed_again}) arena->expect_guards("attention");
        }
}

TEST_P(KernelTable, SoftmaxOfInfinityAndNan) {
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const int n : {1, 5, 16, 40}) {
        std::vector<float> none(static_cast<std::size_t>(n), -infinity);
        const SoftmaxPart empty = table().softmax_part(none.data(), n);
        EXPECT_EQ(empty.sum, 0.0f);
        EXPECT_EQ(none.back(), 0.0f);
        std::vector<float> one(static_cast<std::size_t>(n), -infinity);
        one.back() = -3.0f;
        EXPECT_EQ(table().softmax_part(one.data(), n).sum, 1.0f);
        EXPECT_EQ(one.back(), 1.0f);
        // A NaN must not vanish: it would hide a broken model behind plausible numbers.
        std::vector<float> broken(static_cast<std::size_t>(n), 1.0f);
        broken[static_cast<std::size_t>(n / 2)] = nan;
        EXPECT_TRUE(std::isnan(table().softmax_part(broken.data(), n).sum));
    }
}

// Weights of peaked attention end at 0 and not among subnormal numbers, which would make a pass many times slower.
TEST_P(KernelTable, SoftmaxWeightsAreNormalNumbersOrZero) {
    for (const int n : {7, 150, 1201}) {
        std::vector<float> weights(static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) weights[static_cast<std::size_t>(i)] = -150.0f * static_cast<float>(i) / n;
        table().softmax_part(weights.data(), n);
        EXPECT_EQ(weights.front(), 1.0f);
        EXPECT_EQ(weights.back(), 0.0f);
        for (const float weight : weights) EXPECT_TRUE(weight == 0.0f || weight > 1e-28f) << weight;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, KernelTable, testing::Range<std::size_t>(0, cpu_kernel_tables().size()),
                         [](const auto& info) { return cpu_kernel_tables()[info.param].name; });

TEST(KernelTables, BestFirstAndAlwaysAPlainOne) {
    const auto& tables = cpu_kernel_tables();
    ASSERT_FALSE(tables.empty());
    EXPECT_EQ(tables.back().target, std::max_element(tables.begin(), tables.end(), [](const auto& a, const auto& b) {
                                        return a.target < b.target;
                                    })->target);
}

}  // namespace
}  // namespace decodescope
