// The threads of the CPU backend. A job is a list of stages, one after the other; the chunks of a stage are taken by
// whichever thread is free. A stage is complete when its chunks are, not when every thread has been there: a thread that
// the system does not let run, because something else needs the core, is not waited for unless it holds a chunk.
// Waiting threads spin for a moment and then sleep, so that an idle program costs nothing. What they do when cores are
// shared with other programs: core_sharing.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/cpu/core_sharing.h"

namespace decodescope {

// What a pool runs. `thread` is 0 .. threads - 1 and is used by one thread at a time: it may index scratch memory.
class StageWork {
public:
    virtual ~StageWork() = default;
    virtual int stages() const = 0;
    // Asked once per run and stage, before its first chunk. A stage of one chunk is run by the thread that finished the
    // stage before, without waking the others.
    virtual std::int64_t chunks(int stage) const = 0;
    virtual void run_chunk(int stage, std::int64_t chunk, int thread) = 0;
    // Called by one thread when a stage is complete, before the next one starts.
    virtual void stage_done(int stage) {}
};

class ThreadPool {
public:
    // `threads` in all, the calling one included; at least 1. The system may refuse some: see threads(). `woken`, when
    // given, is called by every other thread when it has woken up and before it takes anything: it stands for a system
    // that lets the thread wait.
    explicit ThreadPool(int threads, std::function<void()> woken = {});
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return threads_; }

    // Runs the stages in order and returns when all are done. The calling thread takes part. One call at a time.
    void run(StageWork& work);

private:
    void worker(int thread);
    void take_chunks(int thread);
    void share_core(int thread);
    bool advance(int thread);
    void release();
    void announce();
    void wait_for_change(std::uint32_t seen) const;

    const std::function<void()> woken_;
    int threads_ = 1;
    int spins_ = 0;
    std::vector<std::thread> workers_;
    struct alignas(64) Place {
        CoreTurn turn;
        CoreSeat seat;
    };
    HomeCores homes_;
    std::vector<Place> places_;  // [threads]
    std::atomic<SteadyTime> shared_until_{};  // cores are taken to be shared with other programs

    // Written while no chunk is out: by run() before a stage is released, or by the thread that did the last chunk of
    // one. Read only by a thread that holds a chunk; published by claims_.
    StageWork* work_ = nullptr;
    int stage_ = -1;
    std::int64_t chunks_ = 0;

    alignas(64) std::atomic<std::uint64_t> claims_{0};  // chunks of the stage << 32 | next one: both from one access
    alignas(64) std::atomic<std::uint32_t> chunks_done_{0};
    alignas(64) std::atomic<std::uint32_t> phase_{0};  // counts released stages and ended jobs; threads wait for it
    std::atomic<bool> finished_{true};
    std::atomic<bool> quit_{false};
};

}  // namespace decodescope
