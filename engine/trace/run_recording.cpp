#include "engine/trace/run_recording.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "engine/trace/append_only.h"
#include "engine/trace/half_pack.h"
#include "kernels/api/half.h"

namespace decodescope {

namespace {

struct RowRecord {
    TokenRow row;
    std::int32_t entries = 0;
    std::int32_t previous_row = kNone;  // the row that held the same position before
    bool left_out = false;              // attention was given and the budget did not allow it
    std::string_view display, text;
    const float* rms = nullptr;                       // [2, layers]: K, then V; null when none is recorded
    const std::uint16_t* const* attention = nullptr;  // [layers], each [heads, entries]; null when none is captured
    const std::int32_t* positions = nullptr;          // [entries]; null: entry e is position e
    const LayerEntries* layers = nullptr;             // [layers], where they differ
};

struct Eviction {
    std::int32_t step = 0;
    std::int32_t layer = kNone;     // kNone: all
    std::int32_t previous = kNone;  // the eviction of the same position before this one
};

struct PositionIndex {
    std::atomic<std::int32_t> last_row{kNone}, last_eviction{kNone};
};

struct NamedToken {
    std::int32_t token = 0;
    std::string_view display;
};

std::int64_t heap_bytes(const Placement& placement) {
    std::size_t bytes =
        placement.rows.capacity() * sizeof(RowRun) + placement.pages.capacity() * sizeof(PageRun);
    for (const PageRun& run : placement.pages) bytes += run.owners.capacity() * sizeof(std::int32_t);
    return static_cast<std::int64_t>(bytes);
}

std::int64_t heap_bytes(const StepFacts& facts) {
    return static_cast<std::int64_t>(sizeof(StepFacts) + facts.ops.capacity() * sizeof(OpRecord) +
                                     (facts.top.capacity() + facts.candidates.capacity()) * sizeof(TokenProbability) +
                                     facts.evicted.capacity() * sizeof(EvictedEntry)) +
           heap_bytes(facts.placement);
}

std::int64_t heap_bytes(const RunFacts& facts) {
    std::size_t bytes =
        sizeof(RunFacts) + facts.stage_layers.capacity() * sizeof(int) + facts.head_roles.capacity() * sizeof(HeadRole);
    for (const auto& stage : facts.stages) bytes += sizeof(std::string) + stage.capacity();
    return static_cast<std::int64_t>(bytes);
}

}  // namespace

struct RunRecording::Storage {
    AppendOnlyList<RowRecord> rows;
    AppendOnlyList<std::shared_ptr<const StepFacts>> steps;
    AppendOnlyList<RacePoint> race;
    AppendOnlyList<Eviction> evictions;
    AppendOnlyList<NamedToken> names;
    SparseTable<std::atomic<std::int32_t>> name_of_token;  // index into names + 1
    SparseTable<PositionIndex> positions;
    Arena arena;
    std::int64_t attention_bytes = 0;              // of the budget
    const std::int32_t* last_positions = nullptr;  // shared by rows that see the same entries
    std::int32_t last_position_count = 0;
    std::int64_t own_bytes = 0;  // everything but the arena
    std::atomic<std::int64_t> history_bytes{0};
    std::atomic<std::int64_t> rows_left_out{0};

    void publish_bytes() { history_bytes.store(own_bytes + arena.allocated_bytes(), std::memory_order_relaxed); }

    const std::int32_t* keep_positions(std::span<const std::int32_t> wanted);
    const float* keep_rms(std::span<const float> k, std::span<const float> v, std::int64_t layers);
    void add_row(RowRecord record, const NewRow& row, std::span<const float> k_rms, std::span<const float> v_rms,
                 std::int64_t layers);
    void name(std::int32_t token, std::string_view display, bool replace);
    // Stores the row's attention through `copy` when the budget allows it, else marks the row as left out.
    template <class T, class Copy>
    void take_attention(RowRecord& record, std::span<const T* const> attention, std::span<const std::int32_t> positions,
                        std::int64_t heads, std::int64_t stride, std::int64_t budget, const Copy& copy);
    // False when memory is short.
    bool take_entries(RowRecord& record, std::span<const LayerEntries> layers);
};

const std::int32_t* RunRecording::Storage::keep_positions(std::span<const std::int32_t> wanted) {
    if (wanted.empty()) return nullptr;
    const auto count = static_cast<std::int32_t>(wanted.size());
    const bool same = last_positions != nullptr && count <= last_position_count &&
                      std::memcmp(last_positions, wanted.data(), wanted.size_bytes()) == 0;
    if (same) return last_positions;
    auto* kept = arena.array<std::int32_t>(wanted.size());
    if (kept == nullptr) return nullptr;
    std::memcpy(kept, wanted.data(), wanted.size_bytes());
    last_positions = kept;
    last_position_count = count;
    return kept;
}

const float* RunRecording::Storage::keep_rms(std::span<const float> k, std::span<const float> v, std::int64_t layers) {
    if (k.empty() && v.empty()) return nullptr;
    const auto count = static_cast<std::size_t>(layers);
    DS_CHECK((k.empty() || k.size() == count) && (v.empty() || v.size() == count));
    auto* kept = arena.array<float>(2 * count);
    if (kept == nullptr) return nullptr;
    const float missing = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < count; ++i) {
        kept[i] = k.empty() ? missing : k[i];
        kept[count + i] = v.empty() ? missing : v[i];
    }
    return kept;
}

