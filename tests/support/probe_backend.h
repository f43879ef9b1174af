// Backends for tests: one that watches and disturbs another, one that has no memory at all and only counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/api/backend.h"

namespace decodescope {

// Passes everything on to another backend.
class ProbeBackend final : public Backend {
public:
    explicit ProbeBackend(std::unique_ptr<Backend> inner, bool opaque = false);

    // The n-th call of allocate() from now on fails, counted from 1; 0: none.
    void fail_allocation(std::int64_t n) { fail_in_ = n; }
    std::int64_t allocations() const { return allocations_; }
    void set_memory_bytes(std::int64_t bytes) { info_.memory_bytes = bytes; }  // that there is, as it says
    std::vector<std::byte> fill;  // KV memory is filled with it, repeated, when it is handed out
    std::function<void(StepInputs&)> on_run;                 // sees, and may replace, what a step is given
    std::function<Status(StepOutputs&)> after_run;           // may replace what it gave
    std::int64_t runs = 0;

    const BackendInfo& info() const override { return info_; }
    Result<BufferPtr> allocate(std::size_t bytes, MemoryPurpose purpose) override;
    Status upload(Buffer& to, std::size_t offset, std::span<const std::byte> from) override;
    Status download(const Buffer& from, std::size_t offset, std::span<std::byte> to) override;
    Status copy(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to, std::size_t to_offset,
                std::size_t to_stride, std::size_t row_bytes, std::size_t rows) override;
    Result<WeightSetPtr> load_weights(const WeightTable& table, const StepProgram& program, WeightType type,
                                      const ProgressFn& progress, std::stop_token stop) override;
    Result<std::unique_ptr<CompiledStep>> compile(const StepProgram& program, WeightSetPtr weights,
                                                  const CompileOptions& options) override;
    Status run(CompiledStep& step, const StepInputs& inputs, StepOutputs& outputs, std::stop_token stop) override;
    MemoryCounts memory() const override { return inner_->memory(); }
    void reset_peaks() override { inner_->reset_peaks(); }

private:
    std::unique_ptr<Backend> inner_;
    BackendInfo info_;
    bool opaque_ = false;  // the addresses handed out are not those of host memory: following one ends the program
    std::int64_t fail_in_ = 0;
    std::int64_t allocations_ = 0;
};

// Addresses without memory behind them, for the bytes of large shapes. Cannot compute.
class CountingBackend final : public Backend {
public:
    explicit CountingBackend(std::int64_t memory_bytes);
    std::int64_t copied_bytes = 0;

    const BackendInfo& info() const override { return info_; }
    Result<BufferPtr> allocate(std::size_t bytes, MemoryPurpose purpose) override;
    Status upload(Buffer&, std::size_t, std::span<const std::byte>) override { return {}; }
    Status download(const Buffer&, std::size_t, std::span<std::byte>) override { return {}; }
    Status copy(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to, std::size_t to_offset,
                std::size_t to_stride, std::size_t row_bytes, std::size_t rows) override;
    Result<WeightSetPtr> load_weights(const WeightTable&, const StepProgram&, WeightType, const ProgressFn&,
                                      std::stop_token) override;
    Result<std::unique_ptr<CompiledStep>> compile(const StepProgram&, WeightSetPtr, const CompileOptions&) override;
    Status run(CompiledStep&, const StepInputs&, StepOutputs&, std::stop_token) override;
    MemoryCounts memory() const override { return *counts_; }
    void reset_peaks() override { counts_->peak_bytes = counts_->bytes; }

private:
    BackendInfo info_;
    std::shared_ptr<MemoryCounts> counts_;
};

}  // namespace decodescope
