#include "kernels/cuda/step_launcher.h"

#include <algorithm>

#include "kernels/cuda/cuda_error.h"

namespace decodescope::cuda {
namespace {

// Some 5 ms on a small device: after so much work the stream is waited for, so that a stop is noticed.
constexpr double kMostQueuedFlops = 2e10;

Epilogue epilogue_of(OpKind kind) {
    switch (kind) {
        case OpKind::GeluTanh: return Epilogue::Gelu;
        case OpKind::GeluErf: return Epilogue::GeluErf;
        case OpKind::GeGlu: return Epilogue::GeGlu;
        case OpKind::SwiGlu: return Epilogue::SwiGlu;
        case OpKind::Residual: return Epilogue::Residual;
        default: return Epilogue::None;
    }
}

// In what products of many rows take their inputs. int8 weights become f16 before.
ElementType input_type(ElementType weights) { return weights == ElementType::I8 ? ElementType::F16 : weights; }

cudaDataType_t blas_type(ElementType type) {
    if (type == ElementType::F32) return CUDA_R_32F;
    return type == ElementType::BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

}  // namespace

StepLauncher::StepLauncher(CudaStep& step, const StepInputs& inputs, const StepCounts& counts, const StepTables& tables,
                           cudaStream_t stream, cublasHandle_t blas)
    : step_(step), inputs_(inputs), counts_(counts), tables_(tables), stream_(stream), blas_(blas) {}

Status StepLauncher::launch_all(WeightCapture* capture, std::stop_token stop) {
    const std::vector<Piece>& pieces = step_.plan_.pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Piece& piece = pieces[i];
        const int rows = piece.selected ? counts_.logits_rows : counts_.rows;
        if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "The step was cancelled.");
        if (inputs_.visitor != nullptr && piece.store != kNone)
            DS_RETURN_IF_ERROR(inputs_.visitor->before_layer(step_.op(piece.store).layer));
        if (rows > 0) DS_RETURN_IF_ERROR(launch_piece(piece, capture));
        if (inputs_.visitor != nullptr && piece.kind == PieceKind::Attention)
            DS_RETURN_IF_ERROR(inputs_.visitor->after_layer(step_.op(piece.ops.front()).layer));
        if (step_.profile_)
            DS_RETURN_IF_ERROR(check(cudaEventRecord(step_.stage_ends_[i].get(), stream_), "taking the time"));
        DS_RETURN_IF_ERROR(pace(piece, rows, stop));
    }
    return {};
}

Status StepLauncher::pace(const Piece& piece, int rows, std::stop_token& stop) {
    if (!stop.stop_possible() || counts_.rows <= kFewRows) return {};
    for (const int index : piece.ops) {
        const OpDesc& op = step_.op(index);
        if (op.kind == OpKind::Linear)
            queued_flops_ += 2.0 * rows * static_cast<double>(op.in_width) * static_cast<double>(op.out_width);
        if (op.kind == OpKind::Attention) queued_flops_ += 4.0 * rows * rows * op.heads * op.head_dim;
    }
    if (queued_flops_ < kMostQueuedFlops) return {};
    queued_flops_ = 0;
    return check(cudaStreamSynchronize(stream_), step_.plan_.stages[static_cast<std::size_t>(
                                                     &piece - step_.plan_.pieces.data())].name);
}

Status StepLauncher::launch_piece(const Piece& piece, WeightCapture* capture) {
    const OpDesc& op = step_.op(piece.ops.front());
    const int rows = piece.selected ? counts_.logits_rows : counts_.rows;
    switch (piece.kind) {
        case PieceKind::Lookup: lookup(op); break;
        case PieceKind::Norm: norm(op, rows); break;
        case PieceKind::Products: DS_RETURN_IF_ERROR(products(piece, rows)); break;
        case PieceKind::RotateStore: rotate_store(piece); break;
        case PieceKind::Attention: DS_RETURN_IF_ERROR(attention(op, capture)); break;
        case PieceKind::Pointwise: pointwise(op, rows); break;
        case PieceKind::Select:
            launch_select(step_.value(op.in0), tables_.logits_rows, step_.value(op.out), rows,
                          static_cast<int>(op.out_width), stream_);
            break;
    }
    return check(cudaGetLastError(), "launching \"" + std::string(op_name(op.id)) + "\"");
}