template <class T, class Copy>
void RunRecording::Storage::take_attention(RowRecord& record, std::span<const T* const> attention,
                                           std::span<const std::int32_t> positions, std::int64_t heads,
                                           std::int64_t stride, std::int64_t budget, const Copy& copy) {
    const auto entries_of = [&](std::size_t layer) {
        return record.layers != nullptr ? record.layers[layer].entries : record.entries;
    };
    std::size_t count = 0;  // weights in all
    bool captured = false;
    for (std::size_t layer = 0; layer < attention.size(); ++layer) {
        if (attention[layer] == nullptr) continue;
        captured = true;
        count += static_cast<std::size_t>(heads * entries_of(layer));
    }
    if (!captured) return;
    const auto needed = static_cast<std::int64_t>(count * sizeof(std::uint16_t) + attention.size() * sizeof(void*));
    record.left_out = needed > budget - attention_bytes;
    if (record.left_out) return;
    auto** layers = arena.array<std::uint16_t*>(attention.size());
    auto* weights = layers == nullptr ? nullptr : arena.array<std::uint16_t>(count);
    record.positions = keep_positions(positions);
    record.left_out = weights == nullptr || (record.positions == nullptr && !positions.empty());  // memory is short
    if (record.left_out) return;
    for (std::size_t layer = 0; layer < attention.size(); ++layer) {
        layers[layer] = attention[layer] == nullptr ? nullptr : weights;
        if (attention[layer] == nullptr) continue;
        const std::int32_t entries = entries_of(layer);
        for (std::int64_t head = 0; head < heads; ++head, weights += entries)
            copy(attention[layer] + head * (stride == 0 ? entries : stride), weights,
                 static_cast<std::size_t>(entries));
    }
    attention_bytes += needed;
    record.attention = layers;
}

bool RunRecording::Storage::take_entries(RowRecord& record, std::span<const LayerEntries> layers) {
    if (layers.empty()) return true;
    auto* kept = arena.array<LayerEntries>(layers.size());
    if (kept == nullptr) return false;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        kept[i] = {layers[i].entries, {}};
        if (layers[i].positions.empty()) continue;
        const std::int32_t* positions = keep_positions(layers[i].positions);
        if (positions == nullptr) return false;
        kept[i].positions = {positions, static_cast<std::size_t>(layers[i].entries)};
    }
    record.layers = kept;
    return true;
}

void RunRecording::Storage::name(std::int32_t token, std::string_view display, bool replace) {
    auto* entry = name_of_token.at(token, own_bytes);
    if (entry == nullptr) return;
    const std::int32_t known = entry->load(std::memory_order_relaxed);
    if (known != 0 && (!replace || names[known - 1].display == display)) return;
    own_bytes += names.push_back({token, arena.copy(display)});
    entry->store(names.size(), std::memory_order_release);
}

void RunRecording::Storage::add_row(RowRecord record, const NewRow& row, std::span<const float> k_rms,
                                    std::span<const float> v_rms, std::int64_t layers) {
    record.row = row.row;
    record.display = arena.copy(row.display);
    record.text = row.text == row.display ? record.display : arena.copy(row.text);
    record.rms = keep_rms(k_rms, v_rms, layers);
    if (record.left_out) rows_left_out.fetch_add(1, std::memory_order_relaxed);
    PositionIndex* at = positions.at(row.row.position, own_bytes);
    if (at != nullptr) record.previous_row = at->last_row.load(std::memory_order_relaxed);
    const std::int32_t index = rows.size();
    own_bytes += rows.push_back(record);
    name(row.row.token, row.display, false);
    if (at != nullptr) at->last_row.store(index, std::memory_order_release);
    publish_bytes();
}

