// The pool: every chunk of every stage once, stages in order, thousands of jobs without a hang, and nobody waits for a
// thread that is not let run.
#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/api/usable_cores.h"
#include "kernels/cpu/thread_pool.h"

namespace decodescope {
namespace {

// Each stage checks that all chunks of the stage before are done.
class CountingWork final : public StageWork {
public:
    explicit CountingWork(std::vector<std::int64_t> chunks) : chunks_(std::move(chunks)), done_(chunks_.size()) {}
    int stages() const override { return static_cast<int>(chunks_.size()); }
    std::int64_t chunks(int stage) const override { return chunks_[static_cast<std::size_t>(stage)]; }
    void run_chunk(int stage, std::int64_t chunk, int thread) override {
        const auto s = static_cast<std::size_t>(stage);
        if (s > 0 && done_[s - 1].load() != chunks_[s - 1]) early_ = true;
        if (chunk < 0 || chunk >= chunks_[s]) early_ = true;
        busy_[static_cast<std::size_t>(thread)] += 1;
        plain_sum_[static_cast<std::size_t>(thread)] += chunk;  // not atomic: only this thread may touch it
        busy_[static_cast<std::size_t>(thread)] -= 1;
        if (busy_[static_cast<std::size_t>(thread)] != 0) early_ = true;
        ++done_[s];
    }
    void stage_done(int stage) override { order_.push_back(stage); }

