// The stored rows that one row of queries sees, in up to two parts: as the cache keeps them, and the newest, which a
// cache that quantizes in groups keeps in full precision (KvSide::tail).
#pragma once

#include <cstdint>

#include "kernels/api/kv_view.h"
#include "kernels/cpu/kernel_table.h"

namespace decodescope {

// The entries of one range that a row sees: a run of neighbours, or a list. Ascending.
struct Seen {
    std::int32_t count = 0;
    std::int32_t first = 0;
    const std::int32_t* list = nullptr;

    std::int32_t entry(std::int32_t i) const { return list != nullptr ? list[i] : first + i; }
};

struct SeenRows {
    KvRows stored;                  // the first stored_count of them; not used where they lie in groups
    std::int32_t stored_count = 0;
    KvRows tail;                    // the others, in f32
};

// `offsets`: [seen.count], filled where rows do not follow one another in memory; must outlive the result.
SeenRows seen_rows(const KvSide& side, const EntryTable& table, std::int64_t head, const Seen& seen,
                   std::int64_t* offsets);

// out[i] = scale * (q . key of the i-th entry seen). scaled: room for [head_dim].
void score_seen(const CpuKernelTable& kernels, const KvView& view, std::int64_t head, const Seen& seen,
                const SeenRows& keys, const float* q, float scale, float* scaled, float* out);

// out = sum_i weights[i] * value of the i-th entry seen. [head_dim]; part: room for as many.
void mix_seen(const CpuKernelTable& kernels, const KvView& view, const Seen& seen, const SeenRows& values,
              const float* weights, float* part, float* out);

}  // namespace decodescope
