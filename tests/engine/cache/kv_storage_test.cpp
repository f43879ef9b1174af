// Bytes as allocated, copies as made, rows that stay themselves: growing, slab, failures (MA-01, MA-05, MA-07, MA-08).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>

#include "engine/cache/kv_storage.h"
#include "kernels/api/half.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/probe_backend.h"

namespace decodescope {
namespace {

std::unique_ptr<CacheStrategy> make(const std::string& text, const RunLimits& limits = {1 << 20, 0}) {
    auto spec = parse_cache_spec(text);
    DS_CHECK(spec.ok());
    auto strategy = make_strategy(*spec, limits);
    DS_CHECK(strategy.ok());
    return std::move(*strategy);
}

std::unique_ptr<KvStorage> storage_for(std::shared_ptr<Backend> backend, const KvShape& shape,
                                       const CacheStrategy& strategy) {
    auto storage = KvStorage::create(std::move(backend), shape, strategy.one_slab(), strategy.capacity());
    if (!storage.ok()) ADD_FAILURE() << storage.error().text();
    DS_CHECK(storage.ok());
    return std::move(*storage);
}

std::shared_ptr<ProbeBackend> probe() { return std::make_shared<ProbeBackend>(make_reference_backend()); }

std::int64_t live_kv(const Backend& backend) {
    return backend.memory().bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)];
}
std::int64_t kv_allocations(const Backend& backend) {
    return backend.memory().allocations[static_cast<std::size_t>(MemoryPurpose::KvCache)];
}

constexpr KvFormat kF32{ElementType::F32, ElementType::F32};
constexpr KvFormat kF16{ElementType::F16, ElementType::F16};
const KvShape kGpt2Small{12, 12, 64, kF32};

Status grow(CacheStrategy& strategy, KvStorage& storage, std::int64_t tokens) {
    auto plan = strategy.plan(tokens);
    if (!plan.ok()) return plan.error();
    storage.begin_step();
    DS_RETURN_IF_ERROR(storage.apply(*plan));
    strategy.commit(*plan);
    return {};
}

// MA-01: the table of known models, 2 L H_kv d bytes, as allocated and not as computed.
TEST(KvStorage, MA01_BytesOfKnownModels) {
    struct Row {
        const char* name;
        int layers, kv_heads, head_dim;
        std::int64_t tokens, f16_per_token, f16_total;
    };
    const Row rows[] = {
        {"GPT-2 124M", 12, 12, 64, 1024, 36864, 37748736},
        {"GPT-2 medium", 24, 16, 64, 1024, 98304, 100663296},
        {"GPT-2 large", 36, 20, 64, 1024, 184320, 188743680},
        {"GPT-2 XL", 48, 25, 64, 1024, 307200, 314572800},
        {"LLaMA-7B", 32, 32, 128, 4096, 524288, 2147483648},
        {"Llama-2-13B", 40, 40, 128, 2048, 819200, 1677721600},
        {"Llama-2-70B", 80, 8, 128, 4096, 327680, 1342177280},
        {"Llama-3-8B", 32, 8, 128, 8192, 131072, 1073741824},
        {"TinyLlama-1.1B", 22, 4, 64, 2048, 22528, 46137344},
        {"Llama-3.2-1B", 16, 8, 64, 131072, 32768, 4294967296},
    };
    for (const Row& row : rows) {
        for (const bool half : {true, false}) {
            SCOPED_TRACE(row.name);
            auto backend = std::make_shared<CountingBackend>(std::int64_t{1} << 40);
            const KvShape shape{row.layers, row.kv_heads, row.head_dim, half ? kF16 : kF32};
            const auto strategy = make("preallocated:capacity=" + std::to_string(row.tokens));
            const auto storage = storage_for(backend, shape, *strategy);
            EXPECT_EQ(storage->used_bytes(1), row.f16_per_token * (half ? 1 : 2));       // MA-07: exactly twice
            EXPECT_EQ(storage->reserved_bytes(), row.f16_total * (half ? 1 : 2));
            EXPECT_EQ(live_kv(*backend), storage->reserved_bytes());
            EXPECT_EQ(storage->capacity(), row.tokens);
        }
    }
}

