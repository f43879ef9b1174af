#include "engine/trace/run_recording.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "engine/trace/append_only.h"
#include "engine/trace/half_pack.h"
#include "kernels/api/half.h"
#include "tests/support/fake_run.h"

namespace decodescope {
namespace {

RunFacts small_facts() {
    RunFacts facts;
    facts.config.layers = 3;
    facts.config.heads = 5;
    facts.config.vocabulary = 97;
    return facts;
}

RunRecording::NewRow row_at(std::int32_t position, std::int32_t step) {
    RunRecording::NewRow row;
    row.row.token = position % 7;
    row.row.position = position;
    row.row.step = step;
    row.display = "t" + std::to_string(position);
    row.text = row.display;
    return row;
}

TEST(AppendOnlyList, KeepsAddressesAcrossChunkBorders) {
    AppendOnlyList<std::string> list;
    std::vector<const std::string*> addresses;
    for (int i = 0; i < 1000; ++i) {
        list.push_back("value " + std::to_string(i));
        addresses.push_back(&list[i]);
    }
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(&list[i], addresses[static_cast<std::size_t>(i)]);
        EXPECT_EQ(list[i], "value " + std::to_string(i));
    }
}

TEST(AppendOnlyList, AllocatesOnlyWhenAChunkIsFull) {
    AppendOnlyList<std::int64_t> list;
    int allocations = 0;
    for (int i = 0; i < 4096; ++i) allocations += list.push_back(i) > 0 ? 1 : 0;
    EXPECT_EQ(allocations, 7);  // 64 + 64 + 128 + ... + 2048
}

TEST(SparseTable, RefusesKeysBeyondItsLimit) {
    SparseTable<std::atomic<std::int32_t>> table;
    std::int64_t allocated = 0;
    EXPECT_EQ(table.at(-1, allocated), nullptr);
    EXPECT_EQ(table.at(SparseTable<int>::kLimit, allocated), nullptr);
    EXPECT_EQ(table.at(2147483647, allocated), nullptr);
    EXPECT_EQ(allocated, 0);
    table.at(5, allocated)->store(9);
    EXPECT_EQ(table.find(5)->load(), 9);
    EXPECT_EQ(table.find(4)->load(), 0);
    EXPECT_EQ(table.find(5000), nullptr);
}

TEST(HalfPack, FastPathGivesTheScalarBits) {
    std::vector<float> values;
    for (std::uint32_t i = 0; i < 70000; ++i) values.push_back(std::bit_cast<float>(i * 61001u));  // all magnitudes
    for (float value :
         {0.0f, -0.0f, 1.0f, 65504.0f, 65520.0f, 1e30f, 6e-8f, 2.98e-8f, 0x1p-24f, 0x1p-25f, 1.5f * 0x1p-25f})
        values.push_back(value);
    std::vector<std::uint16_t> fast(values.size()), scalar(values.size());
    pack_f16(values.data(), fast.data(), values.size());
    pack_f16_scalar(values.data(), scalar.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(fast[i], scalar[i]) << values[i] << " at " << i;
    // Ties go to even: 1 + 2^-11 lies between 1 and 1 + 2^-10.
    EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3C00);
    EXPECT_EQ(f32_to_f16(1.0f + 3 * 0x1p-11f), 0x3C02);
}

TEST(RunRecording, GivesBackWhatWasAppended) {
    RunRecording recording(small_facts(), {});
    std::vector<float> layer0(5 * 4), layer2(5 * 4);
    for (std::size_t i = 0; i < layer0.size(); ++i) {
        layer0[i] = static_cast<float>(i) / 64.0f;
        layer2[i] = static_cast<float>(i) / 128.0f;
    }
    const float* attention[] = {layer0.data(), nullptr, layer2.data()};
    const float k[] = {1, 2, 3}, v[] = {4, 5, 6};
    recording.append_row(row_at(3, 0), k, v, attention, 4, {});
    recording.append_row(row_at(4, 0), {}, {}, {}, 5, {});
    ASSERT_EQ(recording.row_count(), 2);
    EXPECT_EQ(recording.row(0).position, 3);
    EXPECT_EQ(recording.row_display(0), "t3");
    EXPECT_EQ(recording.row_text(1), "t4");
    EXPECT_EQ(recording.k_rms(0, 1), 2.0f);
    EXPECT_EQ(recording.v_rms(0, 2), 6.0f);
    EXPECT_TRUE(std::isnan(recording.k_rms(1, 0)));
    const AttentionRow row = recording.attention(0, 2);
    ASSERT_TRUE(row.captured);
    EXPECT_EQ(row.entries, 4);
    EXPECT_EQ(row.position(3), 3);
    for (int head = 0; head < 5; ++head)
        for (int entry = 0; entry < 4; ++entry)
            EXPECT_EQ(row.weight(head, entry), layer2[static_cast<std::size_t>(head * 4 + entry)]);
    EXPECT_FALSE(recording.attention(0, 1).captured);
    const AttentionRow missing = recording.attention(1, 0);
    EXPECT_FALSE(missing.captured);
    EXPECT_EQ(missing.entries, 5);
    EXPECT_TRUE(std::isnan(missing.weight(0, 0)));     // not captured is never zero
    EXPECT_EQ(recording.rows_without_attention(), 0);  // it was not asked for
}

TEST(RunRecording, ReadsAttentionWithAStride) {
    RunRecording recording(small_facts(), {});
    std::vector<float> layer(5 * 8, 9.0f);  // 3 entries used of 8
    for (std::size_t head = 0; head < 5; ++head)
        for (std::size_t e = 0; e < 3; ++e) layer[head * 8 + e] = static_cast<float>(head + e) / 16.0f;
    const float* attention[] = {layer.data(), layer.data(), nullptr};
    recording.append_row(row_at(2, 0), {}, {}, attention, 3, {}, 8);
    const AttentionRow row = recording.attention(0, 1);
    ASSERT_EQ(row.weights.size(), 15u);
    for (int head = 0; head < 5; ++head)
        for (int e = 0; e < 3; ++e) EXPECT_EQ(row.weight(head, e), static_cast<float>(head + e) / 16.0f);
}

TEST(RunRecording, EntryPositionsAreKeptPerRow) {
    RunRecording recording(small_facts(), {});
    std::vector<float> weights(5 * 3, 0.25f);
    const float* attention[] = {weights.data(), weights.data(), weights.data()};
    const std::int32_t first[] = {0, 4, 5}, second[] = {0, 5, 6};
    recording.append_row(row_at(5, 0), {}, {}, attention, 3, first);
    recording.append_row(row_at(5, 0), {}, {}, attention, 2, first);  // shares the start of the first row's table
    recording.append_row(row_at(6, 1), {}, {}, attention, 3, second);
    EXPECT_EQ(recording.attention(0, 1).position(1), 4);
    EXPECT_EQ(recording.attention(1, 1).positions.data(), recording.attention(0, 1).positions.data());
    EXPECT_EQ(recording.attention(1, 1).positions.size(), 2u);
    EXPECT_EQ(recording.attention(2, 1).position(1), 5);
}

TEST(RunRecording, ByteBudgetLeavesRowsOutAndCountsThem) {
    RecordingLimits limits;
    limits.attention_bytes = 1000;  // a row of 3 layers, 5 heads, n entries takes 30 n + 24 bytes
    RunRecording recording(small_facts(), limits);
    std::vector<float> weights(5 * 64, 0.5f);
    const float* attention[] = {weights.data(), weights.data(), weights.data()};
    recording.append_row(row_at(0, 0), {}, {}, attention, 20, {});  // 624 bytes
    recording.append_row(row_at(1, 0), {}, {}, attention, 20, {});  // would be 1248
    recording.append_row(row_at(2, 0), {}, {}, attention, 10, {});  // 948
    EXPECT_TRUE(recording.attention(0, 0).captured);
    EXPECT_FALSE(recording.attention(1, 0).captured);
    EXPECT_TRUE(recording.attention_left_out(1));
    EXPECT_TRUE(recording.attention(2, 0).captured);
    EXPECT_EQ(recording.rows_without_attention(), 1);
}

TEST(RunRecording, HistoryBytesCoverWhatIsHeld) {
    FakeRunOptions options;
    options.steps = 300;
    const auto recording = make_fake_run(options);
    std::int64_t attention = 0;
    for (std::int64_t n = 1; n <= 320; ++n) attention += n * options.layers * options.heads * 2;
    EXPECT_GE(recording->history_bytes(), attention);
    EXPECT_LE(recording->history_bytes(),
              attention + (std::int64_t{6} << 20));  // steps, rows, and what is allocated ahead
    options.capture = false;
    EXPECT_LT(make_fake_run(options)->history_bytes(), std::int64_t{2} << 20);
}

TEST(RunRecording, TokensAreNamedOnceAndRenamed) {
    RunRecording recording(small_facts(), {});
    EXPECT_EQ(recording.token_display(12), "#12");
    recording.name_token(12, "twelve");
    recording.name_token(12, "twelve");
    recording.name_token(3, "three");
    recording.name_token(12, "dozen");
    EXPECT_EQ(recording.token_display(12), "dozen");
    EXPECT_EQ(recording.named_tokens(), (std::vector<std::int32_t>{3, 12}));
    recording.append_row(row_at(5, 0), {}, {}, {}, 0, {});
    EXPECT_EQ(recording.token_display(5), "t5");  // rows name their token
    EXPECT_EQ(recording.token_display(-1), "#-1");
}

TEST(RunRecording, EvictedPositionsAreFoundByStep) {
    FakeRunOptions options;
    options.cache = "ring";
    options.window = 8;
    options.steps = 10;
    const auto recording = make_fake_run(options);  // 20 prompt tokens: the prefill evicts 0 .. 11
    EXPECT_EQ(recording->evicted_at(0, 0), 0);
    EXPECT_EQ(recording->evicted_at(11, 5), 0);
    EXPECT_EQ(recording->evicted_at(12, 0), std::nullopt);
    EXPECT_EQ(recording->evicted_at(12, 1), 1);
    EXPECT_EQ(recording->evicted_at(21, 9), std::nullopt);
    EXPECT_EQ(recording->evicted_at(21, 10), 10);
    EXPECT_EQ(recording->evicted_at(22, 10), std::nullopt);
    EXPECT_EQ(recording->evicted_at(5000, 10), std::nullopt);
}

TEST(RunRecording, PositionFedAgainIsKeptAgain) {
    RunRecording recording(small_facts(), {});
    recording.append_row(row_at(0, 0), {}, {}, {}, 0, {});
    recording.append_step({});
    StepFacts evicting;
    evicting.evicted = {{0}};
    recording.append_step(evicting);
    recording.append_row(row_at(0, 2), {}, {}, {}, 0, {});
    recording.append_step({});
    recording.append_step(evicting);
    EXPECT_EQ(recording.evicted_at(0, 0), std::nullopt);
    EXPECT_EQ(recording.evicted_at(0, 1), 1);
    EXPECT_EQ(recording.evicted_at(0, 2), std::nullopt);
    EXPECT_EQ(recording.evicted_at(0, 3), 3);
}

TEST(RunRecording, OneWriterTwoReaders) {
    FakeRunOptions options;
    options.steps = 0;
    options.layers = 2;
    options.finished = false;
    const auto recording = make_fake_run(options);
    constexpr std::int32_t kSteps = 200;
    std::atomic<int> bad{0};
    const auto read = [&] {
        for (std::int32_t steps = 0; steps <= kSteps;) {
            steps = recording->step_count();
            const auto last = recording->step(steps - 1);
            for (std::int32_t i = last->first_row; i < last->first_row + last->row_count; ++i) {
                const AttentionRow row = recording->attention(i, 1);
                double sum = 0;
                for (std::int32_t e = 0; e < row.entries; ++e) sum += row.weight(2, e);
                if (std::abs(sum - 1.0) > 4e-3 || recording->row_display(i).empty() || !(recording->k_rms(i, 0) > 0))
                    ++bad;
            }
            if (recording->token_display(last->sampled_token).front() == '#') ++bad;
            if (const std::int32_t races = recording->race_count();
                races > 0 && recording->race_point(races - 1).length < 20)
                ++bad;
            if (recording->history_bytes() <= 0 || recording->evicted_at(3, steps - 1).has_value()) ++bad;
        }
    };
    std::thread first(read), second(read);
    for (std::int32_t i = 0; i < kSteps; ++i) append_fake_step(*recording, options);
    first.join();
    second.join();
    EXPECT_EQ(bad.load(), 0);
}

TEST(FakeRun, RowsSumToOneAndTheRunIsDeterministic) {
    FakeRunOptions options;
    options.language = "zh_CN";
    options.steps = 40;
    const auto first = make_fake_run(options), second = make_fake_run(options);
    ASSERT_EQ(first->row_count(), 60);
    ASSERT_EQ(first->step_count(), 41);
    ASSERT_EQ(first->race_count(), 41);
    for (std::int32_t r = 0; r < first->row_count(); ++r) {
        EXPECT_EQ(first->row(r).position, r);
        for (int layer = 0; layer < options.layers; ++layer) {
            const AttentionRow a = first->attention(r, layer), b = second->attention(r, layer);
            ASSERT_EQ(a.entries, r + 1);
            EXPECT_TRUE(std::equal(a.weights.begin(), a.weights.end(), b.weights.begin()));
            for (int head = 0; head < options.heads; ++head) {
                double sum = 0;
                for (std::int32_t e = 0; e < a.entries; ++e) sum += a.weight(head, e);
                EXPECT_NEAR(sum, 1.0, 3e-3);  // weights are binary16
            }
        }
    }
    EXPECT_EQ(first->step(40)->stop_reason, "length");
}

TEST(FakeRun, LongestRun) {
    FakeRunOptions options;
    options.steps = 2028;
    options.cache = "growing";
    const auto recording = make_fake_run(options);
    EXPECT_EQ(recording->row_count(), 2048);
    EXPECT_EQ(recording->step(2028)->kv.tokens_stored, 2048);
    EXPECT_EQ(recording->rows_without_attention(), 0);
}

}  // namespace
}  // namespace decodescope
