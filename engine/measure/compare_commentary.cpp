#include "engine/measure/compare_commentary.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/support/numbers.h"

namespace decodescope {

namespace {

std::string milliseconds(double micros) { return format_fixed(micros / 1000, 3); }
std::string times(double ratio) { return format_fixed(ratio, kSpeedUpDigits); }
std::string small(double value) {
    if (value == 0) return "0";
    return value < 1e-2 ? fmt::format("{:.1e}", value) : fmt::format("{:.3g}", value);
}

// Whether rounding is all that may lie between the logits of two configurations.
bool same_by_design(const CompareLane& lane, const CompareLane& reference) {
    for (const CompareLane* one : {&lane, &reference}) {
        const StrategyDescriptor* strategy = find_strategy(one->config.cache.id);
        if (strategy != nullptr && strategy->lossy) return false;
    }
    return lane.kv_type == reference.kv_type && lane.weights == reference.weights;
}

void add_time(std::vector<Sentence>& out, const CompareLane& lane, const CompareLane& reference) {
    const PairedTimes pair = paired_times(lane, reference);
    if (pair.steps == 0) return;
    out.push_back(make_sentence(pair.different() ? "pair.time" : "pair.time.same",
                                {lane.name, milliseconds(lane.decode_micros.median), times(pair.ratio), reference.name,
                                 times(pair.low), times(pair.high), format_grouped(pair.steps),
                                 format_grouped(pair.faster)}));
}

void add_logits(std::vector<Sentence>& out, const CompareLane& lane, const CompareLane& reference) {
    if (lane.passes.empty()) return;
    const std::string passes = format_grouped(std::ssize(lane.passes));
    if (lane.max_abs_logit_diff == 0) {
        out.push_back(make_sentence("pair.logits.equal", {lane.name, reference.name, passes}));
        return;
    }
    const bool rounding = same_by_design(lane, reference) && lane.max_abs_logit_diff <= kRoundingDifference;
    out.push_back(make_sentence(rounding ? "pair.logits.rounding" : "pair.logits",
                                {lane.name, reference.name, small(lane.max_abs_logit_diff),
                                 format_grouped(lane.max_diff_length), small(lane.max_kl), small(lane.mean_kl)}));
}

// Where the formats are what differs: how far the stored rows are off, and a warning where that is much.
void add_format(std::vector<Sentence>& out, const CompareLane& lane, const CompareLane& reference) {
    if (lane.layers.empty()) return;
    const LayerFormatError most = lane.largest_layer_error();
    const auto percent = [](double relative) { return fmt::format("{:.2g}", 100 * relative); };
    out.push_back(make_sentence("pair.format", {lane.name, percent(most.k), percent(most.v), reference.name}));
    for (std::size_t layer = 0; layer < lane.layers.size(); ++layer) {
        const auto [k, v] = lane.layers[layer];
        if (std::max(k, v) <= kFormatWarnRows) continue;
        out.push_back(make_sentence(k >= v ? "pair.format.much.k" : "pair.format.much.v",
                                    {lane.kv_type, fmt::format("{}", layer), percent(std::max(k, v)),
                                     percent(kFormatWarnRows)}));
        return;
    }
    if (lane.max_kl > kFormatWarnKl)
        out.push_back(make_sentence("pair.format.much.kl", {lane.kv_type, small(lane.max_kl), small(kFormatWarnKl)}));
}

void add_text(std::vector<Sentence>& out, const CompareLane& lane, const CompareLane& reference) {
    if (lane.tokens.empty()) return;
    if (lane.first_different >= 0)
        out.push_back(make_sentence("pair.text.differs", {lane.name, format_grouped(lane.first_different + 1)}));
    else
        out.push_back(
            make_sentence("pair.text.same", {lane.name, format_grouped(std::ssize(lane.tokens)), reference.name}));
}

void add_copies(std::vector<Sentence>& out, const CompareLane& lane) {
    if (lane.kv_bytes_copied == 0) return;
    out.push_back(make_sentence("lane.copied", {lane.name, format_bytes(lane.kv_bytes_copied),
                                                format_bytes(lane.kv_bytes_peak), format_bytes(lane.kv_bytes_used)}));
}

const CompareLane* find_lane(const CompareResult& result, const char* cache, const CompareLane* like) {
    for (const CompareLane& lane : result.lanes) {
        if (lane.config.cache.id != cache) continue;
        if (like == nullptr || (lane.kv_type == like->kv_type && lane.weights == like->weights &&
                                lane.backend == like->backend))
            return &lane;
    }
    return nullptr;
}

}  // namespace

std::optional<Sentence> preallocation_sentence(const CompareResult& result) {
    const CompareLane* growing = find_lane(result, "growing", nullptr);
    if (growing == nullptr) return {};
    const CompareLane* preallocated = find_lane(result, "preallocated", growing);
    if (preallocated == nullptr) return {};
    const PairedTimes pair = paired_times(*preallocated, *growing);
    if (pair.steps == 0) return {};
    // A ratio of 0.8 is 20 % less time.
    const bool slower = pair.different() && pair.ratio > 1;
    const auto percent = [slower](double ratio) { return format_fixed(100 * (slower ? ratio - 1 : 1 - ratio), 1); };
    const std::int64_t length = growing->passes.back().length;
    return make_sentence(!pair.different() ? "claim.preallocated.same"
                         : slower          ? "claim.preallocated.slower"
                                           : "claim.preallocated",
                         {percent(pair.ratio), percent(slower ? pair.low : pair.high),
                          percent(slower ? pair.high : pair.low), format_grouped(pair.steps),
                          milliseconds(preallocated->decode_micros.median), milliseconds(growing->decode_micros.median),
                          format_grouped(length), format_grouped(slower ? pair.slower : pair.faster)});
}

std::vector<Sentence> compare_commentary(const CompareResult& result) {
    std::vector<Sentence> out;
    if (result.lanes.empty()) return out;
    if (auto claim = preallocation_sentence(result)) out.push_back(std::move(*claim));
    const CompareLane& reference = result.lanes.front();
    for (const CompareLane& lane : result.lanes) {
        if (&lane != &reference) {
            if (!lane.error.empty()) out.push_back(make_sentence("lane.error", {lane.name, lane.error}));
            add_time(out, lane, reference);
            add_logits(out, lane, reference);
            add_format(out, lane, reference);
            add_text(out, lane, reference);
        }
        add_copies(out, lane);
    }
    return out;
}

}  // namespace decodescope
