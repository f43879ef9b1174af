#include "kernels/reference/host_weights.h"

#include <algorithm>
#include <cstring>

#include "kernels/reference/element_access.h"

namespace decodescope {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

float load_weight(const HostTensor& tensor, std::int64_t row, std::int64_t column) {
    if (tensor.type == ElementType::I8) return int8_weight(tensor.row(row), tensor.columns, column);
    return load_element(tensor.data, tensor.type, row * tensor.columns + column);
}

ElementType kept_type(const WeightTensor& tensor, WeightType type) {
    if (tensor.columns == 1) return ElementType::F32;
    switch (type) {
        case WeightType::AsInFile: return tensor.type;  // blocks are widened
        case WeightType::F32: return ElementType::F32;
        case WeightType::F16: return ElementType::F16;
        case WeightType::BF16: return ElementType::BF16;
        case WeightType::Int8: return ElementType::I8;
    }
    return tensor.type;
}

std::vector<std::int64_t> HostWeights::tensor_rows() const {
    std::vector<std::int64_t> rows;
    rows.reserve(tensors_.size());
    for (const HostTensor& tensor : tensors_) rows.push_back(tensor.rows);
    return rows;
}

Result<std::shared_ptr<HostWeights>> HostWeights::plan(const WeightTable& table, WeightType type,
                                                       const std::function<Result<BufferPtr>(std::size_t)>& allocate) {
    auto weights = std::make_shared<HostWeights>();
    std::vector<std::size_t> offsets;
    std::size_t bytes = 0;
    std::int64_t largest = 0;
    for (const WeightTensor& tensor : table.tensors) {
        HostTensor kept;
        kept.type = kept_type(tensor, type);
        kept.rows = tensor.rows;
        kept.columns = tensor.columns;
        offsets.push_back(bytes);
        bytes += aligned(static_cast<std::size_t>(kept.rows * weight_row_bytes(kept.type, kept.columns)));
        if (kept.columns > 1 && kept.rows * kept.columns > largest) {
            largest = kept.rows * kept.columns;
            weights->matrix_type_ = kept.type;
        }
        weights->tensors_.push_back(kept);
    }
    auto buffer = allocate(bytes);
    if (!buffer.ok()) return buffer.error();
    weights->buffer_ = std::move(buffer.value());
    for (std::size_t i = 0; i < offsets.size(); ++i) weights->tensors_[i].data = weights->buffer_->data() + offsets[i];
    return weights;
}

std::byte* HostWeights::mutable_row(std::size_t tensor, std::int64_t row) {
    const HostTensor& kept = tensors_[tensor];
    return buffer_->data() + (kept.row(row) - buffer_->data());
}

namespace {

// Weights of one row from `column` on, by blocks.
void quantize_columns(const WeightTensor& from, std::int64_t row, std::int64_t column, std::int64_t column_end,
                      std::byte* to) {
    float block[kWeightBlock];
    for (; column < column_end; column += kWeightBlock) {
        const std::int64_t count = std::min(kWeightBlock, column_end - column);
        for (std::int64_t i = 0; i < count; ++i)
            block[i] = load_element(from.data, from.type, row * from.row_stride + (column + i) * from.column_stride);
        quantize_weight_block(block, count, from.columns, column / kWeightBlock, to);
    }
}

}  // namespace

void convert_blocks(const WeightTensor& from, std::int64_t first, std::int64_t last, ElementType to_type,
                    std::byte* to) {
    const BlockFormat& format = *from.blocks;
    std::vector<float> wide(static_cast<std::size_t>(from.columns));
    WeightTensor row{from.name, wide.data(), ElementType::F32, 1, from.columns, from.columns, 1};
    for (std::int64_t r = first; r < last; ++r, to += weight_row_bytes(to_type, from.columns)) {
        const std::byte* block = static_cast<const std::byte*>(from.data) + from.row_offset(r);
        if (to_type == ElementType::I8 && format.kept == ElementType::I8) {  // the same codes and scales
            for (std::int64_t b = 0; b < weight_blocks(from.columns); ++b, block += format.bytes) {
                std::memcpy(weight_scales(to, from.columns) + 2 * b, block, 2);
                std::memcpy(to + b * kWeightBlock, block + 2, static_cast<std::size_t>(kWeightBlock));
            }
            continue;
        }
        for (std::int64_t column = 0; column < from.columns; column += format.elements, block += format.bytes)
            format.widen(block, wide.data() + column);
        convert_rows(row, 0, 1, to_type, to);
    }
}

void convert_rows(const WeightTensor& from, std::int64_t first, std::int64_t last, ElementType to_type, std::byte* to) {
    if (from.blocks != nullptr) return convert_blocks(from, first, last, to_type, to);
    constexpr std::int64_t kBlock = 2 * kWeightBlock;
    const std::size_t bytes = element_bytes(from.type);
    const bool same = from.type == to_type;
    for (std::int64_t column = 0; column < from.columns; column += kBlock) {
        const std::int64_t column_end = std::min(column + kBlock, from.columns);
        for (std::int64_t row = first; row < last; ++row) {
            if (to_type == ElementType::I8) {
                quantize_columns(from, row, column, column_end,
                                 to + (row - first) * weight_row_bytes(to_type, from.columns));
                continue;
            }
            const std::int64_t source = row * from.row_stride;
            const std::int64_t target = (row - first) * from.columns;
            if (same && from.column_stride == 1) {
                std::memcpy(
                    to + static_cast<std::size_t>(target + column) * bytes,
                    static_cast<const std::byte*>(from.data) + static_cast<std::size_t>(source + column) * bytes,
                    static_cast<std::size_t>(column_end - column) * bytes);
                continue;
            }
            for (std::int64_t c = column; c < column_end; ++c) {
                const float value = load_element(from.data, from.type, source + c * from.column_stride);
                store_element(to, to_type, target + c, value);
            }
        }
    }
}

}  // namespace decodescope
