// int8 weights: what the plain code gives, and that a row alone and beside others gives the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/api/int8_weights.h"
#include "kernels/cpu/kernel_table.h"
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

TEST(Int8Weights, AloneAndBesideOthersTheSameBits) {
    for (const CpuKernelTable& table : cpu_kernel_tables())
        for (const std::int64_t columns : {5, 32, 47, 600}) {
            constexpr std::int64_t kOutputs = 11, kRows = 5;
            std::vector<std::byte> weights;
            for (std::int64_t o = 0; o < kOutputs; ++o) {
                const auto row = quantized(random_row(columns, static_cast<std::uint64_t>(o + 1)));
                weights.insert(weights.end(), row.begin(), row.end());
            }
            std::vector<float> floats(static_cast<std::size_t>(kOutputs * columns));
            for (std::int64_t o = 0; o < kOutputs; ++o)
                table.int8_row_to_f32(weights.data() + o * weight_row_bytes(ElementType::I8, columns), columns, 0,
                                      columns, floats.data() + o * columns);
            const auto x = random_row(kRows * columns, 99), bias = random_row(kOutputs, 98);
            std::vector<float> beside(kRows * kOutputs), alone(kOutputs);
            table.linear_rows[0](reinterpret_cast<const std::byte*>(floats.data()), columns, x.data(), columns, kRows,
                                 bias.data(), beside.data(), kOutputs, 0, kOutputs);
            for (std::int64_t r = 0; r < kRows; ++r) {
                table.int8_row(weights.data(), columns, x.data() + r * columns, bias.data(), alone.data(), 0, kOutputs);
                EXPECT_EQ(std::memcmp(alone.data(), beside.data() + r * kOutputs, kOutputs * sizeof(float)), 0)
                    << table.name << ", " << columns << " columns, row " << r;
            }
        }
}

}  // namespace
}  // namespace decodescope
