#include "kernels/cuda/cuda_backend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "kernels/api/validate.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/cuda_step.h"
#include "kernels/cuda/device_probe.h"
#include "kernels/cuda/handles.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/step_launcher.h"
#include "kernels/cuda/weight_capture.h"
#include "kernels/cuda/weight_loader.h"

namespace decodescope::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // of cuBLAS: what it asks for on the largest devices
constexpr std::size_t kMostGraphs = 32;                         // kept by one compiled step

Status check_range(std::size_t offset, std::size_t bytes, std::size_t size) {
    if (offset <= size && bytes <= size - offset) return {};
    return make_error(ErrorKind::Argument,
                      fmt::format("{} bytes from {} on do not lie in a buffer of {} bytes.", bytes, offset, size));
}

class CudaBackend final : public Backend {
public:
    static Result<std::unique_ptr<Backend>> make(const CudaBackendOptions& options);
    ~CudaBackend() override { (void)choose(); }  // what it made on the device is destroyed there

    const BackendInfo& info() const override { return info_; }
    Result<BufferPtr> allocate(std::size_t bytes, MemoryPurpose purpose) override {
        DS_RETURN_IF_ERROR(choose());
        return memory_->allocate(bytes, purpose);
    }
    Status upload(Buffer& to, std::size_t offset, std::span<const std::byte> from) override;
    Status download(const Buffer& from, std::size_t offset, std::span<std::byte> to) override;
    Status copy(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to, std::size_t to_offset,
                std::size_t to_stride, std::size_t row_bytes, std::size_t rows) override;
    MemoryCounts memory() const override { return memory_->counts(); }
    void reset_peaks() override { memory_->reset_peaks(); }

    Result<WeightSetPtr> load_weights(const WeightTable& table, const StepProgram& program, WeightType type,
                                      const ProgressFn& progress, std::stop_token stop) override;
    Result<std::unique_ptr<CompiledStep>> compile(const StepProgram& program, WeightSetPtr weights,
                                                  const CompileOptions& options) override;
    Status run(CompiledStep& step, const StepInputs& inputs, StepOutputs& outputs, std::stop_token stop) override;

private:
    Status choose() const { return check(cudaSetDevice(options_.device), "choosing the device"); }
    Status wait(const std::string& what) const { return check(cudaStreamSynchronize(stream_.get()), what); }
    Status prepare_blas();
    Status allocate_values(CudaStep& step, const CompileOptions& options);
    Status prepare_times(CudaStep& step);
    void add_rotations(CudaStep& step);
    Status grow(BufferPtr& buffer, std::size_t bytes);
    Status grow(PinnedPtr& buffer, std::size_t bytes);
    Status prepare(CudaStep& step, const StepInputs& inputs, const TableBuilder& builder);
    Status upload_tables(CudaStep& step, TableBuilder& builder);
    Status compute(CudaStep& step, const StepInputs& inputs, const TableBuilder& builder, StepOutputs& outputs,
                   std::stop_token stop);
    Status launch(CudaStep& step, const StepInputs& inputs, const TableBuilder& builder, WeightCapture* capture,
                  std::stop_token stop);
    Status make_graph(CudaStep& step, StepLauncher& launcher, StepGraph& graph);
    Status read_times(CudaStep& step, StepOutputs& outputs) const;

    CudaBackendOptions options_;
    BackendInfo info_;
    std::unique_ptr<DeviceMemory> memory_;
    BufferPtr workspace_;
    Stream stream_;
    Blas blas_;  // destroyed before its workspace and stream
    std::vector<std::weak_ptr<RotationTable>> rotation_tables_;
};

Result<std::unique_ptr<Backend>> CudaBackend::make(const CudaBackendOptions& options) {
    auto report = probe_device(options.device);
    if (!report) return report.error();
    auto backend = std::make_unique<CudaBackend>();
    backend->options_ = options;
    DS_RETURN_IF_ERROR(backend->choose());
    auto memory = DeviceMemory::make({options.device, options.memory_limit_bytes, options.keep_freed});
    if (!memory) return memory.error();
    backend->memory_ = std::move(*memory);
    DS_RETURN_IF_ERROR(check(cudaStreamCreateWithFlags(backend->stream_.address(), cudaStreamNonBlocking),
                             "making a stream"));
    BackendInfo& info = backend->info_;
    info.id = options.device == 0 ? options.id : fmt::format("{}:{}", options.id, options.device);
    info.title = fmt::format("CUDA, {}", *report);
    info.device = *report;
    info.host_memory = false;
    info.memory_bytes = backend->memory_->limit_bytes();
    return std::unique_ptr<Backend>(std::move(backend));
}

