#include "engine/measure/compare_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/measure/logit_difference.h"
#include "engine/measure/sweep_runner.h"

namespace decodescope {

namespace {

constexpr int kPrefillRepeats = 3;  // measured, after one that warms up

struct Lane {
    std::unique_ptr<DecodeSession> session;  // null: it has failed
    Sampler sampler{SamplerConfig{}};
    std::vector<double> prefill_micros;
    ComparePass pass;                // the newest, not yet part of the result
    std::span<const float> logits;   // the session's, of that pass
};

class CompareRun {
public:
    CompareRun(const CompareParts& parts, const CompareRequest& request, CompareResult result,
               const std::function<void(const CompareProgress&)>& progress, std::stop_token stop)
        : parts_(parts), request_(request), progress_(progress), stop_(std::move(stop)), result_(std::move(result)) {}

    Result<CompareResult> run() {
        DS_RETURN_IF_ERROR(check());
        DS_RETURN_IF_ERROR(open_lanes());
        total_ = static_cast<std::int64_t>(lanes_.size()) *
                 (kPrefillRepeats + 1 + std::max<std::int64_t>(request_.new_tokens - 1, 0));
        Status status = measure();
        if (status.ok()) status = compare_formats();
        if (status.ok()) status = write_own_texts();
        if (!status.ok()) {
            if (status.error().kind != ErrorKind::Cancelled) return status.error();
            result_.cancelled = true;
            if (result_.stop_reason.empty()) result_.stop_reason = "cancelled";
        }
        for (std::size_t i = 0; i < lanes_.size(); ++i) finish(i);
        return std::move(result_);
    }

private:
    CompareLane& out(std::size_t lane) { return result_.lanes[lane]; }
    const std::vector<std::int32_t>& reference_tokens() const { return result_.lanes.front().tokens; }

    Status check() {
        if (request_.configs.empty() || request_.configs.size() > kMostConfigs)
            return make_error(ErrorKind::Argument,
                              fmt::format("{} configurations are outside 1 to {}.", request_.configs.size(),
                                          kMostConfigs));
        if (request_.prompt.empty())
            return make_error(ErrorKind::Argument, "The prompt has no tokens.", "Type at least one character.");
        if (request_.new_tokens < 0)
            return make_error(ErrorKind::Argument,
                              fmt::format("{} new tokens cannot be written.", request_.new_tokens));
        DS_CHECK(result_.lanes.size() == request_.configs.size());
        result_.prompt = request_.prompt;
        result_.new_tokens = request_.new_tokens;
        return validate(request_.sampler);
    }

    Status open_lanes() {
        for (std::size_t i = 0; i < request_.configs.size(); ++i) {
            SessionConfig config;
            config.cache = request_.configs[i].cache;
            config.kv = request_.configs[i].kv;
            config.expected_tokens = std::ssize(request_.prompt) + request_.new_tokens;
            config.prefill_chunk = request_.prefill_chunk;
            auto session = parts_.create(i, config);
            if (!session.ok()) return named_config_error(i + 1, session.error());
            Lane& lane = lanes_.emplace_back();
            lane.session = std::move(*session);
            lane.sampler = Sampler(request_.sampler);
        }
        return {};
    }

    // What one configuration cannot do ends its lane; that of the reference, and a stop, end everything.
    Status settle(std::size_t index, Status status) {
        if (status.ok() || status.error().kind == ErrorKind::Cancelled) return status;
        if (index == 0) return named_config_error(1, status.error());
        out(index).error = status.error().text();
        lanes_[index].session.reset();
        return {};
    }

    void report(std::string what) {
        if (progress_) progress_({done_, std::max(total_, done_), std::move(what)});
    }

    // Each lane once, in an order that is another one for each round.
    template <class Work>
    Status each_lane(int round, const std::string& what, Work work) {
        for (const std::size_t index : lane_order(lanes_.size(), round)) {
            report(what);
            if (lanes_[index].session != nullptr) DS_RETURN_IF_ERROR(settle(index, work(index)));
            ++done_;
        }
        return {};
    }

