#include "kernels/cpu/packed_weights.h"

#include <algorithm>
#include <cstring>

#include "kernels/reference/host_weights.h"

namespace decodescope {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kPieceElements = 128 * 1024;  // loaded between two reports of progress

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::vector<bool> read_by_products(const WeightTable& table, const StepProgram& program) {
    std::vector<bool> read(table.tensors.size(), false);
    for (const OpDesc& op : program.ops)
        if (op.kind == OpKind::Linear) read[static_cast<std::size_t>(op.weight)] = true;
    return read;
}

// to[column][row] = from[row * row_stride + column * column_stride] in units of T, rows of a panel that are not there
// zero. Blocks of columns, so that what is read and what is written both stay in the nearest cache.
template <class T>
void interleave(const std::byte* from, std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
                std::int64_t columns, std::byte* to) {
    constexpr std::int64_t kBlock = 32;
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
    const auto copy = [&](std::int64_t row, std::int64_t column) {
        std::memcpy(to + (column * kPanelOutputs + row) * kSize,
                    from + (row * row_stride + column * column_stride) * kSize, sizeof(T));
    };
    if (rows < kPanelOutputs) std::memset(to, 0, static_cast<std::size_t>(columns * kPanelOutputs * kSize));
    for (std::int64_t first = 0; first < columns; first += kBlock) {
        const std::int64_t last = std::min(first + kBlock, columns);
        if (row_stride == 1) {
            for (std::int64_t column = first; column < last; ++column)
                for (std::int64_t row = 0; row < rows; ++row) copy(row, column);
            continue;
        }
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = first; column < last; ++column) copy(row, column);
    }
}

void interleave_elements(ElementType type, const std::byte* from, std::int64_t row_stride, std::int64_t column_stride,
                         std::int64_t rows, std::int64_t columns, std::byte* to) {
    if (type == ElementType::F32) interleave<std::uint32_t>(from, row_stride, column_stride, rows, columns, to);
    else interleave<std::uint16_t>(from, row_stride, column_stride, rows, columns, to);
}

// Rows as kernels/api/int8_weights.h has them, one after the other, to one panel.
void interleave_blocks(const std::byte* from, std::int64_t rows, std::int64_t columns, std::byte* to) {
    const std::int64_t row_bytes = weight_row_bytes(ElementType::I8, columns);
    for (std::int64_t block = 0; block < weight_blocks(columns); ++block, to += kPanelBlockBytes) {
        interleave<std::uint8_t>(from + block * kWeightBlock, row_bytes, 1, rows, kWeightBlock, to);
        interleave<std::uint16_t>(weight_scales(from, columns) + 2 * block, row_bytes / 2, 1, rows, 1,
                                  to + kPanelCodeBytes);
    }
}

// One block of one output, see panel_layout.h.
void put_coded(const CodedBlock& from, ElementType type, std::int64_t output, std::byte* block) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(block);
    const auto or_into = [&](std::int64_t byte, int bits) {
        bytes[byte * kPanelOutputs + output] = static_cast<std::uint8_t>(bytes[byte * kPanelOutputs + output] | bits);
    };
    for (int k = 0; k < 16; ++k) or_into(k, (from.codes[k] & 15) | (from.codes[k + 16] & 15) << 4);
    constexpr std::int64_t kHigh = kPanelNibbleBytes / kPanelOutputs;
    for (int k = 0; k < kWeightBlock; ++k) {
        const int high = from.codes[k] >> 4;
        if (type == ElementType::Q5) or_into(kHigh + k / 8, (high & 1) << k % 8);
        if (type == ElementType::Q6) or_into(kHigh + k / 4, (high & 3) << 2 * (k % 4));
    }
    std::byte* scales = block + kPanelNibbleBytes + panel_high_bytes(type);
    const float second = type == ElementType::Q6 ? from.scale[1] : from.minimum[0];
    std::memcpy(scales + 4 * output, from.scale, 4);
    std::memcpy(scales + 4 * (kPanelOutputs + output), &second, 4);
}

void pack_coded_panel(const WeightTensor& from, std::int64_t first, std::int64_t last, ElementType type,
                      std::byte* to) {
    std::memset(to, 0, static_cast<std::size_t>(panel_bytes(type, from.columns)));
    const BlockFormat& format = *from.blocks;
    const auto parts = static_cast<int>(format.elements / kWeightBlock);
    for (std::int64_t row = first; row < last; ++row) {
        const std::byte* block = static_cast<const std::byte*>(from.data) + from.row_offset(row);
        std::byte* out = to;
        for (std::int64_t column = 0; column < from.columns; column += format.elements, block += format.bytes)
            for (int part = 0; part < parts; ++part, out += panel_block_bytes(type)) {
                CodedBlock coded;
                format.coded(block, part, coded);
                put_coded(coded, type, row - first, out);
            }
    }
}

