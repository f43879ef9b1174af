// Byte-pair merging of one pre-token in O(n log n).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "kernels/api/status.h"

namespace decodescope {

class BytePairMerger {
public:
    BytePairMerger() { byte_ids_.fill(-1); }

    void set_byte(std::uint8_t byte, std::int32_t id) { byte_ids_[byte] = id; }
    // Pairs are added in the order of their rank; a pair added again takes the later rank.
    void add_merge(std::int32_t left, std::int32_t right, std::int32_t result);
    std::int32_t merge_count() const { return next_rank_; }

    // What one call needs; kept by the caller so that short pieces cost no allocation.
    struct Scratch {
        struct Symbol {
            std::int32_t id, previous,
                next;  // links are indices, -1 at the ends; id -1: merged into its left neighbour
        };
        struct Candidate {
            std::int32_t rank, position;
            std::int32_t left, right;  // ids when it was found; stale when they have changed
        };
        std::vector<Symbol> symbols;
        std::vector<Candidate> heap;
        std::int64_t merges = 0;  // done in all, for tests
    };

    // Appends the ids of `piece` (raw bytes). The pair of the lowest rank is merged first, the leftmost of equals.
    // Argument error naming a byte that has no token.
    Status merge(std::string_view piece, Scratch& scratch, std::vector<std::int32_t>& out,
                 const std::stop_token& stop) const;
    // The same for pieces whose first tokens are known.
    Status merge(std::span<const std::int32_t> tokens, Scratch& scratch, std::vector<std::int32_t>& out,
                 const std::stop_token& stop) const;

private:
    struct Merge {
        std::int32_t left = -1, right = -1;  // left -1: an empty slot
        std::int32_t rank = 0, result = 0;
    };
    const Merge* find(std::int32_t left, std::int32_t right) const;
    void grow();
    void propose(std::int32_t position, Scratch& scratch) const;
    bool apply(const Scratch::Candidate& candidate, Scratch& scratch) const;
    Status run(Scratch& scratch, std::vector<std::int32_t>& out, const std::stop_token& stop) const;

    std::array<std::int32_t, 256> byte_ids_;
    // Open addressing, at most half full: a long text looks up two pairs per merge.
    std::vector<Merge> slots_ = std::vector<Merge>(16);
    std::size_t used_ = 0;
    std::int32_t next_rank_ = 0;
};

}  // namespace decodescope
