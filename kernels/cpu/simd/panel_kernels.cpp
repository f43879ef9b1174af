// Products with weights in panels, see kernels/cpu/panel_layout.h.
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/panel_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/panel_layout.h"
#include "kernels/cpu/simd/coded_blocks-inl.h"
#include "kernels/cpu/simd/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace decodescope::HWY_NAMESPACE {
namespace {

// A tile is kRows rows and some panels. Its sums, a column of weights and one input fit into the registers, and there
// are enough of them to hide the latency of a multiply-add.
#if HWY_TARGET == HWY_AVX3
constexpr int kSums = 24, kTileRows = 8;
#elif HWY_TARGET == HWY_NEON
constexpr int kSums = 24, kTileRows = 6;
#elif HWY_TARGET == HWY_AVX2
constexpr int kSums = 12, kTileRows = 6;
#elif HWY_TARGET == HWY_SSE4
constexpr int kSums = 12, kTileRows = 3;
#else
constexpr int kSums = 8, kTileRows = 2;
#endif
constexpr int kHalfRows = (kTileRows + 1) / 2;
constexpr int kFewRows = 2 * kTileRows;

// Panels of a tile of `rows` rows; several are read at once, as one stream alone leaves memory bandwidth unused.
constexpr int tile_panels(int rows) {
    for (int panels = 4; panels > 1; panels /= 2)
        if (rows * panels * kVectors <= kSums) return panels;
    return 1;
}

// Where the weights of some panels lie, from the first column of a piece on. `scales`: int8.
struct Source {
    const std::byte* codes = nullptr;
    std::int64_t panel_bytes = 0, block_bytes = 0;
    const std::byte* scales = nullptr;
    std::int64_t scale_panel_bytes = 0;

    Source at(std::int64_t panel) const {
        return {codes + panel * panel_bytes, panel_bytes, block_bytes, scales + panel * scale_panel_bytes,
                scale_panel_bytes};
    }
};

template <int kRows, int kPanels>
struct Sums {
    VF at[kRows][kPanels * kVectors];

