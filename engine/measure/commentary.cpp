#include "engine/measure/commentary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "engine/cache/kv_format.h"
#include "engine/cache/strategy_descriptor.h"
#include "engine/measure/statistics.h"
#include "engine/model/layer_kinds.h"
#include "engine/support/numbers.h"

namespace decodescope {

namespace {

struct Pattern {
    std::string_view id, english;
};

// Where a number may be 1, the singular is a sentence of its own (".one").
constexpr std::array kPatterns = {
    Pattern{"step.prefill", "Computed Q, K and V for the {0} tokens of the prompt together, in {1} layers."},
    Pattern{"step.prefill.one", "Computed Q, K and V for the single token of the prompt, in {1} layers."},
    Pattern{"step.computed", "Computed Q, K and V for {0} tokens in {1} layers."},
    Pattern{"step.computed.one", "Computed Q, K and V for {0} token in {1} layers."},
    Pattern{"step.refeed", "Fed {0} known tokens again, in {1} layers; nothing of the text changed."},
    Pattern{"step.refeed.one", "Fed {0} known token again, in {1} layers; nothing of the text changed."},
    Pattern{"step.recomputed", "Computed Q, K and V again for all {0} tokens in {1} layers: nothing had been kept."},
    Pattern{"step.cache", "Read {0} cached rows per layer, wrote {1}."},
    Pattern{"step.cache.block",
            "Wrote {0} rows into the cache of every layer at once; none had to be read from before."},
    Pattern{"step.prefill.passes",
            "Computed Q, K and V for the {0} tokens of the prompt in {2} passes, in {1} layers."},
    Pattern{"step.refeed.passes",
            "Fed {0} known tokens again in {2} passes, in {1} layers; nothing of the text changed."},
    Pattern{"step.cache.block.kept",
            "Computed {0} rows of K and V for every layer at once; none had to be read from before, and {1} of them "
            "stay in the cache."},
    Pattern{"step.cache.passes",
            "Wrote {0} rows into the cache of every layer; each pass read what the ones before it had left there."},
    Pattern{"step.cache.passes.kept",
            "Computed {0} rows of K and V for every layer; each pass read what the ones before it had left in the "
            "cache, and {1} rows stay there."},
    Pattern{"step.cache.none", "The cache keeps nothing: no rows written, none to read in the next step."},
    Pattern{"step.grown",
            "The cache grew: {0} were copied into longer buffers; at the peak, old and new took {1} together."},
    Pattern{"step.reserved", "{0} of {1} reserved rows are in use; the reserve holds {2}."},
    Pattern{"step.offload.host",
            "K and V lie in host memory: {0} were moved, layer by layer, in {1} ms; at {2} GB/s, the fastest so far, it "
            "takes {3} ms at least."},
    Pattern{"step.offload.file",
            "K and V lie in a file: {0} were moved, layer by layer, in {1} ms; at {2} GB/s, the fastest so far, it takes "
            "{3} ms at least."},
    Pattern{"step.evicted", "{0} positions left the cache: {1}."},
    Pattern{"step.evicted.one", "Position {1} left the cache."},
    Pattern{"step.cache.kinds",
            "Read {0} cached rows in every layer that sees everything and {2} in those with a window, wrote {1}."},
    Pattern{"step.window", "The {0} layers with a window of {1} tokens let go of {2} positions: {3}."},
    Pattern{"step.window.one", "The {0} layers with a window of {1} tokens let go of position {3}."},
    Pattern{"step.dropped", "Layer {0} dropped position {1}: least attended to, {2} in all."},
    Pattern{"step.dropped.more", "In the same way {0} more rows left, of {1} layers in all."},
    Pattern{"step.dropped.many",
            "Each layer dropped what it had attended to least, one row after each token beyond its budget: {0} rows of "
            "{1} layers."},
    Pattern{"step.without", "Without the cache: {0} tokens through every layer, {1} times the products."},
    Pattern{"step.with", "With a cache, one token would have been enough: {0} times fewer products."},
    Pattern{"step.time", "The pass took {0} ms."},
    Pattern{"step.time.captured", "The pass took {0} ms, with attention captured."},
    Pattern{"step.time.warm", "The pass took {0} ms; it used its buffers for the first time and stays out of medians."},
    Pattern{"step.device", "Of {0} ms that the host waited, the device worked {1} ms; launches and gaps took {2} ms."},
    Pattern{"step.graph", "Its kernels were recorded as {0} new graphs, which later steps of this kind run as one launch."},
    Pattern{"step.graph.one", "Its kernels were recorded as a graph, which later steps of this kind run as one launch."},
    Pattern{"step.next", "Next token: {0}, with {1} % by the plain softmax."},
    Pattern{"step.stop.length", "The run ends here: the wanted number of tokens is reached."},
    Pattern{"step.stop.eos", "The run ends here: the model wrote its end token."},
    Pattern{"step.stop.context", "The run ends here: the context of {0} tokens is full."},
    Pattern{"step.stop.cancelled", "The run was stopped here."},
    Pattern{"gain.unknown", "The recompute lane has not run yet; there is nothing to compare."},
    Pattern{"gain.same", "This run keeps no cache: both lanes do the same work."},
    Pattern{"gain", "{0} times faster with the cache at {1} tokens: {2} ms instead of {3} ms."},
    Pattern{"gain.none.short",
            "No benefit at this length: {0} times at {1} tokens ({2} ms and {3} ms), because so few tokens "
            "are computed again almost for free."},
    Pattern{"gain.none.memory",
            "No benefit at this length: {0} times at {1} tokens ({2} ms and {3} ms), because reading the "
            "weights takes most of both passes."},
    Pattern{"gain.none.overhead",
            "No benefit at this length: {0} times at {1} tokens ({2} ms and {3} ms), because starting a pass "
            "costs more here than the products that the cache saves."},
    Pattern{"compare.same",
            "{0} and {1} at {2} tokens: no difference that this measurement can show, {3} times ({4} to {5})."},
    Pattern{"agree.unknown", "There is no comparison yet."},
    Pattern{"agree.same", "Same answer in all {0} comparisons; the largest logit difference is {1}."},
    Pattern{"agree.tie",
            "Same logits up to {1} in {0} comparisons, but the likeliest token changed in {2} of them: two tokens "
            "were equally likely."},
    Pattern{"agree.differs", "Different answer in {2} of {0} comparisons; the largest logit difference is {1}."},
    Pattern{"agree.design",
            "Differs by design: rows have left the cache or are stored coarsely. The largest logit difference "
            "is {1} in {0} comparisons."},
    Pattern{"pair.time",
            "{0}: {1} ms per step, {2} times the time of {3} ({4} to {5} in the middle half of {6} pairs of steps; faster "
            "in {7})."},
    Pattern{"pair.time.same",
            "{0}: {1} ms per step; no difference from {3} that {6} pairs of steps can show, {2} times ({4} to {5} in "
            "the middle half; faster in {7})."},
    Pattern{"pair.logits.equal", "{0}: the logits equal those of {1} bit for bit in all {2} passes."},
    Pattern{"pair.logits.rounding", "{0}: the logits differ from those of {1} by {2} at most, which is rounding."},
    Pattern{"pair.logits",
            "{0}: the logits differ from those of {1} by up to {2} (at {3} tokens); KL divergence up to {4}, on average "
            "{5} nats."},
    Pattern{"pair.format",
            "{0}: the stored rows are off from those of {3} by up to {1} % in K and {2} % in V (relative L2 of a layer)."},
    Pattern{"pair.format.much.k",
            "Warning: {0} does not suit this model. The K rows of layer {1} are off by {2} %; more than {3} % is much."},
    Pattern{"pair.format.much.v",
            "Warning: {0} does not suit this model. The V rows of layer {1} are off by {2} %; more than {3} % is much."},
    Pattern{"pair.format.much.kl",
            "Warning: {0} changes what is likely, by a KL divergence of {1} nats at one token; more than {2} is much."},
    Pattern{"pair.text.same", "{0} writes the same {1} tokens as {2}."},
    Pattern{"pair.text.differs", "{0} writes another text: the first different token is number {1} of the new ones."},
    Pattern{"lane.copied", "{0} copied {1} to grow; at its peak it held {2}, for {3} that are used at the end."},
    Pattern{"lane.error", "{0} ended early: {1}"},
    Pattern{"claim.preallocated",
            "A source article says that preallocation is about 20 % faster. Measured here up to {6} tokens: a step takes "
            "{0} % less time than with a growing cache ({1} to {2} % in the middle half of {3} pairs of steps, less in "
            "{7} of them), {4} ms instead of {5} ms."},
    Pattern{"claim.preallocated.slower",
            "A source article says that preallocation is about 20 % faster. Measured here up to {6} tokens: a step takes "
            "{0} % more time than with a growing cache ({1} to {2} % in the middle half of {3} pairs of steps, more in "
            "{7} of them), {4} ms instead of {5} ms."},
    Pattern{"claim.preallocated.same",
            "A source article says that preallocation is about 20 % faster. Measured here up to {6} tokens: no "
            "difference that {3} pairs of steps can show; a step takes {0} % less time than with a growing cache ({1} to "
            "{2} % in the middle half, less in {7} pairs), {4} ms and {5} ms."},
};

std::string filled_in(std::string_view pattern, const std::vector<std::string>& args) {
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const bool placeholder = pattern[i] == '{' && i + 2 < pattern.size() && pattern[i + 2] == '}';
        const auto index = static_cast<std::size_t>(placeholder ? pattern[i + 1] - '0' : 0);
        if (placeholder && index < args.size()) {
            text += args[index];
            i += 2;
        } else {
            text += pattern[i];
        }
    }
    return text;
}

std::string with_one(const char* id, std::int64_t count) { return count == 1 ? fmt::format("{}.one", id) : id; }
std::string milliseconds(double micros) { return format_fixed(micros / 1000, 3); }

bool keeps_a_cache(const RunFacts& facts) {
    const StrategyDescriptor* strategy =
        find_strategy(std::string_view(facts.cache_spec).substr(0, facts.cache_spec.find(':')));
    return strategy == nullptr || strategy->has_cache;
}

// "0 to 11", "3", or "3, 7, 8" of few scattered ones.
std::string positions_text(const std::vector<EvictedEntry>& evicted) {
    std::vector<std::int32_t> positions;
    for (const EvictedEntry& entry : evicted) positions.push_back(entry.position);
    std::sort(positions.begin(), positions.end());
    if (positions.size() == 1) return fmt::format("{}", positions.front());
    const bool in_a_row = positions.back() - positions.front() + 1 == static_cast<std::int32_t>(positions.size());
    if (in_a_row) return fmt::format("{} to {}", positions.front(), positions.back());
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(positions.size(), 8); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ", ", positions[i]);
    if (positions.size() > 8) text += ", ...";
    return text;
}

