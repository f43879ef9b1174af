#include "engine/cache/kv_residual.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/api/int8_row.h"

namespace decodescope {
namespace {

constexpr KvPart kParts[] = {KvPart::K, KvPart::V};

}  // namespace

Result<std::unique_ptr<KvResidual>> KvResidual::create(std::shared_ptr<Backend> backend, const KvShape& shape) {
    DS_CHECK(shape.format.has_residual());
    std::unique_ptr<KvResidual> residual(new KvResidual(std::move(backend), shape));
    auto buffer =
        residual->backend_->allocate(static_cast<std::size_t>(shape.residual_bytes()), MemoryPurpose::KvCache);
    if (!buffer.ok()) return buffer.error();
    residual->buffer_ = std::move(*buffer);
    residual->poison(0, shape.residual_rows());
    return residual;
}

Result<std::unique_ptr<KvResidual>> KvResidual::clone() const {
    auto copy = create(backend_, shape_);
    if (!copy.ok()) return copy.error();
    const std::size_t bytes = buffer_->bytes();
    DS_RETURN_IF_ERROR(backend_->copy(*buffer_, 0, bytes, *(*copy)->buffer_, 0, bytes, bytes, 1));
    return copy;
}

std::int64_t KvResidual::pass_tokens(std::int64_t tokens) const {
    return shape_.residual_rows() - (tokens - shape_.format.quantized_tokens(tokens));
}

std::int64_t KvResidual::head_offset(int layer, KvPart part, std::int64_t head) const {
    const std::int64_t parts = shape_.format.k_grouped && shape_.format.v_grouped ? 2 : 1;
    const std::int64_t index = parts == 2 && part == KvPart::V ? 1 : 0;
    return ((layer * parts + index) * shape_.kv_heads + head) * shape_.residual_rows() * shape_.head_dim;
}

void KvResidual::attach(int layer, std::int64_t tokens, KvView& view) const {
    for (const KvPart part : kParts) {
        if (!shape_.format.is_grouped(part)) continue;
        KvSide& side = part == KvPart::K ? view.k : view.v;
        side.tail = buffer_->data() + head_offset(layer, part, 0) * 4;
        side.tail_first = static_cast<std::int32_t>(shape_.format.quantized_tokens(tokens));
        side.tail_rows = static_cast<std::int32_t>(shape_.residual_rows());
        side.tail_row_stride = shape_.head_dim;
        side.tail_head_stride = shape_.residual_rows() * shape_.head_dim;
    }
}

Status KvResidual::read_head(int layer, KvPart part, std::int64_t head, std::int64_t first, std::int64_t count,
                             std::span<float> out) const {
    const std::int64_t width = shape_.head_dim, rows = shape_.residual_rows();
    for (std::int64_t done = 0; done < count;) {
        const std::int64_t row = (first + done) % rows, run = std::min(count - done, rows - row);
        const auto to = out.subspan(static_cast<std::size_t>(done * width), static_cast<std::size_t>(run * width));
        DS_RETURN_IF_ERROR(backend_->download(
            *buffer_, static_cast<std::size_t>((head_offset(layer, part, head) + row * width) * 4),
            std::as_writable_bytes(to)));
        done += run;
    }
    return {};
}

Status KvResidual::read_row(int layer, KvPart part, std::int64_t entry, std::span<float> out) const {
    const auto width = static_cast<std::size_t>(shape_.head_dim);
    for (int head = 0; head < shape_.kv_heads; ++head)
        DS_RETURN_IF_ERROR(
            read_head(layer, part, head, entry, 1, out.subspan(static_cast<std::size_t>(head) * width, width)));
    return {};
}

Status KvResidual::quantize_head(int layer, KvPart part, std::int64_t head, std::int64_t entry, std::int64_t slot,
                                 KvStorage& storage) const {
    const std::int64_t group = shape_.format.group, width = shape_.head_dim;
    std::vector<float> rows(static_cast<std::size_t>(group * width));
    DS_RETURN_IF_ERROR(read_head(layer, part, head, entry, group, rows));
    std::vector<std::byte> stored(static_cast<std::size_t>(shape_.head_bytes(part, group)));
    if (shape_.shares_scales(part)) {
        quantize_group(rows.data(), group, width, stored.data());
    } else {
        for (std::int64_t row = 0; row < group; ++row)
            quantize_row(rows.data() + row * width, width, stored.data() + shape_.head_bytes(part, row));
    }
    return storage.write_head(layer, part, head, slot, stored);
}

Status KvResidual::quantize(const EntryList& entries, std::int64_t before, std::int64_t after,
                            KvStorage& storage) const {
    const std::int64_t end = shape_.format.quantized_tokens(after);
    for (std::int64_t entry = shape_.format.quantized_tokens(before); entry < end; entry += shape_.format.group) {
        const std::int64_t slot = entries.slot(static_cast<std::int32_t>(entry));
        for (int layer = 0; layer < shape_.layers; ++layer) {
            for (const KvPart part : kParts) {
                if (!shape_.format.is_grouped(part)) continue;
                for (int head = 0; head < shape_.kv_heads; ++head)
                    DS_RETURN_IF_ERROR(quantize_head(layer, part, head, entry, slot, storage));
            }
        }
    }
    return {};
}

Status KvResidual::check_truncate(std::int64_t tokens, std::int64_t seen) const {
    const std::int64_t quantized = shape_.format.quantized_tokens(seen);
    if (tokens <= 0 || tokens > seen || shape_.format.quantized_tokens(tokens) == quantized) return {};
    return make_error(
        ErrorKind::Unsupported,
        fmt::format("Cannot keep {} of {} tokens: the rows of positions {} to {} are quantized, and with {} tokens "
                    "they would be in full precision.",
                    tokens, seen, shape_.format.quantized_tokens(tokens), std::min(quantized, tokens) - 1, tokens),
        fmt::format("{} to {} tokens can be kept, or none; otherwise feed the text again.",
                    quantized + shape_.format.residual, seen));
}

void KvResidual::poison([[maybe_unused]] std::int64_t first, [[maybe_unused]] std::int64_t end) {
#ifdef DECODESCOPE_DEBUG
    const std::vector<float> row(static_cast<std::size_t>(shape_.head_dim), std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t entry = first; entry < end; ++entry) {
        for (int layer = 0; layer < shape_.layers; ++layer) {
            for (const KvPart part : kParts) {
                if (!shape_.format.is_grouped(part)) continue;
                for (int head = 0; head < shape_.kv_heads; ++head) {
                    const std::int64_t offset =
                        head_offset(layer, part, head) + entry % shape_.residual_rows() * shape_.head_dim;
                    (void)backend_->upload(*buffer_, static_cast<std::size_t>(offset * 4),
                                           std::as_bytes(std::span(row)));
                }
            }
        }
    }
#endif
}

}  // namespace decodescope
