#include "engine/decode/batch_admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/support/counted.h"

namespace decodescope {

std::int64_t BatchAdmission::units_of(std::int64_t tokens) const {
    if (limits_.page_tokens == 0) return tokens;
    return (tokens + limits_.page_tokens - 1) / limits_.page_tokens;
}

std::int64_t BatchAdmission::exchanged(std::int64_t units) const {
    if (limits_.exchange_parts == 0) return 0;
    return (units + limits_.exchange_parts - 1) / limits_.exchange_parts;
}

Status BatchAdmission::submit(SequenceId id, std::int64_t tokens) {
    const std::int64_t units = units_of(tokens);
    const std::int64_t twice = exchanged(units);
    if (units + twice > limits_.units) {
        const std::int64_t page = limits_.page_tokens;
        const std::string message =
            page == 0 ? fmt::format("The sequence needs a cache of {}{} and there is room for {}.",
                                    counted(tokens, limits_.unit),
                                    twice > 0 ? fmt::format(", room for {} more while it is copied,", twice) : "",
                                    counted(limits_.units, limits_.unit))
                      : fmt::format("The sequence needs {} of {} for its {} and there {} {}, for {}.",
                                    counted(units, "page"), counted(page, "token"), counted(tokens, "token"),
                                    limits_.units == 1 ? "is" : "are", counted(limits_.units, "page"),
                                    counted(limits_.units * page, "token"));
        return make_error(ErrorKind::Capacity, message, "Shorten the prompt, ask for fewer tokens or give more room.");
    }
    waiting_.push_back({id, units, 0});
    return {};
}

std::optional<SequenceId> BatchAdmission::next(std::int64_t free_units, const FindStored& find_stored) {
    if (active() >= limits_.sequences) return std::nullopt;
    std::int64_t largest = 0;
    for (const auto& [id, active] : active_) largest = std::max(largest, active.units);
    for (auto candidate = waiting_.begin(); candidate != waiting_.end(); ++candidate) {
        const Found found = find_stored(candidate->id);
        if (found.more_soon) continue;
        const std::int64_t taken = std::min(found.units, candidate->units);
        const std::int64_t twice = exchanged(std::max(largest, candidate->units));
        if (candidate->units - taken + twice > free_units - found.free - set_aside_) {
            if (candidate->overtaken >= kMostOvertakes) return std::nullopt;  // it is its turn
            continue;
        }
        for (auto earlier = waiting_.begin(); earlier != candidate; ++earlier) ++earlier->overtaken;
        const SequenceId id = candidate->id;
        active_[id] = {candidate->units, taken};
        set_aside_ += candidate->units - taken;
        waiting_.erase(candidate);
        return id;
    }
    return std::nullopt;
}

void BatchAdmission::has_taken(SequenceId id, std::int64_t units) {
    const auto found = active_.find(id);
    DS_CHECK(found != active_.end());
    Active& active = found->second;
    DS_CHECK(units >= 0 && units <= active.units);
    set_aside_ += active.taken - units;
    active.taken = units;
}

void BatchAdmission::leave(SequenceId id) {
    if (const auto found = active_.find(id); found != active_.end()) {
        set_aside_ -= found->second.units - found->second.taken;
        active_.erase(found);
        return;
    }
    const auto waits = std::find_if(waiting_.begin(), waiting_.end(), [id](const Waiting& w) { return w.id == id; });
    if (waits != waiting_.end()) waiting_.erase(waits);
}

std::optional<SequenceId> BatchAdmission::first_waiting() const {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.front().id;
}

}  // namespace decodescope