// MA-05: GPT-2 124M in f32, a token at a time: n (n - 1) / 2 rows copied, and in each step the layer being grown lies
// there twice.
TEST(KvStorage, MA05_ConcatenationCopiesAndPeaks) {
    auto backend = std::make_shared<CountingBackend>(std::int64_t{1} << 40);
    const auto strategy = make("growing");
    const auto storage = storage_for(backend, kGpt2Small, *strategy);
    const std::int64_t row = 73728, layer_row = row / 12;
    std::int64_t copied = 0;
    for (std::int64_t n = 0; n < 1024; ++n) {
        backend->reset_peaks();
        ASSERT_TRUE(grow(*strategy, *storage, 1).ok());
        copied += storage->copied_bytes();
        ASSERT_EQ(storage->copied_bytes(), n * row);
        ASSERT_EQ(storage->reserved_bytes(), (n + 1) * row);
        // 11 layers have grown already, the last one is there as old and new.
        ASSERT_EQ(storage->peak_bytes(), 11 * (n + 1) * layer_row + (n + n + 1) * layer_row);
        ASSERT_EQ(storage->peak_bytes(),
                  backend->memory().peak_bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)]);
        ASSERT_EQ(storage->reserved_bytes(), live_kv(*backend));
        if (n + 1 == 256) {
            EXPECT_EQ(copied, 2406481920);
        }
    }
    EXPECT_EQ(copied, 38616956928);
    EXPECT_EQ(backend->copied_bytes, copied);
    EXPECT_EQ(storage->used_bytes(1024), 75497472);
}

TEST(KvStorage, PreallocationCopiesNothing) {
    auto backend = std::make_shared<CountingBackend>(std::int64_t{1} << 40);
    const auto strategy = make("preallocated:capacity=1024");
    const auto storage = storage_for(backend, kGpt2Small, *strategy);
    for (std::int64_t n = 0; n < 1024; ++n) {
        ASSERT_TRUE(grow(*strategy, *storage, 1).ok());
        ASSERT_EQ(storage->copied_bytes(), 0);
        ASSERT_EQ(storage->peak_bytes(), 75497472);
    }
    EXPECT_EQ(backend->copied_bytes, 0);
}

TEST(KvStorage, OneSlabIsOneAllocation) {
    for (const bool slab : {false, true}) {
        auto backend = std::make_shared<CountingBackend>(std::int64_t{1} << 40);
        const auto strategy = make(slab ? "preallocated:capacity=64,slab=true" : "preallocated:capacity=64");
        auto storage = storage_for(backend, kGpt2Small, *strategy);
        EXPECT_EQ(kv_allocations(*backend), slab ? 1 : 12);
        EXPECT_EQ(storage->reserved_bytes(), 64 * 73728);
        storage.reset();
        EXPECT_EQ(kv_allocations(*backend), 0);
        EXPECT_EQ(live_kv(*backend), 0);
    }
}

// MA-08: products beyond 32 and 64 bits.
TEST(KvStorage, MA08_TooBigIsRefusedBeforeAllocating) {
    auto backend = std::make_shared<CountingBackend>(std::int64_t{16} << 30);
    const KvShape shape{80, 64, 128, kF32};
    auto bytes = shape.total_bytes(131072);
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(*bytes, 687194767360);
    auto storage = KvStorage::create(backend, shape, false, 131072);
    ASSERT_FALSE(storage.ok());
    EXPECT_EQ(storage.error().kind, ErrorKind::Memory);
    EXPECT_THAT(storage.error().message, testing::HasSubstr("687194767360"));
    EXPECT_THAT(storage.error().message, testing::HasSubstr("17179869184"));
    EXPECT_EQ(backend->memory().peak_bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)], 0);
    auto beyond = KvStorage::create(backend, shape, true, std::numeric_limits<std::int64_t>::max() / 8);
    ASSERT_FALSE(beyond.ok());
    EXPECT_EQ(beyond.error().kind, ErrorKind::Memory);
}

