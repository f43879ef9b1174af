// What a cache would take, before anything is allocated: any shape, strategy, format and length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cache/kv_format.h"
#include "engine/cache/strategy_descriptor.h"
#include "engine/model/model_config.h"
#include "kernels/api/status.h"

namespace decodescope {

// What the bytes of a cache depend on.
struct KvModelShape {
    std::string name;
    std::int64_t layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
    std::int64_t context = 0;  // tokens it was trained for
    std::int64_t window = 0;   // of its local layers, which keep no more than that; 0: there are none
    std::int64_t local_layers = 0;
};

KvModelShape kv_model_shape(const ModelConfig& config);
// K and V of a sequence when nothing leaves that the model could still read: local layers keep their window, the others
// everything.
std::int64_t kept_bytes(const ModelConfig& config, const KvFormat& format, std::int64_t tokens);
// Shapes as their authors published them (config.json of each).
const std::vector<KvModelShape>& published_shapes();
// The example of an article on KV caches, which prints "about 1.05 MB per layer, 33.6 MB in fp16" for it: half of what
// cache_need gives, because only one of K and V was counted. `context` is the length of the example.
KvModelShape article_example();

struct CacheNeed {
    std::int64_t tokens = 0;          // of the sequence
    std::int64_t stored = 0;          // of those, kept in the layers that see everything; in local ones if all are
    std::int64_t local_stored = 0;    // kept in each local layer
    std::int64_t used_bytes = 0;      // K and V of what is kept, all layers, scales included
    std::int64_t reserved_bytes = 0;  // as it would be allocated
    std::int64_t peak_bytes = 0;      // while the last token comes: old and new together where storage is exchanged
};

// Rows of one sequence that a strategy would keep and reserve, whatever they hold.
struct CacheSlots {
    std::int64_t tokens = 0, stored = 0;
    std::int64_t capacity_before = 0, capacity = 0;  // before the last token and with it
    bool one_slab = false, paged = false;
    bool keeps_rows = true;  // false: recompute
    std::int64_t ring = 0;   // window of a ring, which bounds the windows of local layers too; 0: another strategy
};

// The strategy itself tells, so that the figure is the one of a run; a million tokens take it some 50 ms. Argument
// error for tokens < 1 and for what the strategy refuses.
Result<CacheSlots> cache_slots(const CacheSpec& cache, std::int64_t tokens);
// Layers of each kind with their own rows: the strategy's, and in local layers rings as long as the window. Memory
// error beyond 64 bits.
Result<CacheNeed> cache_need(const KvModelShape& shape, const CacheSlots& slots, const KvFormat& format);

// The columns of the table: 1k to 1M tokens, k = 1024.
const std::vector<std::int64_t>& what_if_lengths();
// K and V in every type that is offered.
std::vector<KvFormat> what_if_formats();
// The rows: every strategy that keeps something, with parameters that fit those lengths; of `chosen`, where rows leave,
// its own parameters.
std::vector<CacheSpec> what_if_caches(const CacheSpec& chosen);

}  // namespace decodescope
