// A session without a cache: every feed runs the whole sequence again. K and V of the pass lie in scratch that counts
// as activations; one layer's scratch serves all layers, because a layer is done before the next one begins.
#pragma once

#include "engine/decode/session_base.h"

namespace decodescope {

class RecomputeSession final : public SessionBase {
public:
    static Result<std::unique_ptr<DecodeSession>> create(LoadedModelPtr model, const SessionConfig& config,
                                                         LayerGroups cache);
    Result<std::unique_ptr<DecodeSession>> fork() const override;
    KvFacts kv_facts() const override;
    Result<CellValues> cell(std::int32_t layer, std::int32_t position) const override;

protected:
    Status compute(std::span<const std::int32_t> tokens, std::stop_token stop, PassResult& result) override;
    std::int64_t default_pass_rows() const override { return context(); }
    StepShape step_shape(std::int64_t new_tokens) const override;
    Status reset_storage() override;

private:
    RecomputeSession(LoadedModelPtr model, const SessionConfig& config, LayerGroups cache)
        : SessionBase(std::move(model), config, std::move(cache)) {}
    Status prepare_scratch(std::int64_t entries, bool every_layer);
    std::vector<KvView> scratch_views(std::int64_t entries) const;
    // Rows first .. first + count - 1 of all_tokens, after the rows before them have been run with scratch of every
    // layer.
    Status run_rows(std::span<const std::int32_t> all_tokens, std::int64_t first, std::int64_t count,
                    std::int64_t logits_rows, bool capture, std::stop_token stop);

    // [layers or 1][K, V][kv_heads, capacity, head_dim] f32
    BufferPtr scratch_;
    std::int64_t scratch_capacity_ = 0;
    std::int64_t scratch_layers_ = 0;
};

}  // namespace decodescope