    HWY_INLINE void Clear() {
        const DF d;
        DECODESCOPE_UNROLL
        for (int r = 0; r < kRows; ++r) {
            DECODESCOPE_UNROLL
            for (int v = 0; v < kPanels * kVectors; ++v) at[r][v] = hn::Zero(d);
        }
    }
};

constexpr std::int64_t kFetchBytes = 2048;  // ahead

// Chains of multiply-adds over `count` columns, going on from the sums. x: inputs of each row; w: weights of each panel.
template <class E, int kRows, int kPanels>
HWY_INLINE void ChainsOnto(const float* const* x, const E* const* w, std::int64_t count, Sums<kRows, kPanels>& out) {
    const DF d;
    Sums<kRows, kPanels> sums = out;
    const auto add = [&](std::int64_t k) HWY_ATTR {
        VF weights[kPanels * kVectors];
        DECODESCOPE_UNROLL
        for (int v = 0; v < kPanels * kVectors; ++v)
            weights[v] = LoadF(d, w[v / kVectors] + k * kPanelOutputs + v % kVectors * kLanes);
        DECODESCOPE_UNROLL
        for (int r = 0; r < kRows; ++r) {
            const VF input = hn::Set(d, x[r][k]);
            DECODESCOPE_UNROLL
            for (int v = 0; v < kPanels * kVectors; ++v) sums.at[r][v] = hn::MulAdd(input, weights[v], sums.at[r][v]);
        }
    };
    std::int64_t k = 0;
    if constexpr (kRows == 1) {
        // One row waits for memory: each cache line of weights is asked for well before it is needed.
        constexpr std::int64_t kLineColumns = 4 / sizeof(E);
        for (; k + kLineColumns <= count; k += kLineColumns) {
            DECODESCOPE_UNROLL
            for (int p = 0; p < kPanels; ++p)
                hwy::Prefetch(reinterpret_cast<const std::byte*>(w[p] + k * kPanelOutputs) + kFetchBytes);
            DECODESCOPE_UNROLL
            for (std::int64_t i = 0; i < kLineColumns; ++i) add(k + i);
        }
    }
    for (; k < count; ++k) add(k);
    out = sums;
}

template <class E, int kRows, int kPanels>
HWY_INLINE void Chains(const float* const* x, const E* const* w, std::int64_t count, Sums<kRows, kPanels>& sums) {
    sums.Clear();
    ChainsOnto(x, w, count, sums);
}

// One piece of coded weights: one chain, as of f32 ones, over blocks that become f32 one by one.
template <ElementType kType, int kRows, int kPanels>
HWY_INLINE void CodedChains(const float* const* x, const Source& source, std::int64_t count,
                            Sums<kRows, kPanels>& sums) {
    HWY_ALIGN float decoded[kPanels][kWeightBlock * kPanelOutputs];
    sums.Clear();
    for (std::int64_t k = 0; k < count; k += kWeightBlock) {
        const float* from[kRows];
        const F32Element* w[kPanels];
        for (int r = 0; r < kRows; ++r) from[r] = x[r] + k;
        for (int p = 0; p < kPanels; ++p) {
            const std::byte* block = source.codes + p * source.panel_bytes + k / kWeightBlock * source.block_bytes;
            for (std::int64_t line = 0; line < source.block_bytes; line += 64)
                hwy::Prefetch(block + kFetchBytes + line);
            DecodeBlock<kType>(block, decoded[p]);
            w[p] = reinterpret_cast<const F32Element*>(decoded[p]);
        }
        ChainsOnto(from, w, std::min(kWeightBlock, count - k), sums);
    }
}

// One piece of int8 weights: a chain per block, times the scales. E: codes as they are stored, or as f32.
template <class E, int kRows, int kPanels>
HWY_INLINE void ScaledChains(const float* const* x, const Source& source, std::int64_t count,
                             Sums<kRows, kPanels>& sums) {
    const DF d;
    sums.Clear();
    for (std::int64_t k = 0, block = 0; k < count; k += kWeightBlock, ++block) {
        const float* from[kRows];
        const E* w[kPanels];
        for (int r = 0; r < kRows; ++r) from[r] = x[r] + k;
        for (int p = 0; p < kPanels; ++p)
            w[p] = reinterpret_cast<const E*>(source.codes + p * source.panel_bytes + block * source.block_bytes);
        Sums<kRows, kPanels> chains;
        Chains(from, w, std::min(kWeightBlock, count - k), chains);
        DECODESCOPE_UNROLL
        for (int v = 0; v < kPanels * kVectors; ++v) {
            const auto* scales = reinterpret_cast<const F16Element*>(
                source.scales + v / kVectors * source.scale_panel_bytes + block * kPanelBlockBytes);
            const VF scale = LoadF(d, scales + v % kVectors * kLanes);
            DECODESCOPE_UNROLL
            for (int r = 0; r < kRows; ++r) sums.at[r][v] = hn::MulAdd(chains.at[r][v], scale, sums.at[r][v]);
        }
    }
}

// The sums of one row and panel go to `out`: onto what is there unless they are the first ones, and the bias after the
// last ones.
HWY_INLINE void Put(const VF* sums, std::int64_t outputs, bool first, const float* bias, float* HWY_RESTRICT out) {
    const DF d;
    if (outputs >= kPanelOutputs) {
        for (int v = 0; v < kVectors; ++v, out += kLanes) {
            VF sum = first ? sums[v] : hn::Add(hn::LoadU(d, out), sums[v]);
            if (bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, bias + v * kLanes));
            hn::StoreU(sum, d, out);
        }
        return;
    }
    HWY_ALIGN float line[kPanelOutputs];
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[v], d, line + v * kLanes);
    for (std::int64_t o = 0; o < outputs; ++o) {
        const float sum = first ? line[o] : out[o] + line[o];
        out[o] = bias != nullptr ? sum + bias[o] : sum;
    }
}

// The inputs of all rows, from the first column of a piece on.
struct Inputs {
    const float* x = nullptr;
    std::int64_t stride = 0;
};

// Columns `first` .. `last` - 1, within one piece, of up to kRows rows from `row` on with kPanels panels from `panel`
// on, whose weights are at `from`. Where there are fewer rows, the last one is computed again and not kept.
template <class E, ElementType kKind, int kRows, int kPanels>
void Tile(const PanelProduct& p, const Inputs& inputs, const Source& from, std::int64_t first, std::int64_t last,
          std::int64_t row, std::int64_t panel) {
    const float* x[kRows];
    for (std::int64_t r = 0; r < kRows; ++r) x[r] = inputs.x + std::min(row + r, p.rows - 1) * inputs.stride;
    Sums<kRows, kPanels> sums;
    if constexpr (kKind == ElementType::I8) {
        ScaledChains<E>(x, from, last - first, sums);
    } else if constexpr (is_coded(kKind)) {
        CodedChains<kKind>(x, from, last - first, sums);
    } else {
        const E* w[kPanels];
        for (int i = 0; i < kPanels; ++i) w[i] = reinterpret_cast<const E*>(from.codes + i * from.panel_bytes);
        Chains(x, w, last - first, sums);
    }
    const std::int64_t kept = std::min<std::int64_t>(kRows, p.rows - row);
    for (std::int64_t r = 0; r < kept; ++r)
        for (int i = 0; i < kPanels; ++i) {
            const std::int64_t output = (panel + i) * kPanelOutputs;
            Put(sums.at[r] + i * kVectors, p.outputs - output, first == 0,
                p.bias != nullptr && last == p.columns ? p.bias + output : nullptr,
                p.out + (row + r) * p.out_stride + output);
        }
}

