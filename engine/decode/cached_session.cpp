#include "engine/decode/cached_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
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

Result<std::shared_ptr<KvStorage>> make_storage(const LoadedModel& model, const KvFormat& format,
                                                const CacheStrategy& strategy) {
    auto storage = KvStorage::create(model.backend, kv_shape(model.model->config, format), strategy.one_slab(),
                                     strategy.capacity(), strategy.page_tokens());
    if (!storage.ok()) return storage.error();
    return std::shared_ptr<KvStorage>(std::move(*storage));
}

Result<std::unique_ptr<DecodeSession>> CachedSession::create(LoadedModelPtr model, const SessionConfig& config,
                                                             std::unique_ptr<CacheStrategy> strategy,
                                                             std::shared_ptr<KvStorage> shared) {
    std::unique_ptr<CachedSession> session(new CachedSession(std::move(model), config, std::move(strategy)));
    if (shared != nullptr) {
        session->storage_ = std::move(shared);
    } else {
        auto storage = make_storage(*session->model_, config.kv, *session->strategy_);
        if (!storage.ok()) return storage.error();
        session->storage_ = std::move(*storage);
    }
    DS_RETURN_IF_ERROR(session->prepare_first());
    return std::unique_ptr<DecodeSession>(std::move(session));
}

std::int64_t CachedSession::default_pass_rows() const { return std::min(context(), kPrefillRows); }

