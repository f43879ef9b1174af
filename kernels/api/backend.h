// What a device must do: keep weights, hand out memory, compile a step program, run it.
// Thread rule: all calls of one backend come from one thread (the engine's). No call throws; nothing here exits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/api/block_format.h"
#include "kernels/api/element_type.h"
#include "kernels/api/kv_view.h"
#include "kernels/api/op.h"
#include "kernels/api/status.h"

namespace decodescope {

enum class MemoryPurpose : std::uint8_t { Weights, KvCache, Activations, Staging };
constexpr int kMemoryPurposeCount = 4;
constexpr std::array<std::string_view, kMemoryPurposeCount> kMemoryPurposeNames = {"weights", "KV cache", "activations",
                                                                                   "staging"};

// Bytes as the allocator counted them.
struct MemoryCounts {
    std::array<std::int64_t, kMemoryPurposeCount> bytes{};       // live now
    std::array<std::int64_t, kMemoryPurposeCount> peak_bytes{};  // highest since reset_peaks()
    std::array<std::int64_t, kMemoryPurposeCount> allocations{}; // live allocations
    std::int64_t total_bytes() const {
        std::int64_t sum = 0;
        for (auto b : bytes) sum += b;
        return sum;
    }
};

// Device memory, freed with the object. `data` is a device address; host code follows it only on host backends.
class Buffer {
public:
    virtual ~Buffer() = default;
    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

protected:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};
using BufferPtr = std::unique_ptr<Buffer>;

// One matrix or vector of the model as it lies in its file: element (row, column) is at
// data[row * row_stride + column * column_stride], strides in elements. `rows` is the output width of a Linear
// ([out, in]); GPT-2's Conv1D tensors come with swapped strides. A vector has its length in `rows` and one column.
struct WeightTensor {
    std::string name;  // as in the file, for messages
    const void* data = nullptr;
    ElementType type = ElementType::F32;
    std::int64_t rows = 0, columns = 1;
    std::int64_t row_stride = 1, column_stride = 1;
    // Not null: `data` are blocks of this format, row after row; `type` is F32 and the strides are those of such rows.
    const BlockFormat* blocks = nullptr;
    std::int64_t row_offset(std::int64_t row) const {  // bytes
        return blocks != nullptr ? row * blocks->row_bytes(columns)
                                 : row * row_stride * static_cast<std::int64_t>(element_bytes(type));
    }
};

struct WeightTable {
    std::vector<WeightTensor> tensors;
    std::shared_ptr<const void> owner;  // keeps the mapped file or the synthetic storage alive
};

// Progress of long work: done and total in the same unit; called at most every few milliseconds from the working
// thread.
using ProgressFn = std::function<void(std::int64_t done, std::int64_t total)>;

enum class WeightType : std::uint8_t { AsInFile, F32, F16, BF16, Int8 };  // Int8: see kernels/api/int8_weights.h

// Weights in the backend's own layout. Matrices are kept in `matrix_type`; vectors (norms, biases) always in f32.
class WeightSet {
public:
    virtual ~WeightSet() = default;
    virtual ElementType matrix_type() const = 0;   // of the largest matrices
    virtual std::int64_t bytes() const = 0;        // as allocated
    virtual ElementType kept_as(int /*tensor*/) const { return matrix_type(); }  // of one matrix of the table
};
using WeightSetPtr = std::shared_ptr<const WeightSet>;

struct CompileOptions {
    std::int64_t max_rows = 1;         // rows of one step
    std::int64_t max_logits_rows = 1;
    bool profile = false;              // time stamps per stage
};

// A piece of the compiled step and the operations (indices into StepProgram::ops) that it covers, fused or not.
struct Stage {
    std::string name;
    int layer = kNone;
    std::vector<int> ops;
};

class CompiledStep {
public:
    virtual ~CompiledStep() = default;
    virtual const StepProgram& program() const = 0;
    virtual const std::vector<Stage>& stages() const = 0;
    virtual std::int64_t activation_bytes() const = 0;  // as allocated
};

// The rows of one sequence within a step: rows first_row .. first_row + row_count - 1.
// Each layer's store runs before its attention, so row r also reads the new rows up to itself.
struct SequenceRows {
    std::int32_t first_row = 0;
    std::int32_t row_count = 0;
    std::span<const KvView> views;  // [layers]
    // [layers] pointers to what these rows see in each layer, [row_count] each, where layers differ; empty:
    // StepInputs::visibility in every layer.
    std::span<const RowVisibility* const> layer_visibility = {};
    // [layers] pointers, null = not wanted, else host memory [row_count, entries of the layer's view] f32: attention
    // weights summed over the query heads, 0 where a row does not see an entry. Whether attention is captured changes
    // no bit of them.
    std::span<float* const> weight_sums = {};
};

// Told when a layer is about to use its cache and when it has: storage that lies elsewhere is fetched, and taken back.
// Called by one thread at a time while run() is in progress, and not at all once a stop was noticed; may call copy(),
// upload() and download() of the backend. An error ends the step with it.
class LayerVisitor {
public:
    virtual ~LayerVisitor() = default;
    virtual Status before_layer(int layer) = 0;  // before its rows are stored
    virtual Status after_layer(int layer) = 0;   // after its attention
};

struct StepInputs {
    std::span<const std::int32_t> tokens;            // [rows]
    std::span<const std::int32_t> positions;         // [rows], for RoPE and learned positions
    std::span<const RowVisibility> visibility;       // [rows]
    std::span<const SequenceRows> sequences;
    std::span<const std::int32_t> logits_rows;       // rows whose logits are wanted, ascending
    // Attention weights: [layers] pointers, null = not wanted, else host memory [rows, heads, attention_stride] f32;
    // entries that a row does not see, and those from count to attention_stride, are set to 0.
    std::span<float* const> attention_out;
    std::int64_t attention_stride = 0;               // at least the largest entry count
    LayerVisitor* visitor = nullptr;                 // null: nobody is told
};

// What row `row` of the step, which belongs to `sequence`, sees in one layer.
inline const RowVisibility& row_visibility(const StepInputs& inputs, const SequenceRows& sequence, std::int64_t layer,
                                           std::int64_t row) {
    if (sequence.layer_visibility.empty()) return inputs.visibility[static_cast<std::size_t>(row)];
    return sequence.layer_visibility[static_cast<std::size_t>(layer)][row - sequence.first_row];
}

struct StepOutputs {
    std::span<float> logits;              // host, [logits_rows, vocabulary]
    std::vector<double> stage_micros;     // [stages] when profiling, else empty
    double micros = 0;                    // the whole step, measured around the work itself
    std::int64_t graph_captures = 0;      // graphs that the backend recorded for it; 0 where it knows none
};

struct BackendInfo {
    std::string id;               // "cpu", "reference", "cuda:0"
    std::string title;            // "CPU, 2 threads"
    std::string device;           // processor or device name
    std::string instruction_set;  // "AVX2"; empty where it means nothing
    int threads = 1;
    bool host_memory = true;      // Buffer::data may be followed by host code
    std::int64_t memory_bytes = 0;  // what may be allocated in all
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual const BackendInfo& info() const = 0;

