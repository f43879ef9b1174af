// What the GUI thread and the engine's thread share while work is under way: switches that a running loop follows,
// marks that the GUI collects on its timer, and a pause that a request can cut short. Free of Qt.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/measure/sweep.h"

namespace decodescope {

enum class WorkKind { Load, Prefill, Refeed, Save, Open, Sweep, Compare };

struct WorkProgress {
    WorkKind kind = WorkKind::Load;
    std::int64_t done = 0, total = 0;
    std::string what;  // Sweep, Compare: which measurement
};

struct InspectRequest {
    std::uint64_t number = 0;
    int layer = 0, position = 0;
};

class WorkerLink {
public:
    using Clock = std::chrono::steady_clock;

    // Followed by a running loop from its next token on.
    std::atomic<bool> capture{true}, race{true};
    std::atomic<bool> closing{false};

    void set_tokens_per_second(double value);
    double tokens_per_second() const { return tokens_per_second_.load(); }

    // Engine's thread: something was appended. GUI thread: whether something was since the last call.
    void mark() { marked_.store(true, std::memory_order_release); }
    bool take_mark() { return marked_.exchange(false, std::memory_order_acq_rel); }

    void report(WorkProgress progress);                       // the newest replaces what was not collected
    std::optional<WorkProgress> take_progress();
    void begin_sweep();
    void report_sweep(const SweepResult& partial);            // copied only when rows were added
    std::shared_ptr<const SweepResult> take_sweep();

    // The newest question replaces an older one that was not answered. True when none was waiting.
    bool ask(const InspectRequest& request);
    std::optional<InspectRequest> take_question();

    // Waits until `started` plus the time of one token at the speed that is set meanwhile; returns early for a stop and
    // for a question. True when the time is over.
    bool wait_for_pace(Clock::time_point started, std::stop_token stop);

private:
    std::atomic<double> tokens_per_second_{0};
    std::atomic<bool> marked_{false};
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<WorkProgress> progress_;
    std::shared_ptr<const SweepResult> sweep_;
    std::size_t sweep_rows_ = 0;
    std::optional<InspectRequest> question_;
};

}  // namespace decodescope