// cuBLAS takes hundreds of milliseconds to start: made when the first step of many rows is compiled. Its workspace is
// ours, because inside a graph it must not allocate. Products stay f32: no TF32, no sums in 16 bits.
Status CudaBackend::prepare_blas() {
    if (blas_) return {};
    DS_RETURN_IF_ERROR(grow(workspace_, kWorkspaceBytes));
    Blas blas;
    DS_RETURN_IF_ERROR(check(cublasCreate(blas.address()), "starting"));
    DS_RETURN_IF_ERROR(check(cublasSetStream(blas.get(), stream_.get()), "choosing a stream"));
    DS_RETURN_IF_ERROR(check(cublasSetWorkspace(blas.get(), workspace_->data(), kWorkspaceBytes), "taking a workspace"));
    const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    DS_RETURN_IF_ERROR(check(cublasSetMathMode(blas.get(), mode), "choosing the arithmetic"));
    blas_ = std::move(blas);
    return {};
}

Status CudaBackend::upload(Buffer& to, std::size_t offset, std::span<const std::byte> from) {
    DS_RETURN_IF_ERROR(choose());
    DS_RETURN_IF_ERROR(check_range(offset, from.size(), to.bytes()));
    if (from.empty()) return {};
    DS_RETURN_IF_ERROR(check(
        cudaMemcpyAsync(to.data() + offset, from.data(), from.size(), cudaMemcpyHostToDevice, stream_.get()), "a copy"));
    return wait("a copy to the device");
}

Status CudaBackend::download(const Buffer& from, std::size_t offset, std::span<std::byte> to) {
    DS_RETURN_IF_ERROR(choose());
    DS_RETURN_IF_ERROR(check_range(offset, to.size(), from.bytes()));
    if (to.empty()) return {};
    DS_RETURN_IF_ERROR(check(
        cudaMemcpyAsync(to.data(), from.data() + offset, to.size(), cudaMemcpyDeviceToHost, stream_.get()), "a copy"));
    return wait("a copy to the host");
}

Status CudaBackend::copy(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to,
                         std::size_t to_offset, std::size_t to_stride, std::size_t row_bytes, std::size_t rows) {
    if (rows == 0 || row_bytes == 0) return {};
    DS_RETURN_IF_ERROR(choose());
    DS_RETURN_IF_ERROR(check_range(from_offset, (rows - 1) * from_stride + row_bytes, from.bytes()));
    DS_RETURN_IF_ERROR(check_range(to_offset, (rows - 1) * to_stride + row_bytes, to.bytes()));
    std::byte* target = to.data() + to_offset;
    const std::byte* source = from.data() + from_offset;
    if (rows == 1)
        return check(cudaMemcpyAsync(target, source, row_bytes, cudaMemcpyDeviceToDevice, stream_.get()), "a copy");
    return check(cudaMemcpy2DAsync(target, to_stride, source, from_stride, row_bytes, rows, cudaMemcpyDeviceToDevice,
                                   stream_.get()),
                 "a copy");
}

Result<WeightSetPtr> CudaBackend::load_weights(const WeightTable& table, const StepProgram& program, WeightType type,
                                               const ProgressFn& progress, std::stop_token stop) {
    DS_RETURN_IF_ERROR(validate_program(program));
    DS_RETURN_IF_ERROR(validate_weights(program, table));
    DS_RETURN_IF_ERROR(choose());
    return load_to_device(table, type, *memory_, stream_.get(), progress, std::move(stop));
}

Status CudaBackend::grow(BufferPtr& buffer, std::size_t bytes) {
    if (buffer && buffer->bytes() >= bytes) return {};
    buffer.reset();
    const auto purpose = &buffer == &workspace_ ? MemoryPurpose::Staging : MemoryPurpose::Activations;
    auto grown = memory_->allocate(bytes, purpose);
    if (!grown) return grown.error();
    buffer = std::move(*grown);
    return {};
}

Status CudaBackend::grow(PinnedPtr& buffer, std::size_t bytes) {
    if (buffer && buffer->bytes() >= bytes) return {};
    buffer.reset();
    auto grown = memory_->allocate_pinned(bytes);
    if (!grown) return grown.error();
    buffer = std::move(*grown);
    return {};
}

