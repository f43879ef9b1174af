#include "engine/model/gguf_weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/model/gguf_config.h"
#include "engine/support/numbers.h"
#include "kernels/api/int8_weights.h"
#include "kernels/api/usable_cores.h"

namespace decodescope {
namespace {

constexpr std::int64_t kAlignment = 64;   // bytes
constexpr std::int64_t kPiece = 1 << 18;  // elements, about a millisecond

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct FreeAligned {
    void operator()(std::byte* data) const { ::operator delete(data, std::align_val_t(kAlignment)); }
};

// A tensor that is not used where it lies.
struct Job {
    const GgufTensor* tensor = nullptr;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t rows = 0, columns = 0;
    std::int64_t head_dim = 0;  // of rows in rotated pairs; 0: in order
    bool widened = false;       // to f32: vectors, of which there is little; else copied

    std::int64_t row_bytes() const { return tensor->bytes / rows; }
    std::int64_t row_bytes_made() const { return widened ? columns * 4 : row_bytes(); }
    // The row of the file that becomes row r: pairs (i, i + d/2) of a head are 2 i and 2 i + 1 there.
    std::int64_t source_row(std::int64_t r) const {
        if (head_dim == 0) return r;
        const std::int64_t half = head_dim / 2, within = r % head_dim;
        return r - within + 2 * (within % half) + within / half;
    }
};

void make_rows(const Job& job, std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
        const std::byte* from = job.from + job.source_row(r) * job.row_bytes();
        std::byte* to = job.to + r * job.row_bytes_made();
        if (!job.widened) {
            std::memcpy(to, from, static_cast<std::size_t>(job.row_bytes()));
            continue;
        }
        const GgufType& type = *job.tensor->type;
        float* out = reinterpret_cast<float*>(to);
        for (std::int64_t i = 0; i < job.columns; i += type.elements, from += type.bytes) type.widen(from, out + i);
    }
}

// The rows of all jobs on as many threads as there are cores. False when stopped.
bool make_all(const std::vector<Job>& jobs, const ProgressFn& progress, std::stop_token stop) {
    struct Piece {
        const Job* job;
        std::int64_t first, last;
    };
    std::vector<Piece> pieces;
    for (const Job& job : jobs) {
        const std::int64_t rows = std::max<std::int64_t>(kPiece / job.columns, 1);
        for (std::int64_t row = 0; row < job.rows; row += rows)
            pieces.push_back({&job, row, std::min(row + rows, job.rows)});
    }
    std::atomic<std::size_t> next{0};
    const auto total = static_cast<std::int64_t>(pieces.size());
    const auto work = [&](bool report) {
        for (std::size_t i = next++; i < pieces.size() && !stop.stop_requested(); i = next++) {
            make_rows(*pieces[i].job, pieces[i].first, pieces[i].last);
            if (report && progress) progress(static_cast<std::int64_t>(i + 1), total);
        }
    };
    const int cores = std::min(usable_cores(), 16);
    std::vector<std::jthread> helpers;
    try {
        for (int i = 1; i < cores && total > 1; ++i) helpers.emplace_back(work, false);
    } catch (const std::system_error&) {
        // The system gives no more threads: those that are there do it all.
    }
    work(true);
    helpers.clear();  // joins
    if (stop.stop_requested()) return false;
    if (progress && total > 0) progress(total, total);
    return true;
}

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

class Taker {
public:
    Taker(const GgufHeader& header, std::shared_ptr<const FileMap> file, const ModelConfig& config)
        : header_(header), file_(std::move(file)), config_(config) {}

    void take_all() {
        for (const GgufTensor& tensor : header_.tensors) {
            if (tensor.name == "rope_freqs.weight") continue;  // is in the config
            take(tensor);
        }
        std::int64_t most = 0;
        for (const auto& [type, elements] : elements_)
            if (elements > most) out_.stored_as = type, most = elements;
    }

