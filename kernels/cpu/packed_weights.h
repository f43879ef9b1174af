// How the CPU backend keeps weights: matrices of products in panels (panel_layout.h), what is only looked up row by row
// as it is, vectors as f32; all in one buffer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/panel_layout.h"
#include "kernels/cpu/thread_pool.h"

namespace decodescope {

struct PackedTensor {
    const std::byte* data = nullptr;
    ElementType type = ElementType::F32;
    std::int64_t rows = 0, columns = 1;
    bool panels = false;  // else [rows, columns], row-major, int8 rows as in kernels/api/int8_weights.h

    std::int64_t bytes() const {
        return panels ? panel_count(rows) * panel_bytes(type, columns) : rows * weight_row_bytes(type, columns);
    }
    const std::byte* panel(std::int64_t index) const { return data + index * panel_bytes(type, columns); }
    const std::byte* row(std::int64_t index) const { return data + index * weight_row_bytes(type, columns); }
    const float* floats() const { return reinterpret_cast<const float*>(data); }
};

// Type in which a tensor is kept: blocks as in the file keep their codes.
ElementType packed_type(const WeightTensor& tensor, WeightType type);

// Columns first .. first + count - 1 of one row as f32, wherever they lie.
void load_packed_row(const PackedTensor& tensor, std::int64_t row, std::int64_t first, std::int64_t count,
                     const CpuKernelTable& kernels, float* to);

class PackedWeights final : public WeightSet {
public:
    ElementType matrix_type() const override { return matrix_type_; }
    std::int64_t bytes() const override { return buffer_ ? static_cast<std::int64_t>(buffer_->bytes()) : 0; }
    const PackedTensor& tensor(int index) const { return tensors_[static_cast<std::size_t>(index)]; }
    std::vector<std::int64_t> tensor_rows() const;
    ElementType kept_as(int index) const override { return tensor(index).type; }

    // Lays the tensors of `table` out for `program`. Nothing is copied yet.
    static Result<std::shared_ptr<PackedWeights>> plan(const WeightTable& table, const StepProgram& program,
                                                       WeightType type,
                                                       const std::function<Result<BufferPtr>(std::size_t)>& allocate);

private:
    friend class PackWork;
    std::vector<PackedTensor> tensors_;
    BufferPtr buffer_;
    ElementType matrix_type_ = ElementType::F32;
};

// Fills planned weights from the table, a few panels or rows at a time, straight into their place: beside them there is
// only room for the rows of one panel and thread.
class PackWork final : public StageWork {
public:
    PackWork(const WeightTable& table, PackedWeights& weights, const ProgressFn& progress, std::stop_token stop);

    // Room that a thread needs; `scratch` has that for every thread.
    std::int64_t scratch_bytes() const { return scratch_bytes_; }
    void use_scratch(std::byte* scratch) { scratch_ = scratch; }

    int stages() const override { return 1; }
    std::int64_t chunks(int) const override { return static_cast<std::int64_t>(pieces_.size()); }
    void run_chunk(int stage, std::int64_t chunk, int thread) override;
    // Called by the loading thread only.
    void report_done();
    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

private:
    struct Piece {
        std::size_t tensor;
        std::int64_t first, last;  // rows; where the tensor is in panels, of whole panels
    };
    void report(std::int64_t done);
    std::byte* place(const Piece& piece) const;

    const WeightTable& table_;
    PackedWeights& weights_;
    const ProgressFn& progress_;
    std::stop_token stop_;
    std::vector<Piece> pieces_;
    std::int64_t scratch_bytes_ = 0;
    std::byte* scratch_ = nullptr;
    std::int64_t reported_ = 0;
    std::atomic<std::int64_t> done_{0};
    std::atomic<bool> stopped_{false};
};

}  // namespace decodescope