void StepLauncher::lookup(const OpDesc& op) {
    const HostTensor& table = step_.weight(op);
    const bool positions = op.kind == OpKind::AddPosition;
    launch_lookup({table.data, static_cast<int>(table.type), positions ? tables_.positions : tables_.tokens,
                   positions ? step_.value(op.in0) : nullptr, step_.value(op.out), counts_.rows,
                   static_cast<int>(op.out_width), positions ? 1.0f : op.scale},
                  stream_);
}

void StepLauncher::norm(const OpDesc& op, int rows) {
    const std::int64_t width = norm_width(op);  // heads are rows of their own
    launch_norm({step_.value(op.in0), step_.weight(op).floats(),
                 op.kind == OpKind::LayerNorm ? step_.bias(op) : nullptr, step_.value(op.out), op.epsilon,
                 static_cast<int>(rows * (op.out_width / width)), static_cast<int>(width)},
                stream_);
}

Status StepLauncher::products(const Piece& piece, int rows) {
    if (rows > kFewRows) return many_row_products(piece, rows);
    few_row_products(piece, rows);
    return {};
}

void StepLauncher::few_row_products(const Piece& piece, int rows) {
    ProductsArgs args{};
    for (const int index : piece.ops) {
        const OpDesc& op = step_.op(index);
        args.products[args.count++] = {step_.weight(op).data, step_.bias(op), step_.value(op.out),
                                       static_cast<int>(op.out_width)};
    }
    const OpDesc& first = step_.op(piece.ops.front());
    args.type = static_cast<int>(step_.weight(first).type);
    args.x = step_.value(first.in0);
    args.rows = rows;
    args.columns = static_cast<int>(first.in_width);
    if (piece.epilogue != kNone) {
        const OpDesc& after = step_.op(piece.epilogue);
        args.epilogue = epilogue_of(after.kind);
        args.result = step_.value(after.out);
        args.swapped = after.in0 != first.out;
        if (after.kind == OpKind::Residual) args.other = step_.value(args.swapped ? after.in0 : after.in1);
    }
    launch_products(args, stream_);
}

// int8 weights: some outputs after the other, as many as fit into the room for their f16.
Status StepLauncher::multiply(const OpDesc& op, const void* x, int rows) {
    const HostTensor& weight = step_.weight(op);
    const auto out = static_cast<int>(op.out_width), in = static_cast<int>(op.in_width);
    if (weight.type != ElementType::I8) return multiply_outputs(op, weight.data, x, rows, 0, out);
    const auto most = static_cast<int>(step_.widened_->bytes() / (static_cast<std::size_t>(in) * 2));
    for (int first = 0; first < out; first += most) {
        const int outputs = std::min(most, out - first);
        launch_widen(weight.row(first), outputs, in, step_.widened_->data(), stream_);
        DS_RETURN_IF_ERROR(check(cudaGetLastError(), "widening weights"));
        DS_RETURN_IF_ERROR(multiply_outputs(op, step_.widened_->data(), x, rows, first, outputs));
    }
    return {};
}

// Row-major out = x weight^T is column-major out^T = weight x^T: the weight is given as the transposed first matrix.
Status StepLauncher::multiply_outputs(const OpDesc& op, const void* weights, const void* x, int rows, int first,
                                      int outputs) {
    const float one = 1.0f, zero = 0.0f;
    const auto in = static_cast<int>(op.in_width), out = static_cast<int>(op.out_width);
    const cudaDataType_t type = blas_type(step_.weight(op).type);
    return check(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, outputs, rows, in, &one, weights, type, in, x, type, in,
                              &zero, step_.value(op.out) + first, CUDA_R_32F, out, CUBLAS_COMPUTE_32F,
                              CUBLAS_GEMM_DEFAULT),
                 "the product \"" + std::string(op_name(op.id)) + "\"");
}

Status StepLauncher::many_row_products(const Piece& piece, int rows) {
    const OpDesc& first = step_.op(piece.ops.front());
    const void* x = step_.value(first.in0);
    if (const ElementType type = input_type(step_.weight(first).type); type != ElementType::F32) {
        launch_round(step_.value(first.in0), step_.rounded_->data(), static_cast<int>(type), rows * first.in_width,
                     stream_);
        x = step_.rounded_->data();
    }
    for (const int index : piece.ops) DS_RETURN_IF_ERROR(multiply(step_.op(index), x, rows));
    finish_products(piece, rows);
    return {};
}