void add_computed(std::vector<Sentence>& out, const RunFacts& facts, const StepFacts& step) {
    const std::string rows = format_grouped(step.row_count), layers = format_grouped(facts.config.layers);
    if (!keeps_a_cache(facts) && step.phase == Phase::Decode) {
        out.push_back(make_sentence("step.recomputed", {format_grouped(step.kv.tokens_seen), layers}));
        return;
    }
    const char* id = step.phase == Phase::Prefill  ? "step.prefill"
                     : step.phase == Phase::Refeed ? "step.refeed"
                                                   : "step.computed";
    if (step.passes > 1 && step.phase != Phase::Decode)
        out.push_back(make_sentence(fmt::format("{}.passes", id), {rows, layers, format_grouped(step.passes)}));
    else out.push_back(make_sentence(with_one(id, step.row_count), {rows, layers}));
}

// Layers that drop tokens apart, by score: the first few by name, unless there are rows of many tokens.
void add_dropped(std::vector<Sentence>& out, const RunFacts& facts, const StepFacts& step) {
    constexpr std::size_t kNamed = 3;
    std::vector<EvictedEntry> dropped;
    std::copy_if(step.evicted.begin(), step.evicted.end(), std::back_inserter(dropped),
                 [](const EvictedEntry& entry) { return entry.scored(); });
    const auto count = static_cast<std::int64_t>(dropped.size());
    const std::string layers = format_grouped(facts.config.layers - local_kind(facts.config).layers);
    if (count > facts.config.layers) {
        out.push_back(make_sentence("step.dropped.many", {format_grouped(count), layers}));
        return;
    }
    for (std::size_t i = 0; i < std::min(kNamed, dropped.size()); ++i) {
        const EvictedEntry& entry = dropped[i];
        out.push_back(make_sentence("step.dropped",
                                    {format_grouped(entry.layer), format_grouped(entry.position),
                                     format_fixed(static_cast<double>(entry.score), 2)}));
    }
    if (count > static_cast<std::int64_t>(kNamed))
        out.push_back(make_sentence("step.dropped.more",
                                    {format_grouped(count - static_cast<std::int64_t>(kNamed)), layers}));
}

