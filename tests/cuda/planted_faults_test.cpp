// Planted faults: each is a small kernel in the manner of ours with one mistake in it, and the emulation must see it, by
// a wrong result under one of the schedules or by a report. Without the mistake nothing may be seen. This tests the
// emulation, not the backend: a fault that these kernels could hide could hide in the backend, too.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "kernels/cuda/device_math.h"
#include "tests/cuda/emulated_backend.h"

namespace decodescope {
namespace {

enum class Fault {
    None,
    FirstBarrierRemoved,    // reading shared memory before all have written it
    LastBarrierRemoved,     // writing it again before all have read it
    BarrierInABranch,
    OneEntryTooMany,        // an index one past the end, read
    OneElementTooMany,      // and written
    NoTailCheck,            // threads beyond the end go on
    WrongMask,              // a shuffle that names half a warp
    ShuffleInABranch,
    UnseenEntriesCount,     // a mask of visibility that is off by one
    WrongHeadOfAGroup,      // head h reads key-value head h instead of h / group
    RangesNotRescaled,      // parts put together without their maxima
    SharedByTwoBlocks,      // a result of each block in one place
    PairRotatedTwice,       // the second of a pair computed from the new first
    WarpTrustedInLockstep,  // an exchange through memory without __syncwarp
    MisplacedTail,          // the last rows taken from where the first ones lie
};

constexpr int kThreads = 64;

// out[block] = sum of in[block * count ..], in two rounds that use the same shared memory.
template <Fault fault>
__global__ void sum_twice(const float* in, int count, float* out) {
    DS_SHARED(float, room, 32);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const float* x = in + static_cast<int>(blockIdx.x) * count;
    float total = 0.0f;
    for (int round = 1; round <= 2; ++round) {
        float sum = 0.0f;
        const int end = fault == Fault::OneEntryTooMany ? count + 1 : count;
        for (int i = threadIdx.x; i < end; i += blockDim.x) sum += static_cast<float>(round) * x[i];
        if (fault == Fault::ShuffleInABranch) {
            if (lane < 31)
                for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(cuda::kWholeWarp, sum, step);
        } else {
            const unsigned mask = fault == Fault::WrongMask ? 0x0000FFFFu : cuda::kWholeWarp;
            for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(mask, sum, step);
        }
        if (lane == 0) room[warp] = sum;
        if (fault == Fault::BarrierInABranch) {
            if (warp == 0) __syncthreads();
        } else if (fault != Fault::FirstBarrierRemoved) {
            __syncthreads();
        }
        float all = 0.0f;
        for (int w = 0; w < warps; ++w) all += room[w];
        if (fault != Fault::LastBarrierRemoved) __syncthreads();
        total += all;
    }
    const int place = fault == Fault::SharedByTwoBlocks ? 0 : 2 * static_cast<int>(blockIdx.x);
    if (threadIdx.x % 40 == 0) out[place + static_cast<int>(threadIdx.x) / 40] = total;  // a thread of each warp
}

// out[i] = 2 in[i]
template <Fault fault>
__global__ void twice(const float* in, int count, float* out) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int end = fault == Fault::OneElementTooMany ? count + 1 : count;
    if (fault != Fault::NoTailCheck && i >= end) return;
    out[i] = 2.0f * in[i];
}

// Reverses the elements of each warp through shared memory.
template <Fault fault>
__global__ void reverse_warps(const float* in, float* out) {
    DS_SHARED(float, room, kThreads);
    const int lane = threadIdx.x % 32, first = threadIdx.x - lane;
    room[threadIdx.x] = in[threadIdx.x];
    if (fault != Fault::WarpTrustedInLockstep) __syncwarp();
    out[threadIdx.x] = room[first + 31 - lane];
}

template <Fault fault>
__global__ void rotate_pairs(float* x, int pairs) {
    const int i = threadIdx.x;
    if (i >= pairs) return;
    const float a = x[i], b = x[i + pairs];
    x[i] = 0.6f * a - 0.8f * b;
    x[i + pairs] = 0.6f * b + 0.8f * (fault == Fault::PairRotatedTwice ? x[i] : a);
}

constexpr int kHeads = 4, kKvHeads = 2, kDim = 4, kEntries = 21, kRange = 8, kTailFirst = 18;

// Attention of one row at position kEntries - 2 over keys and values [kv_heads, entries, dim], in ranges; the last rows
// lie apart. One thread per head, to keep the arithmetic in sight.
template <Fault fault>
__global__ void attend(const float* q, const float* k, const float* v, const float* k_tail, float* out) {
    const int head = threadIdx.x;
    if (head >= kHeads) return;
    const int kv_head = fault == Fault::WrongHeadOfAGroup ? head % kKvHeads : head / (kHeads / kKvHeads);
    const int sees = fault == Fault::UnseenEntriesCount ? kEntries : kEntries - 1;
    float total = 0.0f, largest = -INFINITY, mixed[kDim] = {};
    for (int begin = 0; begin < kEntries; begin += kRange) {
        float own_largest = -INFINITY, own_sum = 0.0f, scores[kRange] = {}, own[kDim] = {};
        for (int e = begin; e < begin + kRange && e < sees; ++e) {
            const int tail = fault == Fault::MisplacedTail ? e - kTailFirst + 1 : e - kTailFirst;
            const float* key = e >= kTailFirst ? k_tail + (kv_head * 3 + tail) * kDim : k + (kv_head * kEntries + e) * kDim;
            for (int i = 0; i < kDim; ++i) scores[e - begin] += q[head * kDim + i] * key[i];
            own_largest = fmaxf(own_largest, scores[e - begin]);
        }
        for (int e = begin; e < begin + kRange && e < sees; ++e) {
            const float weight = expf(scores[e - begin] - own_largest);
            own_sum += weight;
            for (int i = 0; i < kDim; ++i) own[i] += weight * v[(kv_head * kEntries + e) * kDim + i];
        }
        const float together = fmaxf(largest, own_largest);
        const bool rescales = fault != Fault::RangesNotRescaled;
        const float before = rescales ? expf(largest - together) : 1.0f, now = rescales ? expf(own_largest - together) : 1.0f;
        for (int i = 0; i < kDim; ++i) mixed[i] = mixed[i] * before + own[i] * now;
        total = total * before + own_sum * now;
        largest = together;
    }
    for (int i = 0; i < kDim; ++i) out[head * kDim + i] = mixed[i] / total;
}

// Runs a kernel in the stream of the emulated device under each schedule; counts what was seen.
class PlantedFaults : public EmulatedDevice {
protected:
    void SetUp() override {
        EmulatedDevice::SetUp();
        violations_expected_ = true;
    }
    void TearDown() override {
        emulated::reset();  // a fault ends the device
        EmulatedDevice::TearDown();
    }

