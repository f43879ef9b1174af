#include "kernels/cuda/weight_loader.h"

#include <algorithm>

#include "kernels/cuda/cuda_error.h"
#include "kernels/reference/host_weights.h"

namespace decodescope::cuda {
namespace {

constexpr std::size_t kLoadBytes = std::size_t{4} << 20;  // of weights that are converted at a time

// Converts as many rows as the staging memory holds, copies them, and so on. `done` gets rows times columns and says
// whether to go on.
Status load_tensor(const WeightTensor& tensor, HostWeights& weights, std::size_t index, PinnedBuffer& staging,
                   cudaStream_t stream, const std::function<bool(std::int64_t)>& done) {
    const HostTensor& kept = weights.tensors()[index];
    const std::int64_t row_bytes = weight_row_bytes(kept.type, kept.columns);
    const std::int64_t rows = static_cast<std::int64_t>(staging.bytes()) / row_bytes;
    for (std::int64_t row = 0; row < kept.rows; row += rows) {
        const std::int64_t end = std::min(row + rows, kept.rows);
        convert_rows(tensor, row, end, kept.type, staging.data());
        DS_RETURN_IF_ERROR(check(cudaMemcpyAsync(weights.mutable_row(index, row), staging.data(),
                                                 static_cast<std::size_t>((end - row) * row_bytes),
                                                 cudaMemcpyHostToDevice, stream),
                                 "copying weights"));
        DS_RETURN_IF_ERROR(check(cudaStreamSynchronize(stream), "copying weights"));
        if (!done((end - row) * kept.columns))
            return make_error(ErrorKind::Cancelled, "Loading the weights was cancelled.");
    }
    return {};
}

}  // namespace

Result<WeightSetPtr> load_to_device(const WeightTable& table, WeightType type, DeviceMemory& memory, cudaStream_t stream,
                                    const ProgressFn& progress, std::stop_token stop) {
    auto planned = HostWeights::plan(
        table, type, [&memory](std::size_t bytes) { return memory.allocate(bytes, MemoryPurpose::Weights); });
    if (!planned) return planned.error();
    HostWeights& weights = **planned;
    std::int64_t total = 0, loaded = 0, widest = 0;
    for (const HostTensor& tensor : weights.tensors()) {
        total += tensor.rows * tensor.columns;
        widest = std::max(widest, weight_row_bytes(tensor.type, tensor.columns));
    }
    const auto bytes = std::min<std::size_t>(kLoadBytes, static_cast<std::size_t>(weights.bytes()));
    auto staging = memory.allocate_pinned(std::max(bytes, static_cast<std::size_t>(widest)));
    if (!staging) return staging.error();
    for (std::size_t i = 0; i < table.tensors.size(); ++i) {
        DS_RETURN_IF_ERROR(load_tensor(table.tensors[i], weights, i, **staging, stream, [&](std::int64_t elements) {
            loaded += elements;
            if (stop.stop_requested()) return false;
            if (progress) progress(loaded, total);
            return true;
        }));
    }
    return WeightSetPtr(*planned);
}

}  // namespace decodescope::cuda