    virtual Result<BufferPtr> allocate(std::size_t bytes, MemoryPurpose purpose) = 0;
    virtual Status upload(Buffer& to, std::size_t offset, std::span<const std::byte> from) = 0;
    virtual Status download(const Buffer& from, std::size_t offset, std::span<std::byte> to) = 0;
    // `rows` runs of row_bytes each, source and target strides in bytes; ranges do not overlap.
    virtual Status copy(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to,
                        std::size_t to_offset, std::size_t to_stride, std::size_t row_bytes, std::size_t rows) = 0;

    virtual Result<WeightSetPtr> load_weights(const WeightTable& table, const StepProgram& program, WeightType type,
                                              const ProgressFn& progress, std::stop_token stop) = 0;
    virtual Result<std::unique_ptr<CompiledStep>> compile(const StepProgram& program, WeightSetPtr weights,
                                                          const CompileOptions& options) = 0;
    // A stop is noticed between tiles of at most 5 ms; the step is then without effect on anything but scratch and the
    // slots of the new rows, and the error kind is Cancelled.
    virtual Status run(CompiledStep& step, const StepInputs& inputs, StepOutputs& outputs, std::stop_token stop) = 0;

    virtual MemoryCounts memory() const = 0;
    virtual void reset_peaks() = 0;
};

}  // namespace decodescope