    struct DeviceArray {
        explicit DeviceArray(const std::vector<float>& values) : count(values.size()) {
            void* data = nullptr;
            (void)cudaMalloc(&data, count * sizeof(float));
            device = static_cast<float*>(data);
            (void)cudaMemcpyAsync(device, values.data(), count * sizeof(float), cudaMemcpyHostToDevice, stream());
        }
        std::vector<float> read() const {
            std::vector<float> values(count);
            if (cudaMemcpyAsync(values.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost, stream()) !=
                cudaSuccess)
                values.assign(count, std::nanf(""));
            return values;
        }
        float* device = nullptr;
        std::size_t count;
    };
    static cudaStream_t& stream() {
        static cudaStream_t stream = nullptr;
        return stream;
    }

    // How many of the schedules show the fault. `run` launches and gives the result.
    template <class Run>
    int seen(const std::vector<double>& expected, Run run) {
        int count = 0;
        for (const simt::Schedule schedule : kSchedules) {
            if (only_ && *only_ != schedule) continue;
            emulated::reset();
            simt::settings().schedule = schedule;
            (void)cudaStreamCreateWithFlags(&stream(), cudaStreamNonBlocking);
            const std::vector<float> got = run();
            bool wrong = !emulated::violations().empty() || cudaGetLastError() != cudaSuccess;
            for (std::size_t i = 0; i < expected.size(); ++i)
                wrong = wrong || !(std::abs(static_cast<double>(got[i]) - expected[i]) <= 1e-5);
            count += wrong ? 1 : 0;
        }
        return count;
    }