// Position-coded rows: element i of head h of the row at position p in layer l is unique.
float coded(int layer, KvPart part, std::int64_t head, std::int64_t position, std::int64_t i) {
    return static_cast<float>((((layer * 2 + (part == KvPart::V ? 1 : 0)) * 3 + head) * 40 + position) * 4 + i);
}

void write_row(Backend& backend, const KvStorage& storage, const EntryTable& table, std::int64_t slot,
               std::int64_t position) {
    // Through the addresses that a kernel would use; the reference backend's memory is host memory.
    for (int layer = 0; layer < storage.shape().layers; ++layer) {
        const KvView view = storage.view(layer, table, nullptr);
        for (const KvPart part : {KvPart::K, KvPart::V}) {
            const KvSide& side = part == KvPart::K ? view.k : view.v;
            for (std::int64_t h = 0; h < view.kv_heads; ++h) {
                for (std::int64_t i = 0; i < view.head_dim; ++i) {
                    const std::int64_t at = side_offset(side, view.table, h, slot) + i;
                    const float value = coded(layer, part, h, position, i);
                    if (side.type == ElementType::F32) {
                        reinterpret_cast<float*>(side.data)[at] = value;
                    } else {
                        reinterpret_cast<std::uint16_t*>(side.data)[at] = f32_to_f16(value);
                    }
                }
            }
        }
    }
}

void expect_rows(const KvStorage& storage, std::int64_t rows) {
    const KvShape& shape = storage.shape();
    std::vector<float> values(static_cast<std::size_t>(shape.kv_heads * rows * shape.head_dim));
    for (int layer = 0; layer < shape.layers && rows > 0; ++layer) {
        for (const KvPart part : {KvPart::K, KvPart::V}) {
            ASSERT_TRUE(storage.read_rows(layer, part, 0, rows, values).ok());
            for (std::size_t n = 0; n < values.size(); ++n) {
                const auto i = static_cast<std::int64_t>(n);
                const float want =
                    coded(layer, part, i / (rows * shape.head_dim), i / shape.head_dim % rows, i % shape.head_dim);
                const bool half = (part == KvPart::K ? shape.format.k : shape.format.v) == ElementType::F16;
                ASSERT_EQ(values[n], half ? f16_to_f32(f32_to_f16(want)) : want)
                    << "layer " << layer << " element " << n;
            }
        }
    }
}

TEST(KvStorage, RowsStayThemselvesWhileGrowing) {
    for (const char* spec : {"growing", "preallocated:capacity=20", "preallocated:capacity=20,slab=true"}) {
        for (const auto& format :
             {kF32, kF16, KvFormat{ElementType::F16, ElementType::F32}, KvFormat{ElementType::F32, ElementType::F16}}) {
            SCOPED_TRACE(std::string(spec) + " " + to_string(format));
            std::shared_ptr<Backend> backend = make_reference_backend();
            const auto strategy = make(spec);
            const auto storage = storage_for(backend, {2, 3, 3, format}, *strategy);
            for (const std::int64_t rows : {3, 1, 1, 5, 1, 7}) {
                const std::int64_t before = strategy->tokens_stored();
                ASSERT_TRUE(grow(*strategy, *storage, rows).ok());
                const EntryList entries = strategy->entries();
                for (std::int64_t r = 0; r < rows; ++r)
                    write_row(*backend, *storage, entries.table(), before + r, before + r);
                expect_rows(*storage, before + rows);
            }
            auto copy = storage->clone(std::vector<SlotMove>{{0, 0, 18}});
            ASSERT_TRUE(copy.ok());
            expect_rows(**copy, 18);
            EXPECT_EQ((*copy)->reserved_bytes(), storage->reserved_bytes());
        }
    }
}

// A layer's K and V are aligned for their element type, whatever the mixture.
TEST(KvStorage, EveryPartIsAligned) {
    for (const auto& format :
         {KvFormat{ElementType::F16, ElementType::F32}, KvFormat{ElementType::F32, ElementType::F16}}) {
        for (const bool slab : {false, true}) {
            std::shared_ptr<Backend> backend = make_reference_backend();
            auto storage = KvStorage::create(backend, {3, 1, 3, format}, slab, 5);
            ASSERT_TRUE(storage.ok());
            for (int layer = 0; layer < 3; ++layer) {
                const KvView view = (*storage)->view(layer, {}, nullptr);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.k.data) % element_bytes(view.k.type), 0u);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.v.data) % element_bytes(view.v.type), 0u);
            }
        }
    }
}