    Status feed(Lane& lane, std::span<const std::int32_t> tokens) {
        const std::int64_t most = lane.session->max_pass_rows();
        for (std::int64_t done = 0; done < std::ssize(tokens);) {
            const std::int64_t rows = std::min<std::int64_t>(most, std::ssize(tokens) - done);
            auto pass = lane.session->feed(
                tokens.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(rows)), stop_);
            if (!pass.ok()) return pass.error();
            lane.pass.micros += pass->micros;
            lane.pass.warm_up = lane.pass.warm_up || pass->warm_up;
            lane.pass.length = pass->kv.tokens_seen;
            lane.pass.kv_bytes_used = pass->kv.used_bytes;
            lane.pass.kv_bytes_reserved = pass->kv.reserved_bytes;
            lane.pass.kv_bytes_peak = std::max(lane.pass.kv_bytes_peak, pass->kv.peak_bytes);
            lane.pass.kv_bytes_copied += pass->kv.copied_bytes;
            lane.logits = pass->logits;
            done += rows;
        }
        return {};
    }

    Status prefill(std::size_t index, bool keep) {
        Lane& lane = lanes_[index];
        if (!lane.session->tokens().empty()) DS_RETURN_IF_ERROR(lane.session->reset());
        lane.pass = {};
        DS_RETURN_IF_ERROR(lane.session->check_room(std::ssize(request_.prompt)));
        DS_RETURN_IF_ERROR(feed(lane, request_.prompt));
        if (keep) lane.prefill_micros.push_back(lane.pass.micros);
        return {};
    }

    Status measure() {
        for (int repeat = 0; repeat <= kPrefillRepeats; ++repeat)
            DS_RETURN_IF_ERROR(each_lane(repeat, repeat == 0 ? "prefill, warm-up" : "prefill",
                                         [&](std::size_t index) { return prefill(index, repeat > 0); }));
        DS_RETURN_IF_ERROR(take_over_passes());
        for (int step = 1; goes_on(); ++step) {
            const std::int32_t token = reference_tokens().back();
            const auto work = [&](std::size_t index) {
                lanes_[index].pass = {};
                return feed(lanes_[index], {&token, 1});
            };
            DS_RETURN_IF_ERROR(
                each_lane(step, fmt::format("step {} of {}", step, std::max<std::int64_t>(request_.new_tokens - 1, 1)),
                          work));
            DS_RETURN_IF_ERROR(take_over_passes());
        }
        return {};
    }

    // Both keep all tokens, and their formats are what differs.
    bool only_formats_differ(std::size_t index) const {
        const CompareLane &lane = result_.lanes[index], &reference = result_.lanes.front();
        for (const CompareLane* one : {&lane, &reference}) {
            const StrategyDescriptor* strategy = find_strategy(one->config.cache.id);
            if (strategy != nullptr && (strategy->lossy || !strategy->has_cache)) return false;
        }
        return lane.kv_type != reference.kv_type && lane.weights == reference.weights;
    }

    // While all lanes hold the same tokens.
    Status compare_formats() {
        for (std::size_t i = 1; i < lanes_.size(); ++i) {
            if (lanes_[i].session == nullptr || !only_formats_differ(i)) continue;
            report(fmt::format("rows of configuration {}", i + 1));
            auto layers = compare_stored_rows(*lanes_.front().session, *lanes_[i].session, stop_);
            if (layers.ok()) out(i).layers = std::move(*layers);
            else DS_RETURN_IF_ERROR(settle(i, layers.error()));
        }
        return {};
    }

