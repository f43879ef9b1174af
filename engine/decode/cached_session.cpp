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

// rows: [rows, width], one head of all rows.
void add_squares(std::span<const float> rows, std::vector<double>& squares) {
    const std::size_t width = rows.size() / squares.size();
    for (std::size_t r = 0; r < squares.size(); ++r) {
        for (const float x : rows.subspan(r * width, width)) squares[r] += static_cast<double>(x) * x;
    }
}

std::vector<SlotMove> used_slots(const CacheStrategy& strategy) {
    const EntryList entries = strategy.entries();
    std::vector<std::int64_t> slot_list;
    for (std::int32_t e = 0; e < entries.count; ++e) slot_list.push_back(entries.slot(e));
    return runs_of(slot_list);
}

}  // namespace

Result<std::int64_t> kv_bytes(const LoadedModel& model, const KvFormat& format, std::int64_t tokens) {
    const KvShape shape = kv_shape(model.model->config, format);
    auto bytes = shape.total_bytes(tokens);
    if (bytes.ok() && format.has_residual()) return *bytes + shape.residual_bytes();
    return bytes;
}

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
    DS_RETURN_IF_ERROR(session->create_residual());
    DS_RETURN_IF_ERROR(session->prepare_first());
    return std::unique_ptr<DecodeSession>(std::move(session));
}

Status CachedSession::create_residual() {
    if (!config_.kv.has_residual()) return {};
    auto residual = KvResidual::create(model_->backend, storage_->shape());
    if (!residual.ok()) return residual.error();
    residual_ = std::move(*residual);
    return {};
}

std::int64_t CachedSession::most_pass_rows() const {
    if (residual_ == nullptr) return SessionBase::most_pass_rows();
    return residual_->pass_tokens(strategy_->tokens_seen());
}

Status CachedSession::check_kept(std::int64_t tokens) const {
    if (residual_ == nullptr) return {};
    return residual_->check_truncate(tokens, strategy_->tokens_seen());
}

std::int64_t CachedSession::default_pass_rows() const { return std::min(context(), kPrefillRows); }

