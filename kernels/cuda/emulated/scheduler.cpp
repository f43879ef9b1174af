// Runs the threads of a block as fibers. A thread goes on until it reaches a barrier, a warp collective or its end; then
// the schedule picks the next one that can. Blocks run one after the other, in that order too.
//
// Under the thread sanitizer each CUDA thread is a fiber that it knows, and only what CUDA orders is ordered (launch,
// barrier, __syncwarp): it then reports the data races of a kernel whatever the schedule was.
//
// Compiled without instrumentation whatever the rest has, because fibers end in the middle of frames.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cuda/emulated/fiber.h"
#include "kernels/cuda/emulated/shared_block.h"
#include "kernels/cuda/emulated/simt.h"

namespace decodescope::simt {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;

#ifdef DECODESCOPE_SIMT_TSAN
void release_order(void* token) { __tsan_release(token); }
void acquire_order(void* token) { __tsan_acquire(token); }
#else
void release_order(void*) {}
void acquire_order(void*) {}
#endif

enum class State : std::uint8_t { Ready, AtBarrier, InCollective, Ended };

struct Thread {
    Fiber* fiber = nullptr;
    uint3 index{};
    State state = State::Ready;
    Site site{};
    WarpOperation operation{};
    unsigned mask = 0;
    int source = 0;
    std::uint64_t value = 0, result = 0;
    unsigned warp_syncs = 0;
};

struct Warp {
    unsigned ready = 0, alive = 0, waiting = 0;  // lanes
};

std::string text(const uint3& v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}
std::string text(const Site& site) { return std::string(site.file) + ":" + std::to_string(site.line); }
bool same(const Site& a, const Site& b) {
    return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string deadlock() { return "the threads wait for one another for ever"; }

std::int64_t switch_count = 0;

void run_current_thread();

// One thread of the operating system that runs grids. It keeps its stacks for the next launch.
class Machine {
public:
    std::string run(const Launch& launch, const std::function<void()>& body);

    // Called from fibers.
    void barrier(Site site, bool vote);
    bool last_vote() const { return votes_[(barriers_ & 1) ^ 1]; }
    std::uint64_t collective(WarpOperation operation, unsigned mask, std::uint64_t value, int source, Site site);
    void* dynamic_shared();
    void* static_shared(const void* tag, std::size_t bytes);
    int lane() const { return static_cast<int>(current_ % 32); }
    void thread_main();

private:
    void prepare_block(unsigned linear);
    void run_block(unsigned linear);
    Thread& self() { return threads_[current_]; }
    Warp& warp() { return warps_[current_ / 32]; }
    int pick();
    int pick_from(unsigned first_warp, unsigned lanes_from, int step) const;
    void go_to(int thread);
    void suspend();
    void make_ready(unsigned thread) {
        threads_[thread].state = State::Ready;
        warps_[thread / 32].ready |= 1u << (thread % 32);
    }
    void finish_collective(unsigned mask, WarpOperation operation);
    std::string whereabouts() const;
    template <class Reason>
    [[noreturn]] void fail(const Reason& reason);
    [[noreturn]] void end_block();
    void drop_shared();
    char* order_token(unsigned index) { return tokens_ + index; }

    const Launch* launch_ = nullptr;
    const std::function<void()>* body_ = nullptr;
    Place main_;
    std::vector<std::unique_ptr<Fiber>> fibers_, resting_;  // two sets take turns for the thread sanitizer
    std::vector<Thread> threads_;
    std::vector<Warp> warps_;
    std::vector<SharedBlock> shared_, kept_;
    std::size_t shared_bytes_ = 0;
    unsigned current_ = 0, ended_ = 0, at_barrier_ = 0, barriers_ = 0;
    bool votes_[2] = {};
    Site barrier_site_{};
    std::mt19937_64 random_;
    std::string fault_;
    // What the sanitizer's edges are tied to: fresh for each block, as used ones would order it after earlier blocks.
    char* tokens_ = nullptr;
    char end_token_ = 0;
};

thread_local Machine machine;

void run_current_thread() { machine.thread_main(); }

// The first ready lane from warp `first_warp` on, going through the warps in steps of +1 or -1; -1: none.
// lanes_from: in the first warp only lanes from here on (or down from here).
int Machine::pick_from(unsigned first_warp, unsigned lanes_from, int step) const {
    const auto count = static_cast<unsigned>(warps_.size());
    for (unsigned i = 0; i <= count; ++i) {
        const unsigned w = step > 0 ? (first_warp + i) % count : (first_warp + count - i % count) % count;
        unsigned lanes = warps_[w].ready;
        if (i == 0) lanes &= step > 0 ? ~0u << lanes_from : ~0u >> (31 - lanes_from);
        if (lanes == 0) continue;
        const int lane = step > 0 ? std::countr_zero(lanes) : 31 - std::countl_zero(lanes);
        return static_cast<int>(32 * w) + lane;
    }
    return -1;
}

int Machine::pick() {
    const unsigned w = current_ / 32, lane = current_ % 32;
    switch (settings().schedule) {
        case Schedule::Forward: return lane == 31 ? pick_from((w + 1) % warps_.size(), 0, 1) : pick_from(w, lane + 1, 1);
        case Schedule::Reverse:
            return lane == 0 ? pick_from((w + warps_.size() - 1) % warps_.size(), 31, -1) : pick_from(w, lane - 1, -1);
        case Schedule::WarpAhead: return pick_from(w, 0, 1);
        case Schedule::Seeded: break;
    }
    const int first = pick_from(static_cast<unsigned>(random_() % warps_.size()), 0, 1);
    if (first < 0) return first;
    const unsigned lanes = warps_[static_cast<unsigned>(first) / 32].ready;
    auto skip = random_() % static_cast<unsigned>(std::popcount(lanes));
    unsigned rest = lanes;
    while (skip-- > 0) rest &= rest - 1;
    return first / 32 * 32 + std::countr_zero(rest);
}

void Machine::go_to(int thread) {
    current_ = static_cast<unsigned>(thread);
    warp().ready &= ~(1u << (current_ % 32));
    threadIdx = self().index;
    ++switch_count;
}

void Machine::suspend() {
    Thread& waiting = self();
    const int next = pick();
    if (next < 0) fail(deadlock);
    if (&threads_[static_cast<unsigned>(next)] == &waiting) return go_to(next);
    release_order(&end_token_);  // should this one be abandoned
    go_to(next);
    switch_place(waiting.fiber->place, self().fiber->place);
}

std::string Machine::whereabouts() const {
    std::map<std::string, std::pair<int, std::string>> groups;
    for (const Thread& thread : threads_) {
        std::string what = "can go on";
        if (thread.state == State::Ended) what = "have ended";
        if (thread.state == State::AtBarrier) what = "wait at the barrier " + text(thread.site);
        if (thread.state == State::InCollective) what = "wait in the warp collective " + text(thread.site);
        auto& [count, first] = groups[what];
        if (count++ == 0) first = text(thread.index);
    }
    std::string all;
    for (const auto& [what, group] : groups)
        all += "; " + std::to_string(group.first) + " " + what + ", the first is " + group.second;
    return all;
}

// Ends the block. The fibers stay where they are, so nothing that owns memory may be alive on this one: the reason is
// put together here, not by the caller.
template <class Reason>
void Machine::fail(const Reason& reason) {
    fault_ = reason();
    end_block();
}
void Machine::end_block() {
    fault_ = std::string(launch_->kernel) + ": " + fault_ + ", in block " + text(blockIdx) + " thread " +
             text(self().index) + whereabouts();
    release_order(&end_token_);
    switch_place(self().fiber->place, main_, true);
    std::abort();  // nobody comes back
}

void Machine::thread_main() {
    acquire_order(order_token(0));
    (*body_)();
    release_order(&end_token_);
    Thread& ending = self();
    ending.state = State::Ended;
    ending.fiber->finished();
    warp().alive &= ~(1u << (current_ % 32));
    ++ended_;
    if (at_barrier_ > 0)
        fail([&] { return "a thread ended while others wait at the barrier " + text(barrier_site_); });
    const int next = pick();
    if (next < 0 && ended_ < threads_.size()) fail(deadlock);
    if (next >= 0) go_to(next);
    switch_place(ending.fiber->place, next >= 0 ? self().fiber->place : main_, true);
    std::abort();
}

void Machine::barrier(Site site, bool vote) {
    const unsigned phase = barriers_ & 1;
    release_order(order_token(2 + phase));
    if (at_barrier_ == 0) barrier_site_ = site;
    if (!same(barrier_site_, site))
        fail([&] { return "threads wait at two barriers, " + text(site) + " and " + text(barrier_site_); });
    if (ended_ > 0) fail([&] { return "the barrier " + text(site) + " is not reached by threads that have ended"; });
    if (at_barrier_ == 0) votes_[phase] = false;
    votes_[phase] = votes_[phase] || vote;
    self().state = State::AtBarrier;
    self().site = site;
    if (++at_barrier_ == threads_.size()) {
        at_barrier_ = 0;
        ++barriers_;
        for (unsigned t = 0; t < threads_.size(); ++t) make_ready(t);
    }
    suspend();
    acquire_order(order_token(2 + phase));
}

void Machine::finish_collective(unsigned mask, WarpOperation operation) {
    Thread* const lanes = threads_.data() + current_ / 32 * 32;
    std::uint64_t votes = 0;
    for (unsigned rest = mask; operation == WarpOperation::Ballot && rest != 0; rest &= rest - 1)
        votes |= (lanes[std::countr_zero(rest)].value & 1) << std::countr_zero(rest);
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
        Thread& thread = lanes[std::countr_zero(rest)];
        thread.result = operation == WarpOperation::Shuffle ? lanes[thread.source].value : votes;
        thread.state = State::Ready;
    }
    warp().ready |= mask;
    warp().waiting &= ~mask;
}

std::uint64_t Machine::collective(WarpOperation operation, unsigned mask, std::uint64_t value, int source, Site site) {
    const unsigned first = current_ / 32 * 32, bit = 1u << (current_ % 32);
    if ((mask & bit) == 0) fail([&] { return "a lane is not in the mask that it gives at " + text(site); });
    if ((mask & ~warp().alive) != 0)
        fail([&] { return "the mask at " + text(site) + " names lanes that are not there"; });
    if (source >= 0 && (mask >> source & 1) == 0)
        fail([&] { return "a lane outside the mask is read at " + text(site); });
    if (const unsigned others = mask & warp().waiting; others != 0) {
        const Thread& other = threads_[first + static_cast<unsigned>(std::countr_zero(others))];
        if (other.mask != mask || other.operation != operation || !same(other.site, site))
            fail([&] { return "lanes of one warp meet in two collectives, " + text(site) + ", " + text(other.site); });
    }
    Thread& leader = threads_[first + static_cast<unsigned>(std::countr_zero(mask))];
    const bool orders = operation == WarpOperation::Synchronize;  // shuffles order nothing in memory
    char* const token = order_token(4 + 2 * static_cast<unsigned>(&leader - threads_.data()) + (leader.warp_syncs & 1));
    if (orders) release_order(token);
    Thread& own = self();
    own.state = State::InCollective;
    own.site = site;
    own.operation = operation;
    own.mask = mask;
    own.value = value;
    own.source = source;
    warp().waiting |= bit;
    if ((warp().waiting & mask) == mask) {
        finish_collective(mask, operation);
        leader.warp_syncs += orders ? 1 : 0;
    }
    suspend();
    if (orders) acquire_order(token);
    return own.result;
}

void* Machine::dynamic_shared() {
    if (shared_.empty() || shared_.front().tag() != nullptr)
        fail([] { return std::string("dynamic shared memory is used and none was asked for"); });
    return shared_.front().data();
}

void* Machine::static_shared(const void* tag, std::size_t bytes) {
    for (const SharedBlock& block : shared_) {
        if (block.tag() != tag) continue;
        acquire_order(order_token(1));
        return block.data();
    }
    shared_bytes_ += bytes;
    if (shared_bytes_ > settings().shared_bytes)
        fail([&] { return std::to_string(shared_bytes_) + " bytes of shared memory are more than a block has"; });
    shared_.emplace_back(tag, bytes);
    release_order(order_token(1));
    return shared_.back().data();
}

void Machine::prepare_block(unsigned linear) {
    const dim3 grid = launch_->grid, block = launch_->block;
    const unsigned count = block.x * block.y * block.z;
    blockIdx = {linear % grid.x, linear / grid.x % grid.y, linear / grid.x / grid.y};
    gridDim = grid;
    blockDim = block;
#ifdef DECODESCOPE_SIMT_TSAN
    std::swap(fibers_, resting_);
#endif
    while (fibers_.size() < count) fibers_.push_back(std::make_unique<Fiber>(kStackBytes));
    threads_.assign(count, {});
    warps_.assign((count + 31) / 32, {});
    ended_ = at_barrier_ = barriers_ = 0;
    for (unsigned t = 0; t < count; ++t) {
        // Rotated, and the next block has the other set: what a fiber did in one block is ordered before all that comes
        // after a barrier of its next block, and no race between the two would show.
        threads_[t].fiber = fibers_[(t + linear) % fibers_.size()].get();
        threads_[t].fiber->start_anew<run_current_thread>();
        threads_[t].index = {t % block.x, t / block.x % block.y, t / block.x / block.y};
        warps_[t / 32].alive |= 1u << (t % 32);
        warps_[t / 32].ready |= 1u << (t % 32);
    }
    shared_bytes_ = launch_->shared_bytes;
    if (shared_bytes_ > 0) shared_.emplace_back(nullptr, shared_bytes_);
    kept_.emplace_back(nullptr, 4 + 2 * std::size_t{count});
    tokens_ = static_cast<char*>(kept_.back().data());
}

void Machine::run_block(unsigned linear) {
    prepare_block(linear);
    release_order(order_token(0));
    current_ = settings().schedule == Schedule::Reverse ? 0 : static_cast<unsigned>(threads_.size()) - 1;
    go_to(settings().schedule == Schedule::WarpAhead ? 0 : pick());
    switch_place(main_, self().fiber->place);
    for (const SharedBlock& block : shared_)
        if (!block.intact() && fault_.empty())
            fault_ = std::string(launch_->kernel) + ": a thread of block " + text(blockIdx) +
                     " wrote past the end of shared memory of " + std::to_string(block.bytes()) + " bytes";
    for (SharedBlock& block : shared_) kept_.push_back(std::move(block));
    shared_.clear();
#ifndef DECODESCOPE_SIMT_TSAN
    kept_.clear();  // the thread sanitizer must not see one address in two blocks
#endif
}

std::string Machine::run(const Launch& launch, const std::function<void()>& body) {
    launch_ = &launch;
    body_ = &body;
    fault_.clear();
    random_.seed(settings().seed);
#ifdef DECODESCOPE_SIMT_TSAN
    main_.tsan_fiber = __tsan_get_current_fiber();
#endif
    std::vector<unsigned> blocks(std::size_t{launch.grid.x} * launch.grid.y * launch.grid.z);
    std::iota(blocks.begin(), blocks.end(), 0u);
    if (settings().schedule == Schedule::Reverse) std::reverse(blocks.begin(), blocks.end());
    if (settings().schedule == Schedule::Seeded) std::shuffle(blocks.begin(), blocks.end(), random_);
    for (const unsigned linear : blocks) {
        run_block(linear);
        if (!fault_.empty()) break;
    }
    acquire_order(&end_token_);
    kept_.clear();
    return fault_;
}

}  // namespace

std::string run_grid(const Launch& launch, const std::function<void()>& thread_body) {
    return machine.run(launch, thread_body);
}

std::int64_t switches() { return switch_count; }

void block_barrier(Site site) { machine.barrier(site, false); }
bool block_any(bool vote, Site site) {
    machine.barrier(site, vote);
    return machine.last_vote();
}
std::uint64_t warp_collective(WarpOperation operation, unsigned mask, std::uint64_t value, int source_lane, Site site) {
    return machine.collective(operation, mask, value, source_lane, site);
}
int lane_index() { return machine.lane(); }
void* dynamic_shared() { return machine.dynamic_shared(); }
void* static_shared(const void* tag, std::size_t bytes) { return machine.static_shared(tag, bytes); }

}  // namespace decodescope::simt
