// int8 rows: what the plain code gives (QT-03, QT-04), that every instruction set stores the same bytes, and attention
// over keys that share scales and rows kept in full precision.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/api/int8_row.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_row(int count, std::uint64_t seed, float size = 2.0f) {
    test::Random random(seed);
    std::vector<float> row(static_cast<std::size_t>(count));
    for (float& x : row) x = random.uniform(-size, size);
    return row;
}

std::vector<std::byte> quantized(const std::vector<float>& x) {
    const auto n = static_cast<std::int64_t>(x.size());
    std::vector<std::byte> row(static_cast<std::size_t>(int8_row_bytes(n)), std::byte{0xAA});
    quantize_row(x.data(), n, row.data());
    return row;
}

TEST(Int8Row, RoundTripWithinHalfAStep) {
    for (const int n : {1, 7, 16, 20, 64}) {
        for (const float size : {1e-28f, 0.3f, 1e30f}) {
            const auto x = random_row(n, static_cast<std::uint64_t>(n), size);
            const auto row = quantized(x);
            const float scale = int8_row_scale(row.data(), n);
            for (int i = 0; i < n; ++i)
                EXPECT_LE(std::abs(int8_value(row.data(), n, i) - x[static_cast<std::size_t>(i)]), scale * 0.5001f);
        }
    }
}

TEST(Int8Row, QT03_ZeroTinyAndHugeRowsHaveFiniteScales) {
    for (const float value : {0.0f, -0.0f, 1e-45f, 1e-38f, 1e-31f, std::numeric_limits<float>::max()}) {
        const auto row = quantized(std::vector<float>(8, value));
        EXPECT_TRUE(std::isfinite(int8_row_scale(row.data(), 8)));
        const float back = int8_value(row.data(), 8, 3);
        EXPECT_NEAR(back / std::max(value, 1e-30f), value < 1e-30f ? 0.0f : 1.0f, value < 1e-30f ? 0.0f : 1e-6f);
    }
}

TEST(Int8Row, QT03_ConstantChannelsOfAGroupAreExact) {
    const int group = 8, width = 4;
    std::vector<float> x(group * width);
    for (std::size_t r = 0; r < group; ++r) {
        x[r * 4] = 0.0f, x[r * 4 + 1] = 3.7f, x[r * 4 + 2] = -5.0f + static_cast<float>(r);
        x[r * 4 + 3] = 3e38f * (r % 2 == 0 ? 1.0f : -1.0f);  // the range is beyond f32, the scale is not
    }
    std::vector<std::byte> stored(static_cast<std::size_t>(int8_group_bytes(width, group)));
    quantize_group(x.data(), group, width, stored.data());
    std::vector<float> channels(2 * width);
    std::memcpy(channels.data(), stored.data(), channels.size() * 4);
    for (int r = 0; r < group; ++r) {
        const std::byte* codes = stored.data() + int8_channel_bytes(width) + r * int8_code_bytes(width);
        for (int i = 0; i < width; ++i) {
            const float back = int8_group_value(codes, channels.data(), width, i);
            const float exact = x[static_cast<std::size_t>(r * width + i)];
            if (i < 2) {
                EXPECT_EQ(back, exact);
            }
            EXPECT_LE(std::abs(back - exact), channels[static_cast<std::size_t>(i)] * 0.51f);
        }
    }
}

// QT-04: one value that is not finite shows in the whole row or channel, and in no other.
TEST(Int8Row, QT04_NotFiniteStaysVisible) {
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
        std::vector<float> x = random_row(16, 3);
        x[5] = bad;
        const auto row = quantized(x);
        for (int i = 0; i < 16; ++i) EXPECT_TRUE(std::isnan(int8_value(row.data(), 16, i)));
        std::vector<std::byte> stored(static_cast<std::size_t>(int8_group_bytes(4, 4)));
        quantize_group(x.data(), 4, 4, stored.data());  // row 1, channel 1
        std::vector<float> channels(8);
        std::memcpy(channels.data(), stored.data(), 32);
        for (int i = 0; i < 4; ++i)
            EXPECT_EQ(std::isnan(int8_group_value(stored.data() + 32, channels.data(), 4, i)), i == 1);
    }
    const auto subnormal = quantized({1.0f, 1e-44f});
    EXPECT_EQ(int8_value(subnormal.data(), 2, 1), 0.0f);
}

