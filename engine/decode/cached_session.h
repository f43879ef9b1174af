// A session whose rows stay in a KvStorage.
#pragma once

#include "engine/cache/kv_residual.h"
#include "engine/cache/kv_storage.h"
#include "engine/decode/session_base.h"

namespace decodescope {

class CachedSession final : public SessionBase {
public:
    static Result<std::unique_ptr<DecodeSession>> create(LoadedModelPtr model, const SessionConfig& config,
                                                         std::unique_ptr<CacheStrategy> strategy,
                                                         std::shared_ptr<KvStorage> shared = nullptr);
    Result<std::unique_ptr<DecodeSession>> fork() const override;
    KvFacts kv_facts() const override;
    Placement placement() const override;
    Result<CellValues> cell(std::int32_t layer, std::int32_t position) const override;

protected:
    Status make_room(std::span<const std::int32_t> tokens) override;
    PassRequest request(std::span<const std::int32_t> tokens) override;
    Status read_back(PassResult& result) override;
    Status settle() override;
    std::int64_t default_pass_rows() const override;
    std::int64_t most_pass_rows() const override;
    Status check_kept(std::int64_t tokens) const override;
    StepShape step_shape(std::int64_t new_tokens) const override;
    bool keeps_rows() const override { return true; }
    void begin_step() override;
    void rows_given_up(std::int64_t kept, std::int64_t before) override;
    Status reset_storage() override;

private:
    CachedSession(LoadedModelPtr model, const SessionConfig& config, std::unique_ptr<CacheStrategy> strategy)
        : SessionBase(std::move(model), config, std::move(strategy)) {}
    Status create_residual();
    // The new rows of plan_ in slots `run`, the first of them being `first_row`: [kv_heads, run.count, head_dim]
    Status read_new_rows(int layer, KvPart part, const SlotMove& run, std::int64_t first_row,
                         std::span<float> out) const;
    void add_page_facts(const PageCounts& pages, KvFacts& facts) const;
    void poison_dead_slots();

    std::unique_ptr<KvResidual> residual_;  // null where the format has none
    std::shared_ptr<KvStorage> storage_;  // with pages it is shared by forks and by conversations with a common prefix
    std::vector<std::int32_t> positions_;  // of the pass
    std::vector<KvView> views_;            // [layers]
    std::int64_t copied_bytes_ = 0, peak_bytes_ = 0;  // of the last step here; a storage that is shared counts for all
};

// Bytes of K and V of `tokens` tokens in all layers. Memory error beyond 64 bits.
Result<std::int64_t> kv_bytes(const LoadedModel& model, const KvFormat& format, std::int64_t tokens);
// Room for what the strategy says; Memory error with both numbers.
Result<std::shared_ptr<KvStorage>> make_storage(const LoadedModel& model, const KvFormat& format,
                                                const CacheStrategy& strategy);

}  // namespace decodescope