    template <Fault fault>
    int sums() {
        constexpr int kCount = 100, kBlocks = 3;
        std::vector<float> x;
        std::vector<double> expected(2 * kBlocks, 0.0);
        for (int i = 0; i < kCount * kBlocks; ++i) {
            x.push_back(static_cast<float>(i % 7) * 0.25f + (i >= kCount ? 1.0f : 0.0f));
            for (const int one : {0, 1})
                expected[static_cast<std::size_t>(2 * (i / kCount) + one)] += 3.0 * static_cast<double>(x.back());
        }
        return seen(expected, [&] {
            const DeviceArray in(x), out(std::vector<float>(2 * kBlocks, 0.0f));
            DS_LAUNCH(sum_twice<fault>, kBlocks, kThreads, 0, stream(), in.device, kCount, out.device);
            return out.read();
        });
    }

    template <Fault fault>
    int doubles() {
        const std::vector<float> x(77, 1.5f);
        return seen(std::vector<double>(77, 3.0), [&] {
            const DeviceArray in(x), out(std::vector<float>(77, 0.0f));
            DS_LAUNCH(twice<fault>, 2, kThreads, 0, stream(), in.device, 77, out.device);
            return out.read();
        });
    }

    template <Fault fault>
    int reversals() {
        std::vector<float> x(kThreads);
        std::vector<double> expected(kThreads);
        for (int i = 0; i < kThreads; ++i) {
            x[static_cast<std::size_t>(i)] = static_cast<float>(i);
            expected[static_cast<std::size_t>(i / 32 * 32 + 31 - i % 32)] = i;
        }
        return seen(expected, [&] {
            const DeviceArray in(x), out(std::vector<float>(kThreads, 0.0f));
            DS_LAUNCH(reverse_warps<fault>, 1, kThreads, 0, stream(), in.device, out.device);
            return out.read();
        });
    }

    template <Fault fault>
    int rotations() {
        const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
        std::vector<double> expected(8);
        for (std::size_t i = 0; i < 4; ++i) {
            const double a = x[i], b = x[i + 4];
            expected[i] = 0.6 * a - 0.8 * b;
            expected[i + 4] = 0.6 * b + 0.8 * a;
        }
        return seen(expected, [&] {
            const DeviceArray values(x);
            DS_LAUNCH(rotate_pairs<fault>, 1, 32, 0, stream(), values.device, 4);
            return values.read();
        });
    }

    template <Fault fault>
    int attentions();

