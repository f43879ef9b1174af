// Rows of a recording: tokens, sizes of K and V, and attention over the entries that each layer kept.
#include <algorithm>

#include "engine/trace/recording_codec.h"

namespace decodescope {

namespace {

constexpr std::uint8_t kRowGenerated = 1, kRowSpecial = 2, kRowLeftOut = 4, kRowHasRms = 8, kRowHasAttention = 16,
                       kRowLayersDiffer = 32;

// Attention of one row: entries, [layers] flags, positions, then [heads, entries] binary16 per captured layer. Where
// layers differ, the entries and positions of each layer stand before its weights.
struct DecodedAttention {
    std::vector<std::vector<std::int32_t>> layer_positions;
    std::vector<LayerEntries> entries;
    std::vector<std::vector<std::uint16_t>> layers;
    std::vector<const std::uint16_t*> pointers;
    std::vector<std::int32_t> positions;
};

std::int32_t decode_layer_entries(ByteReader& in, std::int32_t position, std::vector<std::int32_t>& positions,
                                  DecodedAttention& to) {
    const std::int32_t entries = in.i32("visible entries of a layer", 0, position + 1);
    if (in.boolean("entry positions of a layer"))
        in.i32_array("entry position", positions, static_cast<std::uint64_t>(entries), position);
    to.entries.push_back({entries, positions});
    return entries;
}

DecodedAttention decode_attention(ByteReader& in, const ModelConfig& config, std::int32_t entries,
                                  std::int32_t position, bool differ) {
    DecodedAttention result;
    if (in.boolean("entry positions"))
        in.i32_array("entry position", result.positions, static_cast<std::uint64_t>(entries), position);
    if (differ && static_cast<std::uint64_t>(config.layers) <= in.left())
        result.layer_positions.resize(static_cast<std::size_t>(config.layers));
    if (static_cast<std::uint64_t>(config.layers) > in.left()) in.fail("captured layers", "are cut off");
    for (std::int64_t layer = 0; layer < config.layers && in.ok(); ++layer) {
        result.layers.emplace_back();
        if (differ)
            entries =
                decode_layer_entries(in, position, result.layer_positions[static_cast<std::size_t>(layer)], result);
        if (in.boolean("captured layer"))
            in.u16_array("attention weights", result.layers.back(),
                         static_cast<std::uint64_t>(config.heads) * static_cast<std::uint64_t>(entries));
        result.pointers.push_back(result.layers.back().empty() ? nullptr : result.layers.back().data());
    }
    return result;
}

std::vector<float> decode_floats(ByteReader& in, const char* field, std::int64_t count) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count && in.ok(); ++i) values.push_back(in.f32(field));
    return values;
}

}  // namespace

void encode_row(ByteWriter& out, const RunRecording& recording, std::int32_t index) {
    const TokenRow& row = recording.row(index);
    const ModelConfig& config = recording.facts().config;
    std::vector<AttentionRow> layers;  // at least one
    bool captured = false;
    for (std::int32_t layer = 0; layer < config.layers; ++layer) {
        layers.push_back(recording.attention(index, layer));
        captured = captured || layers.back().captured;
    }
    const bool differ = captured && recording.layers_differ(index);
    const bool has_rms = recording.has_rms(index);
    out.i32(row.token);
    out.i32(row.position);
    out.i32(row.step);
    out.u8(static_cast<std::uint8_t>(row.phase));
    out.u8(static_cast<std::uint8_t>((row.generated ? kRowGenerated : 0) | (row.special ? kRowSpecial : 0) |
                                     (recording.attention_left_out(index) ? kRowLeftOut : 0) |
                                     (has_rms ? kRowHasRms : 0) | (captured ? kRowHasAttention : 0) |
                                     (differ ? kRowLayersDiffer : 0)));
    out.text(recording.row_display(index));
    out.text(recording.row_text(index));
    for (std::int32_t layer = 0; has_rms && layer < config.layers; ++layer) out.f32(recording.k_rms(index, layer));
    for (std::int32_t layer = 0; has_rms && layer < config.layers; ++layer) out.f32(recording.v_rms(index, layer));
    out.i32(layers.front().entries);
    if (!captured) return;
    const auto with_positions =
        std::find_if(layers.begin(), layers.end(), [](const AttentionRow& a) { return !a.positions.empty(); });
    out.boolean(!differ && with_positions != layers.end());
    if (!differ && with_positions != layers.end()) out.i32_array(with_positions->positions);
    for (const AttentionRow& layer : layers) {
        if (differ) {
            out.i32(layer.entries);
            out.boolean(!layer.positions.empty());
            if (!layer.positions.empty()) out.i32_array(layer.positions);
        }
        out.boolean(layer.captured);
        if (layer.captured) out.u16_array(layer.weights);
    }
}

void decode_row(ByteReader& in, RunRecording& to, std::int64_t steps) {
    const RunFacts& facts = to.facts();
    RunRecording::NewRow row;
    row.row.token = in.i32("token", 0, highest_token(facts));
    row.row.position = in.i32("position", 0, kMaxPosition);
    row.row.step = in.i32("step", 0, static_cast<std::int32_t>(std::max<std::int64_t>(steps, 1) - 1));
    row.row.phase = decode_enum(in, "phase", Phase::Refeed);
    const std::uint8_t flags = in.u8("flags");
    if (flags >= 64) in.fail("flags", "are not ones that this version knows");
    row.row.generated = (flags & kRowGenerated) != 0;
    row.row.special = (flags & kRowSpecial) != 0;
    row.display = in.text("display text");
    row.text = in.text("text");
    std::vector<float> k, v;
    if ((flags & kRowHasRms) != 0) {
        k = decode_floats(in, "K magnitude", facts.config.layers);
        v = decode_floats(in, "V magnitude", facts.config.layers);
    }
    const std::int32_t entries = in.i32("visible entries", 0, row.row.position + 1);
    DecodedAttention attention;
    if ((flags & kRowHasAttention) != 0)
        attention =
            decode_attention(in, facts.config, entries, row.row.position, (flags & kRowLayersDiffer) != 0);
    if (!in.ok()) return;
    row.layers = attention.entries;
    to.append_row_f16(row, k, v, attention.pointers, entries, attention.positions, (flags & kRowLeftOut) != 0);
}

}  // namespace decodescope
