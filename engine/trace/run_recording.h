// The append-only record of a run. One thread appends, any thread reads without a lock: rows and steps live in chunks
// that never move, and a count is published after what it counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "engine/trace/step_facts.h"

namespace decodescope {

// Constant facts of a run; written into every file that is exported.
struct RunFacts {
    std::string program_version, commit, date;       // date: ISO 8601, UTC
    std::string model_source, model_name, model_identity;
    ModelConfig config;
    bool meaningless_text = false;
    std::string backend, device, cpu, instruction_set;
    int threads = 1;
    std::string weights_type, cache_spec, kv_type;   // as typed on the command line
    SamplerConfig sampler;
    std::int64_t prompt_tokens = 0;
    std::int64_t weight_bytes = 0;
    double bandwidth_gb_s = 0;                       // 0 = not measured
    std::vector<std::string> stages;                 // names for OpRecord::stage
    std::vector<int> stage_layers;                   // kNone = none
    std::vector<HeadRole> head_roles;
};

struct TokenRow {
    std::int32_t token = 0;
    std::int32_t position = 0;
    std::int32_t step = 0;
    Phase phase = Phase::Prefill;
    bool generated = false;  // sampled by this run, not part of the prompt
    bool special = false;
};

// Attention of one row in one layer, all heads. `weights` [heads, entries] as binary16.
struct AttentionRow {
    bool captured = false;
    std::int32_t heads = 0;
    std::int32_t entries = 0;                       // visible to the row, in entry order
    std::span<const std::uint16_t> weights;
    std::span<const std::int32_t> positions;        // [entries]; empty: entry e is position e
    float weight(std::int32_t head, std::int32_t entry) const;  // NaN when not captured
    std::int32_t position(std::int32_t entry) const { return positions.empty() ? entry : positions[entry]; }
};

// What a row sees in one layer, where layers keep different tokens.
struct LayerEntries {
    std::int32_t entries = 0;
    std::span<const std::int32_t> positions;        // [entries]; empty: entry e is position e
};

struct RecordingLimits {
    std::int64_t attention_bytes = std::int64_t{384} << 20;  // beyond it rows are recorded without attention
};

class RunRecording {
public:
    RunRecording(RunFacts facts, RecordingLimits limits);
    ~RunRecording();
    RunRecording(const RunRecording&) = delete;
    RunRecording& operator=(const RunRecording&) = delete;

    // ---- reading, any thread ----
    const RunFacts& facts() const { return facts_; }
    std::int32_t row_count() const;
    std::int32_t step_count() const;
    std::int32_t race_count() const;
    const TokenRow& row(std::int32_t index) const;        // index < row_count()
    std::string row_display(std::int32_t index) const;    // readable chip text
    std::string row_text(std::int32_t index) const;       // text that became complete with the row
    std::shared_ptr<const StepFacts> step(std::int32_t index) const;
    RacePoint race_point(std::int32_t index) const;
    // Root mean square of the K and V row of a token over all KV heads, per layer; NaN where not recorded.
    float k_rms(std::int32_t row, std::int32_t layer) const;
    float v_rms(std::int32_t row, std::int32_t layer) const;
    bool has_rms(std::int32_t row) const;
    AttentionRow attention(std::int32_t row, std::int32_t layer) const;
    bool layers_differ(std::int32_t row) const;            // what the row sees is not the same in every layer
    std::int64_t history_bytes() const;                    // everything the recording holds
    std::int64_t rows_without_attention() const;           // rows that the byte budget left out
    bool attention_left_out(std::int32_t row) const;       // this row was left out by the byte budget
    // Tokens that have a name, for the file; each id once, in the order of naming.
    std::vector<std::int32_t> named_tokens() const;
    // Readable text of any token that appears in top or candidates lists; "#id" when it was never named.
    std::string token_display(std::int32_t token) const;
    // The step at which the row that holds `position` as of `up_to_step` left the cache; nothing while it is kept.
    // A position that is fed again after it left counts as kept again. Where layers drop tokens apart, it left when the
    // last of them dropped it; or, with `layer`, when this one did.
    std::optional<std::int32_t> evicted_at(std::int32_t position, std::int32_t up_to_step,
                                           std::int32_t layer = kNone) const;

    // ---- appending, one thread ----
    struct NewRow {
        TokenRow row;
        std::string display, text;
        std::vector<LayerEntries> layers = {};  // [layers] where they differ: instead of entries and positions below
    };
    // attention: [layers] pointers, null = not captured, each [heads, entries] f32 of this row, head h at h * stride
    // (0: entries); empty: none captured. positions: [entries] or empty. k_rms, v_rms: [layers] or empty.
    void append_row(const NewRow& row, std::span<const float> k_rms, std::span<const float> v_rms,
                    std::span<const float* const> attention, std::int32_t entries,
                    std::span<const std::int32_t> positions, std::int64_t stride = 0);
    // The same with attention that is binary16 already, bit for bit (a loaded file). left_out: the byte budget of the
    // run left it out.
    void append_row_f16(const NewRow& row, std::span<const float> k_rms, std::span<const float> v_rms,
                        std::span<const std::uint16_t* const> attention, std::int32_t entries,
                        std::span<const std::int32_t> positions, bool left_out);
    void append_step(StepFacts facts);
    void append_race_point(const RacePoint& point);
    void name_token(std::int32_t token, const std::string& display);

private:
    struct Storage;
    void check_row(const NewRow& row, std::size_t attention_layers, std::int32_t entries,
                   std::span<const std::int32_t> positions) const;
    RunFacts facts_;
    RecordingLimits limits_;
    std::unique_ptr<Storage> storage_;
};
using RecordingPtr = std::shared_ptr<const RunRecording>;

}  // namespace decodescope