    bool complete() const {
        for (std::size_t s = 0; s < chunks_.size(); ++s)
            if (done_[s].load() != chunks_[s] || order_[s] != static_cast<int>(s)) return false;
        return !early_ && order_.size() == chunks_.size();
    }

private:
    std::vector<std::int64_t> chunks_;
    std::vector<std::atomic<std::int64_t>> done_;
    std::vector<int> order_;
    std::array<std::int64_t, 16> plain_sum_{};
    std::array<std::atomic<int>, 16> busy_{};
    std::atomic<bool> early_{false};
};

TEST(ThreadPool, RunsEveryChunkOnceInOrder) {
    for (const int threads : {1, 2, 3, 5, 8}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        for (int job = 0; job < 300; ++job) {
            CountingWork work({1, 7, 0, 3, 1, 1, 64, 2, 0, 1});
            pool.run(work);
            ASSERT_TRUE(work.complete()) << threads << " threads, job " << job;
        }
        CountingWork empty({});
        pool.run(empty);
        CountingWork serial({1, 1, 0});
        pool.run(serial);
        EXPECT_TRUE(serial.complete());
    }
}

TEST(ThreadPool, SleepsAndWakes) {
    ThreadPool pool(3);
    for (int job = 0; job < 20; ++job) {
        CountingWork work({5, 9});
        pool.run(work);
        ASSERT_TRUE(work.complete());
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than any spin
    }
}

TEST(ThreadPool, DoesNotWaitForAThreadThatIsNotLetRun) {
    std::atomic<bool> held{true};
    std::atomic<int> holding{0};
    ThreadPool pool(2, [&] {
        ++holding;
        held.wait(true);
    });
    ASSERT_EQ(pool.threads(), 2);
    for (int job = 0; job < 100; ++job) {  // a pool that waits for every thread hangs here
        CountingWork work({4, 1, 9, 2});
        pool.run(work);
        EXPECT_TRUE(work.complete());
    }
    while (holding == 0) std::this_thread::yield();  // it has been woken, and has not moved on since
    held = false;
    held.notify_all();
    for (int job = 0; job < 100; ++job) {  // and it joins in again, whatever stage it finds
        CountingWork work({4, 1, 9, 2});
        pool.run(work);
        EXPECT_TRUE(work.complete());
    }
}

TEST(CoreTurn, OffersTheCoreAfterAnInterruptionAndOnlyWhileSomebodyTakesIt) {
    using std::chrono::microseconds;
    SteadyTime now{};
    CoreTurn turn;
    turn.chunk_begins(now);
    const auto chunk = [&](int micros) {
        turn.chunk_ends(now += microseconds(micros));
        return turn.is_over();
    };
    for (int i = 0; i < 1000; ++i) ASSERT_FALSE(chunk(100)) << "nobody interrupts";
    ASSERT_FALSE(chunk(4000)) << "the core has just come back";
    for (int i = 0; i < 19; ++i) ASSERT_FALSE(chunk(100));
    ASSERT_TRUE(chunk(100)) << "2 ms later";
    EXPECT_TRUE(turn.returned(now += microseconds(4000)));  // somebody waited for it
    for (int i = 0; i < 19; ++i) ASSERT_FALSE(chunk(100));
    ASSERT_TRUE(chunk(100));
    EXPECT_FALSE(turn.returned(now += microseconds(2)));  // nobody did
    for (int i = 0; i < 1000; ++i) ASSERT_FALSE(chunk(100));
}

int allowed_cores() {
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 0;
}

TEST(CoreSeat, StaysWhileCoresAreSharedAndLeavesACoreOnWhichItStarves) {
    using std::chrono::milliseconds;
    const int cores = allowed_cores();
    if (cores < 2 || usable_cores() != cores) GTEST_SKIP() << "Threads keep to cores of their own where the process may use two or more and no quota is set; here "
                        "it may use "
                     << usable_cores() << " of " << cores << ", so there is nothing that it would do.";
    EXPECT_TRUE(HomeCores(cores - 1).cores().empty()) << "fewer threads than cores: the system chooses";
    EXPECT_TRUE(HomeCores(cores + 1).cores().empty());
    const HomeCores homes(cores);
    ASSERT_EQ(std::ssize(homes.cores()), cores);
    const SteadyTime start{};
    const SteadyTime until = start + milliseconds(500);
    CoreSeat seat;
    for (const int thread : {1, 0}) {
        seat.update(homes, thread, start + milliseconds(1), until);
        EXPECT_EQ(allowed_cores(), 1);
        EXPECT_EQ(sched_getcpu(), homes.cores()[static_cast<std::size_t>(thread)]);
        seat.update(homes, thread, until, until);  // nobody has wanted a core for a while
        EXPECT_EQ(allowed_cores(), cores);
    }
    const SteadyTime later = start + milliseconds(5000);
    seat.update(homes, 1, start + milliseconds(2), later);
    seat.chunk_took(milliseconds(5), start + milliseconds(3));
    seat.update(homes, 1, start + milliseconds(3), later);
    EXPECT_EQ(allowed_cores(), 1);
    seat.chunk_took(milliseconds(40), start + milliseconds(50));  // of which it had the core for a tenth
    seat.update(homes, 1, start + milliseconds(50), later);
    EXPECT_EQ(allowed_cores(), cores);
    seat.update(homes, 1, start + milliseconds(1051), later);
    EXPECT_EQ(allowed_cores(), 1) << "tries again";
    seat.leave();
    EXPECT_EQ(allowed_cores(), cores);
}

TEST(UsableCores, HeedsQuotaAndMask) {
    EXPECT_EQ(cores_of_quota("max 100000"), 0);
    EXPECT_EQ(cores_of_quota("100000 100000"), 1);
    EXPECT_EQ(cores_of_quota("150000 100000"), 2);
    EXPECT_EQ(cores_of_quota("20000 100000"), 1);
    EXPECT_EQ(cores_of_quota("400000 100000"), 4);
    for (const char* odd : {"", " ", "x y", "-1 100000", "100000", "100000 0", "nan nan"})
        EXPECT_EQ(cores_of_quota(odd), 0) << odd;
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
        if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cores(), 1);
    ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

TEST(ThreadPool, UnusedPoolEnds) { ThreadPool pool(4); }

}  // namespace
}  // namespace decodescope
