#include "kernels/cpu/machine_rates.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "kernels/api/usable_cores.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/reference/host_memory.h"

namespace decodescope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kChunkFloats = std::int64_t{1} << 20;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// One stage over chunks of a buffer: writes it the first time, reads it afterwards.
class BufferWork final : public StageWork {
public:
    BufferWork(float* data, std::int64_t chunks, bool write) : data_(data), chunks_(chunks), write_(write) {}
    int stages() const override { return 1; }
    std::int64_t chunks(int) const override { return chunks_; }
    void run_chunk(int, std::int64_t chunk, int) override {
        float* data = data_ + chunk * kChunkFloats;
        if (write_) std::fill(data, data + kChunkFloats, 1.0f);
        else sink_.store(cpu_kernel_tables().front().read_sum(data, kChunkFloats), std::memory_order_relaxed);
    }

private:
    float* data_;
    std::int64_t chunks_;
    bool write_;
    std::atomic<float> sink_{0.0f};
};

class MultiplyAddWork final : public StageWork {
public:
    explicit MultiplyAddWork(std::int64_t chunks) : chunks_(chunks) {}
    int stages() const override { return 1; }
    std::int64_t chunks(int) const override { return chunks_; }
    void run_chunk(int, std::int64_t, int) override {
        float sink = 0.0f;
        const double flops = cpu_kernel_tables().front().multiply_add_rounds(20000, &sink);
        sink_.store(sink, std::memory_order_relaxed);
        flops_.fetch_add(static_cast<std::int64_t>(flops), std::memory_order_relaxed);
    }
    double flops() const { return static_cast<double>(flops_.load()); }

private:
    std::int64_t chunks_;
    std::atomic<float> sink_{0.0f};
    std::atomic<std::int64_t> flops_{0};
};

// Best of a few passes: what disturbs a pass only ever makes it slower.
double read_rate(ThreadPool& pool, float* data, std::int64_t chunks, const std::stop_token& stop) {
    double best = 0;
    for (int pass = 0; pass < 3 && !stop.stop_requested(); ++pass) {
        BufferWork work(data, chunks, false);
        const auto start = Clock::now();
        pool.run(work);
        best = std::max(best, static_cast<double>(chunks * kChunkFloats) * sizeof(float) / seconds_since(start) / 1e9);
    }
    return best;
}

double multiply_add_rate(ThreadPool& pool, const std::stop_token& stop) {
    double best = 0;
    for (int pass = 0; pass < 3 && !stop.stop_requested(); ++pass) {
        MultiplyAddWork work(16 * pool.threads());
        const auto start = Clock::now();
        pool.run(work);
        best = std::max(best, work.flops() / seconds_since(start) / 1e9);
    }
    return best;
}

// Half as much again as the last-level cache, within reason: a server's cache may be larger than what is worth filling.
std::int64_t buffer_chunks() {
    constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
    long cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    const std::int64_t bytes = std::clamp<std::int64_t>(cache + cache / 2, 128 * kMebibyte, 384 * kMebibyte);
    return bytes / (kChunkFloats * static_cast<std::int64_t>(sizeof(float)));
}

BufferPtr make_buffer(HostMemory& memory, std::int64_t chunks) {
    auto buffer =
        memory.allocate(static_cast<std::size_t>(chunks * kChunkFloats) * sizeof(float), MemoryPurpose::Staging);
    return buffer.ok() ? std::move(buffer.value()) : nullptr;
}

// Fills the buffer and reads it.
ReadRates read_rates(ThreadPool& one, ThreadPool& all, Buffer& buffer, std::int64_t chunks,
                     const std::stop_token& stop) {
    float* data = reinterpret_cast<float*>(buffer.data());
    BufferWork fill(data, chunks, true);
    all.run(fill);
    ReadRates rates;
    rates.gb_s_all = read_rate(all, data, chunks, stop);
    rates.gb_s_1 = read_rate(one, data, chunks, stop);
    return rates;
}

int threads_of(int threads) { return threads <= 0 ? usable_cores() : threads; }

}  // namespace

MachineRates measure_machine_rates(int threads, std::stop_token stop) {
    MachineRates rates;
    ThreadPool one(1), all(threads_of(threads));
    HostMemory memory;
    const std::int64_t chunks = buffer_chunks();
    if (const BufferPtr buffer = make_buffer(memory, chunks)) {
        const ReadRates read = read_rates(one, all, *buffer, chunks, stop);
        rates.buffer_mib = static_cast<double>(buffer->bytes()) / (1024.0 * 1024.0);
        rates.read_gb_s_all = read.gb_s_all;
        rates.read_gb_s_1 = read.gb_s_1;
    }
    rates.gflops_1 = multiply_add_rate(one, stop);
    rates.gflops_all = multiply_add_rate(all, stop);
    return rates;
}

ReadRates measure_small_page_rates(int threads, std::stop_token stop) {
    ThreadPool one(1), all(threads_of(threads));
    HostMemory memory;
    const std::int64_t chunks = buffer_chunks();
    const BufferPtr buffer = make_buffer(memory, chunks);
    if (buffer == nullptr) return {};
    madvise(buffer->data(), buffer->bytes(), MADV_NOHUGEPAGE);  // before its first use
    return read_rates(one, all, *buffer, chunks, stop);
}

}  // namespace decodescope