    // Whether the reference writes on; names the reason when it does not.
    bool goes_on() {
        const auto& tokens = reference_tokens();
        const std::int64_t seen = std::ssize(lanes_.front().session->tokens());
        if (std::ssize(tokens) >= request_.new_tokens) result_.stop_reason = "length";
        else if (ends(tokens.back())) result_.stop_reason = "eos";
        else if (seen >= shortest_context()) result_.stop_reason = "context_full";
        return result_.stop_reason.empty();
    }

    bool ends(std::int32_t token) const { return request_.stop_at_eos && parts_.ends && parts_.ends(token); }

    std::int64_t shortest_context() const {
        std::int64_t context = std::numeric_limits<std::int64_t>::max();
        for (const Lane& lane : lanes_)
            if (lane.session != nullptr) context = std::min(context, lane.session->context());
        return context;
    }

    // The passes of one step are compared and kept when every lane has made its own.
    Status take_over_passes() {
        const std::span<const float> all = lanes_.front().logits;
        const std::span<const float> reference = sampled_part(all, parts_.sampled_vocabulary);
        const std::int32_t best = greedy_token(reference);
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            Lane& lane = lanes_[i];
            if (lane.session == nullptr) continue;
            if (lane.logits.size() != all.size())
                return named_config_error(i + 1, make_error(ErrorKind::Argument,
                                                            fmt::format("it gives {} logits and the reference {}.",
                                                                        lane.logits.size(), all.size())));
            if (i > 0) {
                const auto own = sampled_part(lane.logits, parts_.sampled_vocabulary);
                lane.pass.max_abs_logit_diff = max_abs_difference(reference, own);
                lane.pass.kl = kl_divergence(reference, own);
                lane.pass.same_token = greedy_token(own) == best;
            }
            out(i).passes.push_back(lane.pass);
            DS_RETURN_IF_ERROR(settle(i, sample(i)));
        }
        return {};
    }

    // The token that this lane would write; once it was another one than the reference's, its own text waits.
    Status sample(std::size_t index) {
        CompareLane& to = out(index);
        if (to.first_different >= 0 || std::ssize(to.tokens) >= request_.new_tokens) return {};
        auto token = sample_next(lanes_[index]);
        if (!token.ok()) return token.error();
        to.tokens.push_back(*token);
        const std::size_t at = to.tokens.size() - 1;
        if (index > 0 && *token != reference_tokens()[at]) to.first_different = static_cast<std::int64_t>(at);
        return {};
    }

    Result<std::int32_t> sample_next(Lane& lane) {
        return lane.sampler.sample(sampled_part(lane.logits, parts_.sampled_vocabulary));
    }

    Status write_own_texts() {
        for (const CompareLane& lane : result_.lanes)
            if (lane.first_different >= 0) total_ += request_.new_tokens;
        for (std::size_t i = 1; i < lanes_.size(); ++i) {
            if (out(i).first_different < 0 || lanes_[i].session == nullptr) continue;
            DS_RETURN_IF_ERROR(settle(i, write_own_text(i)));
        }
        return {};
    }

    // From the prompt on, one token at a time: exactly what this configuration does when nobody leads it.
    Status write_own_text(std::size_t index) {
        Lane& lane = lanes_[index];
        CompareLane& to = out(index);
        DS_RETURN_IF_ERROR(prefill(index, false));
        for (std::size_t fed = 0; to.stop_reason.empty(); ++fed) {
            report(fmt::format("text of configuration {}", index + 1));
            const bool newest = fed + 1 == to.tokens.size();
            if (newest && ends(to.tokens[fed])) to.stop_reason = "eos";
            else if (newest && std::ssize(to.tokens) >= request_.new_tokens) to.stop_reason = "length";
            else if (std::ssize(lane.session->tokens()) >= lane.session->context()) to.stop_reason = "context_full";
            if (!to.stop_reason.empty()) break;
            const std::int32_t token = to.tokens[fed];
            DS_RETURN_IF_ERROR(feed(lane, {&token, 1}));
            ++done_;
            if (!newest) continue;
            auto next = sample_next(lane);
            if (!next.ok()) return next.error();
            to.tokens.push_back(*next);
        }
        return {};
    }