    std::optional<simt::Schedule> only_;  // else all
};

std::vector<float> waves(std::size_t count, float step) {
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(2.0f * std::sin(step * static_cast<float>(i + 1)));
    return values;
}

template <Fault fault>
int PlantedFaults::attentions() {
    const std::vector<float> q = waves(kHeads * kDim, 0.7f), k = waves(kKvHeads * kEntries * kDim, 1.3f),
                             v = waves(kKvHeads * kEntries * kDim, 0.9f), tail = waves(kKvHeads * 3 * kDim, 2.1f);
    std::vector<double> expected;
    for (std::size_t head = 0; head < kHeads; ++head) {
        const std::size_t kv = head / 2;
        double total = 0, mixed[kDim] = {};
        for (std::size_t e = 0; e + 1 < kEntries; ++e) {
            double score = 0;
            for (std::size_t i = 0; i < kDim; ++i)
                score += static_cast<double>(q[head * kDim + i]) *
                         static_cast<double>(e >= kTailFirst ? tail[(kv * 3 + e - kTailFirst) * kDim + i]
                                                             : k[(kv * kEntries + e) * kDim + i]);
            total += std::exp(score);
            for (std::size_t i = 0; i < kDim; ++i)
                mixed[i] += std::exp(score) * static_cast<double>(v[(kv * kEntries + e) * kDim + i]);
        }
        for (const double sum : mixed) expected.push_back(sum / total);
    }
    return seen(expected, [&] {
        const DeviceArray dq(q), dk(k), dv(v), dt(tail), out(std::vector<float>(kHeads * kDim, 0.0f));
        DS_LAUNCH(attend<fault>, 1, 32, 0, stream(), dq.device, dk.device, dv.device, dt.device, out.device);
        return out.read();
    });
}

TEST_F(PlantedFaults, NothingIsSeenWithoutOne) {
    EXPECT_EQ(sums<Fault::None>(), 0);
    EXPECT_EQ(doubles<Fault::None>(), 0);
    EXPECT_EQ(reversals<Fault::None>(), 0);
    EXPECT_EQ(rotations<Fault::None>(), 0);
    EXPECT_EQ(attentions<Fault::None>(), 0);
}

#ifndef __SANITIZE_THREAD__  // which reports these whatever the schedule, see below
// Which schedule shows a missing barrier depends on where it is missing; the others must show up under all of them.
TEST_F(PlantedFaults, ARemovedBarrierIsSeen) {
    EXPECT_GE(sums<Fault::FirstBarrierRemoved>(), 1);
    EXPECT_GE(sums<Fault::LastBarrierRemoved>(), 1);
    EXPECT_GE(reversals<Fault::WarpTrustedInLockstep>(), 1);
}
TEST_F(PlantedFaults, ABarrierNotReachedByAllIsSeen) { EXPECT_EQ(sums<Fault::BarrierInABranch>(), 4); }
TEST_F(PlantedFaults, BlocksThatShareAResultAreSeen) { EXPECT_EQ(sums<Fault::SharedByTwoBlocks>(), 4); }
#else
// Each in a process of its own: what the thread sanitizer has reported, it does not take back. It knows every CUDA thread
// as a fiber, so it sees what no barrier, warp or launch orders, under any schedule and in a right result.
class Races : public PlantedFaults, public testing::WithParamInterface<simt::Schedule> {
protected:
    void SetUp() override {
        PlantedFaults::SetUp();
        GTEST_FLAG_SET(death_test_style, "threadsafe");
    }
    template <class Kernels>
    void expect_reported(Kernels kernels) {
        EXPECT_EXIT((only_ = GetParam(), kernels(), std::exit(0)), testing::ExitedWithCode(66), "data race");
    }
};
TEST_P(Races, AreReported) {
    expect_reported([this] { sums<Fault::FirstBarrierRemoved>(); });
    expect_reported([this] { sums<Fault::LastBarrierRemoved>(); });
    expect_reported([this] { reversals<Fault::WarpTrustedInLockstep>(); });
    expect_reported([this] { sums<Fault::SharedByTwoBlocks>(); });
}
INSTANTIATE_TEST_SUITE_P(Cuda, Races, testing::Values(simt::Schedule::Forward, simt::Schedule::Reverse),
                         [](const auto& info) { return std::string(schedule_name(info.param)); });
#endif
TEST_F(PlantedFaults, AWrongMaskIsSeen) {
    EXPECT_EQ(sums<Fault::WrongMask>(), 4);
    EXPECT_EQ(sums<Fault::ShuffleInABranch>(), 4);
}
#ifndef __SANITIZE_ADDRESS__  // which ends the program at the first of these
TEST_F(PlantedFaults, AnIndexOnePastTheEndIsSeen) {
    EXPECT_EQ(sums<Fault::OneEntryTooMany>(), 4);
    EXPECT_EQ(doubles<Fault::OneElementTooMany>(), 4);
}
TEST_F(PlantedFaults, AMissingTailCheckIsSeen) { EXPECT_EQ(doubles<Fault::NoTailCheck>(), 4); }
#endif
TEST_F(PlantedFaults, AWrongMaskOfVisibilityIsSeen) { EXPECT_EQ(attentions<Fault::UnseenEntriesCount>(), 4); }
TEST_F(PlantedFaults, WrongArithmeticIsSeen) {
    EXPECT_EQ(attentions<Fault::WrongHeadOfAGroup>(), 4);
    EXPECT_EQ(attentions<Fault::RangesNotRescaled>(), 4);
    EXPECT_EQ(attentions<Fault::MisplacedTail>(), 4);
    EXPECT_EQ(rotations<Fault::PairRotatedTwice>(), 4);
}

}  // namespace
}  // namespace decodescope