template <ElementType kType>
struct Stored {  // f32, and coded ones once decoded
    using Element = F32Element;
};
template <>
struct Stored<ElementType::F16> {
    using Element = F16Element;
};
template <>
struct Stored<ElementType::BF16> {
    using Element = BF16Element;
};
template <>
struct Stored<ElementType::I8> {
    using Element = I8Element;
};

template <ElementType kType>
HWY_INLINE Source StoredAt(const PanelProduct& p, std::int64_t column) {
    const std::int64_t bytes = panel_bytes(kType, p.columns);
    const std::byte* codes = p.weight + panel_offset(kType, column);
    if constexpr (kType == ElementType::I8) return {codes, bytes, kPanelBlockBytes, codes + kPanelCodeBytes, bytes};
    if constexpr (is_coded(kType)) return {codes, bytes, panel_block_bytes(kType), nullptr, 0};
    return {codes, bytes, 0, nullptr, 0};
}

// Up to kRows rows from `row` on with all panels from `panel` on, piece after piece, so that each panel is read from
// one end to the other.
template <ElementType kType, int kRows, int kPanels>
void FewRowsWithPanels(const PanelProduct& p, std::int64_t row, std::int64_t panel) {
    const std::int64_t panels = panel_count(p.outputs);
    for (; panel + kPanels <= panels; panel += kPanels)
        for (std::int64_t first = p.first; first < p.last; first += kPieceColumns)
            Tile<typename Stored<kType>::Element, kType, kRows, kPanels>(
                p, {p.x + first, p.x_stride}, StoredAt<kType>(p, first).at(panel), first,
                std::min(first + kPieceColumns, p.last), row, panel);
    if constexpr (kPanels > 1) FewRowsWithPanels<kType, kRows, kPanels / 2>(p, row, panel);
}

template <ElementType kType>
void FewRows(const PanelProduct& p) {
    for (std::int64_t row = 0; row < p.rows; row += kTileRows) {
        const std::int64_t left = p.rows - row;
        if (left == 1) FewRowsWithPanels<kType, 1, tile_panels(1)>(p, row, 0);
        else if (left == 2) FewRowsWithPanels<kType, 2, tile_panels(2)>(p, row, 0);
        else if (left <= kHalfRows) FewRowsWithPanels<kType, kHalfRows, tile_panels(kHalfRows)>(p, row, 0);
        else FewRowsWithPanels<kType, kTileRows, tile_panels(kTileRows)>(p, row, 0);
    }
}

// The stored weights that come next, fetched a part at a time while others are computed with.
struct Ahead {
    const std::byte* from = nullptr;  // of the first of `panels`
    std::int64_t panels = 0, panel_bytes = 0, piece_bytes = 0;

    HWY_INLINE void Fetch(std::int64_t part, std::int64_t parts) const {
        constexpr std::int64_t kLine = 64;
        const std::int64_t first = piece_bytes * part / parts / kLine * kLine;
        const std::int64_t last = piece_bytes * (part + 1) / parts;
        for (std::int64_t i = 0; i < panels; ++i)
            for (std::int64_t at = first; at < last; at += kLine) hwy::Prefetch(from + i * panel_bytes + at);
    }
};

// All rows with kPanels panels of f32 weights or codes.
template <ElementType kKind, int kPanels>
void AllRows(const PanelProduct& p, const Inputs& inputs, const Source& from, std::int64_t panel, const Ahead& ahead) {
    const std::int64_t tiles = (p.rows + kTileRows - 1) / kTileRows;
    for (std::int64_t row = 0; row < p.rows; row += kTileRows) {
        ahead.Fetch(row / kTileRows, tiles);
        const std::int64_t rows = std::min<std::int64_t>(kTileRows, p.rows - row);
        for (std::int64_t r = 0; r < rows; ++r)
            for (int i = 0; i < kPanels && p.first > 0; ++i)
                hwy::Prefetch(p.out + (row + r) * p.out_stride + (panel + i) * kPanelOutputs);
        if (p.rows - row <= kHalfRows)
            Tile<F32Element, kKind, kHalfRows, kPanels>(p, inputs, from, p.first, p.last, row, panel);
        else Tile<F32Element, kKind, kTileRows, kPanels>(p, inputs, from, p.first, p.last, row, panel);
    }
}