    void finish(std::size_t index) {
        CompareLane& lane = out(index);
        if (lane.stop_reason.empty())
            lane.stop_reason = !lane.error.empty() ? "error" : lane.first_different < 0 ? result_.stop_reason
                                                                                      : "cancelled";
        lane.prefill_repeats = static_cast<int>(lanes_[index].prefill_micros.size());
        lane.prefill_micros = spread_of(lanes_[index].prefill_micros);
        std::vector<double> micros;
        double kl = 0;
        for (std::size_t p = 0; p < lane.passes.size(); ++p) {
            const ComparePass& pass = lane.passes[p];
            if (p > 0 && !pass.warm_up) micros.push_back(pass.micros);
            lane.kv_bytes_used = pass.kv_bytes_used;
            lane.kv_bytes_reserved = pass.kv_bytes_reserved;
            lane.kv_bytes_peak = std::max(lane.kv_bytes_peak, pass.kv_bytes_peak);
            lane.kv_bytes_copied += pass.kv_bytes_copied;
            kl += pass.kl;
            lane.max_kl = std::max(lane.max_kl, pass.kl);
            if (!(pass.max_abs_logit_diff > lane.max_abs_logit_diff)) continue;
            lane.max_abs_logit_diff = pass.max_abs_logit_diff;
            lane.max_diff_length = pass.length;
        }
        lane.mean_kl = lane.passes.empty() ? 0 : kl / static_cast<double>(lane.passes.size());
        lane.decode_steps = static_cast<int>(micros.size());
        lane.decode_micros = spread_of(micros);
        if (parts_.tokenizer == nullptr) return;
        TextStream stream(*parts_.tokenizer);
        for (const std::int32_t token : lane.tokens) lane.pieces.push_back(stream.push(token));
        if (!lane.pieces.empty()) lane.pieces.back() += stream.finish();
        for (const std::string& piece : lane.pieces) lane.text += piece;
    }

    const CompareParts& parts_;
    const CompareRequest& request_;
    const std::function<void(const CompareProgress&)>& progress_;
    std::stop_token stop_;
    std::vector<Lane> lanes_;
    CompareResult result_;
    std::int64_t done_ = 0, total_ = 0;
};

}  // namespace

LayerFormatError CompareLane::largest_layer_error() const {
    LayerFormatError largest;
    for (const LayerFormatError& layer : layers)
        largest = {std::max(largest.k, layer.k), std::max(largest.v, layer.v)};
    return largest;
}

bool PairedTimes::different() const {
    const double apart = std::abs(faster - slower);
    return apart * apart > 4.0 * steps;
}

PairedTimes paired_times(const CompareLane& lane, const CompareLane& other) {
    std::vector<double> ratios;
    for (std::size_t p = 1; p < std::min(lane.passes.size(), other.passes.size()); ++p) {
        const ComparePass &a = lane.passes[p], &b = other.passes[p];
        if (!a.warm_up && !b.warm_up && a.micros > 0 && b.micros > 0) ratios.push_back(a.micros / b.micros);
    }
    const Spread spread = middle_half_of(ratios);
    PairedTimes times;
    times.ratio = spread.median;
    times.low = spread.lowest;
    times.high = spread.highest;
    times.steps = static_cast<int>(ratios.size());
    for (const double ratio : ratios) {
        times.faster += ratio < 1;
        times.slower += ratio > 1;
    }
    return times;
}

Result<CompareResult> run_compare_with(const CompareParts& parts, const CompareRequest& request, CompareResult result,
                                       const std::function<void(const CompareProgress&)>& progress,
                                       std::stop_token stop) {
    return CompareRun(parts, request, std::move(result), progress, std::move(stop)).run();
}

}  // namespace decodescope