// Biases, and what follows on the outputs.
void StepLauncher::finish_products(const Piece& piece, int rows) {
    const auto bias_of = [&](int value) -> const float* {
        for (const int index : piece.ops)
            if (step_.op(index).out == value) return step_.bias(step_.op(index));
        return nullptr;
    };
    if (piece.epilogue != kNone) {
        const OpDesc& after = step_.op(piece.epilogue);
        PointwiseArgs args{epilogue_of(after.kind), step_.value(after.in0), nullptr, bias_of(after.in0), nullptr,
                           step_.value(after.out), rows, static_cast<int>(after.out_width)};
        if (after.in1 != kNone) args.b = step_.value(after.in1);
        if (after.in1 != kNone && after.in1 != after.in0) args.bias_b = bias_of(after.in1);
        launch_pointwise(args, stream_);
        return;
    }
    for (const int index : piece.ops) {
        const OpDesc& op = step_.op(index);
        if (op.bias == kNone) continue;
        launch_pointwise({Epilogue::None, step_.value(op.out), nullptr, step_.bias(op), nullptr, nullptr, rows,
                          static_cast<int>(op.out_width)},
                         stream_);
    }
}

void StepLauncher::pointwise(const OpDesc& op, int rows) {
    launch_pointwise({epilogue_of(op.kind), step_.value(op.in0), op.in1 == kNone ? nullptr : step_.value(op.in1),
                      nullptr, nullptr, step_.value(op.out), rows, static_cast<int>(op.out_width)},
                     stream_);
}

const float* StepLauncher::rotations(int op) const {
    const auto& table = step_.op_rotations_[static_cast<std::size_t>(op)];
    return table == nullptr ? nullptr : table->data();
}

void StepLauncher::rotate_store(const Piece& piece) {
    RotateStoreArgs args{};
    args.tables = tables_;
    args.rows = counts_.rows;
    args.head_dim = step_.op(piece.ops.front()).head_dim;
    for (const int index : {piece.rotate_query, piece.rotate_key}) {
        if (index == kNone) continue;
        const OpDesc& op = step_.op(index);
        const bool is_key = index == piece.rotate_key;
        args.rotations = rotations(index);
        args.rotary = op.rope.rotary_dim;
        (is_key ? args.k_in : args.q_in) = step_.value(op.in0);
        (is_key ? args.k_out : args.q_out) = step_.value(op.out);
        (is_key ? args.kv_heads : args.q_heads) = static_cast<int>(op.out_width / op.head_dim);
    }
    if (piece.store != kNone) {
        const OpDesc& op = step_.op(piece.store);
        if (args.k_in == nullptr) args.k_in = step_.value(op.in0);
        args.v_in = step_.value(op.in1);
        args.kv_heads = op.kv_heads;
        args.views = tables_.views + static_cast<std::ptrdiff_t>(op.layer) * counts_.sequences;
    }
    launch_rotate_store(args, stream_);
}

Status StepLauncher::attention(const OpDesc& op, WeightCapture* capture) {
    AttentionArgs args{};
    args.tables = tables_;
    args.views = tables_.views + static_cast<std::ptrdiff_t>(op.layer) * counts_.sequences;
    args.visibility = tables_.visibility;
    if (counts_.visibility_layers > 1) args.visibility += static_cast<std::ptrdiff_t>(op.layer) * counts_.rows;
    args.q = step_.value(op.in0);
    args.out = step_.value(op.out);
    args.partials = step_.partials_ ? reinterpret_cast<float*>(step_.partials_->data()) : nullptr;
    args.rotations = rotations(static_cast<int>(&op - step_.program_.ops.data()));
    args.rotary = op.rope.rotary_dim;
    args.scale = op.scale;
    args.heads = op.heads;
    args.kv_heads = op.kv_heads;
    args.head_dim = op.head_dim;
    args.rows_few = counts_.few_rows;
    args.tiles = counts_.tiles;
    args.splits = counts_.splits;
    if (capture != nullptr) {
        auto weights = capture->begin_layer(op.layer, stream_);
        if (!weights) return weights.error();
        args.weights = *weights;
        args.weights_stride = capture->stride();
    }
    launch_attention(args, stream_);
    DS_RETURN_IF_ERROR(check(cudaGetLastError(), "launching attention"));
    return capture == nullptr ? Status() : capture->end_layer(op.layer, stream_);
}

}  // namespace decodescope::cuda
