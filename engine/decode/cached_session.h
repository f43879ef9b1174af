// A session whose rows stay in a KvStorage.
#pragma once

#include "engine/cache/kv_residual.h"
#include "engine/cache/kv_storage.h"
#include "engine/decode/session_base.h"

namespace decodescope {

class CachedSession final : public SessionBase, private LayerVisitor {
public:
    static Result<std::unique_ptr<DecodeSession>> create(LoadedModelPtr model, const SessionConfig& config,
                                                         LayerGroups cache,
                                                         std::vector<std::shared_ptr<KvStorage>> shared = {});
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
    StepShape step_shape(std::int64_t new_tokens, int layer) const override;
    bool keeps_rows() const override { return true; }
    void begin_step() override;
    void rows_given_up(std::int64_t kept, std::int64_t before) override;
    Status reset_storage() override;

private:
    CachedSession(LoadedModelPtr model, const SessionConfig& config, LayerGroups cache)
        : SessionBase(std::move(model), config, std::move(cache)) {}
    const KvStorage& storage_of(int layer) const {
        return *storages_[static_cast<std::size_t>(cache_.group_of(layer))];
    }
    const CachePlan& plan_of(int layer) const { return plans_[static_cast<std::size_t>(cache_.group_of(layer))]; }
    Status create_residual();
    // Of plans_, whose tables they point into.
    void lay_views();
    void take_storage_facts();
    // Of an offloaded cache.
    Status before_layer(int layer) override;
    Status after_layer(int layer) override;
    void add_offload_facts(KvFacts& facts) const;
    OffloadPlace offload_place() const;
    Status read_layer_sizes(int layer, PassResult& result) const;
    // The new rows of the pass in slots `run`, the first of them being `first_row`: [kv_heads, run.count, head_dim]
    Status read_new_rows(int layer, KvPart part, const SlotMove& run, std::int64_t first_row,
                         std::span<float> out) const;
    int paged_group() const;  // the group whose rows lie in pages, wherever its first layer is; -1: none
    void add_page_facts(int group, KvFacts& facts) const;
    void poison_dead_slots();
    void forget_last_pass();

    std::unique_ptr<KvResidual> residual_;  // null where the format has none; then all layers are one group
    // [groups]; with pages they are shared by forks and by conversations with a common prefix.
    std::vector<std::shared_ptr<KvStorage>> storages_;
    std::vector<std::int32_t> positions_;                // of the pass
    std::vector<KvView> views_;                          // [layers]
    std::vector<const RowVisibility*> layer_visibility_;  // [layers] where they differ, else empty
    std::int64_t copied_bytes_ = 0, peak_bytes_ = 0;  // of the last step here; a storage that is shared counts for all
};

// Bytes of K and V of `tokens` tokens in all layers. Memory error beyond 64 bits.
Result<std::int64_t> kv_bytes(const LoadedModel& model, const KvFormat& format, std::int64_t tokens);
// Room for what the strategies say, one storage for each group; Memory error with both numbers.
Result<std::vector<std::shared_ptr<KvStorage>>> make_storages(const LoadedModel& model, const KvFormat& format,
                                                              const LayerGroups& cache, OffloadPlace place);
OffloadPlace offload_of(const CacheSpec& spec);
// Consecutive slots as runs.
std::vector<SlotMove> runs_of(std::span<const std::int64_t> slot_list);

}  // namespace decodescope
