#include "kernels/reference/reference_backend.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "kernels/api/validate.h"
#include "kernels/reference/element_access.h"
#include "kernels/reference/host_memory.h"
#include "kernels/reference/host_weights.h"
#include "kernels/reference/reference_ops.h"

namespace decodescope {
namespace {

using Clock = std::chrono::steady_clock;

double micros_since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

Error cancelled() { return make_error(ErrorKind::Cancelled, "The step was cancelled."); }

// One buffer per value, all rows, f32.
class ReferenceStep final : public CompiledStep {
public:
    const StepProgram& program() const override { return program_; }
    const std::vector<Stage>& stages() const override { return stages_; }
    std::int64_t activation_bytes() const override {
        std::int64_t bytes = 0;
        for (const BufferPtr& value : values_) bytes += static_cast<std::int64_t>(value->bytes());
        return bytes;
    }

    std::span<float> row(int value, std::int64_t index) const {
        const auto width = static_cast<std::size_t>(program_.values[static_cast<std::size_t>(value)].width);
        float* data = reinterpret_cast<float*>(values_[static_cast<std::size_t>(value)]->data());
        return {data + static_cast<std::size_t>(index) * width, width};
    }

    StepProgram program_;
    std::vector<Stage> stages_;
    std::vector<BufferPtr> values_;
    std::shared_ptr<const HostWeights> weights_;
    StepLimits limits_;
    bool profile_ = false;
};

class ReferenceBackend final : public Backend {
public:
    ReferenceBackend() {
        info_.id = "reference";
        info_.title = "Reference, plain loops in double";
        info_.device = processor_name();
        info_.memory_bytes = memory_.limit_bytes();
    }

    const BackendInfo& info() const override { return info_; }
    Result<BufferPtr> allocate(std::size_t bytes, MemoryPurpose purpose) override {
        return memory_.allocate(bytes, purpose);
    }
    Status upload(Buffer& to, std::size_t offset, std::span<const std::byte> from) override {
        return upload_to_host(to, offset, from);
    }
    Status download(const Buffer& from, std::size_t offset, std::span<std::byte> to) override {
        return download_from_host(from, offset, to);
    }
    Status copy(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to, std::size_t to_offset,
                std::size_t to_stride, std::size_t row_bytes, std::size_t rows) override {
        return copy_on_host(from, from_offset, from_stride, to, to_offset, to_stride, row_bytes, rows);
    }
    MemoryCounts memory() const override { return memory_.counts(); }
    void reset_peaks() override { memory_.reset_peaks(); }

