// A session whose rows stay in a KvStorage.
#pragma once

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
    Status compute(std::span<const std::int32_t> tokens, std::stop_token stop, PassResult& result) override;
    Status settle() override;
    std::int64_t default_pass_rows() const override;
    StepShape step_shape(std::int64_t new_tokens) const override;
    void begin_step() override { storage_->begin_step(); }
    void rows_given_up(std::int64_t kept, std::int64_t before) override;
    Status reset_storage() override;

private:
    CachedSession(LoadedModelPtr model, const SessionConfig& config, std::unique_ptr<CacheStrategy> strategy)
        : SessionBase(std::move(model), config, std::move(strategy)) {}
    Status read_row_sizes(PassResult& result) const;
    void add_page_facts(const PageCounts& pages, KvFacts& facts) const;
    void poison_dead_slots();

    std::shared_ptr<KvStorage> storage_;  // with pages it is shared by forks and by conversations with a common prefix
};

// Room for what the strategy says; Memory error with both numbers.
Result<std::shared_ptr<KvStorage>> make_storage(const LoadedModel& model, const KvFormat& format,
                                                const CacheStrategy& strategy);

}  // namespace decodescope