Status CachedSession::compute(std::span<const std::int32_t> tokens, std::stop_token stop, PassResult& result) {
    const std::int64_t rows = static_cast<std::int64_t>(tokens.size());
    DS_RETURN_IF_ERROR(runner_.prepare(rows, logits_rows(rows), max_pass_rows()));
    // Making room belongs to the step: here a growing cache pays for its copies.
    const auto start = std::chrono::steady_clock::now();
    DS_RETURN_IF_ERROR(storage_->apply(plan_));
    runner_.add_micros(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    const EntryTable table = plan_.entries.table();
    const std::int32_t* store_entries = plan_.store_entries.empty() ? nullptr : plan_.store_entries.data();
    std::vector<KvView> views;
    for (int layer = 0; layer < storage_->shape().layers; ++layer)
        views.push_back(storage_->view(layer, table, store_entries));
    const auto positions = consecutive_positions(plan_.first_position, rows);
    PassRequest request;
    request.tokens = tokens;
    request.positions = positions;
    request.visibility = plan_.visibility;
    request.views = views;
    request.logits_rows = logits_rows(rows);
    request.capture = config_.capture_attention;
    DS_RETURN_IF_ERROR(runner_.run(request, stop));
    return read_row_sizes(result);
}

Status CachedSession::settle() {
    if (plan_.settled.empty()) return {};
    const auto start = std::chrono::steady_clock::now();
    DS_RETURN_IF_ERROR(storage_->settle(plan_));
    runner_.add_micros(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    return {};
}

Status CachedSession::read_row_sizes(PassResult& result) const {
    const KvShape& shape = storage_->shape();
    const std::size_t layers = static_cast<std::size_t>(shape.layers);
    const std::size_t width = static_cast<std::size_t>(shape.head_dim);
    result.k_rms.resize(plan_.store_slots.size() * layers);
    result.v_rms.resize(plan_.store_slots.size() * layers);
    std::size_t first_row = 0;
    for (const auto& run : runs_of(plan_.store_slots)) {
        const std::size_t count = static_cast<std::size_t>(run.count);
        std::vector<float> values(static_cast<std::size_t>(shape.kv_heads) * count *
                                  width);  // [kv_heads, count, head_dim]
        for (std::size_t layer = 0; layer < layers; ++layer) {
            for (const KvPart part : {KvPart::K, KvPart::V}) {
                DS_RETURN_IF_ERROR(storage_->read_rows(static_cast<int>(layer), part, run.from, run.count, values));
                std::vector<double> squares(count, 0.0);
                for (std::size_t i = 0; i < values.size(); ++i)
                    squares[i / width % count] += static_cast<double>(values[i]) * values[i];
                auto& out = part == KvPart::K ? result.k_rms : result.v_rms;
                for (std::size_t r = 0; r < count; ++r) {
                    out[(first_row + r) * layers + layer] = static_cast<float>(
                        std::sqrt(squares[r] / static_cast<double>(shape.kv_heads * shape.head_dim)));
                }
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
    shape.attended = std::accumulate(plan_.row_entries.begin(), plan_.row_entries.end(), std::int64_t{0});
    shape.entries = plan_.entries.count;
    shape.kv_bytes_per_entry = storage_->shape().entry_bytes();
    return shape;
}

KvFacts CachedSession::kv_facts() const {
    KvFacts facts;
    facts.tokens_seen = strategy_->tokens_seen();
    facts.tokens_stored = strategy_->tokens_stored();
    facts.capacity_tokens = storage_->capacity();
    facts.used_bytes = storage_->used_bytes(facts.tokens_stored);
    facts.reserved_bytes = storage_->reserved_bytes();
    facts.copied_bytes = storage_->copied_bytes();
    facts.peak_bytes = storage_->peak_bytes();
    if (const auto pages = strategy_->page_counts()) add_page_facts(*pages, facts);
    return facts;
}

Placement CachedSession::placement() const {
    Placement now;
    now.slots = storage_->capacity();
    now.page_tokens = strategy_->page_tokens();
    if (now.slots > kMostPlacedSlots || (now.page_tokens > 0 && now.slots / now.page_tokens > kMostPlacedPages))
        return {};
    now.known = now.whole = true;
    now.one_slab = strategy_->one_slab();
    now.sequence = strategy_->sequence();
    const EntryList entries = strategy_->entries();
    for (std::int32_t e = 0; e < entries.count; ++e) {
        const auto slot = static_cast<std::int32_t>(entries.slot(e));
        RowRun* last = now.rows.empty() ? nullptr : &now.rows.back();
        if (last != nullptr && last->position + last->count == entries.position(e) && last->slot + last->count == slot)
            ++last->count;
        else
            now.rows.push_back({entries.position(e), slot, 1});
    }
    now.pages = strategy_->page_states();
    if (const auto next = strategy_->plan(1); next.ok() && !next->store_slots.empty()) {
        now.next_slot = next->settled.empty() ? next->store_slots.back() : next->settled.back().to;
        now.next_copies = !next->copies.empty();
    }
    return now;
}

// What this sequence has, not what the pool could give.
void CachedSession::add_page_facts(const PageCounts& pages, KvFacts& facts) const {
    facts.pages_used = pages.used;
    facts.pages_shared = pages.shared;
    facts.pages_copied = static_cast<std::int64_t>(plan_.copies.size());
    facts.pages_free = pages.free;
    facts.page_tokens = pages.page_tokens;
    facts.pool_bytes = facts.reserved_bytes;
    facts.capacity_tokens = pages.used * pages.page_tokens;
    facts.reserved_bytes = storage_->used_bytes(facts.capacity_tokens);
    facts.peak_bytes += facts.reserved_bytes - facts.pool_bytes;  // beyond the pool while it grew
}

void CachedSession::poison_dead_slots() {
#ifdef DECODESCOPE_DEBUG
    for (const auto& dead : strategy_->dead_slots()) storage_->poison(dead.from, dead.count);
#endif
}

Status CachedSession::reset_storage() {
    if (strategy_->page_tokens() == 0) return storage_->reset(strategy_->capacity());
    storage_->begin_step();
    plan_.copies.clear();
    poison_dead_slots();
    return {};
}

void CachedSession::rows_given_up(std::int64_t kept, std::int64_t before) {
    storage_->begin_step();
    plan_.copies.clear();
    if (strategy_->page_tokens() > 0) return poison_dead_slots();
    // Contiguous strategies: the slots that are free again are those behind the last kept row.
    if (strategy_->tokens_stored() == kept) storage_->poison(kept, before - kept);
}

Result<std::unique_ptr<DecodeSession>> CachedSession::fork() const {
    std::unique_ptr<CachedSession> copy(new CachedSession(model_, config_, strategy_->clone()));
    if (strategy_->page_tokens() > 0) {
        copy->storage_ = storage_;
    } else {
        auto storage = storage_->clone(used_slots(*strategy_));
        if (!storage.ok()) return storage.error();
        copy->storage_ = std::move(*storage);
    }
    copy->tokens_ = tokens_;
    DS_RETURN_IF_ERROR(copy->prepare_first());
    return std::unique_ptr<DecodeSession>(std::move(copy));
}

Result<DecodeSession::CellValues> CachedSession::cell(std::int32_t layer, std::int32_t position) const {
    const KvShape& shape = storage_->shape();
    if (layer < 0 || layer >= shape.layers) {
        return make_error(ErrorKind::Argument,
                          fmt::format("There is no layer {}; the model has {}.", layer, shape.layers));
    }
    const auto slot = strategy_->slot_of(position);
    if (!slot) {
        return make_error(ErrorKind::Unsupported,
                          fmt::format("The row of position {} is not in the cache, which holds {} of {} tokens.",
                                      position, strategy_->tokens_stored(), strategy_->tokens_seen()));
    }
    CellValues values;
    values.kv_heads = shape.kv_heads;
    values.head_dim = shape.head_dim;
    values.k_type = element_name(shape.format.k);
    values.v_type = element_name(shape.format.v);
    values.k.resize(static_cast<std::size_t>(shape.kv_heads * shape.head_dim));
    values.v.resize(values.k.size());
    DS_RETURN_IF_ERROR(storage_->read_rows(layer, KvPart::K, *slot, 1, values.k));
    DS_RETURN_IF_ERROR(storage_->read_rows(layer, KvPart::V, *slot, 1, values.v));
    return values;
}

}  // namespace decodescope
