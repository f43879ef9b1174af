// Weights that a file has in blocks, kept as codes: every product and look-up gives the bits of the same numbers as f32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/model/gguf_types.h"
#include "kernels/reference/host_weights.h"
#include "tests/kernels/load_packed.h"

namespace decodescope {
namespace {

constexpr const char* kFormats[] = {"Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"};
constexpr float kGuard = 4321.5f;

// Random blocks of sane scales, and what they mean.
struct Blocks {
    Blocks(const char* name, std::int64_t rows_in, std::int64_t columns_in, std::uint32_t seed)
        : format(*find_gguf_type(std::string_view(name))), rows(rows_in), columns(columns_in) {
        std::mt19937 random(seed);
        bytes.resize(static_cast<std::size_t>(rows * format.row_bytes(columns)));
        wide.resize(static_cast<std::size_t>(rows * columns));
        float* to = wide.data();
        for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(format.bytes), to += format.elements)
            do {
                for (std::int64_t i = 0; i < format.bytes; ++i)
                    bytes[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(random());
                format.widen(bytes.data() + at, to);
            } while (!sane(to));
    }
    bool sane(const float* values) const {
        for (std::int64_t i = 0; i < format.elements; ++i)
            if (!(std::abs(values[i]) < 100.0f)) return false;
        return true;
    }
    WeightTensor stored() const {
        return {"w", bytes.data(), ElementType::F32, rows, columns, columns, 1, &format};
    }
    WeightTensor widened() const { return {"w", wide.data(), ElementType::F32, rows, columns, columns, 1}; }

    const GgufType& format;
    std::int64_t rows, columns;
    std::vector<std::byte> bytes;
    std::vector<float> wide;
};

// One matrix as the CPU backend keeps it, read by a product.
class Kept {
public:
    explicit Kept(const WeightTensor& tensor) : builder_(1) {
        const int in = builder_.value("in", tensor.columns), out = builder_.value("out", tensor.rows);
        builder_.table.tensors.push_back(tensor);
        builder_.linear(OpId::UpProjection, kNone, in, out, 0);
        weights_ = test::load_packed(builder_, WeightType::AsInFile, memory_);
        // At the end of its memory: reading past it shows under the address sanitizer.
        copy_.assign(packed().data, packed().data + packed().bytes());
    }
    const PackedTensor& packed() const { return weights_->tensor(0); }

    std::vector<float> product(const CpuKernelTable& table, const std::vector<float>& x, std::int64_t rows,
                               bool many) const {
        const std::int64_t columns = packed().columns, outputs = packed().rows;
        std::vector<float> out(static_cast<std::size_t>(rows * outputs + 1), kGuard), scratch(kManyRowsScratch);
        PanelProduct p;
        p.x = x.data();
        p.x_stride = p.columns = p.last = columns;
        p.rows = rows;
        p.weight = copy_.data();
        p.outputs = outputs;
        p.out = out.data();
        p.out_stride = outputs;
        const auto type = static_cast<std::size_t>(packed().type);
        if (!many) table.few_rows[type](p);
        for (; many && p.first < columns; p.first = p.last) {
            p.last = std::min(p.first + kPieceColumns, columns);
            table.many_rows[type](p, scratch.data());
        }
        EXPECT_EQ(out.back(), kGuard);
        return out;
    }

private:
    test::ProgramBuilder builder_;
    HostMemory memory_;
    std::shared_ptr<PackedWeights> weights_;
    std::vector<std::byte> copy_;
};

class CodedWeights : public testing::TestWithParam<const char*> {};

TEST_P(CodedWeights, ProductsAreThoseOfTheNumbersAsF32) {
    for (const std::int64_t columns : {256, 768}) {
        const Blocks blocks(GetParam(), 37, columns, 5);
        const Kept kept(blocks.stored()), wide(blocks.widened());
        EXPECT_EQ(kept.packed().type, blocks.format.kept);
        EXPECT_EQ(wide.packed().type, ElementType::F32);
        std::mt19937 random(9);
        std::vector<float> x(static_cast<std::size_t>(41 * columns));
        for (float& value : x) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
        for (const CpuKernelTable& table : cpu_kernel_tables())
            for (const std::int64_t rows : {1, 2, 3, 5, 8, 9, 17, 41})
                for (const bool many : {false, true}) {
                    const auto got = kept.product(table, x, rows, many), wanted = wide.product(table, x, rows, many);
                    for (std::size_t i = 0; i < got.size(); ++i) {
                        if (blocks.format.kept == ElementType::I8)  // a sum for each block, times its scale
                            ASSERT_NEAR(got[i], wanted[i], 2e-4 * (1 + std::abs(wanted[i]))) << table.name;
                        else ASSERT_EQ(got[i], wanted[i]) << table.name << ", " << rows << " rows, " << i;
                    }
                }
    }
}

TEST_P(CodedWeights, RowsReadAsInTheFile) {
    const Blocks blocks(GetParam(), 19, 512, 6);
    const Kept kept(blocks.stored());
    for (const CpuKernelTable& table : cpu_kernel_tables())
        for (const std::int64_t row : {0, 15, 16, 18})
            for (const auto [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 512}, {7, 300}, {255, 2}}) {
                std::vector<float> read(static_cast<std::size_t>(count) + 1, kGuard);
                load_packed_row(kept.packed(), row, first, count, table, read.data());
                for (std::int64_t i = 0; i < count; ++i)
                    ASSERT_EQ(read[static_cast<std::size_t>(i)],
                              blocks.wide[static_cast<std::size_t>(row * 512 + first + i)])
                        << "row " << row << ", column " << first + i;
                EXPECT_EQ(read.back(), kGuard);
            }
}

TEST_P(CodedWeights, TakeLittleMoreThanInTheFile) {
    const Blocks blocks(GetParam(), 48, 256, 7);
    const Kept kept(blocks.stored());
    EXPECT_EQ(kept.packed().bytes(), 48 * weight_row_bytes(blocks.format.kept, 256));
    EXPECT_LE(kept.packed().bytes() * 10, static_cast<std::int64_t>(blocks.bytes.size()) * 14);
    EXPECT_LE(kept.packed().bytes() * 3, static_cast<std::int64_t>(blocks.wide.size()) * 4);
}

// Asked for as another type, blocks are converted like plain numbers; int8 takes the codes of Q8_0 as they are.
TEST_P(CodedWeights, ConvertedLikePlainNumbers) {
    const Blocks blocks(GetParam(), 5, 256, 8);
    for (const ElementType type : {ElementType::F32, ElementType::F16, ElementType::I8}) {
        std::vector<std::byte> got(static_cast<std::size_t>(3 * weight_row_bytes(type, 256))), wanted = got;
        convert_rows(blocks.stored(), 1, 4, type, got.data());
        convert_rows(blocks.widened(), 1, 4, type, wanted.data());
        const bool same_codes = type == ElementType::I8 && blocks.format.kept == ElementType::I8;
        if (!same_codes) EXPECT_EQ(got, wanted);
        for (int column = 0; same_codes && column < 256; ++column)
            ASSERT_EQ(int8_weight(got.data(), 256, column), blocks.wide[static_cast<std::size_t>(256 + column)]);
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, CodedWeights, testing::ValuesIn(kFormats),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace decodescope
