// A session whose rows stay in a KvStorage.
#pragma once

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
    Result<CellValues> cell(std::int32_t layer, std::int32_t position) const override;

protected:
    Status compute(std::span<const std::int32_t> tokens, std::stop_token stop, PassResult& result) override;
    Status settle() override;
    std::int64_t default_pass_rows() const override;
    StepShape step_shape(std::int64_t new_tokens) const override;
    void begin_step() override {
        for (const auto& storage : storages_) storage->begin_step();
    }
    void rows_given_up(std::int64_t kept, std::int64_t before) override;
    Status reset_storage() override;

private:
    CachedSession(LoadedModelPtr model, const SessionConfig& config, LayerGroups cache)
        : SessionBase(std::move(model), config, std::move(cache)) {}
    const KvStorage& storage_of(int layer) const { return *storages_[static_cast<std::size_t>(cache_.group_of(layer))]; }
    std::vector<KvView> views() const;
    // Of an offloaded cache.
    Status before_layer(int layer) override;
    Status after_layer(int layer) override;
    void add_offload_facts(KvFacts& facts) const;
    OffloadPlace offload_place() const;
    Status read_row_sizes(PassResult& result) const;
    Status read_layer_sizes(int layer, PassResult& result) const;
    void add_page_facts(const PageCounts& pages, KvFacts& facts) const;
    void poison_dead_slots();
    void forget_last_pass();

    // [groups]; with pages they are shared by forks and by conversations with a common prefix.
    std::vector<std::shared_ptr<KvStorage>> storages_;
};

// Room for what the strategies say, one storage for each group; Memory error with both numbers.
Result<std::vector<std::shared_ptr<KvStorage>>> make_storages(const LoadedModel& model, const KvFormat& format,
                                                              const LayerGroups& cache, OffloadPlace place);
OffloadPlace offload_of(const CacheSpec& spec);

}  // namespace decodescope
