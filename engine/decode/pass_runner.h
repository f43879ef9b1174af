// Runs one forward pass on a backend: compiles when more rows are needed, owns the host buffers of logits and
// attention, adds up times. A feed of the session is one or two passes between two calls of begin(). The rows of
// several sessions can be computed in one pass, which reads the weights once for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/decode/decode_session.h"

namespace decodescope {

struct PassRequest {
    std::span<const std::int32_t> tokens;       // [rows]
    std::span<const std::int32_t> positions;    // [rows]
    std::span<const RowVisibility> visibility;  // [rows]
    std::span<const KvView> views;              // [layers]
    std::span<const RowVisibility* const> layer_visibility;  // [layers] or empty, see SequenceRows
    std::vector<bool> sums_wanted;              // [layers] or empty: attention summed over heads, see weight_sums()
    LayerVisitor* visitor = nullptr;            // see StepInputs
    std::int64_t logits_rows = 1;               // the last ones of the pass; 0 = none
    bool capture = false;  // attention of all rows and layers, stride = entries of the largest view
};

class PassRunner {
public:
    PassRunner(LoadedModelPtr model, bool profile) : model_(std::move(model)), profile_(profile) {}

    // Room for a pass; never more than `most_rows` rows are prepared ahead. Compiles in powers of two.
    Status prepare(std::int64_t rows, std::int64_t logits_rows, std::int64_t most_rows);
    void begin();
    Status run(const PassRequest& request, std::stop_token stop) { return run(std::span(&request, 1), stop); }
    // The rows of one request after those of another. Attention, its sums and a visitor only when there is one.
    Status run(std::span<const PassRequest> requests, std::stop_token stop);
    // Takes over what `joint` computed for one of its requests, whose logits rows were the first_logits_row-th and the
    // logits_rows - 1 after it. The logits stay with `joint`.
    void take(const PassRunner& joint, std::int64_t first_logits_row, std::int64_t logits_rows);

    std::span<const float> logits() const { return shown_logits_; }  // [logits_rows, vocabulary]
    std::vector<const float*> attention() const;               // [layers]; empty when the last pass captured none
    std::int64_t attention_stride() const { return attention_stride_; }
    // Positions of the entries that each row of the last pass sees in a layer, row after row; empty when entry e is
    // position e or nothing was captured.
    std::span<const std::int32_t> seen_positions(int layer) const;
    // [rows, entries of the layer], of the last pass; empty when not wanted.
    std::span<const float> weight_sums(int layer) const {
        return weight_sums_.empty() ? std::span<const float>() : weight_sums_[static_cast<std::size_t>(layer)];
    }
    double micros() const { return micros_; }
    double host_micros() const { return host_micros_ > 0 ? host_micros_ + outside_micros_ : 0; }  // see StepFacts
    std::int64_t graph_captures() const { return graph_captures_; }
    void add_micros(double micros) { micros_ += micros, outside_micros_ += micros; }  // work outside the compiled pass
    std::vector<OpRecord> ops() const;
    bool warm_up() const { return warm_up_; }  // a compiled step was used for the first time since begin()
    const std::vector<std::string>& stage_names() const { return stage_names_; }
    const std::vector<int>& stage_layers() const { return stage_layers_; }

private:
    struct JointRows;
    Status run_step(const StepInputs& inputs, std::stop_token stop);
    void size_attention(const PassRequest& request);
    std::vector<float*> size_weight_sums(const PassRequest& request);
    void compact_attention(const PassRequest& request);
    void compact_layers(const PassRequest& request, std::size_t first_layer, std::size_t end_layer);
    void keep_entries(std::size_t layer, std::int64_t row, std::span<const std::int32_t> seen);

    LoadedModelPtr model_;
    bool profile_ = false;
    std::unique_ptr<CompiledStep> step_;
    std::int64_t max_rows_ = 0, max_logits_rows_ = 0;
    bool fresh_ = false;
    std::vector<std::string> stage_names_;
    std::vector<int> stage_layers_;
    std::vector<float> logits_;
    std::span<const float> shown_logits_;        // logits_, or a part of those of another runner
    std::vector<std::vector<float>> attention_;  // [layers][rows * heads * stride]
    std::int64_t attention_stride_ = 0;
    std::vector<std::vector<std::int32_t>> seen_positions_;  // of the last pass's distinct entry tables
    std::vector<int> seen_of_layer_;                         // [layers], into the above; kNone: entry e is position e
    std::vector<std::vector<float>> weight_sums_;            // [layers][rows * entries]
    std::vector<double> stage_micros_;
    double micros_ = 0, host_micros_ = 0, outside_micros_ = 0;
    std::int64_t graph_captures_ = 0;
    bool warm_up_ = false;
};

}  // namespace decodescope
