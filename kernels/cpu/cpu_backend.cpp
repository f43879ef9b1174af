#include "kernels/cpu/cpu_backend.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "kernels/api/usable_cores.h"
#include "kernels/api/validate.h"
#include "kernels/cpu/attention_stage.h"
#include "kernels/cpu/cpu_step.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/linear_stage.h"
#include "kernels/cpu/step_runner.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/reference/host_memory.h"

namespace decodescope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostThreads = 1024;

class CpuBackend final : public Backend {
public:
    CpuBackend(const CpuBackendOptions& options, const CpuKernelTable& kernels, int threads)
        : kernels_(kernels),
          memory_({options.memory_limit_bytes, options.fail_allocation}),
          on_tile_(options.on_tile),
          pool_(threads) {
        info_.id = "cpu";
        info_.threads = pool_.threads();
        info_.title = fmt::format("CPU, {} thread{}", info_.threads, info_.threads == 1 ? "" : "s");
        info_.device = processor_name();
        info_.instruction_set = kernels.name;
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
    Status prepare(CpuStep& step, const StepInputs& inputs);
    void add_rope_tables(CpuStep& step);
    Status grow(BufferPtr& buffer, std::int64_t floats);

    const CpuKernelTable& kernels_;
    HostMemory memory_;
    BackendInfo info_;
    std::function<void(std::int64_t)> on_tile_;
    std::vector<std::weak_ptr<RopeTable>> rope_tables_;
    ThreadPool pool_;
};

Result<WeightSetPtr> CpuBackend::load_weights(const WeightTable& table, const StepProgram& program, WeightType type,
                                              const ProgressFn& progress, std::stop_token stop) {
    DS_RETURN_IF_ERROR(validate_program(program));
    DS_RETURN_IF_ERROR(validate_weights(program, table));
    auto planned = PackedWeights::plan(table, program, type, [this](std::size_t bytes) {
        return memory_.allocate(bytes, MemoryPurpose::Weights);
    });
    if (!planned.ok()) return planned.error();
    PackWork work(table, *planned.value(), progress, std::move(stop));
    BufferPtr scratch;
    if (work.scratch_bytes() > 0) {
        auto room = memory_.allocate(static_cast<std::size_t>(work.scratch_bytes() * pool_.threads()),
                                     MemoryPurpose::Staging);
        if (!room.ok()) return room.error();
        scratch = std::move(room.value());
        work.use_scratch(scratch->data());
    }
    pool_.run(work);
    if (work.stopped()) return make_error(ErrorKind::Cancelled, "Loading the weights was cancelled.");
    work.report_done();
    return WeightSetPtr(planned.value());
}

Status CpuBackend::grow(BufferPtr& buffer, std::int64_t floats) {
    const auto bytes = static_cast<std::size_t>(floats) * sizeof(float);
    if (bytes == 0 || (buffer && buffer->bytes() >= bytes)) return {};
    buffer.reset();
    auto grown = memory_.allocate(bytes, MemoryPurpose::Activations);
    if (!grown.ok()) return grown.error();
    buffer = std::move(grown.value());
    return {};
}

void CpuBackend::add_rope_tables(CpuStep& step) {
    for (const OpDesc& op : step.program_.ops) {
        std::shared_ptr<RopeTable> found;
        // Attention turns queries back where sinks are rebased, see RowVisibility::sink_shift.
        if (op.kind == OpKind::Rope || (op.kind == OpKind::Attention && op.rope.rotary_dim > 0)) {
            for (const auto& weak : rope_tables_)
                if (auto table = weak.lock(); table != nullptr && table->serves(op.rope)) found = table;
            if (found == nullptr) {
                found = std::make_shared<RopeTable>(op.rope, memory_);
                std::erase_if(rope_tables_, [](const auto& weak) { return weak.expired(); });
                rope_tables_.push_back(found);
            }
            if (std::find(step.rope_tables_.begin(), step.rope_tables_.end(), found) == step.rope_tables_.end())
                step.rope_tables_.push_back(found);
        }
        step.op_ropes_.push_back(std::move(found));
    }
}

Result<std::unique_ptr<CompiledStep>> CpuBackend::compile(const StepProgram& program, WeightSetPtr weights,
                                                          const CompileOptions& options) {
    DS_RETURN_IF_ERROR(validate_program(program));
    auto step = std::make_unique<CpuStep>();
    step->weights_ = std::dynamic_pointer_cast<const PackedWeights>(weights);
    if (step->weights_ == nullptr)
        return make_error(ErrorKind::Argument, "The weights were loaded by another backend than \"cpu\".");
    step->program_ = program;
    step->limits_ = step_limits(program, options, step->weights_->tensor_rows());
    step->profile_ = options.profile;
    step->few_row_limit_ = kernels_.few_row_limit;
    step->plan_ = make_step_plan(program, options);
    add_rope_tables(*step);
    DS_RETURN_IF_ERROR(grow(step->values_, step->plan_.value_floats));
    step->scratch_floats_ = (linear_scratch_floats(*step) + 15) / 16 * 16;
    DS_RETURN_IF_ERROR(grow(step->scratch_, step->scratch_floats_ * pool_.threads()));
    return std::unique_ptr<CompiledStep>(std::move(step));
}

// What depends on the step's positions and entries: tables and scratch grow before any thread starts.
Status CpuBackend::prepare(CpuStep& step, const StepInputs& inputs) {
    std::int64_t positions = *std::max_element(inputs.positions.begin(), inputs.positions.end()) + std::int64_t{1};
    for (const RowVisibility& row : inputs.visibility)
        positions = std::max(positions, row.sink_shift + std::int64_t{1});
    for (const SequenceRows& sequence : inputs.sequences)
        for (const RowVisibility* rows : sequence.layer_visibility)
            for (const RowVisibility& row : std::span(rows, static_cast<std::size_t>(sequence.row_count)))
                positions = std::max(positions, row.sink_shift + std::int64_t{1});
    for (const auto& table : step.rope_tables_) DS_RETURN_IF_ERROR(table->ensure(positions));
    std::int64_t scratch = step.scratch_floats_, partials = 0, lines = 0;
    for (const OpDesc& op : step.program_.ops) {
        if (op.kind != OpKind::Attention) continue;
        const AttentionNeeds needs = attention_needs(op, inputs);
        scratch = std::max(scratch, needs.scratch_floats);
        partials = std::max(partials, needs.partial_floats);
        lines = std::max(lines, needs.line_floats);
    }
    if (scratch > step.scratch_floats_) {
        // A quarter more than needed: a cache that grows by one entry a step does not allocate at every step.
        const std::int64_t roomy = (scratch + scratch / 4 + 15) / 16 * 16;
        DS_RETURN_IF_ERROR(grow(step.scratch_, roomy * pool_.threads()));
        step.scratch_floats_ = roomy;
    }
    DS_RETURN_IF_ERROR(grow(step.weight_lines_, lines));
    return grow(step.partials_, partials);
}

Status CpuBackend::run(CompiledStep& compiled, const StepInputs& inputs, StepOutputs& outputs, std::stop_token stop) {
    const auto start = Clock::now();
    auto* step = dynamic_cast<CpuStep*>(&compiled);
    if (step == nullptr)
        return make_error(ErrorKind::Argument, "The step was compiled by another backend than \"cpu\".");
    DS_RETURN_IF_ERROR(validate(step->program_, inputs, outputs, step->limits_));
    DS_RETURN_IF_ERROR(prepare(*step, inputs));
    outputs.stage_micros.clear();
    StopCheck check(std::move(stop), on_tile_);
    const StepContext context{*step, inputs, kernels_, pool_.threads(), outputs.logits.data(), check};
    StepRunner runner(context, step->profile_ ? &outputs.stage_micros : nullptr);
    pool_.run(runner);
    outputs.micros = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    if (check.stopped()) return make_error(ErrorKind::Cancelled, "The step was cancelled.");
    if (!runner.visitor_status().ok()) return runner.visitor_status();
    return {};
}

const CpuKernelTable* find_kernels(const std::string& name) {
    const std::vector<CpuKernelTable>& tables = cpu_kernel_tables();
    if (name.empty()) return &tables.front();
    const auto found =
        std::find_if(tables.begin(), tables.end(), [&](const CpuKernelTable& t) { return t.name == name; });
    return found == tables.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> cpu_instruction_sets() {
    std::vector<std::string> names;
    for (const CpuKernelTable& table : cpu_kernel_tables()) names.push_back(table.name);
    return names;
}

Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuBackendOptions& options) {
    const CpuKernelTable* kernels = find_kernels(options.instruction_set);
    if (kernels == nullptr)
        return make_error(ErrorKind::Argument,
                          fmt::format("This machine has no instruction set \"{}\".", options.instruction_set),
                          fmt::format("It has {}.", fmt::join(cpu_instruction_sets(), ", ")));
    if (options.threads < 0 || options.threads > kMostThreads)
        return make_error(ErrorKind::Argument, fmt::format("{} threads were asked for.", options.threads),
                          fmt::format("Choose 1 to {}, or 0 for all cores.", kMostThreads));
    return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(
        options, *kernels, options.threads == 0 ? usable_cores() : options.threads));
}

}  // namespace decodescope
