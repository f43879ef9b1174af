#include "ui/session/worker_link.h"

#include <utility>

namespace decodescope {

void WorkerLink::set_tokens_per_second(double value) {
    {
        const std::lock_guard lock(mutex_);
        tokens_per_second_.store(value);
    }
    changed_.notify_all();
}

void WorkerLink::report(WorkProgress progress) {
    const std::lock_guard lock(mutex_);
    progress_ = std::move(progress);
}

std::optional<WorkProgress> WorkerLink::take_progress() {
    const std::lock_guard lock(mutex_);
    return std::exchange(progress_, std::nullopt);
}

void WorkerLink::begin_sweep() {
    const std::lock_guard lock(mutex_);
    sweep_ = nullptr;
    sweep_rows_ = 0;
}

void WorkerLink::report_sweep(const SweepResult& partial) {
    const std::lock_guard lock(mutex_);
    if (partial.rows.size() == sweep_rows_) return;
    sweep_rows_ = partial.rows.size();
    sweep_ = std::make_shared<const SweepResult>(partial);
}

std::shared_ptr<const SweepResult> WorkerLink::take_sweep() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sweep_, nullptr);
}

bool WorkerLink::ask(const InspectRequest& request) {
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        first = !question_.has_value();
        question_ = request;
    }
    changed_.notify_all();
    return first;
}

std::optional<InspectRequest> WorkerLink::take_question() {
    const std::lock_guard lock(mutex_);
    return std::exchange(question_, std::nullopt);
}

bool WorkerLink::wait_for_pace(Clock::time_point started, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested() && !question_.has_value()) {
        const double speed = tokens_per_second_.load();
        if (speed <= 0) return true;
        const auto due =
            started + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1.0 / speed));
        if (Clock::now() >= due) return true;
        // Another speed ends this round and the next one waits for the rest of the new time.
        changed_.wait_until(lock, stop, due,
                            [&] { return question_.has_value() || tokens_per_second_.load() != speed; });
    }
    return false;
}

}  // namespace decodescope
