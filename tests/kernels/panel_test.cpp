// Weights in panels: every weight is where it should be, and a product gives the same bits however it is cut.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/reference/host_weights.h"
#include "tests/kernels/load_packed.h"

namespace decodescope {
namespace {

constexpr WeightType kKept[] = {WeightType::F32, WeightType::F16, WeightType::BF16, WeightType::Int8};
constexpr ElementType kTypes[] = {ElementType::F32, ElementType::F16, ElementType::BF16};

// One matrix, loaded as a product would read it (`panels`) or as a table.
class Matrix {
public:
    Matrix(int rows, int columns, ElementType in_file, bool transposed, WeightType kept, bool panels) : builder_(31) {
        const int in = builder_.value("in", columns), out = builder_.value("out", rows);
        const int weight = builder_.tensor(rows, columns, in_file, 1.0f, 0.0f, transposed);
        if (panels) builder_.linear(OpId::UpProjection, kNone, in, out, weight);
        weights_ = test::load_packed(builder_, kept, memory_);
        // What products read lies at the end of its memory: reading past it shows under the address sanitizer.
        copy_.assign(packed().data, packed().data + packed().bytes());
    }
    const PackedTensor& packed() const { return weights_->tensor(0); }
    const std::byte* data() const { return copy_.data(); }
    // As the reference has it.
    float plain(int row, int column) const {
        const WeightTensor& from = builder_.table.tensors[0];
        HostTensor one{nullptr, packed().type, 1, from.columns};
        std::vector<std::byte> bytes(static_cast<std::size_t>(weight_row_bytes(one.type, from.columns)));
        convert_rows(from, row, row + 1, one.type, bytes.data());
        one.data = bytes.data();
        return load_weight(one, 0, column);
    }

private:
    test::ProgramBuilder builder_;
    HostMemory memory_;
    std::shared_ptr<PackedWeights> weights_;
    std::vector<std::byte> copy_;
};

TEST(PackedWeights, EveryRowReadsAsInTheFile) {
    const CpuKernelTable& kernels = cpu_kernel_tables().front();
    int turn = 0;
    for (const int rows : {1, 15, 16, 33})
        for (const int columns : {2, 31, 64, 300})
            for (const WeightType kept : kKept) {
                ++turn;
                const Matrix matrix(rows, columns, kTypes[turn % 3], turn % 2 == 0, kept, turn % 5 != 0);
                EXPECT_EQ(matrix.packed().panels, turn % 5 != 0);
                for (const int row : {0, rows / 2, rows - 1}) {
                    const int first = std::min(turn % 40, columns - 1), count = columns - first;
                    std::vector<float> read(static_cast<std::size_t>(count) + 1, 9.0f);
                    load_packed_row(matrix.packed(), row, first, count, kernels, read.data());
                    for (int i = 0; i < count; ++i)
                        ASSERT_EQ(read[static_cast<std::size_t>(i)], matrix.plain(row, first + i))
                            << rows << " x " << columns << ", row " << row << ", column " << first + i;
                    EXPECT_EQ(read.back(), 9.0f);
                }
            }
}

TEST(PackedWeights, BytesOfPanels) {
    EXPECT_EQ(panel_bytes(ElementType::F32, 5), 5 * 64);
    EXPECT_EQ(panel_bytes(ElementType::BF16, 5), 5 * 32);
    EXPECT_EQ(panel_bytes(ElementType::I8, 64), 2 * (512 + 32)) << "34 bytes for 32 weights, as a row has";
    EXPECT_EQ(panel_count(50257), 3142);
    EXPECT_EQ(Matrix(33, 10, ElementType::F32, false, WeightType::F16, true).packed().bytes(), 3 * 10 * 32);
    EXPECT_EQ(Matrix(33, 10, ElementType::F32, false, WeightType::F16, false).packed().bytes(), 33 * 20);
}

// What lies behind the last row is zero, not what the memory held: it goes through the same arithmetic.
TEST(PackedWeights, TheLastPanelIsFilledWithZeros) {
    for (const WeightType kept : kKept) {
        const Matrix matrix(17, 40, ElementType::F32, kept == WeightType::F16, kept, true);
        const PackedTensor& packed = matrix.packed();
        PackedTensor all = packed;
        all.rows = 32;
        for (int row = 17; row < 32; ++row) {
            float read[40];
            load_packed_row(all, row, 0, 40, cpu_kernel_tables().front(), read);
            for (const float weight : read) ASSERT_EQ(weight, 0.0f);
        }
    }
}

constexpr float kGuard = 4321.5f;
constexpr int kRows = 41, kOutputs = 37;

class PanelProducts : public testing::TestWithParam<std::size_t> {
protected:
    const CpuKernelTable& table() const { return cpu_kernel_tables()[GetParam()]; }

