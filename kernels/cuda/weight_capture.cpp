#include "kernels/cuda/weight_capture.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/kernels.h"

namespace decodescope::cuda {
namespace {

constexpr std::int64_t kBudgetBytes = std::int64_t{64} << 20;  // of weights that wait on the device

Status ensure_device(BufferPtr& buffer, std::int64_t floats, DeviceMemory& memory) {
    const auto bytes = static_cast<std::size_t>(floats) * sizeof(float);
    if (bytes == 0 || (buffer && buffer->bytes() >= bytes && buffer->bytes() <= 4 * bytes)) return {};
    buffer.reset();
    auto made = memory.allocate(bytes, MemoryPurpose::Activations);
    if (!made) return made.error();
    buffer = std::move(*made);
    return {};
}

Status ensure_pinned(PinnedPtr& buffer, std::int64_t floats, DeviceMemory& memory) {
    const auto bytes = static_cast<std::size_t>(floats) * sizeof(float);
    if (bytes == 0 || (buffer && buffer->bytes() >= bytes && buffer->bytes() <= 4 * bytes)) return {};
    buffer.reset();
    auto made = memory.allocate_pinned(bytes);
    if (!made) return made.error();
    buffer = std::move(*made);
    return {};
}

std::int64_t entries_of(const SequenceRows& sequence, int layer) {
    return sequence.views[static_cast<std::size_t>(layer)].table.count;
}

}  // namespace

bool WeightCapture::wants_weights(int layer) const {
    return !inputs_.attention_out.empty() && inputs_.attention_out[static_cast<std::size_t>(layer)] != nullptr;
}
bool WeightCapture::wants_sums(const SequenceRows& sequence, int layer) const {
    return !sequence.weight_sums.empty() && sequence.weight_sums[static_cast<std::size_t>(layer)] != nullptr;
}
bool WeightCapture::wants_layer(int layer) const {
    return wants_weights(layer) ||
           std::any_of(inputs_.sequences.begin(), inputs_.sequences.end(),
                       [&](const SequenceRows& sequence) { return wants_sums(sequence, layer); });
}

Status WeightCapture::prepare(DeviceMemory& memory, int heads) {
    heads_ = heads;
    std::int64_t layers = 0;
    for (int layer = 0; layer < step_.program_.layers; ++layer) {
        if (!wants_layer(layer)) continue;
        ++layers;
        captured_ = captured_ || wants_weights(layer);
        std::int64_t sums = 0;
        for (const SequenceRows& sequence : inputs_.sequences) {
            stride_ = std::max(stride_, entries_of(sequence, layer));
            if (wants_sums(sequence, layer)) sums += sequence.row_count * entries_of(sequence, layer);
        }
        slot_sums_ = std::max(slot_sums_, sums);
    }
    if (layers == 0) return {};
    summed_ = slot_sums_ > 0;
    if (captured_) stride_ = inputs_.attention_stride;
    slot_floats_ = static_cast<std::int64_t>(inputs_.tokens.size()) * heads_ * stride_;
    slots_ = std::clamp<std::int64_t>(kBudgetBytes / std::max<std::int64_t>(slot_floats_ * 4, 1), 1, layers);
    DS_RETURN_IF_ERROR(ensure_device(step_.weights_out_, slots_ * slot_floats_, memory));
    if (captured_) DS_RETURN_IF_ERROR(ensure_pinned(step_.host_weights_, slots_ * slot_floats_, memory));
    DS_RETURN_IF_ERROR(ensure_device(step_.sums_out_, slots_ * slot_sums_, memory));
    return ensure_pinned(step_.host_sums_, slots_ * slot_sums_, memory);
}

float* WeightCapture::device_weights(std::size_t slot) const {
    return reinterpret_cast<float*>(step_.weights_out_->data()) + static_cast<std::int64_t>(slot) * slot_floats_;
}

Result<float*> WeightCapture::begin_layer(int layer, cudaStream_t stream) {
    if (!any() || !wants_layer(layer)) return static_cast<float*>(nullptr);
    if (static_cast<std::int64_t>(waiting_.size()) == slots_) DS_RETURN_IF_ERROR(flush(stream));
    float* weights = device_weights(waiting_.size());
    waiting_.push_back(layer);
    DS_RETURN_IF_ERROR(check(cudaMemsetAsync(weights, 0, static_cast<std::size_t>(slot_floats_) * sizeof(float), stream),
                             "clearing attention weights"));
    return weights;
}

Status WeightCapture::end_layer(int layer, cudaStream_t stream) {
    if (!summed_ || waiting_.empty() || waiting_.back() != layer) return {};
    const std::size_t slot = waiting_.size() - 1;
    float* sums = reinterpret_cast<float*>(step_.sums_out_->data()) + static_cast<std::int64_t>(slot) * slot_sums_;
    for (const SequenceRows& sequence : inputs_.sequences) {
        if (!wants_sums(sequence, layer)) continue;
        const auto entries = static_cast<int>(entries_of(sequence, layer));
        launch_sum_heads({device_weights(slot), stride_, sums, sequence.first_row, sequence.row_count, heads_, entries},
                         stream);
        sums += static_cast<std::int64_t>(sequence.row_count) * entries;
    }
    return check(cudaGetLastError(), "adding attention weights up");
}

void WeightCapture::hand_out(std::size_t slot, int layer) const {
    if (wants_weights(layer))
        std::memcpy(inputs_.attention_out[static_cast<std::size_t>(layer)],
                    step_.host_weights_->as<float>() + static_cast<std::int64_t>(slot) * slot_floats_,
                    static_cast<std::size_t>(slot_floats_) * sizeof(float));
    if (!summed_) return;
    const float* from = step_.host_sums_->as<float>() + static_cast<std::int64_t>(slot) * slot_sums_;
    for (const SequenceRows& sequence : inputs_.sequences) {
        if (!wants_sums(sequence, layer)) continue;
        const std::int64_t floats = sequence.row_count * entries_of(sequence, layer);
        std::copy(from, from + floats, sequence.weight_sums[static_cast<std::size_t>(layer)]);
        from += floats;
    }
}

Status WeightCapture::flush(cudaStream_t stream) {
    if (waiting_.empty()) return {};
    const std::size_t used = waiting_.size() * sizeof(float);
    const auto fetch = [&](PinnedBuffer& to, const Buffer& from, std::int64_t floats) {
        return check(cudaMemcpyAsync(to.data(), from.data(), used * static_cast<std::size_t>(floats),
                                     cudaMemcpyDeviceToHost, stream),
                     "copying attention weights");
    };
    if (captured_) DS_RETURN_IF_ERROR(fetch(*step_.host_weights_, *step_.weights_out_, slot_floats_));
    if (summed_) DS_RETURN_IF_ERROR(fetch(*step_.host_sums_, *step_.sums_out_, slot_sums_));
    DS_RETURN_IF_ERROR(check(cudaStreamSynchronize(stream), "the attention of a layer"));
    for (std::size_t slot = 0; slot < waiting_.size(); ++slot) hand_out(slot, waiting_[slot]);
    waiting_.clear();
    return {};
}

}  // namespace decodescope::cuda