// Rows first .. last - 1 of `from`, at most 16, to one panel.
void pack_panel(const WeightTensor& from, std::int64_t first, std::int64_t last, ElementType type, std::byte* scratch,
                std::byte* to) {
    if (is_coded(type)) return pack_coded_panel(from, first, last, type, to);
    if (type == from.type && from.blocks == nullptr) {
        const auto* source = static_cast<const std::byte*>(from.data) + from.row_offset(first);
        return interleave_elements(type, source, from.row_stride, from.column_stride, last - first, from.columns, to);
    }
    convert_rows(from, first, last, type, scratch);
    if (type == ElementType::I8) interleave_blocks(scratch, last - first, from.columns, to);
    else interleave_elements(type, scratch, from.columns, 1, last - first, from.columns, to);
}

// Elements of one row of a panel, one after the other. T has their size.
template <class T>
void gather(const std::byte* panel, std::int64_t row, std::int64_t first, std::int64_t count, T* to) {
    const std::byte* from = panel + (first * kPanelOutputs + row) * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < count; ++i, from += kPanelOutputs * sizeof(T)) std::memcpy(to + i, from, sizeof(T));
}

// Columns first .. first + count - 1 of a row whose codes and scales the functions give.
template <class Code, class Scale>
void load_int8(std::int64_t first, std::int64_t count, Code code, Scale scale, float* to) {
    for (std::int64_t column = first; column < first + count;) {
        const std::int64_t block = column / kWeightBlock, end = std::min((block + 1) * kWeightBlock, first + count);
        const float factor = scale(block);
        for (; column < end; ++column) *to++ = factor * static_cast<float>(static_cast<std::int8_t>(code(column)));
    }
}

void load_int8_row(const PackedTensor& tensor, std::int64_t row, std::int64_t first, std::int64_t count, float* to) {
    if (!tensor.panels) {
        const std::byte* codes = tensor.row(row);
        return load_int8(first, count, [=](std::int64_t column) { return codes[column]; },
                         [&](std::int64_t block) { return int8_weight_scale(codes, tensor.columns, block); }, to);
    }
    const std::byte* panel = tensor.panel(row / kPanelOutputs);
    row %= kPanelOutputs;
    const auto code = [=](std::int64_t column) {
        return panel[panel_offset(ElementType::I8, column) + column % kWeightBlock * kPanelOutputs + row];
    };
    const auto scale = [=](std::int64_t block) {
        std::uint16_t bits;
        std::memcpy(&bits, panel + block * kPanelBlockBytes + kPanelCodeBytes + 2 * row, 2);
        return f16_to_f32(bits);
    };
    load_int8(first, count, code, scale, to);
}

// As the kernels do, one element at a time.
float coded_element(const std::byte* block, ElementType type, std::int64_t output, std::int64_t k) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(block) + output;
    int code = bytes[k % 16 * kPanelOutputs] >> (k < 16 ? 0 : 4) & 15;
    const auto* high = bytes + kPanelNibbleBytes;
    if (type == ElementType::Q5) code |= (high[k / 8 * kPanelOutputs] >> k % 8 & 1) << 4;
    if (type == ElementType::Q6) code |= (high[k / 4 * kPanelOutputs] >> 2 * (k % 4) & 3) << 4;
    const std::byte* scales = block + kPanelNibbleBytes + panel_high_bytes(type);
    float scale, minimum;
    const std::int64_t half = type == ElementType::Q6 ? k / 16 : 0;
    std::memcpy(&scale, scales + 4 * (half * kPanelOutputs + output), 4);
    std::memcpy(&minimum, scales + 4 * (kPanelOutputs + output), 4);
    if (type == ElementType::Q6) minimum = 32.0f * scale;
    return scale * static_cast<float>(code) - minimum;
}

void load_coded_row(const PackedTensor& tensor, std::int64_t row, std::int64_t first, std::int64_t count, float* to) {
    const std::byte* panel = tensor.panel(row / kPanelOutputs);
    for (std::int64_t column = first; column < first + count; ++column)
        *to++ = coded_element(panel + panel_offset(tensor.type, column), tensor.type, row % kPanelOutputs,
                              column % kWeightBlock);
}

}  // namespace

ElementType packed_type(const WeightTensor& tensor, WeightType type) {
    const bool keeps = type == WeightType::AsInFile && tensor.blocks != nullptr && tensor.columns > 1;
    return keeps ? tensor.blocks->kept : kept_type(tensor, type);
}