RunRecording::RunRecording(RunFacts facts, RecordingLimits limits)
    : facts_(std::move(facts)), limits_(limits), storage_(std::make_unique<Storage>()) {
    storage_->own_bytes = static_cast<std::int64_t>(sizeof(RunRecording) + sizeof(Storage)) + heap_bytes(facts_);
    storage_->publish_bytes();
}

RunRecording::~RunRecording() = default;

std::int32_t RunRecording::row_count() const { return storage_->rows.size(); }
std::int32_t RunRecording::step_count() const { return storage_->steps.size(); }
std::int32_t RunRecording::race_count() const { return storage_->race.size(); }
const TokenRow& RunRecording::row(std::int32_t index) const { return storage_->rows[index].row; }
std::string RunRecording::row_display(std::int32_t index) const { return std::string(storage_->rows[index].display); }
std::string RunRecording::row_text(std::int32_t index) const { return std::string(storage_->rows[index].text); }
std::shared_ptr<const StepFacts> RunRecording::step(std::int32_t index) const { return storage_->steps[index]; }
RacePoint RunRecording::race_point(std::int32_t index) const { return storage_->race[index]; }
std::int64_t RunRecording::history_bytes() const { return storage_->history_bytes.load(std::memory_order_relaxed); }
std::int64_t RunRecording::rows_without_attention() const {
    return storage_->rows_left_out.load(std::memory_order_relaxed);
}
bool RunRecording::attention_left_out(std::int32_t row) const { return storage_->rows[row].left_out; }

bool RunRecording::layers_differ(std::int32_t row) const { return storage_->rows[row].layers != nullptr; }

bool RunRecording::has_rms(std::int32_t row) const { return storage_->rows[row].rms != nullptr; }

float RunRecording::k_rms(std::int32_t row, std::int32_t layer) const {
    DS_CHECK(layer >= 0 && layer < facts_.config.layers);
    const float* rms = storage_->rows[row].rms;
    return rms == nullptr ? std::numeric_limits<float>::quiet_NaN() : rms[layer];
}

float RunRecording::v_rms(std::int32_t row, std::int32_t layer) const {
    DS_CHECK(layer >= 0 && layer < facts_.config.layers);
    const float* rms = storage_->rows[row].rms;
    return rms == nullptr ? std::numeric_limits<float>::quiet_NaN() : rms[facts_.config.layers + layer];
}

float AttentionRow::weight(std::int32_t head, std::int32_t entry) const {
    if (!captured) return std::numeric_limits<float>::quiet_NaN();
    return f16_to_f32(
        weights[static_cast<std::size_t>(head) * static_cast<std::size_t>(entries) + static_cast<std::size_t>(entry)]);
}

AttentionRow RunRecording::attention(std::int32_t row, std::int32_t layer) const {
    DS_CHECK(layer >= 0 && layer < facts_.config.layers);
    const RowRecord& record = storage_->rows[row];
    AttentionRow result;
    result.heads = static_cast<std::int32_t>(facts_.config.heads);
    result.entries = record.layers != nullptr ? record.layers[layer].entries : record.entries;
    if (record.attention == nullptr || record.attention[layer] == nullptr) return result;
    result.captured = true;
    result.weights = {record.attention[layer],
                      static_cast<std::size_t>(result.heads) * static_cast<std::size_t>(result.entries)};
    if (record.layers != nullptr) result.positions = record.layers[layer].positions;
    else if (record.positions != nullptr) result.positions = {record.positions, static_cast<std::size_t>(record.entries)};
    return result;
}

std::vector<std::int32_t> RunRecording::named_tokens() const {
    std::vector<std::int32_t> result;
    const std::int32_t count = storage_->names.size();
    for (std::int32_t i = 0; i < count; ++i) {
        const std::int32_t token = storage_->names[i].token;
        if (storage_->name_of_token.find(token)->load(std::memory_order_acquire) == i + 1) result.push_back(token);
    }
    return result;
}

std::string RunRecording::token_display(std::int32_t token) const {
    const auto* entry = storage_->name_of_token.find(token);
    const std::int32_t name = entry == nullptr ? 0 : entry->load(std::memory_order_acquire);
    return name == 0 ? fmt::format("#{}", token) : std::string(storage_->names[name - 1].display);
}

