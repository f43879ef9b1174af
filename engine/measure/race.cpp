#include "engine/measure/race.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/measure/logit_difference.h"
#include "engine/support/numbers.h"

namespace decodescope {

namespace {

class SessionLane final : public RecomputeLane {
public:
    SessionLane(std::unique_ptr<DecodeSession> session, std::int64_t sampled)
        : session_(std::move(session)), sampled_(sampled) {}

    Result<RacePoint> compare(std::span<const std::int32_t> tokens, std::span<const float> cached_logits,
                              double cached_micros, std::stop_token stop) override {
        auto micros = pass(tokens, stop);
        // The first pass of a new size touches its buffers for the first time; that is not what is compared.
        if (micros.ok() && warm_up_) micros = pass(tokens, stop);
        if (!micros.ok()) return micros.error();
        if (logits_.size() != cached_logits.size())
            return make_error(ErrorKind::Argument,
                              fmt::format("the cached lane gave {} logits and the recompute lane {}.",
                                          cached_logits.size(), logits_.size()));
        RacePoint point;
        point.length = static_cast<std::int32_t>(tokens.size());
        point.cached_micros = cached_micros;
        point.recompute_micros = *micros;
        const auto own = sampled_part(logits_, sampled_), cached = sampled_part(cached_logits, sampled_);
        point.max_abs_logit_diff = max_abs_difference(own, cached);
        point.same_token = greedy_token(own) == greedy_token(cached);
        return point;
    }

private:
    // One full causal pass over all tokens, logits of the last row only.
    Result<double> pass(std::span<const std::int32_t> tokens, std::stop_token stop) {
        DS_RETURN_IF_ERROR(session_->truncate(0));
        auto result = session_->feed(tokens, stop);
        if (!result.ok()) return result.error();
        logits_ = result->logits;
        warm_up_ = result->warm_up;
        return result->micros;
    }

    std::unique_ptr<DecodeSession> session_;
    std::int64_t sampled_;  // ids that may be sampled, the first ones; 0: all
    std::span<const float> logits_;  // the session's, valid until its next call
    bool warm_up_ = false;
};

Error schedule_error(std::string_view text) {
    return make_error(ErrorKind::Argument, fmt::format("'{}' is not a schedule for the recompute lane.", text),
                      "Use every, at=256,512 or budget=30s.");
}

// "30s", "500ms" or "30" (seconds).
std::optional<double> parse_seconds(std::string_view text) {
    double unit = 1;
    if (text.size() > 2 && text.substr(text.size() - 2) == "ms") {
        unit = 1e-3;
        text.remove_suffix(2);
    } else if (!text.empty() && text.back() == 's') {
        text.remove_suffix(1);
    }
    const auto value = parse_number(text);
    if (!value || !(*value > 0) || !std::isfinite(*value)) return std::nullopt;
    return *value * unit;
}

}  // namespace

Result<std::unique_ptr<RecomputeLane>> RecomputeLane::create(LoadedModelPtr model) {
    SessionConfig config;
    config.cache.id = "recompute";
    config.cache.parameters.clear();
    const std::int64_t sampled = model->model->sampled_vocabulary;
    auto session = DecodeSession::create(std::move(model), config);
    if (!session.ok()) return session.error();
    return make_recompute_lane(std::move(session).value(), sampled);
}

std::unique_ptr<RecomputeLane> make_recompute_lane(std::unique_ptr<DecodeSession> session,
                                                   std::int64_t sampled_vocabulary) {
    return std::make_unique<SessionLane>(std::move(session), sampled_vocabulary);
}

bool RaceSchedule::due(std::int64_t length, double spent_micros, double expected_micros) const {
    switch (mode) {
        case Mode::Every: return true;
        case Mode::At: return std::find(lengths.begin(), lengths.end(), length) != lengths.end();
        case Mode::Budget: return spent_micros + std::max(expected_micros, 0.0) <= budget_seconds * 1e6;
    }
    return false;
}

Result<RaceSchedule> parse_race_schedule(std::string_view text) {
    RaceSchedule schedule;
    if (text == "every") return schedule;
    if (text.substr(0, 7) == "budget=") {
        const auto seconds = parse_seconds(text.substr(7));
        if (!seconds) return schedule_error(text);
        schedule.mode = RaceSchedule::Mode::Budget;
        schedule.budget_seconds = *seconds;
        return schedule;
    }
    if (text.substr(0, 3) != "at=") return schedule_error(text);
    schedule.mode = RaceSchedule::Mode::At;
    for (std::string_view rest = text.substr(3);;) {
        const std::size_t comma = rest.find(',');
        const auto length = parse_integer(rest.substr(0, comma));
        if (!length || *length < 1) return schedule_error(text);
        schedule.lengths.push_back(*length);
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    std::sort(schedule.lengths.begin(), schedule.lengths.end());
    schedule.lengths.erase(std::unique(schedule.lengths.begin(), schedule.lengths.end()), schedule.lengths.end());
    return schedule;
}

}  // namespace decodescope