void load_packed_row(const PackedTensor& tensor, std::int64_t row, std::int64_t first, std::int64_t count,
                     const CpuKernelTable& kernels, float* to) {
    if (tensor.type == ElementType::I8) return load_int8_row(tensor, row, first, count, to);
    if (is_coded(tensor.type)) return load_coded_row(tensor, row, first, count, to);
    const auto to_f32 = kernels.to_f32[static_cast<std::size_t>(tensor.type)];
    if (!tensor.panels)
        return to_f32(tensor.row(row) + first * static_cast<std::int64_t>(element_bytes(tensor.type)), to, count);
    const std::byte* panel = tensor.panel(row / kPanelOutputs);
    row %= kPanelOutputs;
    if (tensor.type == ElementType::F32) return gather(panel, row, first, count, to);
    constexpr std::int64_t kPart = 256;
    std::uint16_t bits[kPart];
    for (std::int64_t i = 0; i < count; i += kPart) {
        const std::int64_t part = std::min(kPart, count - i);
        gather(panel, row, first + i, part, bits);
        to_f32(reinterpret_cast<const std::byte*>(bits), to + i, part);
    }
}

std::vector<std::int64_t> PackedWeights::tensor_rows() const {
    std::vector<std::int64_t> rows;
    rows.reserve(tensors_.size());
    for (const PackedTensor& tensor : tensors_) rows.push_back(tensor.rows);
    return rows;
}

Result<std::shared_ptr<PackedWeights>> PackedWeights::plan(
    const WeightTable& table, const StepProgram& program, WeightType type,
    const std::function<Result<BufferPtr>(std::size_t)>& allocate) {
    auto weights = std::make_shared<PackedWeights>();
    const std::vector<bool> products = read_by_products(table, program);
    std::vector<std::size_t> offsets;
    std::size_t bytes = 0;
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < table.tensors.size(); ++i) {
        const WeightTensor& tensor = table.tensors[i];
        const ElementType packed = packed_type(tensor, type);
        const PackedTensor kept{nullptr, packed, tensor.rows, tensor.columns, products[i] || is_coded(packed)};
        offsets.push_back(bytes);
        bytes += aligned(static_cast<std::size_t>(kept.bytes()));
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

PackWork::PackWork(const WeightTable& table, PackedWeights& weights, const ProgressFn& progress, std::stop_token stop)
    : table_(table), weights_(weights), progress_(progress), stop_(std::move(stop)) {
    for (std::size_t i = 0; i < table.tensors.size(); ++i) {
        const WeightTensor& tensor = table.tensors[i];
        const PackedTensor& kept = weights.tensors_[i];
        std::int64_t rows = std::max<std::int64_t>(kPieceElements / tensor.columns, 1);
        if (kept.panels) {
            rows = panel_count(rows) * kPanelOutputs;
            if (kept.type != tensor.type || tensor.blocks != nullptr)
                scratch_bytes_ = std::max(scratch_bytes_, kPanelOutputs * weight_row_bytes(kept.type, kept.columns));
        }
        for (std::int64_t row = 0; row < tensor.rows; row += rows)
            pieces_.push_back({i, row, std::min(row + rows, tensor.rows)});
    }
}

std::byte* PackWork::place(const Piece& piece) const {
    const PackedTensor& kept = weights_.tensors_[piece.tensor];
    const std::byte* at = kept.panels ? kept.panel(piece.first / kPanelOutputs) : kept.row(piece.first);
    return weights_.buffer_->data() + (at - weights_.buffer_->data());
}

void PackWork::run_chunk(int, std::int64_t chunk, int thread) {
    if (stop_.stop_requested()) {
        stopped_.store(true, std::memory_order_relaxed);
        return;
    }
    const Piece& piece = pieces_[static_cast<std::size_t>(chunk)];
    const WeightTensor& from = table_.tensors[piece.tensor];
    const PackedTensor& kept = weights_.tensors_[piece.tensor];
    std::byte* to = place(piece);
    if (!kept.panels) convert_rows(from, piece.first, piece.last, kept.type, to);
    for (std::int64_t row = piece.first; kept.panels && row < piece.last; row += kPanelOutputs) {
        pack_panel(from, row, std::min(row + kPanelOutputs, piece.last), kept.type, scratch_ + thread * scratch_bytes_,
                   to);
        to += panel_bytes(kept.type, kept.columns);
    }
    const std::int64_t done = done_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (thread == 0) report(done);
}

void PackWork::report(std::int64_t done) {
    if (!progress_ || done <= reported_) return;
    reported_ = done;
    progress_(done, chunks(0));
}

void PackWork::report_done() { report(chunks(0)); }

}  // namespace decodescope
