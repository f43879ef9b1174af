#include "ui/viewmodels/timing_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

#include "engine/model/layer_kinds.h"

namespace decodescope {

namespace {

constexpr int kNewest = 5;                    // passes whose median is "now"
constexpr double kRoundingDifference = 1e-2;  // of a logit; as in engine/measure/commentary.cpp
constexpr double kGainFrom = 1.15;            // below it the panel says that there is no gain, and why
constexpr double kLargeGain = 5;              // likewise where a device waits for launches

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

template <class T>
void reorder(std::vector<T>& values, const std::vector<std::size_t>& order) {
    std::vector<T> sorted;
    sorted.reserve(values.size());
    for (std::size_t i : order) sorted.push_back(values[i]);
    values = std::move(sorted);
}

// After "continue from here" lengths come again: a lane is kept in order of length, the newest pass last.
void sort_by_length(TimingLane& lane) {
    if (std::is_sorted(lane.length.begin(), lane.length.end())) return;
    std::vector<std::size_t> order(lane.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return lane.length[a] < lane.length[b]; });
    reorder(lane.step, order);
    reorder(lane.length, order);
    reorder(lane.micros, order);
    reorder(lane.captured, order);
    reorder(lane.cost, order);
    reorder(lane.gap, order);
    reorder(lane.graphs, order);
}

void append(TimingLane& lane, int step, int length, double micros, bool captured, Cost cost, double gap = 0,
            int graphs = 0) {
    lane.step.push_back(step);
    lane.length.push_back(length);
    lane.micros.push_back(micros);
    lane.captured.push_back(captured);
    lane.cost.push_back(cost);
    lane.gap.push_back(gap);
    lane.graphs.push_back(graphs);
}

// Passes without capture alone, where there are enough of them: a curve never mixes both kinds. Of a long lane every
// second, third, ... one, so that a drawing costs no more at the end of a run than at its beginning.
CostFit fit_lane(const TimingLane& lane) {
    constexpr std::size_t kEnough = 6, kMost = 256;
    const auto plain = static_cast<std::size_t>(std::count(lane.captured.begin(), lane.captured.end(), false));
    std::vector<Cost> costs;
    std::vector<double> micros;
    const std::size_t stride = (lane.size() + kMost - 1) / kMost;
    for (std::size_t i = 0; i < lane.size(); i += stride) {
        if (plain >= kEnough && lane.captured[i]) continue;
        costs.push_back(lane.cost[i]);
        micros.push_back(lane.micros[i]);
    }
    return fit_cost(costs, micros);
}

std::vector<double> evaluate(const CostFit& fit, const TimingLane& lane) {
    std::vector<double> values;
    if (!fit.valid) return values;
    values.reserve(lane.size());
    for (const Cost& cost : lane.cost) values.push_back(fit.micros(cost));
    return values;
}

}  // namespace

std::vector<bool> hiccups(const std::vector<double>& micros) {
    constexpr std::size_t kLater = 5;
    constexpr double kApart = 3.0, kShare = 0.03;
    std::vector<bool> found(micros.size(), false);
    std::size_t count = 0;
    // The longer passes, divided at their median, which is the top of the lower half.
    std::priority_queue<double> lower;
    std::priority_queue<double, std::vector<double>, std::greater<>> upper;
    const auto move_top = [](auto& from, auto& to) {
        to.push(from.top());
        from.pop();
    };
    for (std::size_t i = micros.size(); i-- > 0;) {
        if (lower.size() + upper.size() >= kLater && micros[i] > kApart * lower.top()) {
            found[i] = true;
            ++count;
        }
        if (!lower.empty() && micros[i] > lower.top()) upper.push(micros[i]);
        else lower.push(micros[i]);
        if (lower.size() > upper.size() + 1) move_top(lower, upper);
        if (upper.size() > lower.size()) move_top(upper, lower);
    }
    if (static_cast<double>(count) > std::max(1.0, kShare * static_cast<double>(micros.size())))
        found.assign(micros.size(), false);
    return found;
}

std::string device_label(const RunFacts& facts) {
    if (facts.backend == "cpu") return "CPU";
    return facts.backend.rfind("cuda", 0) == 0 && !facts.device.empty() ? facts.device : facts.backend;
}

void TimingModel::start_anew(const RunRecording* recording) {
    std::vector<DeviceLanes> devices = std::move(devices_);
    if (cached_.size() > 0) {
        std::erase_if(devices, [&](const DeviceLanes& lanes) { return lanes.backend == device_.backend; });
        device_.recomputes = recomputes_;
        device_.cached = std::move(cached_);
        device_.recompute = std::move(recompute_);
        devices.push_back(std::move(device_));
    }
    *this = TimingModel();
    source_ = recording;
    if (recording == nullptr) {  // between two runs
        devices_ = std::move(devices);
        return;
    }
    const RunFacts& facts = recording->facts();
    device_.device = device_label(facts);
    device_.backend = facts.backend;
    device_.model = facts.model_identity;
    std::erase_if(devices, [&](const DeviceLanes& lanes) { return lanes.model != device_.model; });
    devices_ = std::move(devices);
    config_ = facts.config;
    weight_bytes_ = facts.weight_bytes;
    recomputes_ = facts.cache_spec.rfind("recompute", 0) == 0;
}