    Result<WeightSetPtr> load_weights(const WeightTable& table, const StepProgram& program, WeightType type,
                                      const ProgressFn& progress, std::stop_token stop) override;
    Result<std::unique_ptr<CompiledStep>> compile(const StepProgram& program, WeightSetPtr weights,
                                                  const CompileOptions& options) override;
    Status run(CompiledStep& step, const StepInputs& inputs, StepOutputs& outputs, std::stop_token stop) override;

private:
    HostMemory memory_;
    BackendInfo info_;
};

Result<WeightSetPtr> ReferenceBackend::load_weights(const WeightTable& table, const StepProgram& program,
                                                    WeightType type, const ProgressFn& progress, std::stop_token stop) {
    DS_RETURN_IF_ERROR(validate_program(program));
    DS_RETURN_IF_ERROR(validate_weights(program, table));
    auto planned = HostWeights::plan(table, type, [this](std::size_t bytes) {
        return memory_.allocate(bytes, MemoryPurpose::Weights);
    });
    if (!planned.ok()) return planned.error();
    HostWeights& weights = *planned.value();
    std::int64_t done = 0, total = 0;
    for (const HostTensor& tensor : weights.tensors()) total += tensor.rows;
    constexpr std::int64_t kRows = 64;
    for (std::size_t i = 0; i < table.tensors.size(); ++i) {
        for (std::int64_t row = 0; row < table.tensors[i].rows; row += kRows) {
            if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "Loading the weights was cancelled.");
            const std::int64_t last = std::min(row + kRows, table.tensors[i].rows);
            convert_rows(table.tensors[i], row, last, weights.tensors()[i].type, weights.mutable_row(i, row));
            done += last - row;
            if (progress) progress(done, total);
        }
    }
    return WeightSetPtr(planned.value());
}

Result<std::unique_ptr<CompiledStep>> ReferenceBackend::compile(const StepProgram& program, WeightSetPtr weights,
                                                                const CompileOptions& options) {
    DS_RETURN_IF_ERROR(validate_program(program));
    auto step = std::make_unique<ReferenceStep>();
    step->weights_ = std::dynamic_pointer_cast<const HostWeights>(weights);
    if (step->weights_ == nullptr)
        return make_error(ErrorKind::Argument, "The weights were loaded by another backend than \"reference\".");
    step->program_ = program;
    step->limits_ = step_limits(program, options, step->weights_->tensor_rows());
    step->profile_ = options.profile;
    for (std::size_t i = 0; i < program.ops.size(); ++i)
        step->stages_.push_back({std::string(op_name(program.ops[i].id)), program.ops[i].layer, {static_cast<int>(i)}});
    for (const ValueDesc& value : program.values) {
        const std::int64_t rows = value.logits_rows_only ? options.max_logits_rows : options.max_rows;
        auto buffer = memory_.allocate(static_cast<std::size_t>(rows * value.width) * sizeof(float),
                                       MemoryPurpose::Activations);
        if (!buffer.ok()) return buffer.error();
        step->values_.push_back(std::move(buffer.value()));
    }
    return std::unique_ptr<CompiledStep>(std::move(step));
}

// Runs one operation of one step, row after row.
class OpRunner {
public:
    OpRunner(const ReferenceStep& step, const StepInputs& inputs, const OpDesc& op)
        : step_(step), inputs_(inputs), op_(op) {
        if (op.layer != kNone) layer_ = static_cast<std::size_t>(op.layer);
    }

    std::int64_t rows() const {
        const bool selected = op_.logits_rows_only || op_.kind == OpKind::SelectRows;
        return static_cast<std::int64_t>(selected ? inputs_.logits_rows.size() : inputs_.tokens.size());
    }

    void run_row(std::int64_t row) {
        const auto r = static_cast<std::size_t>(row);
        switch (op_.kind) {
            case OpKind::Embed:
                embed(weight(), inputs_.tokens[r], out(row));
                for (float& x : out(row)) x *= op_.scale;
                break;
            case OpKind::AddPosition: add_position(row); break;
            case OpKind::RmsNorm: rms_norm(row); break;
            case OpKind::LayerNorm: reference::layer_norm(in0(row), weight(), *bias(), op_.epsilon, out(row)); break;
            case OpKind::Linear: reference::linear(in0(row), weight(), bias(), out(row)); break;
            case OpKind::Rope: reference::rope(in0(row), op_, inputs_.positions[r], out(row)); break;
            case OpKind::CacheStore: store(row); break;
            case OpKind::Attention: attend(row); break;
            case OpKind::SwiGlu: reference::swiglu(in0(row), in1(row), out(row)); break;
            case OpKind::GeluTanh: reference::gelu_tanh(in0(row), out(row)); break;
            case OpKind::GeluErf: reference::gelu_erf(in0(row), out(row)); break;
            case OpKind::GeGlu: reference::geglu(in0(row), in1(row), out(row)); break;
            case OpKind::Residual: add(in0(row), in1(row), out(row)); break;
            case OpKind::SelectRows: copy(in0(inputs_.logits_rows[r]), out(row)); break;
        }
    }

private:
    std::span<const float> in0(std::int64_t row) const { return step_.row(op_.in0, row); }
    std::span<const float> in1(std::int64_t row) const { return step_.row(op_.in1, row); }
    std::span<float> out(std::int64_t row) const { return step_.row(op_.out, row); }
    const HostTensor& weight() const { return step_.weights_->tensor(op_.weight); }
    const HostTensor* bias() const { return op_.bias == kNone ? nullptr : &step_.weights_->tensor(op_.bias); }

    static void copy(std::span<const float> from, std::span<float> to) {
        std::memmove(to.data(), from.data(), from.size_bytes());
    }
    static void add(std::span<const float> a, std::span<const float> b, std::span<float> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] + b[i];
    }
    static void embed(const HostTensor& table, std::int64_t index, std::span<float> out) {
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = load_weight(table, index, static_cast<std::int64_t>(i));
    }