    // Rows row .. row + count - 1 with the panels from `panel` on, in an output [kRows, kOutputs] full of guards.
    std::vector<float> run(const Matrix& matrix, const std::vector<float>& x, const std::vector<float>& bias, int row,
                           int count, int panel, int outputs, bool many) const {
        const std::int64_t columns = matrix.packed().columns;
        std::vector<float> out(kRows * kOutputs, kGuard), scratch(kManyRowsScratch);
        PanelProduct p;
        p.x = x.data() + row * columns;
        p.x_stride = p.columns = p.last = columns;
        p.rows = count;
        p.weight = matrix.data() + panel * panel_bytes(matrix.packed().type, columns);
        p.outputs = outputs;
        p.bias = bias.empty() ? nullptr : bias.data() + panel * kPanelOutputs;
        p.out = out.data() + row * kOutputs + panel * kPanelOutputs;
        p.out_stride = kOutputs;
        const auto type = static_cast<std::size_t>(matrix.packed().type);
        if (!many) table().few_rows[type](p);
        for (; many && p.first < columns; p.first = p.last) {
            p.last = std::min(p.first + kPieceColumns, columns);
            table().many_rows[type](p, scratch.data());
        }
        return out;
    }
};

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
    test::Random random(seed);
    std::vector<float> values(count);
    for (float& value : values) value = random.uniform(-1, 1);
    return values;
}

TEST_P(PanelProducts, EqualPlainSumsAndStayInside) {
    int turn = 0;
    for (const WeightType kept : kKept)
        for (const int columns : {1, 5, 31, 32, 47, 256, 257, 600}) {
            ++turn;
            const Matrix matrix(kOutputs, columns, ElementType::F32, turn % 2 == 0, kept, true);
            const auto x = random_floats(static_cast<std::size_t>(kRows * columns), 7);
            const auto bias = turn % 3 == 0 ? std::vector<float>{} : random_floats(kOutputs, 8);
            const int count = turn % 2 == 0 ? 3 : 21, panel = turn % 2, outputs = panel == 0 ? 35 : 16;
            std::vector<double> expected(kRows * kOutputs, kGuard);
            for (int o = panel * 16; o < panel * 16 + outputs; ++o) {
                std::vector<double> weights;
                for (int k = 0; k < columns; ++k) weights.push_back(static_cast<double>(matrix.plain(o, k)));
                const double added = bias.empty() ? 0.0 : static_cast<double>(bias[static_cast<std::size_t>(o)]);
                for (int r = 2; r < 2 + count; ++r)
                    expected[static_cast<std::size_t>(r * kOutputs + o)] =
                        std::inner_product(weights.begin(), weights.end(), x.begin() + r * columns, added);
            }
            for (const bool many : {false, true}) {
                const auto out = run(matrix, x, bias, 2, count, panel, outputs, many);
                for (std::size_t i = 0; i < out.size(); ++i)
                    ASSERT_NEAR(out[i], expected[i], 2e-5)
                        << columns << " columns, kept as " << static_cast<int>(kept) << ", row " << i / kOutputs
                        << ", output " << i % kOutputs << (many ? ", many rows" : "");
            }
        }
}

// CC-18: a row is the same bits alone and beside others, in either kernel, whatever panels go along.
TEST_P(PanelProducts, CC18_AloneAndBesideOthersTheSameBits) {
    for (const WeightType kept : kKept)
        for (const int columns : {33, 300}) {
            const Matrix matrix(kOutputs, columns, ElementType::F32, false, kept, true);
            const auto x = random_floats(static_cast<std::size_t>(kRows * columns), 9), bias = random_floats(kOutputs, 3);
            const auto all = run(matrix, x, bias, 0, kRows, 0, kOutputs, true);
            const auto expect_same = [&](int row, int count, int panel, int outputs, bool many) {
                const auto part = run(matrix, x, bias, row, count, panel, outputs, many);
                for (int r = row; r < row + count; ++r)
                    ASSERT_EQ(0, std::memcmp(part.data() + r * kOutputs + panel * 16,
                                             all.data() + r * kOutputs + panel * 16,
                                             static_cast<std::size_t>(outputs) * sizeof(float)))
                        << table().name << ", " << columns << " columns, kept as " << static_cast<int>(kept) << ", "
                        << count << " rows from " << row << (many ? ", many rows" : "");
            };
            for (int count = 1; count <= 18; ++count) expect_same(3, count, 0, kOutputs, false);
            for (const int count : {1, 2, 5, 9, 16}) expect_same(20, count, 0, kOutputs, true);
            for (const int count : {1, 4, 7}) {
                expect_same(11, count, 1, 16, false);
                expect_same(11, count, 1, 21, true);
                expect_same(11, count, 2, 5, false);
            }
        }
}

INSTANTIATE_TEST_SUITE_P(Kernels, PanelProducts, testing::Range<std::size_t>(0, cpu_kernel_tables().size()),
                         [](const auto& info) { return cpu_kernel_tables()[info.param].name; });

}  // namespace
}  // namespace decodescope
