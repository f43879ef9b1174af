#include "tests/support/probe_backend.h"

#include <algorithm>
#include <utility>

namespace decodescope {
namespace {

// Beyond every address that a program may use.
constexpr std::uintptr_t kOpaqueDistance = std::uintptr_t{1} << 60;

std::byte* moved(std::byte* data, std::uintptr_t distance) {
    return data == nullptr ? nullptr : reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(data) + distance);
}

class ProbeBuffer final : public Buffer {
public:
    ProbeBuffer(BufferPtr inner, bool opaque) : inner_(std::move(inner)) {
        data_ = moved(inner_->data(), opaque ? kOpaqueDistance : 0);
        bytes_ = inner_->bytes();
    }
    Buffer& inner() const { return *inner_; }

private:
    BufferPtr inner_;
};

Buffer& inner_of(const Buffer& buffer) { return static_cast<const ProbeBuffer&>(buffer).inner(); }

class CountedBuffer final : public Buffer {
public:
    CountedBuffer(std::size_t bytes, MemoryPurpose purpose, std::shared_ptr<MemoryCounts> counts)
        : purpose_(static_cast<std::size_t>(purpose)), counts_(std::move(counts)) {
        bytes_ = bytes;
        data_ = reinterpret_cast<std::byte*>(kOpaqueDistance);
        counts_->bytes[purpose_] += static_cast<std::int64_t>(bytes);
        counts_->peak_bytes[purpose_] = std::max(counts_->peak_bytes[purpose_], counts_->bytes[purpose_]);
        ++counts_->allocations[purpose_];
    }
    ~CountedBuffer() override {
        counts_->bytes[purpose_] -= static_cast<std::int64_t>(bytes_);
        --counts_->allocations[purpose_];
    }

private:
    std::size_t purpose_;
    std::shared_ptr<MemoryCounts> counts_;
};

Error cannot_compute() { return make_error(ErrorKind::Unsupported, "This backend only counts."); }

}  // namespace

ProbeBackend::ProbeBackend(std::unique_ptr<Backend> inner, bool opaque)
    : inner_(std::move(inner)), info_(inner_->info()), opaque_(opaque) {
    if (opaque) info_.host_memory = false;
}

Result<BufferPtr> ProbeBackend::allocate(std::size_t bytes, MemoryPurpose purpose) {
    ++allocations_;
    if (fail_in_ > 0 && --fail_in_ == 0) return make_error(ErrorKind::Memory, "This allocation was told to fail.");
    auto buffer = inner_->allocate(bytes, purpose);
    if (!buffer.ok()) return buffer;
    if (purpose == MemoryPurpose::KvCache && !fill.empty()) {
        std::vector<std::byte> pattern(bytes);
        for (std::size_t i = 0; i < bytes; ++i) pattern[i] = fill[i % fill.size()];
        DS_RETURN_IF_ERROR(inner_->upload(**buffer, 0, pattern));
    }
    return BufferPtr(std::make_unique<ProbeBuffer>(std::move(*buffer), opaque_));
}

Status ProbeBackend::upload(Buffer& to, std::size_t offset, std::span<const std::byte> from) {
    return inner_->upload(inner_of(to), offset, from);
}

Status ProbeBackend::download(const Buffer& from, std::size_t offset, std::span<std::byte> to) {
    return inner_->download(inner_of(from), offset, to);
}

Status ProbeBackend::copy(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to,
                          std::size_t to_offset, std::size_t to_stride, std::size_t row_bytes, std::size_t rows) {
    return inner_->copy(inner_of(from), from_offset, from_stride, inner_of(to), to_offset, to_stride, row_bytes, rows);
}

Result<WeightSetPtr> ProbeBackend::load_weights(const WeightTable& table, const StepProgram& program, WeightType type,
                                                const ProgressFn& progress, std::stop_token stop) {
    return inner_->load_weights(table, program, type, progress, stop);
}

Result<std::unique_ptr<CompiledStep>> ProbeBackend::compile(const StepProgram& program, WeightSetPtr weights,
                                                            const CompileOptions& options) {
    return inner_->compile(program, std::move(weights), options);
}

Status ProbeBackend::run(CompiledStep& step, const StepInputs& inputs, StepOutputs& outputs, std::stop_token stop) {
    ++runs;
    StepInputs changed = inputs;
    if (on_run) on_run(changed);
    std::vector<std::vector<KvView>> views;
    std::vector<SequenceRows> sequences(changed.sequences.begin(), changed.sequences.end());
    for (auto& sequence : sequences) {
        auto& own = views.emplace_back(sequence.views.begin(), sequence.views.end());
        for (auto& view : own) {
            view.k.data = moved(view.k.data, opaque_ ? 0 - kOpaqueDistance : 0);
            view.v.data = moved(view.v.data, opaque_ ? 0 - kOpaqueDistance : 0);
            view.k.staged = moved(view.k.staged, opaque_ ? 0 - kOpaqueDistance : 0);
            view.v.staged = moved(view.v.staged, opaque_ ? 0 - kOpaqueDistance : 0);
            view.k.tail = moved(view.k.tail, opaque_ ? 0 - kOpaqueDistance : 0);
            view.v.tail = moved(view.v.tail, opaque_ ? 0 - kOpaqueDistance : 0);
        }
    }
    for (std::size_t i = 0; i < sequences.size(); ++i) sequences[i].views = views[i];
    changed.sequences = sequences;
    DS_RETURN_IF_ERROR(inner_->run(step, changed, outputs, stop));
    return after_run ? after_run(outputs) : Status();
}

CountingBackend::CountingBackend(std::int64_t memory_bytes) : counts_(std::make_shared<MemoryCounts>()) {
    info_.id = "counting";
    info_.title = "counting";
    info_.host_memory = false;
    info_.memory_bytes = memory_bytes;
}

Result<BufferPtr> CountingBackend::allocate(std::size_t bytes, MemoryPurpose purpose) {
    return BufferPtr(std::make_unique<CountedBuffer>(bytes, purpose, counts_));
}

Status CountingBackend::copy(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to,
                             std::size_t to_offset, std::size_t to_stride, std::size_t row_bytes, std::size_t rows) {
    DS_CHECK(from_offset + (rows - 1) * from_stride + row_bytes <= from.bytes());
    DS_CHECK(to_offset + (rows - 1) * to_stride + row_bytes <= to.bytes());
    copied_bytes += static_cast<std::int64_t>(row_bytes * rows);
    return {};
}

Result<WeightSetPtr> CountingBackend::load_weights(const WeightTable&, const StepProgram&, WeightType,
                                                   const ProgressFn&, std::stop_token) {
    return cannot_compute();
}
Result<std::unique_ptr<CompiledStep>> CountingBackend::compile(const StepProgram&, WeightSetPtr,
                                                               const CompileOptions&) {
    return cannot_compute();
}
Status CountingBackend::run(CompiledStep&, const StepInputs&, StepOutputs&, std::stop_token) {
    return cannot_compute();
}

}  // namespace decodescope
