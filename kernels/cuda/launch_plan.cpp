#include "kernels/cuda/launch_plan.h"

#include <algorithm>
#include <string>

#include "kernels/cuda/kernels.h"

namespace decodescope::cuda {
namespace {

bool runs_selected(const OpDesc& op) { return op.logits_rows_only || op.kind == OpKind::SelectRows; }

PieceKind kind_of(OpKind kind) {
    switch (kind) {
        case OpKind::Embed:
        case OpKind::AddPosition: return PieceKind::Lookup;
        case OpKind::RmsNorm:
        case OpKind::LayerNorm: return PieceKind::Norm;
        case OpKind::Linear: return PieceKind::Products;
        case OpKind::Rope:
        case OpKind::CacheStore: return PieceKind::RotateStore;
        case OpKind::Attention: return PieceKind::Attention;
        case OpKind::SwiGlu:
        case OpKind::GeluTanh:
        case OpKind::GeluErf:
        case OpKind::GeGlu:
        case OpKind::Residual: return PieceKind::Pointwise;
        case OpKind::SelectRows: return PieceKind::Select;
    }
    return PieceKind::Select;
}

class Planner {
public:
    Planner(const StepProgram& program, const HostWeights& weights) : ops_(program.ops), weights_(weights) {}

    LaunchPlan plan() {
        while (next_ < ops_.size()) {
            Piece piece;
            piece.kind = kind_of(ops_[next_].kind);
            piece.selected = runs_selected(ops_[next_]);
            plan_.stages.push_back({{}, ops_[next_].layer, {}});
            if (piece.kind == PieceKind::Products) take_products(piece);
            else if (piece.kind == PieceKind::RotateStore) take_rotations(piece);
            else take(piece);
            plan_.pieces.push_back(std::move(piece));
        }
        return std::move(plan_);
    }

private:
    const OpDesc& op(int index) const { return ops_[static_cast<std::size_t>(index)]; }
    const OpDesc* next() const { return next_ < ops_.size() ? &ops_[next_] : nullptr; }

    int name_next() {
        const int index = static_cast<int>(next_++);
        Stage& stage = plan_.stages.back();
        if (!stage.name.empty()) stage.name += " + ";
        stage.name += op_name(op(index).id);
        stage.ops.push_back(index);
        return index;
    }
    void take(Piece& piece) { piece.ops.push_back(name_next()); }

    void take_products(Piece& piece) {
        const OpDesc& first = ops_[next_];
        take(piece);
        while (next() != nullptr && static_cast<int>(piece.ops.size()) < kMostProducts && joins(piece, first, *next()))
            take(piece);
        if (next() != nullptr && fits_epilogue(piece, *next())) piece.epilogue = name_next();
    }

    // Same input and weights of one type, and an output that none of the others reads or writes.
    bool joins(const Piece& piece, const OpDesc& first, const OpDesc& candidate) const {
        if (candidate.kind != OpKind::Linear || candidate.in0 != first.in0 || candidate.layer != first.layer ||
            runs_selected(candidate) != piece.selected || candidate.out == first.in0 ||
            weights_.tensor(candidate.weight).type != weights_.tensor(first.weight).type)
            return false;
        return std::all_of(piece.ops.begin(), piece.ops.end(), [&](int i) {
            return op(i).out != candidate.out && op(i).out != first.in0;
        });
    }

    bool fits_epilogue(const Piece& piece, const OpDesc& candidate) const {
        const OpDesc& first = op(piece.ops.front());
        // Other warps still read the input while the first ones write their results.
        if (runs_selected(candidate) != piece.selected || candidate.out == first.in0) return false;
        if (piece.ops.size() == 2 && candidate.kind == OpKind::SwiGlu) {
            const OpDesc& second = op(piece.ops.back());
            const bool in_order = candidate.in0 == first.out && candidate.in1 == second.out;
            const bool swapped = candidate.in1 == first.out && candidate.in0 == second.out;
            return (in_order || swapped) && first.out_width == second.out_width;
        }
        if (piece.ops.size() != 1) return false;
        if (candidate.kind == OpKind::GeluTanh) return candidate.in0 == first.out;
        return candidate.kind == OpKind::Residual && (candidate.in0 == first.out || candidate.in1 == first.out);
    }

    static bool same_rotation(const OpDesc& a, const OpDesc& b) {
        return a.head_dim == b.head_dim && a.rope == b.rope;
    }

    // Up to two rotations and the store that keeps the result of one of them, none of which waits for another but so.
    void take_rotations(Piece& piece) {
        std::vector<int> rotations;
        const auto wants_rotation = [&] {
            if (next() == nullptr || next()->kind != OpKind::Rope || rotations.size() == 2) return false;
            if (rotations.empty()) return true;
            const OpDesc& first = op(rotations.front());
            return same_rotation(first, *next()) && next()->layer == first.layer && next()->in0 != first.out &&
                   next()->out != first.out && next()->out != first.in0;
        };
        while (wants_rotation()) {
            take(piece);
            rotations.push_back(piece.ops.back());
        }
        const int key = next() != nullptr && next()->kind == OpKind::CacheStore ? key_of(*next(), rotations) : kNone;
        const bool stores = rotations.empty() || key != kNone;
        if (stores) {
            take(piece);
            piece.store = piece.ops.back();
        }
        for (const int index : rotations) {
            if (index == key) piece.rotate_key = index;
            else if (piece.rotate_query == kNone) piece.rotate_query = index;
            else piece.rotate_key = index;
        }
    }

    // Which rotation gives the key of the store; kNone when the store is to be a piece of its own.
    int key_of(const OpDesc& store, const std::vector<int>& rotations) const {
        int key = kNone;
        for (const int index : rotations) {
            const OpDesc& rotation = op(index);
            if (rotation.out == store.in1 || rotation.layer != store.layer) return kNone;
            const bool heads_fit = rotation.head_dim == store.head_dim &&
                                   rotation.out_width == static_cast<std::int64_t>(store.kv_heads) * store.head_dim;
            if (rotation.out == store.in0 && heads_fit) key = index;
        }
        return key;
    }

    const std::vector<OpDesc>& ops_;
    const HostWeights& weights_;
    std::size_t next_ = 0;
    LaunchPlan plan_;
};

}  // namespace

LaunchPlan make_launch_plan(const StepProgram& program, const HostWeights& weights) {
    return Planner(program, weights).plan();
}

}  // namespace decodescope::cuda