Status CachedSession::make_room(std::span<const std::int32_t>) {
    // Making room belongs to the step: here a growing cache pays for its copies.
    const auto start = std::chrono::steady_clock::now();
    const Status status = storage_->apply(plan_);
    copied_bytes_ = storage_->copied_bytes();
    peak_bytes_ = storage_->peak_bytes();
    DS_RETURN_IF_ERROR(status);
    strategy_->hold(plan_);
    runner_.add_micros(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    return {};
}

PassRequest CachedSession::request(std::span<const std::int32_t> tokens) {
    const EntryTable table = plan_.entries.table();
    const std::int32_t* store_entries = plan_.store_entries.empty() ? nullptr : plan_.store_entries.data();
    views_.clear();
    for (int layer = 0; layer < storage_->shape().layers; ++layer) {
        views_.push_back(storage_->view(layer, table, store_entries));
        if (residual_ != nullptr) residual_->attach(layer, plan_.first_position, views_.back());
    }
    const auto rows = static_cast<std::int64_t>(tokens.size());
    positions_ = consecutive_positions(plan_.first_position, rows);
    PassRequest request;
    request.tokens = tokens;
    request.positions = positions_;
    request.visibility = plan_.visibility;
    request.views = views_;
    request.logits_rows = logits_rows(rows);
    request.capture = config_.capture_attention;
    return request;
}

void CachedSession::begin_step() {
    storage_->begin_step();
    copied_bytes_ = 0;
    peak_bytes_ = storage_->peak_bytes();
}

Status CachedSession::settle() {
    if (plan_.settled.empty() && residual_ == nullptr) return {};
    const auto start = std::chrono::steady_clock::now();
    if (!plan_.settled.empty()) DS_RETURN_IF_ERROR(storage_->settle(plan_));
    if (residual_ != nullptr)
        DS_RETURN_IF_ERROR(residual_->quantize(plan_.entries, plan_.first_position,
                                               plan_.first_position + plan_.new_tokens, *storage_));
    runner_.add_micros(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    return {};
}

Status CachedSession::read_back(PassResult& result) {
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
                DS_RETURN_IF_ERROR(read_new_rows(static_cast<int>(layer), part, run,
                                                 static_cast<std::int64_t>(first_row), values));
                std::vector<double> squares(count, 0.0);
                for (std::size_t at = 0; at < values.size(); at += count * width)
                    add_squares(std::span(values).subspan(at, count * width), squares);
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

Status CachedSession::read_new_rows(int layer, KvPart part, const SlotMove& run, std::int64_t first_row,
                                    std::span<float> out) const {
    const KvShape& shape = storage_->shape();
    if (!shape.format.is_grouped(part)) return storage_->read_rows(layer, part, run.from, run.count, out);
    const auto width = static_cast<std::size_t>(shape.head_dim), count = static_cast<std::size_t>(run.count);
    std::vector<float> row(static_cast<std::size_t>(shape.kv_heads) * width);
    for (std::size_t r = 0; r < count; ++r) {
        const std::int64_t entry = plan_.first_position + first_row + static_cast<std::int64_t>(r);
        DS_RETURN_IF_ERROR(residual_->read_row(layer, part, entry, row));
        for (std::size_t head = 0; head < static_cast<std::size_t>(shape.kv_heads); ++head)
            std::copy_n(row.data() + head * width, width, out.data() + (head * count + r) * width);
    }
    return {};
}

StepShape CachedSession::step_shape(std::int64_t new_tokens) const {
    StepShape shape;
    shape.rows = new_tokens;
    shape.logits_rows = logits_rows(new_tokens);
    shape.attended = std::accumulate(plan_.row_entries.begin(), plan_.row_entries.end(), std::int64_t{0});
    shape.entries = plan_.entries.count;
    count_kv_bytes(storage_->shape(), plan_.first_position, shape);
    return shape;
}

KvFacts CachedSession::kv_facts() const {
    KvFacts facts;
    facts.tokens_seen = strategy_->tokens_seen();
    facts.tokens_stored = strategy_->tokens_stored();
    facts.capacity_tokens = storage_->capacity();
    facts.used_bytes = storage_->used_bytes(facts.tokens_stored);
    facts.reserved_bytes = storage_->reserved_bytes();
    facts.copied_bytes = copied_bytes_;
    facts.peak_bytes = std::max(peak_bytes_, storage_->reserved_bytes());
    if (const auto pages = strategy_->page_counts()) add_page_facts(*pages, facts);
    if (residual_ != nullptr) {
        facts.reserved_bytes += residual_->bytes();
        facts.peak_bytes += residual_->bytes();
    }
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
    facts.reserved_bytes = storage_->slot_bytes(facts.capacity_tokens);
    facts.peak_bytes += facts.reserved_bytes - facts.pool_bytes;  // beyond the pool while it grew
}

void CachedSession::poison_dead_slots() {
#ifdef DECODESCOPE_DEBUG
    for (const auto& dead : strategy_->dead_slots()) storage_->poison(dead.from, dead.count);
#endif
}

Status CachedSession::reset_storage() {
    if (residual_ != nullptr) residual_->poison(0, storage_->shape().residual_rows());
    if (strategy_->page_tokens() == 0) {
        const Status status = storage_->reset(strategy_->capacity());
        copied_bytes_ = 0;
        peak_bytes_ = storage_->peak_bytes();
        return status;
    }
    begin_step();
    plan_.copies.clear();
    poison_dead_slots();
    return {};
}

void CachedSession::rows_given_up(std::int64_t kept, std::int64_t before) {
    begin_step();
    plan_.copies.clear();
    if (residual_ != nullptr)
        residual_->poison(std::max(kept, before - storage_->shape().residual_rows()), before);
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
    if (residual_ != nullptr) {
        auto residual = residual_->clone();
        if (!residual.ok()) return residual.error();
        copy->residual_ = std::move(*residual);
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
    values.k.resize(static_cast<std::size_t>(shape.kv_heads * shape.head_dim));
    values.v.resize(values.k.size());
    const bool recent = position >= shape.format.quantized_tokens(strategy_->tokens_seen());
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        const bool full = recent && shape.format.is_grouped(part);
        auto& out = part == KvPart::K ? values.k : values.v;
        (part == KvPart::K ? values.k_type : values.v_type) = full ? "f32" : part_name(shape.format, part);
        DS_RETURN_IF_ERROR(full ? residual_->read_row(layer, part, position, out)
                                : storage_->read_rows(layer, part, *slot, 1, out));
    }
    return values;
}

}  // namespace decodescope
