// Bytes of int8 as allocated (MA-02, MA-06, MA-07), rows that keep their scales wherever they go, and the table of what
// cannot be combined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/cache/kv_residual.h"
#include "engine/cache/supported_pairs.h"
#include "kernels/api/int8_row.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/probe_backend.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

KvFormat format_of(const char* text) { return *parse_kv_format(text); }

// MA-02: GPT-2 124M at 1024 tokens. Keys: groups of 64 tokens with a scale and a centre per channel; values: a scale
// per token and head.
TEST(Int8Storage, MA02_PayloadAndScalesAsAllocated) {
    auto backend = std::make_shared<CountingBackend>(std::int64_t{1} << 40);
    const KvShape shape{12, 12, 64, format_of("k=int8-kivi(group=64,residual=64),v=int8")};
    auto storage = KvStorage::create(backend, shape, false, 1024);
    ASSERT_TRUE(storage.ok());
    auto residual = KvResidual::create(backend, shape);
    ASSERT_TRUE(residual.ok());
    const std::int64_t heads = 12 * 12, quantized = 960, payload = heads * (quantized + 1024) * 64;
    const std::int64_t scales = heads * (quantized / 64 * 2 * 64 * 4 + 1024 * 4), kept = heads * 128 * 64 * 4;
    EXPECT_EQ((*storage)->reserved_bytes(), payload + scales);
    EXPECT_EQ((*residual)->bytes(), kept);
    EXPECT_EQ(backend->memory().bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)], payload + scales + kept);
    EXPECT_EQ(shape.scale_bytes(1024), scales);
    EXPECT_EQ(shape.stored_bytes(1024), payload + scales + heads * 64 * 64 * 4);
    const double ratio = 37748736.0 / static_cast<double>(payload + scales);
    EXPECT_GT(ratio, 1.7);
    EXPECT_LT(ratio, 2.0);
    // Per token and head: 68 bytes instead of 128.
    const KvShape rows{12, 12, 64, format_of("int8")};
    EXPECT_EQ(rows.stored_bytes(1), 12 * 12 * 2 * 68);
    EXPECT_EQ(rows.scale_bytes(1), 12 * 12 * 2 * 4);
    EXPECT_EQ((KvShape{12, 12, 64, format_of("k=int8,v=f16")}.stored_bytes(1)), 12 * 12 * (68 + 128));
}

// The residual is T below R + G, else R + (T - R) mod G.
TEST(Int8Storage, QT02_QuantizedTokens) {
    for (const char* text : {"int8-kivi(group=16,residual=16)", "int8-kivi(group=4,residual=7)",
                             "int8-kivi(group=8,residual=0)"}) {
        const KvFormat format = format_of(text);
        const std::int64_t r = format.residual, g = format.group;
        for (std::int64_t t = 0; t < 120; ++t)
            EXPECT_EQ(t - format.quantized_tokens(t), t < r + g ? t : r + (t - r) % g) << text << " " << t;
    }
    EXPECT_EQ(KvFormat{}.quantized_tokens(77), 77);
}

std::unique_ptr<CacheStrategy> make(const std::string& text) {
    return std::move(make_strategy(*parse_cache_spec(text), {1 << 20, 60}).value());
}

// Rows coded by position and head, written as the kernels write them.
void write_row(KvStorage& storage, int layer, std::int64_t slot, std::int32_t position) {
    const KvShape& shape = storage.shape();
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        for (int head = 0; head < shape.kv_heads; ++head) {
            std::vector<float> x(static_cast<std::size_t>(shape.head_dim));
            for (std::size_t i = 0; i < x.size(); ++i)
                x[i] = static_cast<float>(position + 1) * (1.0f + static_cast<float>(i)) + static_cast<float>(head);
            std::vector<std::byte> row(static_cast<std::size_t>(int8_row_bytes(shape.head_dim)));
            quantize_row(x.data(), shape.head_dim, row.data());
            ASSERT_TRUE(storage.write_head(layer, part, head, slot, row).ok());
        }
    }
}

float worst_relative(const KvStorage& storage, int layer, std::int64_t slot, std::int32_t position) {
    const KvShape& shape = storage.shape();
    std::vector<float> out(static_cast<std::size_t>(shape.kv_heads * shape.head_dim));
    float worst = 0;
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        EXPECT_TRUE(storage.read_rows(layer, part, slot, 1, out).ok());
        for (std::size_t i = 0; i < out.size(); ++i) {
            const auto head = static_cast<float>(i / static_cast<std::size_t>(shape.head_dim));
            const auto column = static_cast<float>(i % static_cast<std::size_t>(shape.head_dim));
            const float exact = static_cast<float>(position + 1) * (1.0f + column) + head;
            const float largest = static_cast<float>(position + 1) * static_cast<float>(shape.head_dim) + head;
            worst = std::max(worst, std::abs(out[i] - exact) / largest);
        }
    }
    return worst;
}

