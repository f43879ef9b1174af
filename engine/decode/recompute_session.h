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
    Status make_room(std::span<const std::int32_t> tokens) override;
    PassRequest request(std::span<const std::int32_t> tokens) override;
    Status read_back(PassResult& result) override;
    Status compute(std::span<const std::int32_t> tokens, std::stop_token stop, PassResult& result) override;
    std::int64_t default_pass_rows() const override { return context(); }
    StepShape step_shape(std::int64_t new_tokens, int layer) const override;
    Status reset_storage() override;

private:
    RecomputeSession(LoadedModelPtr model, const SessionConfig& config, LayerGroups cache)
        : SessionBase(std::move(model), config, std::move(cache)) {}
    Status prepare_scratch(std::int64_t entries, bool every_layer);
    // Rows first .. first + count - 1 of all_; those before them have been run with scratch of every layer.
    PassRequest rows_request(std::int64_t first, std::int64_t count, std::int64_t logits_rows, bool capture);
    void lay_views(std::int64_t entries);

    // Of the pass that is being computed.
    std::vector<std::int32_t> all_, positions_;
    std::vector<RowVisibility> visibility_, local_visibility_;  // of layers that see everything, and a window
    std::vector<const RowVisibility*> layer_visibility_;        // [layers], where they differ
    std::vector<KvView> views_;
    // [layers or 1][K, V][kv_heads, capacity, head_dim] f32
    BufferPtr scratch_;
    std::int64_t scratch_capacity_ = 0;
    std::int64_t scratch_layers_ = 0;
};

}  // namespace decodescope
