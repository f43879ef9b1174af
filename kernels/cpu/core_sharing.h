// What the threads of a pool do when another program wants their cores.
//
// A thread that is interrupted in the middle of a chunk makes all the others wait for the turn of the other program to
// end. So it offers the core by itself, between two chunks, a little before the system would take it. And threads that
// wake each other end up side by side on one core while the other program has the next one for itself: as long as cores
// are being shared, each thread of a pool that has one for every core stays on its own.
#pragma once

#include <chrono>
#include <vector>

#include <sched.h>

namespace decodescope {

using SteadyTime = std::chrono::steady_clock::time_point;

// When one thread offers its core to whoever waits for it.
class CoreTurn {
public:
    static constexpr std::chrono::microseconds kLongChunk{1000};  // longer than a small chunk takes undisturbed
    static constexpr std::chrono::microseconds kTurn{2000};       // a system's turns are 3 to 4 ms
    static constexpr std::chrono::microseconds kTaken{200};

    void chunk_begins(SteadyTime now) { begun_ = now; }
    // A chunk that took long was perhaps interrupted. Returns how long it took; the next one begins.
    SteadyTime::duration chunk_ends(SteadyTime now) {
        const auto took = now - begun_;
        if (took >= kLongChunk) {
            watching_ = true;
            since_ = now;
        }
        begun_ = now;
        return took;
    }
    // Whether the core should be offered now, before another chunk is taken.
    bool is_over() const { return watching_ && begun_ - since_ >= kTurn; }
    // The core was offered and is back. Returns whether somebody took it; if not, there is nothing to look out for.
    bool returned(SteadyTime now) {
        watching_ = now - begun_ >= kTaken;
        since_ = begun_ = now;
        return watching_;
    }

private:
    bool watching_ = false;
    SteadyTime begun_{}, since_{};  // since_: the core came back to this thread
};

// One core for each thread of a pool; none where the pool has fewer or more threads than the process may use cores.
class HomeCores {
public:
    explicit HomeCores(int threads);
    const std::vector<int>& cores() const { return cores_; }  // [threads] or empty

private:
    std::vector<int> cores_;
};

// Whether one thread stays on its core. All calls by that thread.
class CoreSeat {
public:
    // Settles while `now` is before `shared_until`, else gives the thread its freedom back.
    void update(const HomeCores& homes, int thread, SteadyTime now, SteadyTime shared_until);
    // A program of higher priority may have the core nearly for itself: after such a chunk anywhere else is better.
    void chunk_took(SteadyTime::duration took, SteadyTime now);
    void leave();
    bool settled() const { return settled_; }

private:
    bool settled_ = false;
    SteadyTime free_until_{};
    cpu_set_t before_{};  // where the thread may run when it is not settled
};

}  // namespace decodescope