// Growing exchanges buffers, pages are copied: the scale of a row goes where the row goes. Odd head sizes have padding.
TEST(Int8Storage, ScalesMoveWithTheirRows) {
    for (const char* text : {"growing", "paged:page=4", "preallocated:slab=true"}) {
        for (const int head_dim : {5, 8}) {
            SCOPED_TRACE(text);
            std::shared_ptr<Backend> backend = make_reference_backend();
            auto strategy = make(text);
            auto storage = std::move(KvStorage::create(backend, {2, 3, head_dim, format_of("int8")},
                                                        strategy->one_slab(), strategy->capacity(),
                                                        strategy->page_tokens())
                                          .value());
            const auto feed = [&](CacheStrategy& owner, std::int64_t tokens) {
                auto plan = owner.plan(tokens);
                ASSERT_TRUE(plan.ok());
                owner.begin_write(*plan);
                ASSERT_TRUE(storage->apply(*plan).ok());
                for (std::int64_t t = 0; t < tokens; ++t)
                    for (int layer = 0; layer < 2; ++layer)
                        write_row(*storage, layer, plan->store_slots[static_cast<std::size_t>(t)],
                                  plan->first_position + static_cast<std::int32_t>(t));
                owner.commit(*plan);
            };
            for (const std::int64_t tokens : {1, 3, 6, 1, 8}) feed(*strategy, tokens);
            const auto branch = strategy->page_tokens() > 0 ? strategy->clone() : nullptr;
            if (branch != nullptr) feed(*branch, 3);  // copies the last page
            for (const CacheStrategy* owner : {strategy.get(), branch.get()}) {
                if (owner == nullptr) continue;
                for (std::int32_t position = 0; position < owner->tokens_seen(); ++position)
                    for (int layer = 0; layer < 2; ++layer)
                        EXPECT_LT(worst_relative(*storage, layer, *owner->slot_of(position), position), 0.005f);
            }
        }
    }
}

// QT-05: a key ten times larger than all before widens the scale of its own group and is kept within half a step; groups
// that are closed do not change a bit.
TEST(Int8Storage, QT05_ATenTimesLargerTokenChangesItsOwnGroup) {
    constexpr int kWidth = 6, kTokens = 24, kLarge = 13;
    std::shared_ptr<Backend> backend = make_reference_backend();
    const KvShape shape{1, 1, kWidth, format_of("k=int8-kivi(group=8,residual=0),v=f32")};
    auto storage = std::move(KvStorage::create(backend, shape, false, kTokens).value());
    auto residual = std::move(KvResidual::create(backend, shape).value());
    test::Random random(5);
    std::vector<std::vector<float>> keys;
    for (int t = 0; t < kTokens; ++t) {
        auto& key = keys.emplace_back();
        for (int i = 0; i < kWidth; ++i) key.push_back((t == kLarge ? 10.0f : 1.0f) * random.uniform(0.5f, 1.0f));
    }
    EntryList entries;
    entries.count = kTokens;
    std::vector<float> closed, row(kWidth);
    const auto stored = [&](int token) {
        EXPECT_TRUE(storage->read_rows(0, KvPart::K, token, 1, row).ok());
        return row;
    };
    for (int t = 0; t < kTokens; ++t) {
        KvView view;
        residual->attach(0, t, view);
        const auto rows = reinterpret_cast<float*>(view.k.tail);
        std::copy(keys[static_cast<std::size_t>(t)].begin(), keys[static_cast<std::size_t>(t)].end(),
                  rows + t % view.k.tail_rows * view.k.tail_row_stride);
        ASSERT_TRUE(residual->quantize(entries, t, t + 1, *storage).ok());
        if (t == 7)
            for (int closed_token = 0; closed_token < 8; ++closed_token) {
                const auto values = stored(closed_token);
                closed.insert(closed.end(), values.begin(), values.end());
            }
    }
    for (int group = 0; group < 3; ++group) {
        for (int i = 0; i < kWidth; ++i) {
            float low = std::numeric_limits<float>::infinity(), high = -low;
            for (int t = 8 * group; t < 8 * group + 8; ++t) {
                low = std::min(low, keys[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)]);
                high = std::max(high, keys[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)]);
            }
            const float half_step = (high - low) / 254 / 2;
            EXPECT_EQ(half_step > 0.01f, group == 1) << group;
            for (int t = 8 * group; t < 8 * group + 8; ++t)
                EXPECT_NEAR(stored(t)[static_cast<std::size_t>(i)],
                            keys[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)], half_step * 1.001f)
                    << t;
        }
    }
    for (int t = 0; t < 8; ++t) {
        const auto values = stored(t);
        EXPECT_TRUE(std::equal(values.begin(), values.end(), closed.begin() + t * kWidth)) << t;
    }
}

