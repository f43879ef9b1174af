#include "engine/text/byte_pair_merger.h"
#include "engine/text/splitter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace decodescope {
namespace {

std::size_t pair_hash(std::int32_t left, std::int32_t right) {
    const auto key =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 29);
}

// For a heap whose top is the lowest rank, leftmost first.
bool later(const BytePairMerger::Scratch::Candidate& a, const BytePairMerger::Scratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

Status check_length(std::size_t size) {
    if (size <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) return {};
    return make_error(ErrorKind::Argument, fmt::format("A text of {} bytes is too long to tokenize.", size));
}

}  // namespace

void BytePairMerger::add_merge(std::int32_t left, std::int32_t right, std::int32_t result) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    std::size_t at = pair_hash(left, right) & (slots_.size() - 1);
    while (slots_[at].left >= 0 && !(slots_[at].left == left && slots_[at].right == right))
        at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].left < 0) ++used_;
    slots_[at] = {left, right, next_rank_++, result};
}

void BytePairMerger::grow() {
    const std::vector<Merge> old = std::exchange(slots_, std::vector<Merge>(4 * slots_.size()));
    for (const Merge& merge : old) {
        if (merge.left < 0) continue;
        std::size_t at = pair_hash(merge.left, merge.right) & (slots_.size() - 1);
        while (slots_[at].left >= 0) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = merge;
    }
}

const BytePairMerger::Merge* BytePairMerger::find(std::int32_t left, std::int32_t right) const {
    for (std::size_t at = pair_hash(left, right);; ++at) {
        const Merge& merge = slots_[at & (slots_.size() - 1)];
        if (merge.left == left && merge.right == right) return &merge;
        if (merge.left < 0) return nullptr;
    }
}

void BytePairMerger::propose(std::int32_t position, Scratch& scratch) const {
    const Scratch::Symbol& symbol = scratch.symbols[static_cast<std::size_t>(position)];
    if (symbol.next < 0) return;
    const std::int32_t right = scratch.symbols[static_cast<std::size_t>(symbol.next)].id;
    if (const Merge* merge = find(symbol.id, right)) {
        scratch.heap.push_back({merge->rank, position, symbol.id, right});
        std::push_heap(scratch.heap.begin(), scratch.heap.end(), later);
    }
}

bool BytePairMerger::apply(const Scratch::Candidate& candidate, Scratch& scratch) const {
    Scratch::Symbol& left = scratch.symbols[static_cast<std::size_t>(candidate.position)];
    if (left.id != candidate.left || left.next < 0) return false;
    Scratch::Symbol& right = scratch.symbols[static_cast<std::size_t>(left.next)];
    if (right.id != candidate.right) return false;
    left.id = find(candidate.left, candidate.right)->result;
    right.id = -1;
    left.next = right.next;
    if (right.next >= 0) scratch.symbols[static_cast<std::size_t>(right.next)].previous = candidate.position;
    if (left.previous >= 0) propose(left.previous, scratch);
    propose(candidate.position, scratch);
    return true;
}

Status BytePairMerger::merge(std::string_view piece, Scratch& scratch, std::vector<std::int32_t>& out,
                             const std::stop_token& stop) const {
    DS_RETURN_IF_ERROR(check_length(piece.size()));
    const auto size = static_cast<std::int32_t>(piece.size());
    scratch.symbols.clear();
    for (std::int32_t i = 0; i < size; ++i) {
        const auto byte = static_cast<std::uint8_t>(piece[static_cast<std::size_t>(i)]);
        if (byte_ids_[byte] < 0)
            return make_error(ErrorKind::Argument,
                              fmt::format("The byte 0x{:02X} has no token in this vocabulary.", byte),
                              "Use other characters or another model.");
        scratch.symbols.push_back({byte_ids_[byte], i - 1, i + 1 < size ? i + 1 : -1});
    }
    return run(scratch, out, stop);
}

Status BytePairMerger::merge(std::span<const std::int32_t> tokens, Scratch& scratch, std::vector<std::int32_t>& out,
                             const std::stop_token& stop) const {
    DS_RETURN_IF_ERROR(check_length(tokens.size()));
    const auto size = static_cast<std::int32_t>(tokens.size());
    scratch.symbols.clear();
    for (std::int32_t i = 0; i < size; ++i)
        scratch.symbols.push_back({tokens[static_cast<std::size_t>(i)], i - 1, i + 1 < size ? i + 1 : -1});
    return run(scratch, out, stop);
}

Status BytePairMerger::run(Scratch& scratch, std::vector<std::int32_t>& out, const std::stop_token& stop) const {
    const auto size = static_cast<std::int32_t>(scratch.symbols.size());
    scratch.heap.clear();
    for (std::int32_t i = 0; i + 1 < size; ++i) {
        if ((i & 0xFFFF) == 0 && stop.stop_requested()) return tokenizing_cancelled();
        propose(i, scratch);
    }
    std::int64_t steps = 0;
    while (!scratch.heap.empty()) {
        if ((++steps & 0xFFF) == 0 && stop.stop_requested())
            return tokenizing_cancelled();
        std::pop_heap(scratch.heap.begin(), scratch.heap.end(), later);
        const Scratch::Candidate candidate = scratch.heap.back();
        scratch.heap.pop_back();
        if (apply(candidate, scratch)) ++scratch.merges;
    }
    for (std::int32_t i = 0; i >= 0 && i < size; i = scratch.symbols[static_cast<std::size_t>(i)].next)
        out.push_back(scratch.symbols[static_cast<std::size_t>(i)].id);
    return {};
}

}  // namespace decodescope
