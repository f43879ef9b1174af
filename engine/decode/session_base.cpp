#include "engine/decode/session_base.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace decodescope {
namespace {

// Host buffers of one pass stay below this: attention [layers, rows, heads, entries], logits [rows, vocabulary].
constexpr std::int64_t kCaptureBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostCaptureRows = 128;

// The first layer whose new K or V rows hold a value that is not finite.
std::optional<std::int64_t> first_bad_layer(const PassResult& result, std::int64_t layers) {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        for (std::size_t i = static_cast<std::size_t>(layer); i < result.k_rms.size();
             i += static_cast<std::size_t>(layers)) {
            if (!std::isfinite(result.k_rms[i]) || !std::isfinite(result.v_rms[i])) return layer;
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::int32_t> consecutive_positions(std::int64_t first, std::int64_t count) {
    std::vector<std::int32_t> positions(static_cast<std::size_t>(count));
    std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(first));
    return positions;
}

SessionBase::SessionBase(LoadedModelPtr model, const SessionConfig& config, LayerGroups cache)
    : model_(std::move(model)), config_(config), cache_(std::move(cache)), runner_(model_, config.profile) {
    DS_CHECK(cache_.layers() == model_->model->config.layers);
}

std::int64_t SessionBase::context() const {
    if (cache_.bounded_by_context()) return model_->model->config.context;
    return std::numeric_limits<std::int32_t>::max();  // what positions can count
}

std::int64_t SessionBase::max_pass_rows() const {
    const auto& shape = model_->model->config;
    std::int64_t rows =
        config_.prefill_chunk > 0 ? std::min(config_.prefill_chunk, shape.context) : default_pass_rows();
    if (config_.capture_attention) {
        const std::int64_t row_bytes = shape.layers * shape.heads * shape.context * 4;
        rows = std::min({rows, kMostCaptureRows, std::max<std::int64_t>(kCaptureBytes / row_bytes, 1)});
    }
    if (config_.all_logits)
        rows = std::min(rows, std::max<std::int64_t>(kCaptureBytes / (model_->program.vocabulary * 4), 1));
    return std::min({rows, cache_.most_new_tokens(), most_pass_rows()});
}

Status SessionBase::check_tokens(std::span<const std::int32_t> tokens) const {
    const std::int64_t count = static_cast<std::int64_t>(tokens.size());
    if (count == 0) return make_error(ErrorKind::Argument, "There is no token to feed.");
    if (count > max_pass_rows()) {
        return make_error(ErrorKind::Argument,
                          fmt::format("{} tokens are more than the {} rows that one pass takes now.", count,
                                      max_pass_rows()));
    }
    DS_RETURN_IF_ERROR(check_context(count));
    const std::int64_t vocabulary = model_->program.vocabulary;
    for (const std::int32_t token : tokens) {
        if (token < 0 || token >= vocabulary) {
            return make_error(ErrorKind::Argument,
                              fmt::format("Token {} is not in the vocabulary of {} entries.", token, vocabulary));
        }
    }
    return {};
}

Status SessionBase::check_context(std::int64_t new_tokens) const {
    const std::int64_t tokens = cache_.tokens_seen() + new_tokens;
    if (tokens <= context()) return {};
    return make_error(
        ErrorKind::Capacity,
        fmt::format("The sequence would have {} tokens and the context of the model is {}.", tokens, context()));
}

// A strategy that takes tokens in portions always has room for the next one.
Status SessionBase::check_room(std::int64_t new_tokens) const {
    if (new_tokens <= 0) return {};
    DS_RETURN_IF_ERROR(check_context(new_tokens));
    const auto plans = cache_.plan(std::min(new_tokens, cache_.most_new_tokens()));
    return plans.ok() ? Status() : Status(plans.error());
}

Result<PassResult> SessionBase::feed(std::span<const std::int32_t> tokens, std::stop_token stop) {
    DS_RETURN_IF_ERROR(plan_pass(tokens, stop));
    PassResult result = new_result();
    if (const Status status = compute(tokens, stop, result); !status.ok()) {
        drop_pass();
        return status.error();
    }
    return take_pass(tokens, std::move(result));
}

Status SessionBase::plan_pass(std::span<const std::int32_t> tokens, std::stop_token stop) {
    DS_RETURN_IF_ERROR(check_tokens(tokens));
    if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "Cancelled before the pass began.");
    auto plans = cache_.plan(static_cast<std::int64_t>(tokens.size()));
    if (!plans.ok()) return plans.error();
    plans_ = std::move(*plans);
    cache_.begin_write(plans_);
    runner_.begin();
    begin_step();
    return {};
}

Status SessionBase::compute(std::span<const std::int32_t> tokens, std::stop_token stop, PassResult& result) {
    const auto rows = static_cast<std::int64_t>(tokens.size());
    DS_RETURN_IF_ERROR(runner_.prepare(rows, logits_rows(rows), max_pass_rows()));
    DS_RETURN_IF_ERROR(make_room(tokens));
    DS_RETURN_IF_ERROR(runner_.run(request(tokens), stop));
    return read_back(result);
}

PassResult SessionBase::new_result() const {
    PassResult result;
    result.first_position = plans_.front().first_position;
    result.rows = static_cast<std::int32_t>(plans_.front().new_tokens);
    return result;
}

// The pass has been computed: its rows are kept, unless a value is not finite.
Result<PassResult> SessionBase::take_pass(std::span<const std::int32_t> tokens, PassResult result) {
    Status status = check_finite(result);
    if (status.ok()) {
        observe();
        status = settle();
    }
    if (!status.ok()) {
        drop_pass();
        return status.error();
    }
    cache_.commit(plans_);
    cache_.name_tokens(tokens);
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    fill_result(static_cast<std::int64_t>(tokens.size()), result);
    return result;
}

Status SessionBase::begin_pass(std::span<const std::int32_t> tokens, std::stop_token stop) {
    DS_CHECK(!config_.capture_attention);
    DS_RETURN_IF_ERROR(plan_pass(tokens, stop));
    pass_tokens_.assign(tokens.begin(), tokens.end());
    Status status = make_room(tokens);
    if (!status.ok()) drop_pass();
    return status;
}

Result<PassResult> SessionBase::end_pass(const PassRunner& joint, std::int64_t first_logits_row) {
    runner_.take(joint, first_logits_row, logits_rows(plans_.front().new_tokens));
    PassResult result = new_result();
    if (const Status status = read_back(result); !status.ok()) {
        drop_pass();
        return status.error();
    }
    return take_pass(pass_tokens_, std::move(result));
}

// Strategies that score learn what the pass attended to, in all layers that share their table, and say what leaves.
void SessionBase::observe() {
    for (int group = 0; group < cache_.count(); ++group) {
        if (!cache_.group(group).wants_weight_sums()) continue;
        std::vector<float> sums;  // [rows, entries]
        for (int layer = 0; layer < cache_.layers(); ++layer) {
            if (cache_.group_of(layer) != group) continue;
            const std::span<const float> of_layer = runner_.weight_sums(layer);
            sums.resize(of_layer.size());
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_layer[i];
        }
        cache_.group(group).observe(sums, plans_[static_cast<std::size_t>(group)]);
    }
}

// What all layers dropped is listed once.
void SessionBase::list_evicted(PassResult& result) const {
    for (int group = 0; group < cache_.count(); ++group) {
        const CachePlan& plan = plans_[static_cast<std::size_t>(group)];
        for (int layer = 0; layer < cache_.layers(); ++layer) {
            if (cache_.group_of(layer) != group) continue;
            for (std::size_t i = 0; i < plan.evicted.size(); ++i) {
                EvictedEntry entry{plan.evicted[i]};
                if (cache_.count() > 1) entry.layer = layer;
                if (!plan.evicted_scores.empty()) entry.score = static_cast<float>(plan.evicted_scores[i]);
                result.evicted.push_back(entry);
            }
            if (cache_.count() == 1) return;
        }
    }
}

Status SessionBase::check_finite(const PassResult& result) const {
    const auto logits = runner_.logits();
    const auto bad = std::find_if(logits.begin(), logits.end(), [](float x) { return !std::isfinite(x); });
    const auto layer = keeps_rows() ? first_bad_layer(result, model_->model->config.layers) : std::nullopt;
    if (bad == logits.end()) {
        // An infinite key can hide behind finite logits, and a quantized row would make a whole group of it.
        const bool quantizes = config_.kv.k == ElementType::I8 || config_.kv.v == ElementType::I8;
        if (!layer || !quantizes) return {};
        return make_error(ErrorKind::NonFinite,
                          fmt::format("A K or V row of positions {} to {} is not finite in layer {}.",
                                      result.first_position, result.first_position + result.rows - 1, *layer),
                          "Nothing was fed. The weights are damaged, or the model's values overflow.");
    }
    const std::int64_t index = bad - logits.begin();
    const std::int64_t vocabulary = model_->program.vocabulary;
    const std::int64_t first_row = result.rows - static_cast<std::int64_t>(logits.size()) / vocabulary;
    return make_error(
        ErrorKind::NonFinite,
        fmt::format(
            "Non-finite logits at position {}: entry {} of {} is {}{}.",
            result.first_position + first_row + index / vocabulary, index % vocabulary, vocabulary,
            std::isnan(*bad) ? "NaN" : "infinite",
            layer ? fmt::format("; the first K or V row that is not finite is in layer {}", *layer) : std::string()),
        "Nothing was fed. A value overflowed in 16 bits, or the weights are damaged.");
}

void SessionBase::fill_result(std::int64_t rows, PassResult& result) const {
    const std::size_t vocabulary = static_cast<std::size_t>(model_->program.vocabulary);
    result.logits = runner_.logits().last(vocabulary);
    if (config_.all_logits) result.all_logits = runner_.logits();
    result.attention = runner_.attention();
    result.attention_stride = runner_.attention_stride();
    result.row_entries = plans_.front().row_entries;
    result.seen_positions = runner_.seen_positions(0);
    for (int layer = 0; layer < cache_.layers() && cache_.count() > 1; ++layer)
        result.layer_entries.push_back(
            {plans_[static_cast<std::size_t>(cache_.group_of(layer))].row_entries, runner_.seen_positions(layer)});
    result.micros = runner_.micros();
    result.host_micros = runner_.host_micros();
    result.graph_captures = runner_.graph_captures();
    result.ops = runner_.ops();
    result.warm_up = runner_.warm_up();
    list_evicted(result);
    result.kv = kv_facts();
    if (!plans_.front().store_slots.empty()) {
        result.kv.rows_written = rows;
        for (const CachePlan& plan : plans_)
            result.kv.rows_read = std::max<std::int64_t>(result.kv.rows_read, plan.row_entries.back());
    }
    count_cost(rows, result);
}

// Every layer by what it reads itself; the shape that is handed on is the mean where they differ.
void SessionBase::count_cost(std::int64_t rows, PassResult& result) const {
    std::vector<StepShape> shapes(static_cast<std::size_t>(cache_.count()));  // [groups]
    std::int64_t attended = 0, entries = 0;
    for (int layer = 0; layer < cache_.layers(); ++layer) {
        StepShape& shape = shapes[static_cast<std::size_t>(cache_.group_of(layer))];
        if (shape.rows == 0) shape = step_shape(rows, layer);
        attended += shape.attended;
        entries += shape.entries;
    }
    result.shape = shapes.front();
    result.shape.attended = attended / cache_.layers();
    result.shape.entries = entries / cache_.layers();
    for (const auto& op : model_->program.ops) {
        const auto group = op.layer == kNone ? std::size_t{0} : static_cast<std::size_t>(cache_.group_of(op.layer));
        const OpCost cost = op_cost(op, shapes[group]);
        result.flops += cost.flops;
        result.bytes += cost.bytes;
    }
}

std::int64_t SessionBase::take_prefix(std::span<const std::int32_t> tokens) {
    if (!tokens_.empty()) return static_cast<std::int64_t>(tokens_.size());
    const std::int64_t taken = cache_.take_prefix(tokens);
    tokens_.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(taken));
    return taken;
}

Status SessionBase::truncate(std::int64_t tokens) {
    const std::int64_t before = cache_.tokens_seen();
    DS_RETURN_IF_ERROR(check_kept(tokens));
    DS_RETURN_IF_ERROR(cache_.truncate(tokens));
    tokens_.resize(static_cast<std::size_t>(tokens));
    rows_given_up(tokens, before);
    return {};
}

Status SessionBase::reset() {
    cache_.reset();
    tokens_.clear();
    return reset_storage();
}

}  // namespace decodescope
