#include "engine/measure/sweep_runner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/measure/statistics.h"

namespace decodescope {

namespace {

constexpr int kMostRepeats = 1000;

// Times and figures of one phase of one lane at one length.
struct Samples {
    std::vector<double> micros;
    KvFacts kv;
    Cost cost;
    std::ptrdiff_t row = -1;  // its row in the result, once there is one

    void add(double time, const KvFacts& facts, const Cost& figures) {
        micros.push_back(time);
        kv = facts;
        cost = figures;
    }
};

struct Lane {
    CacheSpec cache;
    KvFormat kv;
    bool has_cache = true;
    std::unique_ptr<DecodeSession> session;  // null: could not be made at this length
    Samples step, prefill;                   // step: phase decode or recompute

    std::string name() const { return to_string(cache); }
    std::string kv_type() const { return has_cache ? to_string(kv) : "f32"; }  // a recompute pass keeps its rows in f32
};

struct Timed {
    double micros = 0;
    KvFacts kv;
    Cost cost;
    bool warm_up = false;

    void add(const PassResult& pass) {
        micros += pass.micros;
        kv = pass.kv;
        cost.flops += pass.flops;
        cost.bytes += pass.bytes;
        warm_up = warm_up || pass.warm_up;
    }
};

class SweepRun {
public:
    SweepRun(const SweepParts& parts, const SweepRequest& request,
             const std::function<void(const SweepProgress&)>& progress, std::stop_token stop)
        : parts_(parts), request_(request), progress_(progress), stop_(std::move(stop)) {}

    Result<SweepResult> run() {
        DS_RETURN_IF_ERROR(check());
        result_.run = parts_.run;
        make_lanes();
        total_ = static_cast<std::int64_t>(lengths_.size() * lanes_.size()) * (request_.repeats + 1);
        for (const std::int64_t length : lengths_) {
            DS_RETURN_IF_ERROR(measure_length(length));
            if (result_.cancelled) break;
        }
        if (result_.rows.empty() && !result_.cancelled && first_error_) return *first_error_;
        add_speedups();
        add_fits();
        return std::move(result_);
    }

private:
    Status check() {
        if (request_.lengths.empty())
            return make_error(ErrorKind::Argument, "no lengths were given to measure at.", "Use --lengths 64,128,256.");
        if (request_.caches.empty() || request_.kv_formats.empty())
            return make_error(ErrorKind::Argument, "no cache strategy was given to measure.",
                              "Use --cache preallocated.");
        if (request_.repeats < 1 || request_.repeats > kMostRepeats)
            return make_error(ErrorKind::Argument,
                              fmt::format("{} repeats are outside 1 to {}.", request_.repeats, kMostRepeats));
        std::set<std::int64_t> seen;
        for (const std::int64_t length : request_.lengths) {
            if (length < 1 || length > parts_.context)
                return make_error(
                    ErrorKind::Argument,
                    fmt::format("length {} is outside 1 to {}, the context of the model.", length, parts_.context));
            if (seen.insert(length).second) lengths_.push_back(length);
        }
        return {};
    }

    void make_lanes() {
        for (const CacheSpec& cache : request_.caches) {
            const StrategyDescriptor* descriptor = find_strategy(cache.id);
            const bool has_cache = descriptor == nullptr || descriptor->has_cache;
            for (const KvFormat& kv : request_.kv_formats) {
                Lane lane;
                lane.cache = cache;
                lane.kv = kv;
                lane.has_cache = has_cache;
                lanes_.push_back(std::move(lane));
                if (!has_cache) break;  // nothing is stored, so the format makes no difference
            }
        }
    }

    // Warm-up, then the repeats; every lane once in each.
    Status measure_length(std::int64_t length) {
        open_sessions(length);
        for (int repeat = 0; repeat <= request_.repeats; ++repeat)
            for (const std::size_t index : lane_order(lanes_.size(), repeat)) {
                Lane& lane = lanes_[index];
                report(lane, length, repeat);
                const Status status = lane.session == nullptr ? Status() : measure(lane, length, repeat > 0);
                ++done_;
                if (status.ok()) continue;
                if (status.error().kind == ErrorKind::Cancelled) {
                    result_.cancelled = true;
                    return close_sessions(Status());
                }
                leave_out(lane, length, status.error());
            }
        if (progress_) progress_({done_, total_, fmt::format("{} tokens measured", length), &result_});
        DS_RETURN_IF_ERROR(close_sessions(Status()));
        return request_.profile ? profile_length(length) : Status();
    }