void CudaBackend::add_rotations(CudaStep& step) {
    for (const OpDesc& op : step.program_.ops) {
        std::shared_ptr<RotationTable> found;
        // Attention turns queries back where sinks are rebased, see RowVisibility::sink_shift.
        if (op.kind == OpKind::Rope || (op.kind == OpKind::Attention && op.rope.rotary_dim > 0)) {
            for (const auto& weak : rotation_tables_)
                if (auto table = weak.lock(); table != nullptr && table->serves(op.rope)) found = table;
            if (found == nullptr) {
                found = std::make_shared<RotationTable>(op.rope);
                std::erase_if(rotation_tables_, [](const auto& weak) { return weak.expired(); });
                rotation_tables_.push_back(found);
            }
            if (std::find(step.rotation_tables_.begin(), step.rotation_tables_.end(), found) ==
                step.rotation_tables_.end())
                step.rotation_tables_.push_back(found);
        }
        step.op_rotations_.push_back(std::move(found));
    }
}

Status CudaBackend::allocate_values(CudaStep& step, const CompileOptions& options) {
    std::int64_t rounded = 0, widened = 0;
    for (const ValueDesc& value : step.program_.values) {
        const std::int64_t rows = value.logits_rows_only ? options.max_logits_rows : options.max_rows;
        auto buffer = memory_->allocate(static_cast<std::size_t>(rows * value.width) * sizeof(float),
                                        MemoryPurpose::Activations);
        if (!buffer) return buffer.error();
        step.values_.push_back(std::move(*buffer));
    }
    for (const OpDesc& op : step.program_.ops) {
        const std::int64_t rows = op.logits_rows_only ? options.max_logits_rows : options.max_rows;
        if (op.kind != OpKind::Linear || rows <= kFewRows || step.weight(op).type == ElementType::F32) continue;
        rounded = std::max(rounded, rows * op.in_width * 2);
        if (step.weight(op).type != ElementType::I8) continue;
        const auto room = std::max(static_cast<std::int64_t>(options_.widened_bytes), op.in_width * 2);  // for a row
        widened = std::max(widened, std::min(room, op.out_width * op.in_width * 2));
    }
    if (widened > 0) DS_RETURN_IF_ERROR(grow(step.widened_, static_cast<std::size_t>(widened)));
    if (rounded > 0) DS_RETURN_IF_ERROR(grow(step.rounded_, static_cast<std::size_t>(rounded)));
    if (options.max_rows > kFewRows || options.max_logits_rows > kFewRows) DS_RETURN_IF_ERROR(prepare_blas());
    return grow(step.host_logits_,
                static_cast<std::size_t>(options.max_logits_rows * step.program_.vocabulary) * sizeof(float));
}

Status CudaBackend::prepare_times(CudaStep& step) {
    DS_RETURN_IF_ERROR(check(cudaEventCreate(step.start_.address()), "making an event"));
    DS_RETURN_IF_ERROR(check(cudaEventCreate(step.end_.address()), "making an event"));
    for (std::size_t i = 0; step.profile_ && i < step.plan_.pieces.size(); ++i) {
        step.stage_ends_.emplace_back();
        DS_RETURN_IF_ERROR(check(cudaEventCreate(step.stage_ends_.back().address()), "making an event"));
    }
    return {};
}

Status check_head_sizes(const StepProgram& program) {
    for (const OpDesc& op : program.ops)
        if ((op.kind == OpKind::Attention || op.kind == OpKind::CacheStore) && op.head_dim > kLargestHead)
            return make_error(ErrorKind::Unsupported,
                              fmt::format("Heads of {} dimensions do not fit into the shared memory of a CUDA device; "
                                          "up to {} do.",
                                          op.head_dim, kLargestHead),
                              "Choose the CPU.");
    return {};
}