class Int8Kernels : public testing::TestWithParam<std::size_t> {
protected:
    const CpuKernelTable& table() const { return cpu_kernel_tables()[GetParam()]; }
};

TEST_P(Int8Kernels, StoreTheBytesOfThePlainCode) {
    for (int n = 1; n <= 70; ++n) {
        for (int variant = 0; variant < 6; ++variant) {
            auto x = random_row(n, static_cast<std::uint64_t>(100 * n + variant), variant == 1 ? 1e-32f : 3.0f);
            if (variant == 2) x[static_cast<std::size_t>(n / 2)] = kNan;
            if (variant == 3) x[static_cast<std::size_t>(n - 1)] = -kInfinity;
            if (variant == 4) std::fill(x.begin(), x.end(), 0.0f);
            if (variant == 5)
                for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 255) - 126.5f;  // ties
            std::vector<std::byte> row(static_cast<std::size_t>(int8_row_bytes(n)) + 8, std::byte{0x5A});
            table().row_from_f32[3](x.data(), row.data() + 4, n);
            const auto plain = quantized(x);
            EXPECT_EQ(0, std::memcmp(row.data() + 4, plain.data(), plain.size())) << n << " " << variant;
            EXPECT_EQ(row.front(), std::byte{0x5A});
            EXPECT_EQ(row.back(), std::byte{0x5A});
            std::vector<float> back(static_cast<std::size_t>(n) + 1, 7.0f);
            table().row_to_f32[3](plain.data(), back.data(), n);
            EXPECT_EQ(back.back(), 7.0f);
            for (int i = 0; i < n; ++i) {
                const float expected = int8_value(plain.data(), n, i), actual = back[static_cast<std::size_t>(i)];
                EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Int8Kernels, testing::Range<std::size_t>(0, cpu_kernel_tables().size()),
                         [](const auto& info) { return cpu_kernel_tables()[info.param].name; });

// One layer whose K, V or both are quantized in groups, with the newest rows in full precision, in plain memory.
struct GroupedCache {
    int kv_heads = 2, head_dim = 20, group = 8, count = 0, quantized_end = 0, tail_rows = 64;
    bool k_grouped = true, v_grouped = true;
    int log2_page = 30;                 // else pages in turned order
    std::vector<std::byte> k, v, k_tail, v_tail;
    std::vector<std::int32_t> pages;

    KvView make(std::uint64_t seed) {
        const std::int64_t page = log2_page < 30 ? std::int64_t{1} << log2_page : (count + group - 1) / group * group;
        const std::int64_t page_count = (count + page - 1) / page;
        if (log2_page < 30)
            for (std::int64_t p = 0; p < page_count; ++p)
                pages.push_back(static_cast<std::int32_t>((p + 1) % page_count));
        KvView view;
        view.kv_heads = kv_heads, view.head_dim = head_dim;
        view.table.count = count;
        view.table.pages = pages.empty() ? nullptr : pages.data();
        view.table.log2_page = log2_page;
        fill(view.k, k, k_tail, k_grouped, true, page, page_count, view.table, seed);
        fill(view.v, v, v_tail, v_grouped, false, page, page_count, view.table, seed + 1);
        return view;
    }

private:
    void fill(KvSide& side, std::vector<std::byte>& data, std::vector<std::byte>& tail, bool grouped, bool channels,
              std::int64_t page, std::int64_t page_count, const EntryTable& table, std::uint64_t seed) {
        const bool shared = grouped && channels;
        const std::int64_t head_bytes =
            shared ? page / group * int8_group_bytes(head_dim, group) : page * int8_row_bytes(head_dim);
        side.type = ElementType::I8;
        side.row_stride = shared ? int8_code_bytes(head_dim) : int8_row_bytes(head_dim);
        side.head_stride = head_bytes;
        side.page_stride = kv_heads * head_bytes;
        data.assign(static_cast<std::size_t>(page_count * side.page_stride), std::byte{0x80});
        side.data = data.data();
        if (shared) side.group = group, side.group_stride = int8_group_bytes(head_dim, group);
        if (grouped) {
            tail.assign(static_cast<std::size_t>(kv_heads * tail_rows * head_dim * 4), std::byte{0xFF});
            side.tail = tail.data();
            side.tail_first = quantized_end, side.tail_rows = tail_rows;
            side.tail_row_stride = head_dim, side.tail_head_stride = tail_rows * head_dim;
        }
        for (int head = 0; head < kv_heads; ++head) {
            const auto x = random_row(count * head_dim, seed + static_cast<std::uint64_t>(17 * head));
            for (std::int32_t e = 0; e < count; ++e) {
                const KvRow row = kv_row(side, table, head, e);
                const float* from = x.data() + e * head_dim;
                if (row.type == ElementType::F32)
                    std::memcpy(row.data, from, static_cast<std::size_t>(head_dim) * 4);
                else if (!shared)
                    quantize_row(from, head_dim, row.data);
                else if (e % group == 0)
                    quantize_group(from, group, head_dim, row.data - int8_channel_bytes(head_dim));
            }
        }
    }
};

TEST(GroupedCache, AttentionEqualsTheReference) {
    struct Case {
        int rows, count, quantized, group, log2_page;
        bool k, v;
    };
    const Case cases[] = {{1, 5, 0, 8, 30, true, true},    {1, 41, 24, 8, 30, true, true},
                          {1, 590, 528, 48, 30, true, false}, {1, 1100, 1056, 32, 6, true, true},
                          {3, 70, 64, 4, 3, true, true},   {3, 75, 40, 8, 30, false, true},
                          {17, 90, 64, 16, 30, true, true}, {40, 301, 256, 32, 5, true, false},
                          {40, 104, 64, 8, 4, false, true}};
    for (const auto& instructions : cpu_kernel_tables()) {
        for (const Case& c : cases) {
            SCOPED_TRACE(instructions.name + " " + std::to_string(c.rows) + " of " + std::to_string(c.count));
            test::ProgramBuilder builder(static_cast<std::uint64_t>(c.count));
            const int heads = 6, width = heads * 20;
            const int q = builder.value("q", width), out = builder.value("out", width);
            builder.embed(builder.tensor(c.rows, width, ElementType::F32, 1.5f), q);
            builder.program.layers = 1;
            OpDesc& op = builder.op(OpId::Attention, OpKind::Attention, 0, q, out);
            op.heads = heads, op.kv_heads = 2, op.head_dim = 20, op.scale = 0.25f;
            builder.program.vocabulary = width;
            builder.program.logits_value = builder.value("logits", width, true);
            builder.select(out, builder.program.logits_value);
            GroupedCache cache;
            cache.group = c.group, cache.count = c.count, cache.quantized_end = c.quantized;
            cache.k_grouped = c.k, cache.v_grouped = c.v, cache.log2_page = c.log2_page;
            const std::vector<KvView> views = {cache.make(7)};
            std::vector<std::int32_t> tokens(static_cast<std::size_t>(c.rows));
            for (int r = 0; r < c.rows; ++r) tokens[static_cast<std::size_t>(r)] = r;
            const auto rows = test::StepCase::causal(tokens, c.count - c.rows);
            std::vector<test::StepResult> results;
            CpuBackendOptions options;
            options.threads = 2;
            options.instruction_set = instructions.name;
            auto cpu = make_cpu_backend(options);
            ASSERT_TRUE(cpu.ok());
            const auto reference = make_reference_backend();
            for (Backend* backend : {reference.get(), cpu->get()}) {
                auto weights = backend->load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
                ASSERT_TRUE(weights.ok());
                auto step = backend->compile(builder.program, *weights, {c.rows, c.rows, false});
                ASSERT_TRUE(step.ok());
                results.push_back(test::run_step(*backend, **step, rows, {{0, c.rows, views}}, {true, 0, {}}));
                ASSERT_TRUE(results.back().status.ok()) << results.back().status.error().text();
            }
            EXPECT_LT(test::relative_difference(results[1].logits, results[0].logits), 5e-6);
            EXPECT_LT(test::relative_difference(results[1].attention[0], results[0].attention[0]), 5e-6);
        }
    }
}

}  // namespace
}  // namespace decodescope