    SessionConfig session_config(const Lane& lane, bool profile) const {
        SessionConfig config;
        config.cache = lane.cache;
        config.kv = lane.kv;
        config.expected_tokens = *std::max_element(lengths_.begin(), lengths_.end());
        config.profile = profile;
        return config;
    }

    void open_sessions(std::int64_t length) {
        for (Lane& lane : lanes_) {
            lane.step = lane.prefill = Samples();
            auto session = parts_.create(session_config(lane, false));
            // Before the passes: a pass of a longer prefill knows its own tokens only.
            const Status fits = session.ok() ? (*session)->check_room(length) : Status(session.error());
            if (fits.ok())
                lane.session = std::move(session).value();
            else
                leave_out(lane, length, fits.error());
        }
    }

    Status close_sessions(Status status) {
        for (Lane& lane : lanes_) lane.session.reset();
        return status;
    }

    void leave_out(Lane& lane, std::int64_t length, const Error& error) {
        if (!first_error_) first_error_ = error;
        result_.notes.push_back(fmt::format("{} at {} tokens was left out: {}", lane.name(), length, error.message));
        lane.session.reset();
    }

    void report(const Lane& lane, std::int64_t length, int repeat) {
        if (!progress_) return;
        const std::string which = repeat == 0 ? "warm-up" : fmt::format("repeat {} of {}", repeat, request_.repeats);
        progress_({done_, total_, fmt::format("{} at {} tokens, {}", lane.name(), length, which), &result_});
    }

    Status measure(Lane& lane, std::int64_t length, bool keep) {
        Timed prefill, step;
        if (lane.has_cache) {
            DS_RETURN_IF_ERROR(lane.session->reset());
            DS_RETURN_IF_ERROR(feed(*lane.session, 0, length, prefill));
        }
        DS_RETURN_IF_ERROR(take_step(lane, length, step));
        if (step.warm_up && keep) DS_RETURN_IF_ERROR(take_step(lane, length, step));
        if (!keep) return {};
        if (lane.has_cache) {
            lane.prefill.add(prefill.micros, prefill.kv, prefill.cost);
            update_row(lane, lane.prefill, "prefill", length);
        }
        lane.step.add(step.micros, step.kv, step.cost);
        update_row(lane, lane.step, lane.has_cache ? "decode" : "recompute", length);
        return {};
    }

    // The pass that makes the sequence `length` tokens long. With a cache one token is fed before it, untimed: it takes
    // the step out of the shadow of the prefill, and it leaves a growing cache at its true size.
    Status take_step(Lane& lane, std::int64_t length, Timed& step) {
        step = Timed();
        if (!lane.has_cache) {
            DS_RETURN_IF_ERROR(lane.session->truncate(0));
            return feed(*lane.session, 0, length, step);
        }
        const std::int64_t start = std::max<std::int64_t>(length - 2, 0);
        const Status cut = lane.session->truncate(start);
        if (!cut.ok() && cut.error().kind != ErrorKind::Unsupported) return cut;
        Timed before;
        if (!cut.ok()) {  // rows have left that would be needed again
            DS_RETURN_IF_ERROR(lane.session->reset());
            if (start > 0) DS_RETURN_IF_ERROR(feed(*lane.session, 0, start, before));
        }
        if (length - 1 > start) DS_RETURN_IF_ERROR(feed(*lane.session, start, length - 1, before));
        return feed(*lane.session, length - 1, length, step);
    }

