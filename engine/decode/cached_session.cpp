#include "engine/decode/cached_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

namespace decodescope {
namespace {

// Rows of one prefill pass. The products are at their best rate from about a hundred rows on; more only costs
// activations.
constexpr std::int64_t kPrefillRows = 256;

KvShape kv_shape(const ModelConfig& config, const KvFormat& format) {
    return {static_cast<int>(config.layers), static_cast<int>(config.kv_heads), static_cast<int>(config.head_dim),
            format};
}

// Consecutive slots as runs.
std::vector<SlotMove> runs_of(std::span<const std::int64_t> slot_list) {
    std::vector<SlotMove> runs;
    for (const std::int64_t slot : slot_list) {
        if (!runs.empty() && runs.back().from + runs.back().count == slot) {
            ++runs.back().count;
        } else {
            runs.push_back({slot, slot, 1});
        }
    }
    return runs;
}

std::vector<SlotMove> used_slots(const CacheStrategy& strategy) {
    const EntryList entries = strategy.entries();
    std::vector<std::int64_t> slot_list;
    for (std::int32_t e = 0; e < entries.count; ++e) slot_list.push_back(entries.slot(e));
    return runs_of(slot_list);
}

}  // namespace

Result<std::vector<std::shared_ptr<KvStorage>>> make_storages(const LoadedModel& model, const KvFormat& format,
                                                              const LayerGroups& cache, OffloadPlace place) {
    KvShape shape = kv_shape(model.model->config, format);
    std::int64_t bytes = 0;  // of all groups: refused before the first is allocated
    for (int g = 0; g < cache.count(); ++g) {
        shape.layers = cache.layers_of(g);
        auto group_bytes = shape.total_bytes(cache.group(g).capacity());
        if (!group_bytes.ok()) return group_bytes.error();
        if (__builtin_add_overflow(bytes, *group_bytes, &bytes)) bytes = std::numeric_limits<std::int64_t>::max();
    }
    if (place != OffloadPlace::File) DS_RETURN_IF_ERROR(KvStorage::check_fits(*model.backend, bytes));
    const auto pool = place == OffloadPlace::None ? nullptr : std::make_shared<OffloadPool>(model.backend);
    std::vector<std::shared_ptr<KvStorage>> storages;
    for (int g = 0; g < cache.count(); ++g) {
        shape.layers = cache.layers_of(g);
        const CacheStrategy& strategy = cache.group(g);
        auto storage = KvStorage::create(model.backend, shape, strategy.one_slab(), strategy.capacity(),
                                         strategy.page_tokens(), place, pool);
        if (!storage.ok()) return storage.error();
        storages.push_back(std::move(*storage));
    }
    return storages;
}

Result<std::unique_ptr<DecodeSession>> CachedSession::create(LoadedModelPtr model, const SessionConfig& config,
                                                             LayerGroups cache,
                                                             std::vector<std::shared_ptr<KvStorage>> shared) {
    std::unique_ptr<CachedSession> session(new CachedSession(std::move(model), config, std::move(cache)));
    if (!shared.empty()) {
        session->storages_ = std::move(shared);
    } else {
        auto storages = make_storages(*session->model_, config.kv, session->cache_, session->offload_place());
        if (!storages.ok()) return storages.error();
        session->storages_ = std::move(*storages);
    }
    DS_CHECK(static_cast<int>(session->storages_.size()) == session->cache_.count());
    DS_RETURN_IF_ERROR(session->prepare_first());
    return std::unique_ptr<DecodeSession>(std::move(session));
}

std::int64_t CachedSession::default_pass_rows() const { return std::min(context(), kPrefillRows); }

Status CachedSession::compute(std::span<const std::int32_t> tokens, std::stop_token stop, PassResult& result) {
    const std::int64_t rows = static_cast<std::int64_t>(tokens.size());
    DS_RETURN_IF_ERROR(runner_.prepare(rows, logits_rows(rows), max_pass_rows()));
    // Making room belongs to the step: here a growing cache pays for its copies.
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t g = 0; g < storages_.size(); ++g) DS_RETURN_IF_ERROR(storages_[g]->apply(plans_[g]));
    runner_.add_micros(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    const std::vector<KvView> layer_views = views();
    const auto positions = consecutive_positions(plans_.front().first_position, rows);
    PassRequest request;
    request.tokens = tokens;
    request.positions = positions;
    request.visibility = plans_.front().visibility;
    request.views = layer_views;
    std::vector<const RowVisibility*> layer_visibility;
    for (int layer = 0; layer < cache_.layers() && cache_.count() > 1; ++layer)
        layer_visibility.push_back(plans_[static_cast<std::size_t>(cache_.group_of(layer))].visibility.data());
    request.layer_visibility = layer_visibility;
    for (int layer = 0; layer < cache_.layers() && cache_.wants_weight_sums(); ++layer)
        request.sums_wanted.push_back(cache_.of_layer(layer).wants_weight_sums());
    request.logits_rows = logits_rows(rows);
    request.capture = config_.capture_attention;
    if (offload_place() != OffloadPlace::None) request.visitor = this;
    DS_RETURN_IF_ERROR(runner_.run(request, stop));
    return read_row_sizes(result);
}

// Of plans_, whose tables they point into.
std::vector<KvView> CachedSession::views() const {
    std::vector<KvView> result;
    for (int layer = 0; layer < cache_.layers(); ++layer) {
        const CachePlan& plan = plans_[static_cast<std::size_t>(cache_.group_of(layer))];
        const std::int32_t* store_entries = plan.store_entries.empty() ? nullptr : plan.store_entries.data();
        result.push_back(
            storage_of(layer).view(cache_.index_in_group(layer), plan.entries.table(), store_entries));
    }
    return result;
}

Status CachedSession::settle() {
    if (std::all_of(plans_.begin(), plans_.end(), [](const CachePlan& plan) { return plan.settled.empty(); }))
        return {};
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t g = 0; g < storages_.size(); ++g) DS_RETURN_IF_ERROR(storages_[g]->settle(plans_[g]));
    runner_.add_micros(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    return {};
}

Status CachedSession::read_row_sizes(PassResult& result) const {
    const std::size_t layers = static_cast<std::size_t>(cache_.layers());
    result.k_rms.resize(plans_.front().store_slots.size() * layers);
    result.v_rms.resize(plans_.front().store_slots.size() * layers);
    for (int layer = 0; layer < cache_.layers(); ++layer) DS_RETURN_IF_ERROR(read_layer_sizes(layer, result));
    return {};
}

Status CachedSession::read_layer_sizes(int layer, PassResult& result) const {
    const KvStorage& storage = storage_of(layer);
    const KvShape& shape = storage.shape();
    const std::size_t width = static_cast<std::size_t>(shape.head_dim);
    std::size_t first_row = 0;
    for (const auto& run : runs_of(plans_[static_cast<std::size_t>(cache_.group_of(layer))].store_slots)) {
        const std::size_t count = static_cast<std::size_t>(run.count);
        std::vector<float> values(static_cast<std::size_t>(shape.kv_heads) * count *
                                  width);  // [kv_heads, count, head_dim]
        for (const KvPart part : {KvPart::K, KvPart::V}) {
            DS_RETURN_IF_ERROR(storage.read_rows(cache_.index_in_group(layer), part, run.from, run.count, values));
            std::vector<double> squares(count, 0.0);
            for (std::size_t i = 0; i < values.size(); ++i)
                squares[i / width % count] += static_cast<double>(values[i]) * values[i];
            auto& out = part == KvPart::K ? result.k_rms : result.v_rms;
            for (std::size_t r = 0; r < count; ++r) {
                out[(first_row + r) * static_cast<std::size_t>(cache_.layers()) + static_cast<std::size_t>(layer)] =
                    static_cast<float>(std::sqrt(squares[r] / static_cast<double>(shape.kv_heads * shape.head_dim)));
            }
        }
        first_row += count;
    }
    return {};
}

StepShape CachedSession::step_shape(std::int64_t new_tokens) const {
    StepShape shape;
    shape.rows = new_tokens;
    shape.logits_rows = logits_rows(new_tokens);
    for (int layer = 0; layer < cache_.layers(); ++layer) {
        const CachePlan& plan = plans_[static_cast<std::size_t>(cache_.group_of(layer))];
        shape.attended = std::accumulate(plan.row_entries.begin(), plan.row_entries.end(), shape.attended);
        shape.entries += plan.entries.count;
    }
    shape.attended /= cache_.layers();  // the mean, where layers differ
    shape.entries /= cache_.layers();
    shape.kv_bytes_per_entry = storages_.front()->shape().entry_bytes();
    return shape;
}

KvFacts CachedSession::kv_facts() const {
    KvFacts facts;
    facts.tokens_seen = cache_.tokens_seen();
    facts.tokens_stored = cache_.tokens_stored();
    for (int g = 0; g < cache_.count(); ++g) {
        const KvStorage& storage = *storages_[static_cast<std::size_t>(g)];
        facts.capacity_tokens = std::max(facts.capacity_tokens, storage.capacity());
        facts.used_bytes += storage.used_bytes(cache_.group(g).tokens_stored());
        facts.reserved_bytes += storage.reserved_bytes();
        facts.copied_bytes += storage.copied_bytes();
        facts.peak_bytes += storage.peak_bytes();
    }
    add_offload_facts(facts);
    if (const auto pages = cache_.group(0).page_counts()) add_page_facts(*pages, facts);
    return facts;
}

OffloadPlace offload_of(const CacheSpec& spec) {
    const auto found = spec.parameters.find("offload");
    return found == spec.parameters.end() ? OffloadPlace::None : static_cast<OffloadPlace>(found->second);
}

OffloadPlace CachedSession::offload_place() const { return offload_of(config_.cache); }

Status CachedSession::before_layer(int layer) {
    return storages_[static_cast<std::size_t>(cache_.group_of(layer))]->fetch_layer(cache_.index_in_group(layer));
}

Status CachedSession::after_layer(int layer) {
    return storages_[static_cast<std::size_t>(cache_.group_of(layer))]->return_layer(cache_.index_in_group(layer));
}

void CachedSession::add_offload_facts(KvFacts& facts) const {
    facts.offload = offload_place();
    const OffloadPool* pool = storages_.front()->pool();  // of all groups
    if (pool == nullptr) return;
    facts.offload_pool_bytes = pool->bytes();
    facts.offload_fetched_bytes = pool->traffic().fetched_bytes;
    facts.offload_returned_bytes = pool->traffic().returned_bytes;
    facts.offload_micros = pool->traffic().micros;
    facts.offload_rate = pool->best_bytes_per_second();
}

// What this sequence has, not what the pool could give.
void CachedSession::add_page_facts(const PageCounts& pages, KvFacts& facts) const {
    facts.pages_used = pages.used;
    facts.pages_shared = pages.shared;
    facts.pages_copied = plans_.empty() ? 0 : static_cast<std::int64_t>(plans_.front().copies.size());
    facts.pages_free = pages.free;
    facts.page_tokens = pages.page_tokens;
    facts.pool_bytes = facts.reserved_bytes;
    facts.capacity_tokens = pages.used * pages.page_tokens;
    facts.reserved_bytes = storages_.front()->used_bytes(facts.capacity_tokens);
    facts.peak_bytes += facts.reserved_bytes - facts.pool_bytes;  // beyond the pool while it grew
}

void CachedSession::poison_dead_slots() {
#ifdef DECODESCOPE_DEBUG
    for (int g = 0; g < cache_.count(); ++g)
        for (const auto& dead : cache_.group(g).dead_slots())
            storages_[static_cast<std::size_t>(g)]->poison(dead.from, dead.count);
#endif
}

Status CachedSession::reset_storage() {
    if (cache_.group(0).page_tokens() > 0) {
        forget_last_pass();
        poison_dead_slots();
        return {};
    }
    for (int g = 0; g < cache_.count(); ++g)
        DS_RETURN_IF_ERROR(storages_[static_cast<std::size_t>(g)]->reset(cache_.group(g).capacity()));
    return {};
}

// What the facts said of it no longer holds.
void CachedSession::forget_last_pass() {
    begin_step();
    for (CachePlan& plan : plans_) plan.copies.clear();
}

void CachedSession::rows_given_up(std::int64_t kept, std::int64_t before) {
    forget_last_pass();
    if (cache_.group(0).page_tokens() > 0) return poison_dead_slots();
    // Where nothing has left, the slots that are free again are those behind the last kept row.
    for (int g = 0; g < cache_.count(); ++g)
        if (cache_.group(g).tokens_stored() == kept)
            storages_[static_cast<std::size_t>(g)]->poison(kept, before - kept);
}

Result<std::unique_ptr<DecodeSession>> CachedSession::fork() const {
    std::unique_ptr<CachedSession> copy(new CachedSession(model_, config_, cache_.clone()));
    if (cache_.group(0).page_tokens() > 0) {
        copy->storages_ = storages_;
    } else {
        for (int g = 0; g < cache_.count(); ++g) {
            auto storage = storages_[static_cast<std::size_t>(g)]->clone(used_slots(cache_.group(g)));
            if (!storage.ok()) return storage.error();
            copy->storages_.push_back(std::move(*storage));
        }
    }
    copy->tokens_ = tokens_;
    DS_RETURN_IF_ERROR(copy->prepare_first());
    return std::unique_ptr<DecodeSession>(std::move(copy));
}

Result<DecodeSession::CellValues> CachedSession::cell(std::int32_t layer, std::int32_t position) const {
    if (layer < 0 || layer >= cache_.layers()) {
        return make_error(ErrorKind::Argument,
                          fmt::format("There is no layer {}; the model has {}.", layer, cache_.layers()));
    }
    const CacheStrategy& strategy = cache_.of_layer(layer);
    const auto slot = strategy.slot_of(position);
    if (!slot) {
        return make_error(ErrorKind::Unsupported,
                          fmt::format("The row of position {} is not in the cache of layer {}, which holds {} of {} "
                                      "tokens.",
                                      position, layer, strategy.tokens_stored(), strategy.tokens_seen()));
    }
    const KvStorage& storage = storage_of(layer);
    const KvShape& shape = storage.shape();
    const int index = cache_.index_in_group(layer);
    CellValues values;
    values.kv_heads = shape.kv_heads;
    values.head_dim = shape.head_dim;
    values.k_type = element_name(shape.format.k);
    values.v_type = element_name(shape.format.v);
    values.k.resize(static_cast<std::size_t>(shape.kv_heads * shape.head_dim));
    values.v.resize(values.k.size());
    DS_RETURN_IF_ERROR(storage.read_rows(index, KvPart::K, *slot, 1, values.k));
    DS_RETURN_IF_ERROR(storage.read_rows(index, KvPart::V, *slot, 1, values.v));
    return values;
}

}  // namespace decodescope