// The piece of one panel as f32, [columns][16]. int8: without the scales, in blocks of 32 columns.
template <ElementType kType>
void Convert(const PanelProduct& p, std::int64_t panel, float* HWY_RESTRICT to) {
    const DF d;
    const Source from = StoredAt<kType>(p, p.first).at(panel);
    if constexpr (is_coded(kType)) {
        for (std::int64_t k = 0; k < p.last - p.first; k += kWeightBlock)
            DecodeBlock<kType>(from.codes + k / kWeightBlock * from.block_bytes, to + k * kPanelOutputs);
        return;
    }
    const std::int64_t block = kType == ElementType::I8 ? kWeightBlock : kPieceColumns;
    for (std::int64_t k = 0; k < p.last - p.first; k += block) {
        const auto* w = reinterpret_cast<const typename Stored<kType>::Element*>(from.codes +
                                                                                 k / block * from.block_bytes);
        const std::int64_t count = std::min(block, p.last - p.first - k) * kPanelOutputs;
        for (std::int64_t i = 0; i < count; i += kLanes) hn::StoreU(LoadF(d, w + i), d, to + k * kPanelOutputs + i);
    }
}

template <ElementType kType, int kPanels>
void ManyRowsWithPanels(const PanelProduct& p, const Inputs& inputs, std::int64_t panel, float* scratch) {
    constexpr std::int64_t kFloats = kPieceColumns * kPanelOutputs;
    const std::int64_t panels = panel_count(p.outputs);
    const Source stored = StoredAt<kType>(p, p.first);
    for (; panel + kPanels <= panels; panel += kPanels) {
        Source source = stored.at(panel);
        if constexpr (kType != ElementType::F32) {
            for (int i = 0; i < kPanels; ++i) Convert<kType>(p, panel + i, scratch + i * kFloats);
            source.codes = reinterpret_cast<const std::byte*>(scratch);
            source.panel_bytes = kFloats * 4;
            source.block_bytes = kWeightBlock * kPanelOutputs * 4;
        }
        const std::int64_t next = panel + kPanels;
        const Ahead ahead{stored.at(next).codes, std::min<std::int64_t>(kPanels, panels - next), stored.panel_bytes,
                          panel_offset(kType, p.last - p.first)};
        AllRows<kType == ElementType::I8 ? kType : ElementType::F32, kPanels>(p, inputs, source, panel, ahead);
    }
    if constexpr (kPanels > 1) ManyRowsWithPanels<kType, kPanels / 2>(p, inputs, panel, scratch);
}

// The inputs are copied: rows that lie a large power of two apart would push each other out of the cache.
template <ElementType kType>
void ManyRows(const PanelProduct& p, float* scratch) {
    for (std::int64_t row = 0; row < p.rows; ++row)
        std::memcpy(scratch + row * kManyRowsStride, p.x + row * p.x_stride + p.first,
                    static_cast<std::size_t>(p.last - p.first) * sizeof(float));
    ManyRowsWithPanels<kType, tile_panels(kTileRows)>(p, {scratch, kManyRowsStride}, 0,
                                                      scratch + kManyRows * kManyRowsStride);
}

}  // namespace

void FillPanelKernels(CpuKernelTable& table) {
    table.few_rows = {&FewRows<ElementType::F32>, &FewRows<ElementType::F16>, &FewRows<ElementType::BF16>,
                      &FewRows<ElementType::I8>,  &FewRows<ElementType::Q4>,  &FewRows<ElementType::Q5>,
                      &FewRows<ElementType::Q6>};
    table.many_rows = {&ManyRows<ElementType::F32>, &ManyRows<ElementType::F16>, &ManyRows<ElementType::BF16>,
                       &ManyRows<ElementType::I8>,  &ManyRows<ElementType::Q4>,  &ManyRows<ElementType::Q5>,
                       &ManyRows<ElementType::Q6>};
    table.few_row_limit = kFewRows;
}

}  // namespace decodescope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace decodescope {

bool fill_panel_kernels(std::int64_t target, CpuKernelTable& table) {
    DECODESCOPE_CALL_TARGET(target, FillPanelKernels, table);
}

}  // namespace decodescope
#endif