    void rms_norm(std::int64_t row) {
        const auto width = static_cast<std::size_t>(norm_width(op_));
        for (std::size_t first = 0; first < out(row).size(); first += width)
            reference::rms_norm(in0(row).subspan(first, width), weight(), op_.epsilon, out(row).subspan(first, width));
    }

    void add_position(std::int64_t row) {
        std::vector<float> learned(static_cast<std::size_t>(op_.out_width));
        embed(weight(), inputs_.positions[static_cast<std::size_t>(row)], learned);
        add(in0(row), learned, out(row));
    }

    const SequenceRows& sequence_of(std::int64_t row) const {
        for (const SequenceRows& sequence : inputs_.sequences)
            if (row < sequence.first_row + sequence.row_count) return sequence;
        return inputs_.sequences.back();
    }

    void store(std::int64_t row) {
        const SequenceRows& sequence = sequence_of(row);
        const KvView& view = sequence.views[layer_];
        const auto index = static_cast<std::int32_t>(row - sequence.first_row);
        const std::int32_t entry = view.table.store_entries != nullptr ? view.table.store_entries[index]
                                                                       : view.table.count - sequence.row_count + index;
        reference::store_row(in0(row), in1(row), view, entry);
    }

    void attend(std::int64_t row) {
        const SequenceRows& sequence = sequence_of(row);
        const KvView& view = sequence.views[layer_];
        float* weights = inputs_.attention_out.empty() ? nullptr : inputs_.attention_out[layer_];
        if (weights != nullptr) weights += row * op_.heads * inputs_.attention_stride;
        std::int64_t stride = inputs_.attention_stride;
        float* sums = sequence.weight_sums.empty() ? nullptr : sequence.weight_sums[layer_];
        std::vector<float> own;
        if (sums != nullptr && weights == nullptr) {
            stride = view.table.count;
            own.resize(static_cast<std::size_t>(op_.heads * stride));
            weights = own.data();
        }
        reference::attend(in0(row), op_, view, row_visibility(inputs_, sequence, op_.layer, row), weights, stride,
                          out(row));
        if (sums == nullptr) return;
        sums += (row - sequence.first_row) * view.table.count;
        for (std::int32_t e = 0; e < view.table.count; ++e) {
            double sum = 0.0;
            for (int head = 0; head < op_.heads; ++head) sum += static_cast<double>(weights[head * stride + e]);
            sums[e] = static_cast<float>(sum);
        }
    }

    const ReferenceStep& step_;
    const StepInputs& inputs_;
    const OpDesc& op_;
    std::size_t layer_ = 0;
};

Status ReferenceBackend::run(CompiledStep& compiled, const StepInputs& inputs, StepOutputs& outputs,
                             std::stop_token stop) {
    const auto start = Clock::now();
    auto* step = dynamic_cast<ReferenceStep*>(&compiled);
    if (step == nullptr)
        return make_error(ErrorKind::Argument, "The step was compiled by another backend than \"reference\".");
    DS_RETURN_IF_ERROR(validate(step->program_, inputs, outputs, step->limits_));
    outputs.stage_micros.clear();
    for (const OpDesc& op : step->program_.ops) {
        const auto op_start = Clock::now();
        if (inputs.visitor != nullptr && op.kind == OpKind::CacheStore)
            DS_RETURN_IF_ERROR(inputs.visitor->before_layer(op.layer));
        OpRunner runner(*step, inputs, op);
        for (std::int64_t row = 0; row < runner.rows(); ++row) {
            if (stop.stop_requested()) return cancelled();
            runner.run_row(row);
        }
        if (inputs.visitor != nullptr && op.kind == OpKind::Attention)
            DS_RETURN_IF_ERROR(inputs.visitor->after_layer(op.layer));
        if (step->profile_) outputs.stage_micros.push_back(micros_since(op_start));
    }
    for (std::size_t row = 0; row < inputs.logits_rows.size(); ++row) {
        const auto logits = step->row(step->program_.logits_value, static_cast<std::int64_t>(row));
        std::memcpy(outputs.logits.data() + row * logits.size(), logits.data(), logits.size_bytes());
    }
    outputs.micros = micros_since(start);
    return {};
}

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace decodescope
