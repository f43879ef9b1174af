// int8 weights: what the plain code gives.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/api/int8_weights.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

std::vector<float> random_row(std::int64_t count, std::uint64_t seed, float size = 2.0f) {
    test::Random random(seed);
    std::vector<float> row(static_cast<std::size_t>(count));
    for (float& x : row) x = random.uniform(-size, size);
    return row;
}

std::vector<std::byte> quantized(const std::vector<float>& w) {
    const auto columns = static_cast<std::int64_t>(w.size());
    std::vector<std::byte> row(static_cast<std::size_t>(weight_row_bytes(ElementType::I8, columns)), std::byte{0xAA});
    for (std::int64_t b = 0; b < weight_blocks(columns); ++b)
        quantize_weight_block(w.data() + b * kWeightBlock, std::min(kWeightBlock, columns - b * kWeightBlock), columns,
                              b, row.data());
    return row;
}

TEST(Int8Weights, BytesOfARow) {
    EXPECT_EQ(weight_row_bytes(ElementType::I8, 32), 34);
    EXPECT_EQ(weight_row_bytes(ElementType::I8, 768), 816);
    EXPECT_EQ(weight_row_bytes(ElementType::I8, 33), 68);
    EXPECT_EQ(weight_row_bytes(ElementType::BF16, 33), 66);
}

// 127 codes and a scale of eleven bits: no weight is further off than half a step, and none is cut off.
TEST(Int8Weights, RoundTripWithinHalfAStep) {
    for (const std::int64_t columns : {1, 31, 32, 33, 100})
        for (const float size : {1e-3f, 0.05f, 1.0f, 4e6f}) {
            const auto w = random_row(columns, static_cast<std::uint64_t>(columns), size);
            const auto row = quantized(w);
            for (std::int64_t i = 0; i < columns; ++i) {
                const float scale = int8_weight_scale(row.data(), columns, i / kWeightBlock);
                EXPECT_LE(scale, size / 127 * 1.002f + 6e-8f);
                EXPECT_LE(std::abs(int8_weight(row.data(), columns, i) - w[static_cast<std::size_t>(i)]),
                          scale * 0.5001f)
                    << columns << " columns of " << size << ", column " << i;
            }
        }
}

TEST(Int8Weights, QT03_ZeroTinyHugeAndInvalidBlocks) {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float w : {0.0f, -0.0f, 1e-45f, 1e-12f}) {
        const auto row = quantized(std::vector<float>(33, w));
        for (const int i : {0, 31, 32}) EXPECT_NEAR(int8_weight(row.data(), 33, i), w, 4e-6f);
    }
    for (const float w : {9e6f, 1e30f, infinity, std::nanf("")}) {
        std::vector<float> some(40, 0.5f);
        some[3] = w;
        const auto row = quantized(some);
        EXPECT_TRUE(std::isnan(int8_weight(row.data(), 40, 0))) << w;
        EXPECT_NEAR(int8_weight(row.data(), 40, 32), 0.5f, 0.002f) << "the other block is as it was";
    }
}

// The codes behind the last column are zeros: nothing of another row is read there.
TEST(Int8Weights, TheLastBlockIsFilledWithZeros) {
    const auto row = quantized(random_row(35, 1));
    for (std::size_t i = 35; i < 64; ++i) EXPECT_EQ(row[i], std::byte{0});
}

}  // namespace
}  // namespace decodescope
