#include "kernels/cpu/thread_pool.h"

#include <algorithm>
#include <system_error>

#include <hwy/cache_control.h>

namespace decodescope {
namespace {

// A barrier is crossed in well under this many pauses when every thread has a core. Long spins are a trap where they
// have not: the spinning thread holds the core that the thread it waits for needs.
constexpr int kSpins = 1000;
constexpr int kSpinsOversubscribed = 20;

}  // namespace

ThreadPool::ThreadPool(int threads) {
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    spins_ = threads > cores ? kSpinsOversubscribed : kSpins;
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
    quit_ = true;
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
    for (std::thread& thread : workers_) thread.join();
}

void ThreadPool::wait_for_change(std::atomic<std::uint32_t>& value, std::uint32_t seen) const {
    for (int spin = 0; spin < spins_; ++spin) {
        if (value.load(std::memory_order_acquire) != seen) return;
        hwy::Pause();
    }
    while (value.load(std::memory_order_acquire) == seen) value.wait(seen, std::memory_order_acquire);
}

void ThreadPool::take_chunks(int thread) {
    const std::int64_t chunks = chunks_;
    const int stage = stage_;
    for (;;) {
        const std::int64_t chunk = next_chunk_.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= chunks) return;
        work_->run_chunk(stage, chunk, thread);
    }
}

// Moves on to the next stage that needs all threads; runs the small ones on the way. False at the end of the job.
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
    next_chunk_.store(0, std::memory_order_relaxed);
    arrived_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
}

// True for the last thread of a stage, which has then prepared what follows.
bool ThreadPool::arrive(int thread) {
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) != threads_ - 1) return false;
    work_->stage_done(stage_);
    if (advance(thread)) {
        release();
    } else {
        finished_ = true;
    }
    caller_signal_.fetch_add(1, std::memory_order_release);
    caller_signal_.notify_one();
    return true;
}

void ThreadPool::worker(int thread) {
    std::uint32_t seen = 0;
    for (;;) {
        wait_for_change(phase_, seen);
        // Never skips a phase: the next one is released only after this thread has arrived.
        seen += 1;
        if (quit_) return;
        take_chunks(thread);
        arrive(thread);
    }
}

void ThreadPool::run(StageWork& work) {
    work_ = &work;
    stage_ = -1;
    finished_ = false;
    if (!advance(0)) {
        finished_ = true;
        return;
    }
    std::uint32_t seen = caller_signal_.load(std::memory_order_relaxed);
    release();
    while (!finished_) {
        take_chunks(0);
        arrive(0);
        wait_for_change(caller_signal_, seen);
        seen += 1;
    }
}

}  // namespace decodescope
