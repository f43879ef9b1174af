// The threads of the CPU backend. A job is a list of stages with a barrier after each; the chunks of a stage are taken
// by whichever thread is free. Waiting threads spin for a moment and then sleep, so that an idle program costs nothing
// and a busy neighbour costs a time slice at most.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

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
    // `threads` in all, the calling one included; at least 1. The system may refuse some: see threads().
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return threads_; }

    // Runs the stages in order and returns when all are done. The calling thread takes part. One call at a time.
    void run(StageWork& work);

private:
    void worker(int thread);
    void take_chunks(int thread);
    bool arrive(int thread);
    bool advance(int thread);
    void release();
    void wait_for_change(std::atomic<std::uint32_t>& value, std::uint32_t seen) const;

    int threads_ = 1;
    int spins_ = 0;
    std::vector<std::thread> workers_;

    // Written by the thread that arrives last, or by run() before anybody is woken; published by phase_.
    StageWork* work_ = nullptr;
    int stage_ = -1;
    std::int64_t chunks_ = 0;
    bool finished_ = true;
    bool quit_ = false;

    alignas(64) std::atomic<std::uint32_t> phase_{0};          // counts released stages; workers wait for it
    alignas(64) std::atomic<std::uint32_t> caller_signal_{0};  // counts stage ends; the calling thread waits for it
    alignas(64) std::atomic<std::int64_t> next_chunk_{0};
    alignas(64) std::atomic<int> arrived_{0};
};

}  // namespace decodescope