std::optional<std::int32_t> RunRecording::evicted_at(std::int32_t position, std::int32_t up_to_step,
                                                     std::int32_t layer) const {
    const PositionIndex* at = storage_->positions.find(position);
    if (at == nullptr) return std::nullopt;
    std::int32_t row = at->last_row.load(std::memory_order_acquire);
    while (row != kNone && storage_->rows[row].row.step > up_to_step) row = storage_->rows[row].previous_row;
    const std::int32_t stored_at = row == kNone ? 0 : storage_->rows[row].row.step;
    std::int64_t layers = 0;  // that dropped it apart
    std::optional<std::int32_t> result;
    for (std::int32_t e = at->last_eviction.load(std::memory_order_acquire); e != kNone;
         e = storage_->evictions[e].previous) {
        const Eviction& eviction = storage_->evictions[e];
        if (eviction.step < stored_at) break;
        if (eviction.step > up_to_step) continue;
        if (eviction.layer == kNone || eviction.layer == layer) result = eviction.step;
        if (eviction.layer == kNone || layer != kNone) continue;
        ++layers;
        result = std::max(result.value_or(0), eviction.step);
    }
    return layers > 0 && layers < facts_.config.layers ? std::nullopt : result;
}

void RunRecording::check_row(const NewRow& row, std::size_t attention_layers, std::int32_t entries,
                             std::span<const std::int32_t> positions) const {
    const auto layers = static_cast<std::size_t>(facts_.config.layers);
    DS_CHECK(attention_layers == 0 || attention_layers == layers);
    DS_CHECK(row.layers.empty() || row.layers.size() == layers);
    DS_CHECK(entries >= 0 && (positions.empty() || positions.size() >= static_cast<std::size_t>(entries)));
    for (const LayerEntries& layer : row.layers)
        DS_CHECK(layer.entries >= 0 &&
                 (layer.positions.empty() || layer.positions.size() >= static_cast<std::size_t>(layer.entries)));
}

void RunRecording::append_row(const NewRow& row, std::span<const float> k_rms, std::span<const float> v_rms,
                              std::span<const float* const> attention, std::int32_t entries,
                              std::span<const std::int32_t> positions, std::int64_t stride) {
    check_row(row, attention.size(), entries, positions);
    DS_CHECK(stride == 0 || stride >= entries);
    RowRecord record;
    record.entries = entries;
    if (!positions.empty()) positions = positions.first(static_cast<std::size_t>(entries));
    if (storage_->take_entries(record, row.layers))
        storage_->take_attention(record, attention, positions, facts_.config.heads, stride, limits_.attention_bytes,
                                 pack_f16);
    else record.left_out = true;
    storage_->add_row(record, row, k_rms, v_rms, facts_.config.layers);
}

void RunRecording::append_row_f16(const NewRow& row, std::span<const float> k_rms, std::span<const float> v_rms,
                                  std::span<const std::uint16_t* const> attention, std::int32_t entries,
                                  std::span<const std::int32_t> positions, bool left_out) {
    check_row(row, attention.size(), entries, positions);
    RowRecord record;
    record.entries = entries;
    const auto copy = [](const std::uint16_t* from, std::uint16_t* to, std::size_t count) {
        std::memcpy(to, from, count * sizeof *to);
    };
    if (storage_->take_entries(record, row.layers))
        storage_->take_attention(record, attention, positions, facts_.config.heads, 0, limits_.attention_bytes, copy);
    else record.left_out = true;
    record.left_out = record.left_out || left_out;
    storage_->add_row(record, row, k_rms, v_rms, facts_.config.layers);
}

void RunRecording::append_step(StepFacts facts) {
    const std::int32_t step = storage_->steps.size();
    for (const EvictedEntry& entry : facts.evicted) {
        PositionIndex* at = storage_->positions.at(entry.position, storage_->own_bytes);
        if (at == nullptr) continue;
        const std::int32_t index = storage_->evictions.size();
        storage_->own_bytes += storage_->evictions.push_back(
            {step, entry.layer, at->last_eviction.load(std::memory_order_relaxed)});
        at->last_eviction.store(index, std::memory_order_release);
    }
    storage_->own_bytes += heap_bytes(facts);
    storage_->own_bytes += storage_->steps.push_back(std::make_shared<const StepFacts>(std::move(facts)));
    storage_->publish_bytes();
}

void RunRecording::append_race_point(const RacePoint& point) {
    storage_->own_bytes += storage_->race.push_back(point);
    storage_->publish_bytes();
}

void RunRecording::name_token(std::int32_t token, const std::string& display) {
    storage_->name(token, display, true);
    storage_->publish_bytes();
}

}  // namespace decodescope