    Status make(std::int64_t available, const ProgressFn& progress, std::stop_token stop) {
        const std::int64_t bytes = out_.widened_bytes;
        if (bytes == 0) return {};
        const Error none = make_error(
            ErrorKind::Memory,
            fmt::format(
                "{} needs {} ({} bytes) for weights stored as {} that are put into another order; {} are available.",
                file_->path(), format_bytes(bytes), bytes, out_.stored_as,
                available > 0 ? format_bytes(available) : std::string("fewer")),
            "Close other programs or take a smaller model.");
        if (available > 0 && bytes > available) return none;
        auto* memory = static_cast<std::byte*>(
            ::operator new(static_cast<std::size_t>(bytes), std::align_val_t(kAlignment), std::nothrow));
        if (memory == nullptr) return none;
        memory_ = std::shared_ptr<std::byte>(memory, FreeAligned());
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            jobs_[i].to = memory;
            out_.set.tensors.find(jobs_[i].tensor->name)->second.data = memory;
            memory += aligned(jobs_[i].rows * jobs_[i].row_bytes_made());
        }
        if (make_all(jobs_, progress, stop)) return {};
        return make_error(ErrorKind::Cancelled, fmt::format("Opening {} was cancelled.", file_->path()));
    }

    GgufWeights finish() {
        Hasher hasher;
        add_file(hasher, file_->bytes(), header_.data_offset);
        out_.set.fingerprint = hasher.text();
        out_.set.name_here = [family = config_.family](const std::string& name) {
            return gguf_tensor_name(family, name);
        };
        out_.set.owner =
            std::make_shared<std::pair<std::shared_ptr<const FileMap>, std::shared_ptr<std::byte>>>(file_, memory_);
        return std::move(out_);
    }

private:
    void take(const GgufTensor& tensor) {
        Job job;
        job.tensor = &tensor;
        job.from = file_->bytes().data() + header_.data_offset + tensor.begin;
        job.columns = tensor.shape.back();
        job.rows = 1;
        for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i) job.rows *= tensor.shape[i];
        if (tensor.shape.size() == 2) elements_[std::string(tensor.type->name)] += job.rows * job.columns;
        const bool paired = config_.family == Family::Llama && ends_with(tensor.name, ".weight") &&
                            (ends_with(tensor.name, ".attn_q.weight") || ends_with(tensor.name, ".attn_k.weight"));
        // Rows that are no whole number of heads are refused for their shape.
        if (paired && config_.head_dim % 2 == 0 && job.rows % config_.head_dim == 0) job.head_dim = config_.head_dim;
        Tensor made;
        const bool plain = tensor.type->is_plain();
        job.widened = !plain && tensor.shape.size() == 1;
        if (!plain && !job.widened) made.blocks = tensor.type;
        made.dtype = plain ? std::string(tensor.type->name) : "F32";
        out_.kept_bytes += job.rows * (tensor.shape.size() == 1 ? 4 * job.columns
                                       : plain ? tensor.bytes / job.rows
                                               : weight_row_bytes(tensor.type->kept, job.columns));
        made.shape = tensor.shape;
        made.data = job.from;
        made.bytes = job.rows * job.row_bytes_made();
        // What GPT-2's own files have as [in, out] is [out, in] here.
        const bool turned =
            config_.family == Family::Gpt2 && tensor.shape.size() == 2 && tensor.name.substr(0, 4) == "blk.";
        if (turned) {
            std::swap(made.shape[0], made.shape[1]);
            made.by_columns = true;
        }
        if (job.widened || job.head_dim > 0) {
            made.data = nullptr;
            out_.widened_bytes += aligned(made.bytes);
            jobs_.push_back(job);
        }
        out_.set.tensors.emplace(std::string(tensor.name), std::move(made));
    }

    const GgufHeader& header_;
    std::shared_ptr<const FileMap> file_;
    const ModelConfig& config_;
    std::vector<Job> jobs_;
    std::map<std::string, std::int64_t> elements_;
    std::shared_ptr<std::byte> memory_;
    GgufWeights out_;
};

}  // namespace

Result<GgufWeights> gguf_weights(const GgufHeader& header, std::shared_ptr<const FileMap> file,
                                 const ModelConfig& config, GgufMemory memory, std::int64_t available_bytes,
                                 const ProgressFn& progress, std::stop_token stop) {
    Taker taker(header, std::move(file), config);
    taker.take_all();
    if (memory == GgufMemory::Widen) DS_RETURN_IF_ERROR(taker.make(available_bytes, progress, stop));
    return taker.finish();
}

}  // namespace decodescope