    Status feed(DecodeSession& session, std::int64_t first, std::int64_t end, Timed& timed) {
        last_ops_.clear();
        while (first < end) {
            const std::int64_t rows = std::min(end - first, session.max_pass_rows());
            auto pass = session.feed(
                std::span(parts_.tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
                stop_);
            if (!pass.ok()) return pass.error();
            timed.add(*pass);
            last_ops_ = pass->ops;
            last_shape_ = pass->shape;
            first += rows;
        }
        return {};
    }

    void update_row(const Lane& lane, Samples& samples, const char* phase, std::int64_t length) {
        const Spread spread = spread_of(samples.micros);
        SweepRow row;
        row.length = length;
        row.cache = lane.name();
        row.kv_type = lane.kv_type();
        row.weights = parts_.run.weights_type;
        row.backend = parts_.run.backend;
        row.phase = phase;
        // As shown: whatever is derived from a row is derived from these digits.
        row.median_ms = rounded(spread.median / 1000, kMillisecondDigits);
        row.min_ms = rounded(spread.lowest / 1000, kMillisecondDigits);
        row.max_ms = rounded(spread.highest / 1000, kMillisecondDigits);
        row.repeats = static_cast<int>(samples.micros.size());
        row.kv_bytes_used = samples.kv.used_bytes;
        row.kv_bytes_reserved = samples.kv.reserved_bytes;
        row.flops = samples.cost.flops;
        row.bytes = samples.cost.bytes;
        if (samples.row < 0) {
            samples.row = static_cast<std::ptrdiff_t>(result_.rows.size());
            result_.rows.push_back(std::move(row));
        } else {
            result_.rows[static_cast<std::size_t>(samples.row)] = std::move(row);
        }
    }

    // Stage times come from a session of their own: taking them costs time.
    Status profile_length(std::int64_t length) {
        for (Lane& lane : lanes_) {
            auto session = parts_.create(session_config(lane, true));
            if (!session.ok()) continue;  // named when it was measured
            lane.session = std::move(session).value();
            Status status = measure(lane, length, false);
            Timed step;
            if (status.ok()) status = take_step(lane, length, step);
            if (status.ok()) add_profile(lane, length);
            lane.session.reset();
            if (status.ok() || status.error().kind != ErrorKind::Cancelled) continue;
            result_.cancelled = true;
            return {};
        }
        return {};
    }

    void add_profile(const Lane& lane, std::int64_t length) {
        const auto names = lane.session->stage_names();
        const auto costs = parts_.stage_costs ? parts_.stage_costs(last_shape_) : std::vector<Cost>();
        for (OpUse& use : sum_by_stage(names, last_ops_, costs))
            result_.profile.push_back({length, lane.name(), std::move(use)});
    }

    void add_speedups() {
        for (const SweepRow& slow : result_.rows) {
            if (slow.phase != "recompute") continue;
            for (const SweepRow& fast : result_.rows) {
                if (fast.phase != "decode" || fast.length != slow.length || !(fast.min_ms > 0) || !(slow.min_ms > 0))
                    continue;
                SpeedUp speedup;
                speedup.length = slow.length;
                speedup.cache = fast.cache;
                speedup.kv_type = fast.kv_type;
                speedup.value = rounded(slow.median_ms / fast.median_ms, kSpeedUpDigits);
                speedup.low = rounded(slow.min_ms / fast.max_ms, kSpeedUpDigits);
                speedup.high = rounded(slow.max_ms / fast.min_ms, kSpeedUpDigits);
                result_.speedup.push_back(std::move(speedup));
            }
        }
    }

    void add_fits() {
        std::set<std::string> done;
        for (const Lane& lane : lanes_) {
            if (!done.insert(lane.name() + " " + lane.kv_type()).second) continue;
            std::vector<double> lengths, times;
            for (const SweepRow& row : result_.rows) {
                if (row.phase == "prefill" || row.cache != lane.name() || row.kv_type != lane.kv_type()) continue;
                lengths.push_back(static_cast<double>(row.length));
                times.push_back(row.median_ms);
            }
            result_.fits.push_back({lane.name(), fit_power_law(lengths, times), lane.kv_type()});
        }
    }

    const SweepParts& parts_;
    const SweepRequest& request_;
    const std::function<void(const SweepProgress&)>& progress_;
    std::stop_token stop_;
    std::vector<std::int64_t> lengths_;
    std::vector<Lane> lanes_;
    std::vector<OpRecord> last_ops_;
    StepShape last_shape_;
    SweepResult result_;
    std::optional<Error> first_error_;
    std::int64_t done_ = 0, total_ = 0;
};

}  // namespace

std::vector<std::size_t> lane_order(std::size_t lanes, int repeat) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < lanes; ++i) order.push_back((i + static_cast<std::size_t>(repeat) / 2) % lanes);
    if (repeat % 2 == 1) std::reverse(order.begin(), order.end());
    return order;
}

std::vector<std::int32_t> sweep_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
    std::vector<std::int32_t> tokens;
    std::uint64_t state = seed;
    for (std::int64_t i = 0; i < count; ++i) {  // splitmix64
        std::uint64_t x = state += 0x9E3779B97F4A7C15u;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        tokens.push_back(static_cast<std::int32_t>((x ^ (x >> 31)) %
                                                   static_cast<std::uint64_t>(std::max<std::int64_t>(vocabulary, 1))));
    }
    return tokens;
}

Result<SweepResult> run_sweep_with(const SweepParts& parts, const SweepRequest& request,
                                   const std::function<void(const SweepProgress&)>& progress, std::stop_token stop) {
    return SweepRun(parts, request, progress, std::move(stop)).run();
}

}  // namespace decodescope
