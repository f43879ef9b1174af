#include "engine/decode/pass_runner.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace decodescope {
namespace {

std::int64_t power_of_two(std::int64_t rows) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1))));
}

const RowVisibility* layer_rows(const PassRequest& request, std::size_t layer) {
    return request.layer_visibility.empty() ? request.visibility.data() : request.layer_visibility[layer];
}

// What is given to one sequence of a step only.
bool is_alone(const PassRequest& request) {
    return request.capture || request.visitor != nullptr || !request.sums_wanted.empty();
}

}  // namespace

Status PassRunner::prepare(std::int64_t rows, std::int64_t logits_rows, std::int64_t most_rows) {
    if (step_ != nullptr && rows <= max_rows_ && logits_rows <= max_logits_rows_) return {};
    const std::int64_t most = std::max(rows, most_rows);
    CompileOptions options;
    options.max_rows = std::min(power_of_two(std::max(rows, max_rows_)), most);
    options.max_logits_rows = std::min(power_of_two(std::max(logits_rows, max_logits_rows_)), options.max_rows);
    options.profile = profile_;
    step_.reset();  // the old activations first, so that both never lie side by side
    max_rows_ = max_logits_rows_ = 0;
    auto compiled = model_->backend->compile(model_->program, model_->weights, options);
    if (!compiled.ok()) return compiled.error();
    step_ = std::move(*compiled);
    max_rows_ = options.max_rows;
    max_logits_rows_ = options.max_logits_rows;
    fresh_ = true;
    stage_names_.clear();
    stage_layers_.clear();
    for (const auto& stage : step_->stages()) {
        stage_names_.push_back(stage.name);
        stage_layers_.push_back(stage.layer);
    }
    return {};
}

void PassRunner::begin() {
    micros_ = host_micros_ = outside_micros_ = 0;
    graph_captures_ = 0;
    stage_micros_.clear();
    warm_up_ = false;
}

void PassRunner::size_attention(const PassRequest& request) {
    attention_.resize(request.views.size());
    attention_stride_ = 0;
    for (const KvView& view : request.views)
        attention_stride_ = std::max<std::int64_t>(attention_stride_, view.table.count);
    const std::size_t heads = static_cast<std::size_t>(model_->model->config.heads);
    const std::size_t needed = request.tokens.size() * heads * static_cast<std::size_t>(attention_stride_);
    for (auto& layer : attention_) {
        // A long prefill must not leave its buffers behind for the single rows that follow.
        if (layer.capacity() > 8 * needed) std::vector<float>().swap(layer);
        layer.resize(needed);
    }
}

std::vector<float*> PassRunner::size_weight_sums(const PassRequest& request) {
    std::vector<float*> pointers;
    weight_sums_.resize(request.sums_wanted.size());
    for (std::size_t layer = 0; layer < weight_sums_.size(); ++layer) {
        const auto entries = static_cast<std::size_t>(request.views[layer].table.count);
        weight_sums_[layer].resize(request.sums_wanted[layer] ? request.tokens.size() * entries : 0);
        pointers.push_back(request.sums_wanted[layer] ? weight_sums_[layer].data() : nullptr);
    }
    return pointers;
}

// Rows that do not see the first entries only: what each sees moves to the front of its lines, in entry order. Layers
// that share an entry table follow one another or are treated apart, which is the same.
void PassRunner::compact_attention(const PassRequest& request) {
    seen_positions_.clear();
    seen_of_layer_.assign(request.views.size(), kNone);
    if (!request.capture) return;
    const auto same = [&](std::size_t a, std::size_t b) {
        const EntryTable &x = request.views[a].table, &y = request.views[b].table;
        return x.positions == y.positions && x.count == y.count && layer_rows(request, a) == layer_rows(request, b);
    };
    for (std::size_t first = 0; first < request.views.size();) {
        std::size_t end = first + 1;
        while (end < request.views.size() && same(first, end)) ++end;
        compact_layers(request, first, end);
        first = end;
    }
}

void PassRunner::compact_layers(const PassRequest& request, std::size_t first_layer, std::size_t end_layer) {
    const EntryTable& table = request.views[first_layer].table;
    const std::span rows(layer_rows(request, first_layer), request.tokens.size());
    const auto skips = [](const RowVisibility& row) { return row.window_first > row.sink_end; };
    if (table.positions == nullptr && std::none_of(rows.begin(), rows.end(), skips)) return;
    std::fill(seen_of_layer_.begin() + static_cast<std::ptrdiff_t>(first_layer),
              seen_of_layer_.begin() + static_cast<std::ptrdiff_t>(end_layer),
              static_cast<int>(seen_positions_.size()));
    std::vector<std::int32_t>& positions = seen_positions_.emplace_back();
    std::vector<std::int32_t> seen;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        seen.clear();
        for (std::int32_t e = 0; e < table.count; ++e) {
            if (!visible(rows[r], entry_position(table, e))) continue;
            seen.push_back(e);
            positions.push_back(entry_position(table, e));
        }
        for (std::size_t layer = first_layer; layer < end_layer; ++layer)
            keep_entries(layer, static_cast<std::int64_t>(r), seen);
    }
}

