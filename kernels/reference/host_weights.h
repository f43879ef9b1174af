// How a host backend keeps weights: every tensor of the table once, row-major, in one buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/api/int8_weights.h"

namespace decodescope {

// A tensor in our own layout: [rows, columns], row-major, no gaps; int8 as in kernels/api/int8_weights.h.
struct HostTensor {
    const std::byte* data = nullptr;
    ElementType type = ElementType::F32;
    std::int64_t rows = 0, columns = 1;

    const std::byte* row(std::int64_t index) const {
        return data + index * weight_row_bytes(type, columns);
    }
    const float* floats() const { return reinterpret_cast<const float*>(data); }
};

class HostWeights final : public WeightSet {
public:
    ElementType matrix_type() const override { return matrix_type_; }
    std::int64_t bytes() const override { return buffer_ ? static_cast<std::int64_t>(buffer_->bytes()) : 0; }
    const std::vector<HostTensor>& tensors() const { return tensors_; }
    const HostTensor& tensor(int index) const { return tensors_[static_cast<std::size_t>(index)]; }
    std::vector<std::int64_t> tensor_rows() const;
    ElementType kept_as(int index) const override { return tensor(index).type; }

    // Lays the tensors of `table` out: vectors as f32, matrices in `type`. Nothing is copied yet.
    static Result<std::shared_ptr<HostWeights>> plan(const WeightTable& table, WeightType type,
                                                     const std::function<Result<BufferPtr>(std::size_t)>& allocate);
    std::byte* mutable_row(std::size_t tensor, std::int64_t row);

private:
    std::vector<HostTensor> tensors_;
    BufferPtr buffer_;
    ElementType matrix_type_ = ElementType::F32;
};

// One weight of a kept tensor.
float load_weight(const HostTensor& tensor, std::int64_t row, std::int64_t column);

// Type in which a tensor is kept: vectors always f32.
ElementType kept_type(const WeightTensor& tensor, WeightType type);

// The same for blocks, which give the numbers that they mean, and as int8 their own codes where they are such.
void convert_blocks(const WeightTensor& from, std::int64_t first, std::int64_t last, ElementType to_type,
                    std::byte* to);

// Copies rows first .. last - 1 of `from` to `to` (row `first` of the kept tensor), converting between element types.
// Blocks of columns, so that a transposed source is read in cache lines.
void convert_rows(const WeightTensor& from, std::int64_t first, std::int64_t last, ElementType to_type, std::byte* to);

}  // namespace decodescope