// An allocation that fails, at every one that a step makes: rows intact, the step can be tried again, nothing leaks.
TEST(KvStorage, FailureAtEveryAllocation) {
    for (std::int64_t at = 1; at <= 3; ++at) {
        auto backend = std::make_shared<ProbeBackend>(make_reference_backend());
        const auto strategy = make("growing");
        {
            const auto storage = storage_for(backend, {3, 2, 4, kF32}, *strategy);
            ASSERT_TRUE(grow(*strategy, *storage, 6).ok());
            for (std::int64_t p = 0; p < 6; ++p) write_row(*backend, *storage, strategy->entries().table(), p, p);
            backend->fail_allocation(at);
            const Status status = grow(*strategy, *storage, 2);
            ASSERT_FALSE(status.ok());
            EXPECT_EQ(status.error().kind, ErrorKind::Memory);
            EXPECT_EQ(strategy->tokens_stored(), 6);
            EXPECT_EQ(storage->reserved_bytes(), live_kv(*backend));
            EXPECT_LE(storage->used_bytes(6), storage->reserved_bytes());
            expect_rows(*storage, 6);
            ASSERT_TRUE(grow(*strategy, *storage, 1).ok());  // another size than the one that failed
            expect_rows(*storage, 6);
            EXPECT_EQ(storage->reserved_bytes(), storage->used_bytes(7));
            EXPECT_EQ(storage->reserved_bytes(), live_kv(*backend));
        }
        EXPECT_EQ(live_kv(*backend), 0);
    }
    for (std::int64_t at = 1; at <= 4; ++at) {  // creation and clone
        auto backend = probe();
        backend->fail_allocation(at);
        auto storage = KvStorage::create(backend, {3, 2, 4, kF32}, false, 8);
        EXPECT_EQ(storage.ok(), at == 4);
        if (!storage.ok()) {
            EXPECT_EQ(live_kv(*backend), 0);
            continue;
        }
        backend->fail_allocation(2);
        EXPECT_FALSE((*storage)->clone({}).ok());
        EXPECT_EQ(live_kv(*backend), (*storage)->reserved_bytes());
    }
}

// Random appends, cuts and failures: used <= reserved = what the allocator counts, after every one.
TEST(KvStorage, RandomOperationsKeepTheBooks) {
    for (const char* spec : {"growing", "preallocated:capacity=30", "preallocated:capacity=30,slab=true"}) {
        auto backend = probe();
        const auto strategy = make(spec);
        const auto storage = storage_for(backend, {2, 3, 4, kF32}, *strategy);
        std::mt19937 random(3);
        for (int i = 0; i < 2000; ++i) {
            const unsigned what = random() % 10;
            if (what < 6) {
                backend->fail_allocation(what == 0 ? 1 + random() % 2 : 0);
                const std::int64_t before = strategy->tokens_stored();
                const std::int64_t rows = 1 + random() % 4;
                if (grow(*strategy, *storage, rows).ok()) {
                    for (std::int64_t r = 0; r < rows; ++r)
                        write_row(*backend, *storage, strategy->entries().table(), before + r, before + r);
                }
                backend->fail_allocation(0);
            } else if (what < 9) {
                ASSERT_TRUE(strategy->truncate(random() % (strategy->tokens_seen() + 1)).ok());
            } else {
                strategy->reset();
                ASSERT_TRUE(storage->reset(strategy->capacity()).ok());
            }
            ASSERT_LE(storage->used_bytes(strategy->tokens_stored()), storage->reserved_bytes());
            ASSERT_EQ(storage->reserved_bytes(), live_kv(*backend));
            if (strategy->tokens_stored() <= 40) expect_rows(*storage, strategy->tokens_stored());
            if (strategy->tokens_stored() > 35) {
                ASSERT_TRUE(strategy->truncate(3).ok());
            }
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

}  // namespace
}  // namespace decodescope
