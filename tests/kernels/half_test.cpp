// Half-precision conversion (LD-18): listed values, and SIMD against scalar bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/api/half.h"
#include "kernels/cpu/kernel_table.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

struct Listed {
    float value;
    std::uint16_t half;
};

const std::vector<Listed>& listed() {
    static const std::vector<Listed> values = {{1.0f / 3.0f, 0x3555},
                                               {0.1f, 0x2e66},
                                               {65504.0f, 0x7bff},
                                               {65519.99f, 0x7bff},
                                               {65520.0f, 0x7c00},
                                               {0x1p-24f, 0x0001},
                                               {0x1p-25f, 0x0000},
                                               {std::nextafter(0x1p-25f, 1.0f), 0x0001},
                                               {6.103515625e-5f, 0x0400},
                                               {-0.0f, 0x8000},
                                               {0.0f, 0x0000},
                                               {1.0f, 0x3c00},
                                               {-2.0f, 0xc000},
                                               {std::numeric_limits<float>::infinity(), 0x7c00},
                                               {-std::numeric_limits<float>::infinity(), 0xfc00},
                                               {1e30f, 0x7c00},
                                               {1e-30f, 0x0000},
                                               {1.0f + 0x1p-11f, 0x3c00},
                                               {1.0f + 3 * 0x1p-11f, 0x3c02},  // halfway: to the even neighbour
                                               {std::nextafter(0x1p-14f, 0.0f), 0x0400}};
    return values;
}

TEST(Half, ListedValues) {
    for (const Listed& l : listed()) EXPECT_EQ(f32_to_f16(l.value), l.half) << l.value;
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::numeric_limits<float>::quiet_NaN()))));
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::bit_cast<float>(0x7F800001u)))));  // a signalling NaN
}

TEST(Half, EveryHalfSurvivesTheWayThroughF32) {
    for (std::uint32_t h = 0; h < 65536; ++h) {
        const float value = f16_to_f32(static_cast<std::uint16_t>(h));
        const bool nan = (h & 0x7C00u) == 0x7C00u && (h & 0x3FFu) != 0;
        EXPECT_EQ(std::isnan(value), nan);
        if (!nan) { EXPECT_EQ(f32_to_f16(value), h); }
        const float wide = bf16_to_f32(static_cast<std::uint16_t>(h));
        if (!std::isnan(wide)) { EXPECT_EQ(f32_to_bf16(wide), h); }
    }
}

TEST(Half, NeighboursRoundToNearestEven) {
    // Against rounding by definition: of the two halves around a value the nearer, at a tie the one with an even
    // mantissa.
    for (std::uint32_t h = 0; h < 0x7BFFu; ++h) {
        const double low = static_cast<double>(f16_to_f32(static_cast<std::uint16_t>(h)));
        const double high = static_cast<double>(f16_to_f32(static_cast<std::uint16_t>(h + 1)));
        const auto middle = static_cast<float>((low + high) / 2);
        EXPECT_EQ(f32_to_f16(middle), h % 2 == 0 ? h : h + 1);
        EXPECT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), h);
        EXPECT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), h + 1);
    }
}

// f32 patterns: everything near the edges of the halves, and random bits.
std::vector<float> patterns() {
    std::vector<float> values;
    for (const Listed& l : listed()) values.push_back(l.value);
    for (std::uint32_t h = 0; h < 65536; h += 3) {
        const auto bits = std::bit_cast<std::uint32_t>(f16_to_f32(static_cast<std::uint16_t>(h)));
        for (const std::uint32_t delta : {0u, 0xFFFu, 0x1000u, 0x1001u})
            values.push_back(std::bit_cast<float>(bits + delta));
    }
    test::Random random(1);
    for (int i = 0; i < 100000; ++i) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.next())));
    return values;
}

class HalfKernels : public testing::TestWithParam<std::size_t> {
protected:
    const CpuKernelTable& table() const { return cpu_kernel_tables()[GetParam()]; }
};

TEST_P(HalfKernels, ToF32EqualsScalarOnAllHalves) {
    std::vector<std::uint16_t> halves(65536);
    for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
    std::vector<float> out(halves.size());
    for (const ElementType type : {ElementType::F16, ElementType::BF16}) {
        table().to_f32[static_cast<std::size_t>(type)](reinterpret_cast<const std::byte*>(halves.data()), out.data(),
                                                       65536);
        for (std::size_t i = 0; i < halves.size(); ++i) {
            const float expected = type == ElementType::F16 ? f16_to_f32(halves[i]) : bf16_to_f32(halves[i]);
            ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(expected)) << i;
        }
    }
}

TEST_P(HalfKernels, FromF32EqualsScalar) {
    const std::vector<float> values = patterns();
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<std::uint16_t> out(values.size());
    for (const ElementType type : {ElementType::F16, ElementType::BF16}) {
        table().from_f32[static_cast<std::size_t>(type)](values.data(), reinterpret_cast<std::byte*>(out.data()),
                                                         count);
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(out[i], type == ElementType::F16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]))
                << std::hex << std::bit_cast<std::uint32_t>(values[i]);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, HalfKernels, testing::Range<std::size_t>(0, cpu_kernel_tables().size()),
                         [](const auto& info) { return cpu_kernel_tables()[info.param].name; });

}  // namespace
}  // namespace decodescope