Result<std::unique_ptr<CompiledStep>> CudaBackend::compile(const StepProgram& program, WeightSetPtr weights,
                                                           const CompileOptions& options) {
    DS_RETURN_IF_ERROR(validate_program(program));
    DS_RETURN_IF_ERROR(check_head_sizes(program));
    DS_RETURN_IF_ERROR(choose());
    auto step = std::make_unique<CudaStep>();
    step->weights_ = std::dynamic_pointer_cast<const HostWeights>(weights);
    if (step->weights_ == nullptr)
        return make_error(ErrorKind::Argument,
                          fmt::format("The weights were loaded by another backend than \"{}\".", info_.id));
    step->program_ = program;
    step->limits_ = step_limits(program, options, step->weights_->tensor_rows());
    step->profile_ = options.profile;
    step->plan_ = make_launch_plan(program, *step->weights_);
    add_rotations(*step);
    DS_RETURN_IF_ERROR(allocate_values(*step, options));
    DS_RETURN_IF_ERROR(prepare_times(*step));
    return std::unique_ptr<CompiledStep>(std::move(step));
}

// What depends on the step's positions and entries grows before anything is launched.
Status CudaBackend::prepare(CudaStep& step, const StepInputs& inputs, const TableBuilder& builder) {
    std::int64_t positions = *std::max_element(inputs.positions.begin(), inputs.positions.end()) + std::int64_t{1};
    for (int layer = 0; layer < builder.counts().visibility_layers; ++layer)
        for (const SequenceRows& sequence : inputs.sequences)
            for (std::int32_t row = 0; row < sequence.row_count; ++row)
                positions = std::max(
                    positions,
                    row_visibility(inputs, sequence, layer, sequence.first_row + row).sink_shift + std::int64_t{1});
    for (const auto& table : step.rotation_tables_)
        DS_RETURN_IF_ERROR(table->ensure(positions, *memory_, stream_.get()));
    const StepCounts& counts = builder.counts();
    std::size_t partials = 0;
    for (const OpDesc& op : step.program_.ops)
        if (op.kind == OpKind::Attention && counts.splits > 1)
            partials = std::max(partials, static_cast<std::size_t>(counts.few_rows) *
                                              static_cast<std::size_t>(op.heads * counts.splits) *
                                              static_cast<std::size_t>(op.head_dim + 2) * sizeof(float));
    if (partials > 0) DS_RETURN_IF_ERROR(grow(step.partials_, partials));
    // Twice what is needed: tables grow with the cache, and a graph is lost whenever they move.
    if (!step.tables_ || step.tables_->bytes() < builder.bytes()) {
        DS_RETURN_IF_ERROR(grow(step.tables_, 2 * builder.bytes()));
        DS_RETURN_IF_ERROR(grow(step.host_tables_, 2 * builder.bytes()));
    }
    return {};
}

Status CudaBackend::upload_tables(CudaStep& step, TableBuilder& builder) {
    builder.write(step.host_tables_->data(), step.tables_->data());
    return check(cudaMemcpyAsync(step.tables_->data(), step.host_tables_->data(), builder.bytes(),
                                 cudaMemcpyHostToDevice, stream_.get()),
                 "copying the tables of a step");
}

Status CudaBackend::make_graph(CudaStep& step, StepLauncher& launcher, StepGraph& graph) {
    Graph captured;
    DS_RETURN_IF_ERROR(check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "making a graph"));
    const Status launched = launcher.launch_all(nullptr, {});
    const cudaError_t ended = cudaStreamEndCapture(stream_.get(), captured.address());
    DS_RETURN_IF_ERROR(launched);
    DS_RETURN_IF_ERROR(check(ended, "making a graph"));
    DS_RETURN_IF_ERROR(
        check(cudaGraphInstantiate(graph.executable.address(), captured.get(), 0), "making a graph"));
    ++step.graph_captures_;
    return {};
}

GraphKey key_of(const CudaStep& step, const StepCounts& c) {
    GraphKey key;
    key.counts = {c.rows, c.logits_rows, c.sequences, c.layers, c.few_rows, c.tiles, c.visibility_layers, c.splits};
    key.addresses = {step.tables_->data(), step.partials_ ? step.partials_->data() : nullptr, nullptr, nullptr};
    // Programs have one kind of rotation, or two; a third would only cost graphs that are made anew.
    for (std::size_t i = 0; i < std::min<std::size_t>(step.rotation_tables_.size(), 2); ++i)
        key.addresses[2 + i] = step.rotation_tables_[i]->data();
    return key;
}