std::vector<const DeviceLanes*> TimingModel::other_devices() const {
    std::vector<const DeviceLanes*> others;
    for (const DeviceLanes& lanes : devices_)
        if (source_ != nullptr && lanes.backend != device_.backend) others.push_back(&lanes);
    return others;
}

void TimingModel::update(const RunRecording* recording, bool lossy_strategy) {
    if (recording != source_) start_anew(recording);
    lossy_ = lossy_strategy;
    if (recording == nullptr) return;
    const int steps = recording->step_count(), race = recording->race_count();
    if (steps == steps_ && race == race_) return;
    take_steps(*recording);
    take_race(*recording);
    fit();
}

void TimingModel::take_steps(const RunRecording& recording) {
    for (const int count = recording.step_count(); steps_ < count; ++steps_) {
        const auto facts = recording.step(steps_);
        if (facts->phase != Phase::Decode || facts->warm_up) continue;
        append(cached_, facts->index, facts->first_row + facts->row_count, facts->micros, facts->captured,
               {facts->flops, facts->bytes},
               facts->host_micros > 0 ? std::max(0.0, facts->host_micros - facts->micros) : 0.0,
               static_cast<int>(facts->graph_captures));
    }
    sort_by_length(cached_);
}

void TimingModel::take_race(const RunRecording& recording) {
    const RunFacts& facts = recording.facts();
    for (const int count = recording.race_count(); race_ < count; ++race_) {
        const RacePoint point = recording.race_point(race_);
        points_.push_back(point);
        append(recompute_, point.step, point.length, point.recompute_micros, false,
               {pass_flops(facts.config, 0, point.length), facts.weight_bytes});
    }
    sort_by_length(recompute_);
}

void TimingModel::fit() {
    cached_fit_ = fit_lane(cached_);
    recompute_fit_ = fit_lane(recompute_);
    cached_expected_ = evaluate(cached_fit_, cached_);
    recompute_expected_ = evaluate(recompute_fit_, recompute_);
    cached_.hiccup = hiccups(cached_.micros);
    recompute_.hiccup = hiccups(recompute_.micros);
}

std::vector<double> TimingModel::cumulated(const TimingLane& lane) {
    std::vector<double> sums;
    sums.reserve(lane.size());
    double sum = 0;
    for (std::size_t i = 0; i < lane.size(); ++i) {
        sum += lane.micros[i];
        if (i > 0)
            sum += std::max(0.0, lane.length[i] - lane.length[i - 1] - 1) * (lane.micros[i] + lane.micros[i - 1]) / 2;
        sums.push_back(sum);
    }
    return sums;
}

// Over the steps from the first to the newest pass without a cache. The cached lane was measured at each of them.
void TimingModel::total(TimingSummary& s, int up_to_step) const {
    const RacePoint* before = nullptr;
    for (const RacePoint& point : points_) {
        if (point.step > up_to_step) continue;
        const double missed = before == nullptr ? 0.0 : std::max(0, point.length - before->length - 1);
        s.cached_total_micros += point.cached_micros;
        s.recompute_total_micros += point.recompute_micros;
        if (missed > 0) {
            double sum = 0, known = 0;
            const auto first = std::upper_bound(cached_.length.begin(), cached_.length.end(), before->length);
            for (auto at = first; at != cached_.length.end() && *at < point.length; ++at, ++known)
                sum += cached_.micros[static_cast<std::size_t>(at - cached_.length.begin())];
            known = std::min(known, missed);
            s.cached_total_micros += sum + (missed - known) * (point.cached_micros + before->cached_micros) / 2;
            s.recompute_total_micros += missed * (point.recompute_micros + before->recompute_micros) / 2;
            s.total_has_derived = true;
        }
        before = &point;
    }
}

// Both lanes at the same lengths: the newest pass without a cache and the few before it that are nearly as long.
void TimingModel::compare_now(TimingSummary& s, int up_to_step) const {
    constexpr double kNearlyAsLong = 0.8;
    std::vector<double> cached, recompute;
    double shortest = 0;
    for (std::size_t i = recompute_.size(); i-- > 0 && recompute.size() < kNewest;) {
        if (recompute_.step[i] > up_to_step) continue;
        if (s.compared_length == 0) s.compared_length = static_cast<int>(recompute_.length[i]);
        shortest = recompute_.length[i];
        if (shortest < kNearlyAsLong * s.compared_length) break;
        recompute.push_back(recompute_.micros[i]);
    }
    for (std::size_t i = cached_.size(); i-- > 0 && cached.size() < kNewest;)
        if (cached_.step[i] <= up_to_step && cached_.length[i] <= s.compared_length) cached.push_back(cached_.micros[i]);
    s.recompute_micros = median(recompute);
    const double beside = median(cached);
    if (beside > 0 && s.recompute_micros > 0) s.speedup = s.recompute_micros / beside;
}