// What the layers with a window let go of, in all of them the same positions.
void add_left_windows(std::vector<Sentence>& out, const ModelConfig& config, const StepFacts& step) {
    const LayerKind local = local_kind(config);
    std::vector<EvictedEntry> left;  // of the first such layer
    for (const EvictedEntry& entry : step.evicted)
        if (!entry.scored() && entry.layer >= 0 && layer_window(config, entry.layer) > 0 &&
            (left.empty() || left.front().layer == entry.layer))
            left.push_back(entry);
    if (left.empty()) return;
    out.push_back(make_sentence(with_one("step.window", static_cast<std::int64_t>(left.size())),
                                {format_grouped(local.layers), format_grouped(local.window),
                                 format_grouped(static_cast<std::int64_t>(left.size())), positions_text(left)}));
}

void add_cache(std::vector<Sentence>& out, const RunFacts& facts, const StepFacts& step) {
    const KvFacts& kv = step.kv;
    if (!keeps_a_cache(facts)) {
        out.push_back(make_sentence("step.cache.none"));
        return;
    }
    const std::int64_t read = std::max<std::int64_t>(kv.rows_read - kv.rows_written, 0);  // rows that were there before
    const std::string written = format_grouped(kv.rows_written), stored = format_grouped(kv.tokens_stored);
    const char* kept = kv.tokens_stored < kv.rows_written ? ".kept" : "";
    if (step.passes > 1)
        out.push_back(make_sentence(fmt::format("step.cache.passes{}", kept), {written, stored}));
    else if (read == 0)
        out.push_back(make_sentence(fmt::format("step.cache.block{}", kept), {written, stored}));
    else if (const LayerKind local = local_kind(facts.config);
             local.layers > 0 && local.layers < facts.config.layers && read >= local.window)
        out.push_back(
            make_sentence("step.cache.kinds", {format_grouped(read), written, format_grouped(local.window - 1)}));
    else
        out.push_back(make_sentence("step.cache", {format_grouped(read), written}));
    if (kv.offload != OffloadPlace::None)
        out.push_back(make_sentence(kv.offload == OffloadPlace::Host ? "step.offload.host" : "step.offload.file",
                                    {format_bytes(kv.offload_moved_bytes()), milliseconds(kv.offload_micros),
                                     format_fixed(kv.offload_rate / 1e9, 1),
                                     milliseconds(kv.offload_bound_micros())}));
    if (kv.copied_bytes > 0)
        out.push_back(make_sentence("step.grown", {format_bytes(kv.copied_bytes), format_bytes(kv.peak_bytes)}));
    if (kv.capacity_tokens > kv.tokens_stored)
        out.push_back(
            make_sentence("step.reserved", {format_grouped(kv.tokens_stored), format_grouped(kv.capacity_tokens),
                                            format_bytes(kv.reserved_bytes - kv.used_bytes)}));
    add_left_windows(out, facts.config, step);
    if (!step.evicted.empty() && step.evicted.front().layer != kNone)
        add_dropped(out, facts, step);
    else if (!step.evicted.empty())
        out.push_back(
            make_sentence(with_one("step.evicted", static_cast<std::int64_t>(step.evicted.size())),
                     {format_grouped(static_cast<std::int64_t>(step.evicted.size())), positions_text(step.evicted)}));
}