Status CudaBackend::launch(CudaStep& step, const StepInputs& inputs, const TableBuilder& builder,
                           WeightCapture* capture, std::stop_token stop) {
    const StepTables tables = builder.tables(step.tables_->data());
    StepLauncher launcher(step, inputs, builder.counts(), tables, stream_.get(), blas_.get());
    const bool one_graph = options_.graphs && capture == nullptr && inputs.visitor == nullptr && !step.profile_ &&
                           builder.counts().tiles == 0 && step.rotation_tables_.size() <= 2;
    if (!one_graph) return launcher.launch_all(capture, stop);
    if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "The step was cancelled.");
    if (step.graphs_.size() >= kMostGraphs) step.graphs_.clear();
    // The first step of its kind runs as it is: kernels are loaded then, which a graph must not wait for, and a kind that
    // does not come back is not worth a graph.
    const auto [found, is_new] = step.graphs_.try_emplace(key_of(step, builder.counts()));
    if (is_new) return launcher.launch_all(nullptr, stop);
    StepGraph& graph = found->second;
    if (!graph.executable) DS_RETURN_IF_ERROR(make_graph(step, launcher, graph));
    return check(cudaGraphLaunch(graph.executable.get(), stream_.get()), "launching a graph");
}

Status CudaBackend::compute(CudaStep& step, const StepInputs& inputs, const TableBuilder& builder, StepOutputs& outputs,
                            std::stop_token stop) {
    WeightCapture capture(step, inputs);
    int heads = 0;
    for (const OpDesc& op : step.program_.ops)
        if (op.kind == OpKind::Attention) heads = op.heads;
    DS_RETURN_IF_ERROR(capture.prepare(*memory_, heads));
    DS_RETURN_IF_ERROR(launch(step, inputs, builder, capture.any() ? &capture : nullptr, std::move(stop)));
    DS_RETURN_IF_ERROR(capture.flush(stream_.get()));
    const std::size_t bytes = outputs.logits.size_bytes();
    if (bytes > 0)
        DS_RETURN_IF_ERROR(check(cudaMemcpyAsync(step.host_logits_->data(), step.value(step.program_.logits_value),
                                                 bytes, cudaMemcpyDeviceToHost, stream_.get()),
                                 "copying the logits"));
    DS_RETURN_IF_ERROR(check(cudaEventRecord(step.end_.get(), stream_.get()), "taking the time"));
    DS_RETURN_IF_ERROR(wait("a step"));
    if (bytes > 0) std::memcpy(outputs.logits.data(), step.host_logits_->data(), bytes);
    return read_times(step, outputs);
}

Status CudaBackend::read_times(CudaStep& step, StepOutputs& outputs) const {
    const auto micros_between = [](const Event& from, const Event& to, double& micros) -> Status {
        float millis = 0;
        DS_RETURN_IF_ERROR(check(cudaEventElapsedTime(&millis, from.get(), to.get()), "reading the time"));
        micros = 1000.0 * static_cast<double>(millis);
        return {};
    };
    const Event* before = &step.start_;
    for (const Event& end : step.stage_ends_) {
        DS_RETURN_IF_ERROR(micros_between(*before, end, outputs.stage_micros.emplace_back()));
        before = &end;
    }
    return micros_between(step.start_, step.end_, outputs.micros);
}

Status CudaBackend::run(CompiledStep& compiled, const StepInputs& inputs, StepOutputs& outputs, std::stop_token stop) {
    auto* step = dynamic_cast<CudaStep*>(&compiled);
    if (step == nullptr)
        return make_error(ErrorKind::Argument,
                          fmt::format("The step was compiled by another backend than \"{}\".", info_.id));
    DS_RETURN_IF_ERROR(validate(step->program_, inputs, outputs, step->limits_));
    if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "The step was cancelled.");
    DS_RETURN_IF_ERROR(choose());
    outputs.stage_micros.clear();
    const std::int64_t captures = step->graph_captures_;
    TableBuilder builder(step->program_, inputs);
    DS_RETURN_IF_ERROR(prepare(*step, inputs, builder));
    DS_RETURN_IF_ERROR(check(cudaEventRecord(step->start_.get(), stream_.get()), "taking the time"));
    DS_RETURN_IF_ERROR(upload_tables(*step, builder));
    Status status = compute(*step, inputs, builder, outputs, std::move(stop));
    // Whatever was launched before an error is over before the caller's memory and ours is touched again.
    if (!status.ok()) (void)cudaStreamSynchronize(stream_.get());
    outputs.graph_captures = step->graph_captures_ - captures;
    return status;
}

}  // namespace

Result<std::unique_ptr<Backend>> make_cuda_backend(const CudaBackendOptions& options) {
    return CudaBackend::make(options);
}

}  // namespace decodescope::cuda
