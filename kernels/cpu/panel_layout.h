// How the CPU backend keeps a matrix that products read: one layout for one row and for many.
//
// Rows of the matrix (outputs of the product) are taken 16 at a time; such a panel holds its columns one after the
// other, 16 weights each: [rows / 16][columns][16]. The last panel is filled with zeros. A product reads a panel from
// one end to the other, and whatever the instruction set, 16 outputs are whole vectors.
//
// int8: a panel is a list of blocks of 32 columns, the last one filled with zeros: codes [32][16], then the blocks'
// scales of the 16 rows in f16. Codes and scales are those of kernels/api/int8_weights.h.
//
// A product of a row and a column of outputs is a sum over pieces of 256 columns: each piece is one chain of
// multiply-adds from its first column to its last (int8: one chain per block, times its scale, summed over the blocks);
// pieces are added in their order, then the bias. Every kernel keeps to that, so that a row gives the same bits alone
// and beside any others, in whatever way the work is cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/api/element_type.h"
#include "kernels/api/int8_weights.h"

namespace decodescope {

constexpr std::int64_t kPanelOutputs = 16;
constexpr std::int64_t kPieceColumns = 256;
constexpr std::int64_t kPanelCodeBytes = kWeightBlock * kPanelOutputs;             // int8: codes of a block
constexpr std::int64_t kPanelBlockBytes = kPanelCodeBytes + 2 * kPanelOutputs;     // and their scales
static_assert(kPieceColumns % kWeightBlock == 0);

constexpr std::int64_t panel_count(std::int64_t outputs) { return (outputs + kPanelOutputs - 1) / kPanelOutputs; }

// Where column `column` of a panel begins, in bytes; int8: the block that it begins.
constexpr std::int64_t panel_offset(ElementType type, std::int64_t column) {
    return type == ElementType::I8 ? column / kWeightBlock * kPanelBlockBytes
                                   : column * kPanelOutputs * static_cast<std::int64_t>(element_bytes(type));
}

constexpr std::int64_t panel_bytes(ElementType type, std::int64_t columns) {
    return type == ElementType::I8 ? weight_blocks(columns) * kPanelBlockBytes : panel_offset(type, columns);
}

}  // namespace decodescope
