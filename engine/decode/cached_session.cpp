#include "engine/decode/cached_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

namespace decodescope {
namespace {

// Rows of one prefill pass. The products are at their best rate from about a hundred rows on; more only costs
// activations.
constexpr std::int64_t kPrefillRows = 256;

std::vector<SlotMove> used_slots(const CacheStrategy& strategy) {
    const EntryList entries = strategy.entries();
    std::vector<std::int64_t> slot_list;
    for (std::int32_t e = 0; e < entries.count; ++e) slot_list.push_back(entries.slot(e));
    return runs_of(slot_list);
}

}  // namespace

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

Result<std::int64_t> kv_bytes(const LoadedModel& model, const KvFormat& format, std::int64_t tokens) {
    const KvShape shape = KvShape::of(model.model->config, format);
    auto bytes = shape.total_bytes(tokens);
    if (bytes.ok() && format.has_residual()) return *bytes + shape.residual_bytes();
    return bytes;
}

Result<std::vector<std::shared_ptr<KvStorage>>> make_storages(const LoadedModel& model, const KvFormat& format,
                                                              const LayerGroups& cache, OffloadPlace place) {
    KvShape shape = KvShape::of(model.model->config, format);
    std::int64_t bytes = 0;       // of all groups: refused before the first is allocated
    std::int64_t pool_bytes = 0;  // of a layer
    for (int g = 0; g < cache.count(); ++g) {
        shape.layers = cache.layers_of(g);
        auto group_bytes = shape.total_bytes(cache.group(g).capacity(), cache.group(g).page_tokens() > 0);
        if (!group_bytes.ok()) return group_bytes.error();
        if (__builtin_add_overflow(bytes, *group_bytes, &bytes)) bytes = std::numeric_limits<std::int64_t>::max();
        pool_bytes = std::max(pool_bytes, *group_bytes / shape.layers);
    }
    DS_RETURN_IF_ERROR(KvStorage::check_fits(*model.backend, place, bytes));
    if (place != OffloadPlace::None) DS_RETURN_IF_ERROR(KvStorage::check_pool_fits(*model.backend, pool_bytes));
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

OffloadPlace offload_of(const CacheSpec& spec) {
    const auto found = spec.parameters.find("offload");
    return found == spec.parameters.end() ? OffloadPlace::None : static_cast<OffloadPlace>(found->second);
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
    DS_RETURN_IF_ERROR(session->create_residual());
    DS_RETURN_IF_ERROR(session->prepare_first());
    return std::unique_ptr<DecodeSession>(std::move(session));
}

Status CachedSession::create_residual() {
    if (!config_.kv.has_residual()) return {};
    DS_CHECK(cache_.count() == 1 && offload_place() == OffloadPlace::None);  // see unsupported_pairs()
    auto residual = KvResidual::create(model_->backend, storages_.front()->shape());
    if (!residual.ok()) return residual.error();
    residual_ = std::move(*residual);
    return {};
}

std::int64_t CachedSession::most_pass_rows() const {
    if (residual_ == nullptr) return SessionBase::most_pass_rows();
    return residual_->pass_tokens(cache_.tokens_seen());
}

Status CachedSession::check_kept(std::int64_t tokens) const {
    if (residual_ == nullptr) return {};
    return residual_->check_truncate(tokens, cache_.tokens_seen());
}

std::int64_t CachedSession::default_pass_rows() const { return std::min(context(), kPrefillRows); }

Status CachedSession::make_room(std::span<const std::int32_t>) {
    // Making room belongs to the step: here a growing cache pays for its copies.
    const auto start = std::chrono::steady_clock::now();
    Status status;
    for (std::size_t g = 0; g < storages_.size() && status.ok(); ++g) status = storages_[g]->apply(plans_[g]);
    take_storage_facts();
    DS_RETURN_IF_ERROR(status);
    cache_.hold(plans_);
    runner_.add_micros(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    return {};
}

void CachedSession::take_storage_facts() {
    copied_bytes_ = peak_bytes_ = 0;
    for (const auto& storage : storages_) {
        copied_bytes_ += storage->copied_bytes();
        peak_bytes_ += storage->peak_bytes();
    }
}

void CachedSession::lay_views() {
    views_.clear();
    layer_visibility_.clear();
    for (int layer = 0; layer < cache_.layers(); ++layer) {
        const CachePlan& plan = plan_of(layer);
        const std::int32_t* store_entries = plan.store_entries.empty() ? nullptr : plan.store_entries.data();
        views_.push_back(storage_of(layer).view(cache_.index_in_group(layer), plan.entries.table(), store_entries));
        if (residual_ != nullptr) residual_->attach(layer, plan.first_position, views_.back());
        if (cache_.count() > 1) layer_visibility_.push_back(plan.visibility.data());
    }
}

PassRequest CachedSession::request(std::span<const std::int32_t> tokens) {
    lay_views();
    const auto rows = static_cast<std::int64_t>(tokens.size());
    positions_ = consecutive_positions(plans_.front().first_position, rows);
    PassRequest request;
    request.tokens = tokens;
    request.positions = positions_;
    request.visibility = plans_.front().visibility;
    request.views = views_;
    request.layer_visibility = layer_visibility_;
    for (int layer = 0; layer < cache_.layers() && cache_.wants_weight_sums(); ++layer)
        request.sums_wanted.push_back(cache_.of_layer(layer).wants_weight_sums());
    request.logits_rows = logits_rows(rows);
    request.capture = config_.capture_attention;
    if (offload_place() != OffloadPlace::None) request.visitor = this;
    return request;
}

void CachedSession::begin_step() {
    for (const auto& storage : storages_) storage->begin_step();
    take_storage_facts();
    copied_bytes_ = 0;
}

Status CachedSession::settle() {
    const bool settles =
        std::any_of(plans_.begin(), plans_.end(), [](const CachePlan& plan) { return !plan.settled.empty(); });
    if (!settles && residual_ == nullptr) return {};
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t g = 0; g < storages_.size() && settles; ++g)
        DS_RETURN_IF_ERROR(storages_[g]->settle(plans_[g]));
    const CachePlan& plan = plans_.front();
    if (residual_ != nullptr)
        DS_RETURN_IF_ERROR(residual_->quantize(plan.entries, plan.first_position,
                                               plan.first_position + plan.new_tokens, *storages_.front()));
    runner_.add_micros(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    return {};
}

StepShape CachedSession::step_shape(std::int64_t new_tokens, int layer) const {
    const CachePlan& plan = plan_of(layer);
    StepShape shape;
    shape.rows = new_tokens;
    shape.logits_rows = logits_rows(new_tokens);
    shape.attended = std::accumulate(plan.row_entries.begin(), plan.row_entries.end(), std::int64_t{0});
    shape.entries = plan.entries.count;
    count_kv_bytes(storages_.front()->shape(), plan.first_position, shape);
    return shape;
}

KvFacts CachedSession::kv_facts() const {
    KvFacts facts;
    facts.tokens_seen = cache_.tokens_seen();
    facts.tokens_stored = cache_.tokens_stored();
    for (int g = 0; g < cache_.count(); ++g) {
        const KvStorage& storage = *storages_[static_cast<std::size_t>(g)];
        facts.used_bytes += storage.used_bytes(cache_.group(g).tokens_stored());
        facts.reserved_bytes += storage.reserved_bytes();
    }
    // Of the layers that the strategy rules: the window of a local one may be more than a growing cache has yet.
    facts.capacity_tokens = storage_of(placed_layer(model_->model->config)).capacity();
    facts.copied_bytes = copied_bytes_;
    facts.peak_bytes = std::max(peak_bytes_, facts.reserved_bytes);
    add_offload_facts(facts);
    if (const int group = paged_group(); group >= 0) add_page_facts(group, facts);
    if (residual_ != nullptr) {
        facts.reserved_bytes += residual_->bytes();
        facts.peak_bytes += residual_->bytes();
    }
    return facts;
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

Placement CachedSession::placement() const {
    const std::int32_t placed = placed_layer(model_->model->config);
    const CacheStrategy& strategy = cache_.of_layer(placed);
    Placement now;
    now.slots = storage_of(placed).capacity();
    now.page_tokens = strategy.page_tokens();
    if (now.slots > kMostPlacedSlots || (now.page_tokens > 0 && now.slots / now.page_tokens > kMostPlacedPages))
        return {};
    now.known = now.whole = true;
    now.one_slab = strategy.one_slab();
    now.sequence = strategy.sequence();
    const EntryList entries = strategy.entries();
    for (std::int32_t e = 0; e < entries.count; ++e) {
        const auto slot = static_cast<std::int32_t>(entries.slot(e));
        RowRun* last = now.rows.empty() ? nullptr : &now.rows.back();
        if (last != nullptr && last->position + last->count == entries.position(e) && last->slot + last->count == slot)
            ++last->count;
        else
            now.rows.push_back({entries.position(e), slot, 1});
    }
    now.pages = strategy.page_states();
    if (const auto next = strategy.plan(1); next.ok() && !next->store_slots.empty()) {
        now.next_slot = next->settled.empty() ? next->store_slots.back() : next->settled.back().to;
        if (now.next_slot >= next->capacity_after) now.next_slot = kNotStored;  // the row itself decides what leaves
        now.next_copies = !next->copies.empty();
    }
    return now;
}

int CachedSession::paged_group() const {
    for (int g = 0; g < cache_.count(); ++g)
        if (cache_.group(g).page_tokens() > 0) return g;
    return -1;
}

// What this sequence has, not what the pool could give.
void CachedSession::add_page_facts(int group, KvFacts& facts) const {
    const auto at = static_cast<std::size_t>(group);
    const PageCounts pages = cache_.group(group).page_counts().value();
    facts.pages_used = pages.used;
    facts.pages_shared = pages.shared;
    facts.pages_copied = plans_.empty() ? 0 : static_cast<std::int64_t>(plans_[at].copies.size());
    facts.pages_free = pages.free;
    facts.page_tokens = pages.page_tokens;
    facts.pool_bytes = storages_[at]->reserved_bytes();
    facts.capacity_tokens = pages.used * pages.page_tokens;
    // Of the group with pages what the sequence has of them; of others, of local layers, what they are.
    const std::int64_t outside = storages_[at]->slot_bytes(facts.capacity_tokens) - facts.pool_bytes;
    facts.reserved_bytes += outside;
    facts.peak_bytes += outside;  // beyond the pool while it grew
}

void CachedSession::poison_dead_slots() {
#ifdef DECODESCOPE_DEBUG
    for (int g = 0; g < cache_.count(); ++g)
        for (const auto& dead : cache_.group(g).dead_slots())
            storages_[static_cast<std::size_t>(g)]->poison(dead.from, dead.count);
#endif
}

Status CachedSession::reset_storage() {
    if (residual_ != nullptr) residual_->poison(0, storages_.front()->shape().residual_rows());
    Status status;
    for (int g = 0; g < cache_.count() && status.ok(); ++g)
        if (cache_.group(g).page_tokens() == 0)
            status = storages_[static_cast<std::size_t>(g)]->reset(cache_.group(g).capacity());
    if (paged_group() >= 0) {
        forget_last_pass();
        poison_dead_slots();
        return status;
    }
    take_storage_facts();
    copied_bytes_ = 0;
    return status;
}

// What the facts said of it no longer holds.
void CachedSession::forget_last_pass() {
    begin_step();
    for (CachePlan& plan : plans_) plan.copies.clear();
}

void CachedSession::rows_given_up(std::int64_t kept, std::int64_t before) {
    forget_last_pass();
    if (residual_ != nullptr)
        residual_->poison(std::max(kept, before - storages_.front()->shape().residual_rows()), before);
    if (paged_group() >= 0) poison_dead_slots();
    // Where nothing has left, the slots that are free again are those behind the last kept row.
    for (int g = 0; g < cache_.count(); ++g)
        if (cache_.group(g).page_tokens() == 0 && cache_.group(g).tokens_stored() == kept)
            storages_[static_cast<std::size_t>(g)]->poison(kept, before - kept);
}

Result<std::unique_ptr<DecodeSession>> CachedSession::fork() const {
    std::unique_ptr<CachedSession> copy(new CachedSession(model_, config_, cache_.clone()));
    for (int g = 0; g < cache_.count(); ++g) {
        if (cache_.group(g).page_tokens() > 0) {  // shared by the sequences of the group
            copy->storages_.push_back(storages_[static_cast<std::size_t>(g)]);
            continue;
        }
        auto storage = storages_[static_cast<std::size_t>(g)]->clone(used_slots(cache_.group(g)));
        if (!storage.ok()) return storage.error();
        copy->storages_.push_back(std::move(*storage));
    }
    if (residual_ != nullptr) {
        auto residual = residual_->clone();
        if (!residual.ok()) return residual.error();
        copy->residual_ = std::move(*residual);
    }
    copy->tokens_ = tokens_;
    DS_RETURN_IF_ERROR(copy->prepare_first());
    return std::unique_ptr<DecodeSession>(std::move(copy));
}

}  // namespace decodescope