TimingSummary TimingModel::summary(int up_to_step) const {
    TimingSummary s;
    std::vector<double> newest, gaps;
    for (std::size_t i = cached_.size(); i-- > 0;) {
        if (cached_.step[i] > up_to_step) continue;
        s.graphs += cached_.graphs[i];
        if (newest.size() == kNewest) continue;
        newest.push_back(cached_.micros[i]);
        gaps.push_back(cached_.gap[i]);
        s.length = std::max(s.length, static_cast<int>(cached_.length[i]));
    }
    s.cached_micros = median(newest);
    s.gap_micros = median(gaps);
    compare_now(s, up_to_step);
    total(s, up_to_step);
    for (const RacePoint& point : points_) {
        if (point.step > up_to_step) continue;
        ++s.compared;
        s.same_tokens += point.same_token ? 1 : 0;
        s.max_logit_diff = std::max(s.max_logit_diff, point.max_abs_logit_diff);
    }
    if (s.compared > 0)
        s.same = lossy_                                    ? SameAnswer::ByDesign
                 : s.same_tokens == s.compared             ? SameAnswer::Yes
                 : s.max_logit_diff <= kRoundingDifference ? SameAnswer::Tie
                                                           : SameAnswer::No;
    s.no_gain = reason(s);
    if (s.no_gain == NoGain::Launches) explain_launches(s);
    return s;
}

// How long a text must be for a large gain, by the fits: a device that waits for launches does more products in the same
// time, until they fill it.
void TimingModel::explain_launches(TimingSummary& s) const {
    s.fixed_micros = cached_fit_.micros_fixed;
    const double span = cached_.length.back() - cached_.length.front();
    const double entry_bytes =
        span > 0 ? static_cast<double>(cached_.cost.back().bytes - cached_.cost.front().bytes) / span : 0;
    for (std::int64_t length = 64; length <= config_.context; length *= 2) {
        if (length <= s.compared_length) continue;
        const double bytes = static_cast<double>(cached_.cost.back().bytes) +
                             entry_bytes * (static_cast<double>(length) - cached_.length.back());
        const Cost cached{pass_flops(config_, length - 1, 1), static_cast<std::int64_t>(bytes)};
        const Cost recompute{pass_flops(config_, 0, length), weight_bytes_};
        if (recompute_fit_.micros(recompute) < kLargeGain * cached_fit_.micros(cached)) continue;
        s.gain_length = static_cast<int>(length);
        return;
    }
}

NoGain TimingModel::reason(const TimingSummary& s) const {
    if (recomputes_) return NoGain::RecomputeChosen;
    const bool fixed = cached_fit_.valid && recompute_fit_.valid && cached_fit_.micros_fixed > 0.5 * s.cached_micros;
    if (fixed && s.gap_micros > 0 && s.speedup > 0 && s.speedup < kLargeGain) return NoGain::Launches;
    if (s.speedup == 0 || s.speedup >= kGainFrom) return NoGain::None;
    if (!recompute_fit_.valid || !cached_fit_.valid) return NoGain::ShortContext;
    if (fixed) return NoGain::FixedCost;
    const Cost& newest = recompute_.cost.back();
    const double by_bytes = recompute_fit_.micros_per_byte * static_cast<double>(newest.bytes);
    const double by_flops = recompute_fit_.micros_per_flop * static_cast<double>(newest.flops);
    return by_bytes > by_flops ? NoGain::MemoryBound : NoGain::ShortContext;
}

ExportTable TimingModel::table() const {
    ExportTable table{
        "time per token against length", {"lane", "provenance", "step", "length", "micros", "attention_captured"}, {}};
    const auto add = [&](const std::string& lane, const TimingLane& points, const std::vector<double>& expected) {
        for (std::size_t i = 0; i < points.size(); ++i)
            table.rows.push_back({lane, std::string("measured"), std::int64_t{points.step[i]},
                                  static_cast<std::int64_t>(points.length[i]), points.micros[i],
                                  bool(points.captured[i])});
        for (std::size_t i = 0; i < expected.size(); ++i)
            table.rows.push_back({lane, std::string("derived"), std::int64_t{points.step[i]},
                                  static_cast<std::int64_t>(points.length[i]), expected[i], ExportCell()});
    };
    add(recomputes_ ? "recompute (this run)" : "cached", cached_, cached_expected_);
    add("recompute", recompute_, recompute_expected_);
    for (const DeviceLanes* other : other_devices()) {
        add((other->recomputes ? "recompute, " : "cached, ") + other->device, other->cached, {});
        add("recompute, " + other->device, other->recompute, {});
    }
    return table;
}

}  // namespace decodescope