void add_products(std::vector<Sentence>& out, const RunFacts& facts, const StepFacts& step) {
    const std::int64_t without = recompute_flops(facts.config, step.kv.tokens_seen);
    if (step.phase != Phase::Decode || step.flops <= 0 || without <= 0 || step.kv.tokens_seen <= 1) return;
    if (keeps_a_cache(facts)) {
        const double ratio = static_cast<double>(without) / static_cast<double>(step.flops);
        out.push_back(make_sentence("step.without", {format_grouped(step.kv.tokens_seen), format_fixed(ratio, 1)}));
        return;
    }
    const std::int64_t with = pass_flops(facts.config, step.kv.tokens_seen - 1, 1);
    out.push_back(
        make_sentence("step.with", {format_fixed(static_cast<double>(step.flops) / static_cast<double>(with), 1)}));
}

void add_outcome(std::vector<Sentence>& out, const RunRecording& recording, const StepFacts& step) {
    const char* id = step.warm_up ? "step.time.warm" : step.captured ? "step.time.captured" : "step.time";
    out.push_back(make_sentence(id, {milliseconds(step.micros)}));
    if (step.host_micros > 0)
        out.push_back(make_sentence("step.device", {milliseconds(step.host_micros), milliseconds(step.micros),
                                                    milliseconds(std::max(step.host_micros - step.micros, 0.0))}));
    if (step.graph_captures > 0)
        out.push_back(make_sentence(with_one("step.graph", step.graph_captures), {format_grouped(step.graph_captures)}));
    if (step.sampled_token >= 0) {
        for (const TokenProbability& entry : step.top) {
            if (entry.token != step.sampled_token) continue;
            out.push_back(make_sentence("step.next", {fmt::format("“{}”", recording.token_display(entry.token)),
                                                 format_fixed(100.0 * static_cast<double>(entry.probability), 1)}));
        }
    }
    if (step.stop_reason == "length") out.push_back(make_sentence("step.stop.length"));
    if (step.stop_reason == "eos") out.push_back(make_sentence("step.stop.eos"));
    if (step.stop_reason == "context_full")
        out.push_back(make_sentence("step.stop.context", {format_grouped(recording.facts().config.context)}));
    if (step.stop_reason == "cancelled") out.push_back(make_sentence("step.stop.cancelled"));
}

