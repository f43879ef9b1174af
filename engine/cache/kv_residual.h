// The newest rows of one sequence in full precision, beside a KvStorage whose format quantizes in groups: with T tokens
// the rows of entries quantized_tokens(T) .. T - 1 (see KvFormat). Knows no backend beyond upload and download.
//
// A ring of residual + group rows, so that nothing moves: entry e lies in row e mod rows. A pass ends where a group is
// complete at the latest, so all its rows read the same quantized ones, and what is stored does not depend on how the
// tokens were divided into passes.
#pragma once

#include <memory>
#include <span>

#include "engine/cache/kv_storage.h"

namespace decodescope {

class KvResidual {
public:
    // One allocation of purpose KvCache for all layers. Memory error when there is no room.
    static Result<std::unique_ptr<KvResidual>> create(std::shared_ptr<Backend> backend, const KvShape& shape);
    Result<std::unique_ptr<KvResidual>> clone() const;

    // Tokens that one pass after `tokens` tokens may have.
    std::int64_t pass_tokens(std::int64_t tokens) const;
    // Adds the rows to the view of a layer for a pass after `tokens` tokens.
    void attach(int layer, std::int64_t tokens, KvView& view) const;
    // Quantizes the groups that are complete once `after` tokens are stored instead of `before`. `entries` lists the
    // slots of the storage. Leaves the rows themselves, so that an error changes nothing that is read.
    Status quantize(const EntryList& entries, std::int64_t before, std::int64_t after, KvStorage& storage) const;
    // Row of one entry of a grouped part, [kv_heads, head_dim].
    Status read_row(int layer, KvPart part, std::int64_t entry, std::span<float> out) const;
    // Unsupported, saying how many can be kept, when of `seen` tokens `tokens` cannot be kept exactly: rows that were
    // in full precision with so few tokens are quantized now.
    Status check_truncate(std::int64_t tokens, std::int64_t seen) const;
    // Debug builds overwrite the rows of entries first .. end - 1.
    void poison(std::int64_t first, std::int64_t end);

    std::int64_t bytes() const { return static_cast<std::int64_t>(buffer_->bytes()); }

private:
    KvResidual(std::shared_ptr<Backend> backend, const KvShape& shape) : backend_(std::move(backend)), shape_(shape) {}
    // Floats before the rows of a head; within [layers, grouped parts, kv_heads, rows, head_dim].
    std::int64_t head_offset(int layer, KvPart part, std::int64_t head) const;
    // Entries first .. first + count - 1 of one head, [count, head_dim].
    Status read_head(int layer, KvPart part, std::int64_t head, std::int64_t first, std::int64_t count,
                     std::span<float> out) const;
    Status quantize_head(int layer, KvPart part, std::int64_t head, std::int64_t entry, std::int64_t slot,
                         KvStorage& storage) const;

    std::shared_ptr<Backend> backend_;
    KvShape shape_;
    BufferPtr buffer_;
};

}  // namespace decodescope
