#include "kernels/cpu/thread_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <hwy/cache_control.h>

#include "kernels/api/usable_cores.h"

namespace decodescope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSharedFor{500};  // after a core was taken

// The last chunks of a stage are done in well under this many pauses when every thread has a core. Long spins are a
// trap where they have not: the spinning thread holds the core that the thread it waits for needs.
constexpr int kSpins = 1000;
constexpr int kSpinsOversubscribed = 20;

}  // namespace

ThreadPool::ThreadPool(int threads, std::function<void()> woken)
    : woken_(std::move(woken)), homes_(threads), places_(static_cast<std::size_t>(std::max(threads, 1))) {
    spins_ = threads > usable_cores() ? kSpinsOversubscribed : kSpins;
    // Known before the first worker runs, lowered while none has been given work.
    threads_ = 1;
    for (int thread = 1; thread < threads; ++thread) {
        try {  // the only way in which std::thread reports that the system has no more
            workers_.emplace_back([this, thread] { worker(thread); });
        } catch (const std::system_error&) {
            break;
        }
        ++threads_;
    }
}

ThreadPool::~ThreadPool() {
    quit_.store(true, std::memory_order_relaxed);
    announce();
    for (std::thread& thread : workers_) thread.join();
}

void ThreadPool::wait_for_change(std::uint32_t seen) const {
    for (int spin = 0; spin < spins_; ++spin) {
        if (phase_.load(std::memory_order_acquire) != seen) return;
        hwy::Pause();
    }
    while (phase_.load(std::memory_order_acquire) == seen) phase_.wait(seen, std::memory_order_acquire);
}

void ThreadPool::announce() {
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
}

// Moves on to the next stage that is shared; runs the small ones on the way. False at the end of the job.
bool ThreadPool::advance(int thread) {
    const int stages = work_->stages();
    while (++stage_ < stages) {
        chunks_ = work_->chunks(stage_);
        if (chunks_ > 1 && threads_ > 1) return true;
        for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) work_->run_chunk(stage_, chunk, thread);
        work_->stage_done(stage_);
    }
    return false;
}

void ThreadPool::release() {
    chunks_done_.store(0, std::memory_order_relaxed);
    claims_.store(static_cast<std::uint64_t>(chunks_) << 32, std::memory_order_release);
    announce();
}

// Between two chunks: the thread holds nothing that another one could wait for.
void ThreadPool::share_core(int thread) {
    Place& place = places_[static_cast<std::size_t>(thread)];
    if (!place.turn.is_over()) return;
    std::this_thread::yield();
    const SteadyTime now = Clock::now();
    if (place.turn.returned(now)) shared_until_.store(now + kSharedFor, std::memory_order_relaxed);
}

// Returns when there is nothing left to take. A thread that comes late finds the stage of now, or none.
void ThreadPool::take_chunks(int thread) {
    Place& place = places_[static_cast<std::size_t>(thread)];
    SteadyTime now = Clock::now();
    place.turn.chunk_begins(now);
    for (;;) {
        share_core(thread);
        place.seat.update(homes_, thread, now, shared_until_.load(std::memory_order_relaxed));
        const std::uint64_t claim = claims_.fetch_add(1, std::memory_order_acq_rel);
        const std::uint32_t chunks = static_cast<std::uint32_t>(claim >> 32), chunk = static_cast<std::uint32_t>(claim);
        if (chunk >= chunks) return;
        work_->run_chunk(stage_, chunk, thread);
        now = Clock::now();
        place.seat.chunk_took(place.turn.chunk_ends(now), now);
        if (chunks_done_.fetch_add(1, std::memory_order_acq_rel) + 1 != chunks) continue;
        work_->stage_done(stage_);
        if (advance(thread)) {
            release();
            continue;
        }
        finished_.store(true, std::memory_order_release);
        announce();
        return;
    }
}

void ThreadPool::worker(int thread) {
    std::uint32_t seen = 0;
    for (;;) {
        wait_for_change(seen);
        seen = phase_.load(std::memory_order_acquire);
        if (quit_.load(std::memory_order_relaxed)) return;
        if (woken_) woken_();
        take_chunks(thread);
    }
}

void ThreadPool::run(StageWork& work) {
    work_ = &work;
    stage_ = -1;
    if (!advance(0)) return;
    finished_.store(false, std::memory_order_relaxed);
    release();
    for (;;) {
        const std::uint32_t seen = phase_.load(std::memory_order_acquire);
        take_chunks(0);
        if (finished_.load(std::memory_order_acquire)) break;
        wait_for_change(seen);
    }
    places_.front().seat.leave();  // the thread is the caller's
}

}  // namespace decodescope