// Debug builds: what was never written and what was given up reads as NaN, codes are 0x80.
TEST(Int8Storage, FreeStorageReadsAsNan) {
#ifdef DECODESCOPE_DEBUG
    for (const char* text : {"int8", "int8-kivi(group=4,residual=0)"}) {
        std::shared_ptr<Backend> backend = make_reference_backend();
        auto storage = std::move(KvStorage::create(backend, {1, 2, 8, format_of(text)}, false, 8).value());
        std::vector<float> out(2 * 8 * 8);
        for (const KvPart part : {KvPart::K, KvPart::V}) {
            ASSERT_TRUE(storage->read_rows(0, part, 0, 8, out).ok());
            for (const float x : out) EXPECT_TRUE(std::isnan(x)) << text;
        }
        EXPECT_EQ(std::to_integer<int>(*(storage->view(0, EntryTable{}, nullptr).v.data)), 0x80);
    }
#endif
}

RunChoice choice(const char* cache, const char* kv, std::optional<Family> family = {}, std::string_view backend = {},
                 bool shares = false) {
    return {family, *parse_cache_spec(cache), format_of(kv), backend, shares};
}

TEST(SupportedPairs, OneTableSaysWhatCannotBe) {
    for (const char* cache : {"ring", "sinks", "paged:page=16", "paged:page=1"}) {
        const UnsupportedPair* pair = find_unsupported(choice(cache, "k=int8-kivi,v=f16"));
        ASSERT_NE(pair, nullptr) << cache;
        EXPECT_THAT(std::string(pair->reason), HasSubstr("int8-kivi"));
        EXPECT_FALSE(check_supported(choice(cache, "int8-kivi")).ok());
        EXPECT_TRUE(check_supported(choice(cache, "int8")).ok()) << cache;
    }
    for (const char* cache : {"recompute", "growing", "preallocated:slab=true", "paged:page=32", "paged:page=256"})
        EXPECT_TRUE(check_supported(choice(cache, "int8-kivi")).ok()) << cache;
    EXPECT_TRUE(check_supported(choice("paged:page=16", "int8-kivi(group=8)")).ok());
    EXPECT_FALSE(check_supported(choice("paged:page=64", "int8-kivi(group=48)")).ok());
    EXPECT_FALSE(check_supported(choice("paged:page=32", "int8-kivi", {}, "cpu", true)).ok());
    EXPECT_TRUE(check_supported(choice("paged:page=32", "int8", {}, "cpu", true)).ok());
    EXPECT_FALSE(check_supported(choice("sinks:positions=rebased", "f32", Family::Gpt2)).ok());
    EXPECT_TRUE(check_supported(choice("sinks:positions=rebased", "f32", Family::Llama)).ok());
    EXPECT_TRUE(check_supported(choice("sinks:positions=rebased", "f32")).ok()) << "the family is not known yet";
}

TEST(SupportedPairs, TheNearestParameterThatFits) {
    const auto nearest = [](const RunChoice& wanted) {
        const auto spec = nearest_supported(wanted);
        return spec ? to_string(*spec) : std::string("nothing");
    };
    EXPECT_EQ(nearest(choice("paged:page=64", "int8-kivi")), "paged:page=64");
    EXPECT_EQ(nearest(choice("paged", "int8-kivi")), "paged:page=32");
    EXPECT_EQ(nearest(choice("paged:page=4,slab=true", "int8-kivi(group=128)")), "paged:page=128,slab=true");
    EXPECT_EQ(nearest(choice("paged", "int8-kivi(group=48)")), "nothing");
    EXPECT_EQ(nearest(choice("paged:page=4,offload=file", "int8-kivi")), "nothing");  // two changes
    EXPECT_EQ(nearest(choice("growing:offload=host", "int8-kivi")), "growing");
    EXPECT_EQ(nearest(choice("sinks:window=9,positions=rebased", "f32", Family::Gpt2)), "sinks:window=9");
    EXPECT_EQ(nearest(choice("ring", "int8-kivi")), "nothing");
    EXPECT_EQ(nearest(choice("ring", "int8")), "ring");
}

TEST(SupportedPairs, RowsOfABackendApplyToThatBackend) {
    const std::vector<UnsupportedPair> pairs = {{{}, "growing", false, "cuda", {}, "Not there.", ""}};
    EXPECT_NE(find_unsupported(choice("growing", "f32", {}, "cuda:1"), pairs), nullptr);
    EXPECT_EQ(find_unsupported(choice("growing", "f32", {}, "cpu"), pairs), nullptr);
    EXPECT_EQ(find_unsupported(choice("growing", "f32"), pairs), nullptr);
    EXPECT_EQ(find_unsupported(choice("ring", "f32", {}, "cuda:1"), pairs), nullptr);
}

// Each row names a strategy that exists, or will; and says something that ends as a sentence.
TEST(SupportedPairs, EveryRowHasASentence) {
    for (const UnsupportedPair& pair : unsupported_pairs()) {
        EXPECT_TRUE(pair.strategy.empty() || pair.strategy == "h2o" || find_strategy(pair.strategy) != nullptr);
        EXPECT_EQ(pair.reason.back(), '.');
        EXPECT_EQ(pair.hint.back(), '.');
    }
}

}  // namespace
}  // namespace decodescope