// Why a cache does not pay at this length: too little to save, the weights' way through memory, or the fixed cost.
const char* reason_for_no_gain(const RunFacts& facts, std::int64_t length, double cached_ms) {
    constexpr std::int64_t kFew = 16;  // rows that a pass handles at hardly more cost than one
    if (length <= kFew) return "gain.none.short";
    const double weights_ms =
        facts.bandwidth_gb_s > 0 ? static_cast<double>(facts.weight_bytes) / (facts.bandwidth_gb_s * 1e6) : 0;
    return weights_ms > 0.5 * cached_ms ? "gain.none.memory" : "gain.none.overhead";
}

}  // namespace

std::string_view sentence_pattern(std::string_view id) {
    const auto found = std::find_if(kPatterns.begin(), kPatterns.end(), [&](const Pattern& p) { return p.id == id; });
    DS_CHECK(found != kPatterns.end());
    return found->english;
}

bool differs_by_design(const RunFacts& facts) {
    if (const auto format = parse_kv_format(facts.kv_type); format.ok() && format->is_lossy()) return true;
    const StrategyDescriptor* strategy =
        find_strategy(std::string_view(facts.cache_spec).substr(0, facts.cache_spec.find(':')));
    return strategy != nullptr && strategy->lossy;
}

Sentence make_sentence(std::string id, std::vector<std::string> args) {
    std::string english = filled_in(sentence_pattern(id), args);
    return {std::move(id), std::move(args), std::move(english)};
}

std::vector<std::string_view> sentence_ids() {
    std::vector<std::string_view> ids;
    for (const Pattern& pattern : kPatterns) ids.push_back(pattern.id);
    return ids;
}

std::int64_t recompute_flops(const ModelConfig& config, std::int64_t length) {
    return pass_flops(config, 0, length);
}

std::vector<Sentence> what_happened(const RunRecording& recording, std::int32_t step) {
    std::vector<Sentence> out;
    if (step < 0 || step >= recording.step_count()) return out;
    const auto facts = recording.step(step);
    add_computed(out, recording.facts(), *facts);
    add_cache(out, recording.facts(), *facts);
    add_products(out, recording.facts(), *facts);
    add_outcome(out, recording, *facts);
    return out;
}

Sentence gain_sentence(const RunRecording& recording) {
    if (!keeps_a_cache(recording.facts())) return make_sentence("gain.same");
    const std::int32_t count = recording.race_count();
    if (count == 0) return make_sentence("gain.unknown");
    const RacePoint point = recording.race_point(count - 1);
    return gain_sentence(recording.facts(), point.length, point.cached_micros / 1000, point.recompute_micros / 1000, 3);
}

Sentence gain_sentence(const RunFacts& facts, std::int64_t length, double cached_ms, double recompute_ms,
                       int shown_digits) {
    const double cached = rounded(cached_ms, shown_digits), recompute = rounded(recompute_ms, shown_digits);
    if (!(cached > 0) || !(recompute > 0)) return make_sentence("gain.unknown");
    const double value = recompute / cached;
    const std::vector<std::string> args = {format_fixed(value, kSpeedUpDigits), format_grouped(length),
                                           format_fixed(cached, shown_digits), format_fixed(recompute, shown_digits)};
    return make_sentence(value < kLeastGain ? reason_for_no_gain(facts, length, cached) : "gain", args);
}

Sentence agreement_sentence(const RunRecording& recording) {
    const std::int32_t count = recording.race_count();
    if (count == 0) return make_sentence("agree.unknown");
    double largest = 0;
    std::int64_t changed = 0;
    for (std::int32_t i = 0; i < count; ++i) {
        const RacePoint point = recording.race_point(i);
        const double difference = point.max_abs_logit_diff;
        if (std::isnan(difference) || difference > largest) largest = difference;  // NaN stays: nothing is larger
        changed += point.same_token ? 0 : 1;
    }
    const std::vector<std::string> args = {format_grouped(count), fmt::format("{:.1e}", largest),
                                           format_grouped(changed)};
    if (differs_by_design(recording.facts())) return make_sentence("agree.design", args);
    if (changed == 0 && std::isfinite(largest)) return make_sentence("agree.same", args);
    return make_sentence(largest <= kRoundingDifference ? "agree.tie" : "agree.differs", args);
}

}  // namespace decodescope
