// What a cache would take, against published figures and against what a storage of that strategy allocates.
#include "engine/measure/what_if.h"

#include <gtest/gtest.h>

#include "engine/cache/cache_strategy.h"
#include "engine/cache/kv_storage.h"
#include "kernels/reference/reference_backend.h"

namespace decodescope {
namespace {

KvModelShape find(const std::string& name) {
    for (const KvModelShape& model : published_shapes())
        if (model.name == name) return model;
    ADD_FAILURE() << name;
    return {};
}

std::int64_t bytes(const KvModelShape& model, const char* cache, const char* format, std::int64_t tokens) {
    const CacheSlots slots = cache_slots(parse_cache_spec(cache).value(), tokens).value();
    const auto need = cache_need(model, slots, parse_kv_format(format).value());
    EXPECT_TRUE(need.ok()) << need.error().message;
    return need.ok() ? need->reserved_bytes : -1;
}

// Published or logged by others: ggml #385, llama.cpp #1257 and #9881, the vLLM blog of 2023-06-20, and the arithmetic.
TEST(WhatIf, MA01_KnownModelsByteForByte) {
    EXPECT_EQ(bytes(find("GPT-2 124M"), "preallocated", "f32", 1024), 75'497'472);
    EXPECT_EQ(bytes(find("GPT-2 medium 355M"), "preallocated", "f16", 1024), 96 << 20);
    EXPECT_EQ(bytes(find("GPT-2 large 774M"), "preallocated", "f16", 1024), 180 << 20);
    EXPECT_EQ(bytes(find("GPT-2 XL 1.5B"), "preallocated", "f16", 1024), 300 << 20);
    EXPECT_EQ(bytes(find("LLaMA-7B"), "preallocated", "f16", 512), 256 << 20);
    EXPECT_EQ(bytes(find("LLaMA-7B"), "preallocated", "f16", 10'000), 5'242'880'000);
    EXPECT_EQ(bytes(find("Llama-2-70B"), "preallocated", "f16", 4096), 1'342'177'280);
    EXPECT_EQ(bytes(find("Llama-3-8B"), "preallocated", "f16", 8192), 1'073'741'824);
    EXPECT_EQ(bytes(find("Mistral-7B"), "ring:window=4096", "f16", 32768), 512 << 20);
    EXPECT_EQ(bytes(find("TinyLlama-1.1B"), "preallocated", "f16", 2048), 44 << 20);
    EXPECT_EQ(bytes(find("Llama-3.2-1B"), "preallocated", "f16", 131072), std::int64_t{4} << 30);
}

TEST(WhatIf, MA08_BeyondThirtyTwoBits) {
    const KvModelShape large{"large", 80, 64, 64, 128, 131072};
    EXPECT_EQ(bytes(large, "preallocated", "f32", 131072), 687'194'767'360);
    const KvModelShape absurd{"absurd", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1};
    const auto need = cache_need(absurd, cache_slots(parse_cache_spec("preallocated").value(), 1024).value(), {});
    ASSERT_FALSE(need.ok());
    EXPECT_EQ(need.error().kind, ErrorKind::Memory);
}

TEST(WhatIf, FormatsAndMixedFormats) {
    const KvModelShape model = find("Llama-3-8B");
    EXPECT_EQ(bytes(model, "growing", "f32", 1024), 2 * bytes(model, "growing", "f16", 1024));
    EXPECT_EQ(bytes(model, "growing", "k=f32,v=bf16", 1024) * 4, 3 * bytes(model, "growing", "f32", 1024));
}

TEST(WhatIf, OneMillionTokensInEveryStrategy) {
    for (const CacheSpec& cache : what_if_caches({})) {
        SCOPED_TRACE(to_string(cache));
        for (const std::int64_t tokens : what_if_lengths()) {
            const auto slots = cache_slots(cache, tokens);
            ASSERT_TRUE(slots.ok()) << slots.error().message;
            const auto need = cache_need(find("Llama-2-70B"), *slots, {ElementType::F16, ElementType::F16});
            ASSERT_TRUE(need.ok()) << need.error().message;
            EXPECT_GE(need->reserved_bytes, need->used_bytes);
            EXPECT_GE(need->peak_bytes, need->reserved_bytes);
            EXPECT_LE(need->stored, tokens);
        }
    }
}

TEST(WhatIf, RecomputeKeepsNothing) { EXPECT_EQ(bytes(find("LLaMA-7B"), "recompute", "f16", 4096), 0); }

// The article prints 1.05 MB and 33.6 MB; one layer takes 2 MiB and all of them 64 MiB.
TEST(WhatIf, MA04_ArticleExampleIsTwiceWhatIsPrinted) {
    const KvModelShape all = article_example();
    KvModelShape layer = all;
    layer.layers = 1;
    EXPECT_EQ(bytes(all, "preallocated", "f16", all.context), 67'108'864);
    EXPECT_EQ(bytes(layer, "preallocated", "f16", all.context), 2'097'152);
}

// MA-03: what was said before the run is what is allocated in it, and MA-05: with the peak while storage is exchanged.
TEST(WhatIf, MA03_MA05_PredictionIsWhatIsAllocated) {
    const KvModelShape model{"small", 3, 6, 2, 8, 64};
    const KvFormat format = parse_kv_format("k=int8,v=f16").value();
    for (const char* text : {"growing", "preallocated", "preallocated:slab=true", "ring:window=11",
                             "sinks:sinks=2,window=9", "paged:page=4", "paged:page=1", "paged:page=16,slab=true"}) {
        SCOPED_TRACE(text);
        const CacheSpec cache = parse_cache_spec(text).value();
        for (const std::int64_t tokens : {1, 2, 16, 17, 29}) {
            SCOPED_TRACE(tokens);
            RunLimits limits;
            limits.context = 64;
            limits.expected_tokens = tokens;
            auto strategy = make_strategy(cache, limits).value();
            std::shared_ptr<Backend> backend = make_reference_backend();
            KvShape shape;
            shape.layers = 3;
            shape.kv_heads = 2;
            shape.head_dim = 8;
            shape.format = format;
            auto storage = KvStorage::create(backend, shape, strategy->one_slab(), strategy->capacity(),
                                             strategy->page_tokens()).value();
            std::int64_t peak = 0;
            for (std::int64_t i = 0; i < tokens; ++i) {
                storage->begin_step();
                const CachePlan plan = strategy->plan(1).value();
                ASSERT_TRUE(storage->apply(plan).ok());
                strategy->begin_write(plan);
                strategy->commit(plan);
                peak = storage->peak_bytes();
            }
            const CacheNeed need = cache_need(model, cache_slots(cache, tokens).value(), format).value();
            EXPECT_EQ(need.reserved_bytes, storage->reserved_bytes());
            EXPECT_EQ(need.used_bytes, storage->used_bytes(strategy->tokens_stored()));
            EXPECT_EQ(need.stored, strategy->tokens_stored());
            EXPECT_EQ(need.peak_bytes, peak);
        }
    }
}

}  // namespace
}  // namespace decodescope
