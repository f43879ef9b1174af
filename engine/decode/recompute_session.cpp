#include "engine/decode/recompute_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/model/layer_kinds.h"

namespace decodescope {

Result<std::unique_ptr<DecodeSession>> RecomputeSession::create(LoadedModelPtr model, const SessionConfig& config,
                                                                LayerGroups cache) {
    std::unique_ptr<RecomputeSession> session(new RecomputeSession(std::move(model), config, std::move(cache)));
    DS_RETURN_IF_ERROR(session->prepare_first());
    return std::unique_ptr<DecodeSession>(std::move(session));
}

Status RecomputeSession::prepare_scratch(std::int64_t entries, bool every_layer) {
    const auto& shape = model_->model->config;
    const std::int64_t layers = every_layer ? shape.layers : 1;
    if (scratch_ != nullptr && entries <= scratch_capacity_ && layers <= scratch_layers_) return {};
    const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(entries)));
    const std::int64_t capacity = std::max(entries, std::min(rounded, context()));
    scratch_.reset();  // nothing in it outlives a pass
    scratch_capacity_ = scratch_layers_ = 0;
    const std::int64_t floats = layers * 2 * shape.kv_heads * capacity * shape.head_dim;
    auto buffer =
        model_->backend->allocate(static_cast<std::size_t>(floats) * sizeof(float), MemoryPurpose::Activations);
    if (!buffer.ok()) return buffer.error();
    scratch_ = std::move(*buffer);
    scratch_capacity_ = capacity;
    scratch_layers_ = layers;
    return {};
}

void RecomputeSession::lay_views(std::int64_t entries) {
    const auto& shape = model_->model->config;
    const std::int64_t part_bytes = shape.kv_heads * scratch_capacity_ * shape.head_dim * 4;
    views_.clear();
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
        KvView view;
        view.k.row_stride = shape.head_dim;
        view.k.head_stride = scratch_capacity_ * shape.head_dim;
        view.v = view.k;
        view.k.data = scratch_->data() + (scratch_layers_ > 1 ? layer : 0) * 2 * part_bytes;
        view.v.data = view.k.data + part_bytes;
        view.table.count = static_cast<std::int32_t>(entries);
        view.kv_heads = static_cast<int>(shape.kv_heads);
        view.head_dim = static_cast<int>(shape.head_dim);
        views_.push_back(view);
    }
}

PassRequest RecomputeSession::rows_request(std::int64_t first, std::int64_t count, std::int64_t logits_rows,
                                           bool capture) {
    lay_views(first + count);
    positions_ = consecutive_positions(first, count);
    visibility_ = causal_visibility(first, count);
    layer_visibility_.clear();
    const ModelConfig& config = model_->model->config;
    if (has_local_layers(config)) local_visibility_ = causal_visibility(first, count, config.window);
    for (std::int64_t layer = 0; layer < config.layers && has_local_layers(config); ++layer)
        layer_visibility_.push_back(config.is_local(layer) ? local_visibility_.data() : visibility_.data());
    PassRequest request;
    request.tokens = std::span(all_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    request.positions = positions_;
    request.visibility = visibility_;
    request.layer_visibility = layer_visibility_;
    request.views = views_;
    request.logits_rows = logits_rows;
    request.capture = capture;
    return request;
}

Status RecomputeSession::make_room(std::span<const std::int32_t> tokens) {
    all_ = tokens_;
    all_.insert(all_.end(), tokens.begin(), tokens.end());
    // Attention of the new rows only: that of a whole square would be the largest buffer of the program. The rows
    // before them are then a pass of their own, whose K and V must survive in every layer.
    return prepare_scratch(static_cast<std::int64_t>(all_.size()), config_.capture_attention && !tokens_.empty());
}

PassRequest RecomputeSession::request(std::span<const std::int32_t> tokens) {
    const auto rows = static_cast<std::int64_t>(tokens.size()), total = static_cast<std::int64_t>(all_.size());
    const bool only_new = config_.capture_attention && total > rows;
    return rows_request(only_new ? total - rows : 0, only_new ? rows : total, logits_rows(rows),
                        config_.capture_attention);
}

Status RecomputeSession::compute(std::span<const std::int32_t> tokens, std::stop_token stop, PassResult& result) {
    DS_RETURN_IF_ERROR(make_room(tokens));
    const auto rows = static_cast<std::int64_t>(tokens.size());
    const std::int64_t total = static_cast<std::int64_t>(all_.size()), before = total - rows;
    const bool two_passes = config_.capture_attention && before > 0;
    DS_RETURN_IF_ERROR(runner_.prepare(two_passes ? std::max(before, rows) : total, logits_rows(rows), context()));
    if (two_passes) DS_RETURN_IF_ERROR(runner_.run(rows_request(0, before, 0, false), stop));
    DS_RETURN_IF_ERROR(runner_.run(request(tokens), stop));
    return read_back(result);
}

Status RecomputeSession::read_back(PassResult& result) {
    const std::size_t sizes = static_cast<std::size_t>(plans_.front().new_tokens * model_->model->config.layers);
    result.k_rms.assign(sizes, std::numeric_limits<float>::quiet_NaN());
    result.v_rms = result.k_rms;
    return {};
}

StepShape RecomputeSession::step_shape(std::int64_t new_tokens, int layer) const {
    const std::int64_t total = plans_.front().first_position + new_tokens;
    StepShape shape;
    shape.rows = total;
    shape.logits_rows = logits_rows(new_tokens);
    shape.attended = attended_entries(0, total, layer_window(model_->model->config, layer));
    shape.entries = total;
    return shape;
}

KvFacts RecomputeSession::kv_facts() const {
    KvFacts facts;
    facts.tokens_seen = cache_.tokens_seen();
    return facts;
}

Status RecomputeSession::reset_storage() {
    scratch_.reset();
    scratch_capacity_ = scratch_layers_ = 0;
    return {};
}

Result<std::unique_ptr<DecodeSession>> RecomputeSession::fork() const {
    auto copy = create(model_, config_, cache_.clone());
    if (copy.ok()) static_cast<RecomputeSession&>(**copy).tokens_ = tokens_;
    return copy;
}

Result<DecodeSession::CellValues> RecomputeSession::cell(std::int32_t layer, std::int32_t position) const {
    return make_error(ErrorKind::Unsupported,
                      fmt::format("There is no K or V of position {} in layer {}: without a cache nothing is kept.",
                                  position, layer));
}

}  // namespace decodescope