void PassRunner::keep_entries(std::size_t layer, std::int64_t row, std::span<const std::int32_t> seen) {
    const std::int64_t heads = model_->model->config.heads;
    for (std::int64_t h = 0; h < heads; ++h) {
        float* line = attention_[layer].data() + (row * heads + h) * attention_stride_;
        for (std::size_t i = 0; i < seen.size(); ++i) line[i] = line[seen[i]];
        std::fill(line + seen.size(), line + attention_stride_, 0.0f);
    }
}

std::span<const std::int32_t> PassRunner::seen_positions(int layer) const {
    const int list = seen_of_layer_.empty() ? kNone : seen_of_layer_[static_cast<std::size_t>(layer)];
    return list == kNone ? std::span<const std::int32_t>() : seen_positions_[static_cast<std::size_t>(list)];
}

// The requests one after the other, as a step takes them.
struct PassRunner::JointRows {
    std::vector<std::int32_t> tokens, positions, logits_rows;
    std::vector<RowVisibility> visibility;
    std::vector<SequenceRows> sequences;

    // sums: [layers] or empty, as SequenceRows::weight_sums.
    void add(const PassRequest& request, std::span<float* const> sums) {
        const std::size_t rows = request.tokens.size();
        DS_CHECK(request.positions.size() == rows && request.visibility.size() == rows);
        DS_CHECK(request.logits_rows <= static_cast<std::int64_t>(rows));
        sequences.push_back({static_cast<std::int32_t>(tokens.size()), static_cast<std::int32_t>(rows),
                             request.views, request.layer_visibility, sums});
        tokens.insert(tokens.end(), request.tokens.begin(), request.tokens.end());
        positions.insert(positions.end(), request.positions.begin(), request.positions.end());
        visibility.insert(visibility.end(), request.visibility.begin(), request.visibility.end());
        for (std::int64_t i = request.logits_rows; i > 0; --i)
            logits_rows.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(tokens.size()) - i));
    }
};

Status PassRunner::run(std::span<const PassRequest> requests, std::stop_token stop) {
    const PassRequest& first = requests.front();
    const std::vector<float*> sums = size_weight_sums(first);
    JointRows rows;
    for (const PassRequest& request : requests) rows.add(request, sums);
    DS_CHECK(step_ != nullptr && static_cast<std::int64_t>(rows.tokens.size()) <= max_rows_ &&
             static_cast<std::int64_t>(rows.logits_rows.size()) <= max_logits_rows_);
    DS_CHECK(requests.size() == 1 || std::none_of(requests.begin(), requests.end(), is_alone));
    logits_.resize(rows.logits_rows.size() * static_cast<std::size_t>(model_->program.vocabulary));
    shown_logits_ = logits_;
    std::vector<float*> attention_out;
    if (first.capture) {
        size_attention(first);
        for (auto& layer : attention_) attention_out.push_back(layer.data());
    } else {
        attention_.clear();
        attention_stride_ = 0;
    }
    StepInputs inputs;
    inputs.tokens = rows.tokens;
    inputs.positions = rows.positions;
    inputs.visibility = rows.visibility;
    inputs.sequences = rows.sequences;
    inputs.logits_rows = rows.logits_rows;
    inputs.attention_out = attention_out;
    inputs.attention_stride = attention_stride_;
    inputs.visitor = first.visitor;
    DS_RETURN_IF_ERROR(run_step(inputs, stop));
    compact_attention(first);
    return {};
}

Status PassRunner::run_step(const StepInputs& inputs, std::stop_token stop) {
    StepOutputs outputs;
    outputs.logits = logits_;
    const auto start = std::chrono::steady_clock::now();
    DS_RETURN_IF_ERROR(model_->backend->run(*step_, inputs, outputs, stop));
    if (!model_->backend->info().host_memory)
        host_micros_ +=
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    graph_captures_ += outputs.graph_captures;
    warm_up_ = warm_up_ || fresh_;
    fresh_ = false;
    micros_ += outputs.micros;
    stage_micros_.resize(std::max(stage_micros_.size(), outputs.stage_micros.size()));
    for (std::size_t i = 0; i < outputs.stage_micros.size(); ++i) stage_micros_[i] += outputs.stage_micros[i];
    return {};
}

void PassRunner::take(const PassRunner& joint, std::int64_t first_logits_row, std::int64_t logits_rows) {
    const auto width = static_cast<std::size_t>(model_->program.vocabulary);
    shown_logits_ = joint.logits().subspan(static_cast<std::size_t>(first_logits_row) * width,
                                           static_cast<std::size_t>(logits_rows) * width);
    attention_.clear();
    attention_stride_ = 0;
    weight_sums_.clear();
    seen_positions_.clear();
    seen_of_layer_.clear();
    micros_ = joint.micros_;
    host_micros_ = joint.host_micros_;
    outside_micros_ = joint.outside_micros_;
    graph_captures_ = joint.graph_captures_;
    stage_micros_ = joint.stage_micros_;
    warm_up_ = joint.warm_up_;
}

std::vector<const float*> PassRunner::attention() const {
    std::vector<const float*> pointers;
    for (const auto& layer : attention_) pointers.push_back(layer.data());
    return pointers;
}

std::vector<OpRecord> PassRunner::ops() const {
    std::vector<OpRecord> records;
    for (std::size_t i = 0; i < stage_micros_.size(); ++i) {
        records.push_back({static_cast<std::int32_t>(i), static_cast<float>(stage_micros_[i])});
    }
    return records;
}

}  // namespace decodescope
