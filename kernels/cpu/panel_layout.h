// How the CPU backend keeps a matrix that products read: one layout for one row and for many.
//
// Rows of the matrix (outputs of the product) are taken 16 at a time; such a panel holds its columns one after the
// other, 16 weights each: [rows / 16][columns][16]. The last panel is filled with zeros. A product reads a panel from
// one end to the other, and whatever the instruction set, 16 outputs are whole vectors.
//
// int8: a panel is a list of blocks of 32 columns, the last one filled with zeros: codes [32][16], then the blocks'
// scales of the 16 rows in f16. Codes and scales are those of kernels/api/int8_weights.h.
//
// Q4, Q5, Q6 (weights that a file has in blocks): a list of blocks of 32 columns as well, each of them
//   low nibbles of the codes [16][16 outputs]: column k low, column k + 16 high;
//   Q5: fifth bits [4][16], bit i of byte j is column 8 j + i; Q6: two bits [8][16], column 4 j + i at bit 2 i;
//   f32: Q4 and Q5 scales [16] and minima [16]; Q6 scales [2][16] of the columns' halves, their minima are 32 scales.
// A weight is scale * code - minimum, exactly as widened, and a product is that of the widened f32 matrix, bit for bit.
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
constexpr std::int64_t kPanelNibbleBytes = kPanelCodeBytes / 2;                    // coded: low nibbles of a block
constexpr std::int64_t panel_high_bytes(ElementType type) {                        // and what lies above them
    return type == ElementType::Q5 ? kPanelCodeBytes / 8 : type == ElementType::Q6 ? kPanelCodeBytes / 4 : 0;
}
constexpr std::int64_t panel_block_bytes(ElementType type) { return weight_block_bytes(type) * kPanelOutputs; }
static_assert(panel_block_bytes(ElementType::I8) == kPanelBlockBytes);
static_assert(panel_block_bytes(ElementType::Q5) ==
              kPanelNibbleBytes + panel_high_bytes(ElementType::Q5) + 2 * 4 * kPanelOutputs);
static_assert(kPieceColumns % kWeightBlock == 0);

constexpr std::int64_t panel_count(std::int64_t outputs) { return (outputs + kPanelOutputs - 1) / kPanelOutputs; }

// Where column `column` of a panel begins, in bytes; int8: the block that it begins.
constexpr std::int64_t panel_offset(ElementType type, std::int64_t column) {
    const std::int64_t block = panel_block_bytes(type);
    return block > 0 ? column / kWeightBlock * block
                     : column * kPanelOutputs * static_cast<std::int64_t>(element_bytes(type));
}

constexpr std::int64_t panel_bytes(ElementType type, std::int64_t columns) {
    const std::int64_t block = panel_block_bytes(type);
    return block > 0 ? weight_blocks(columns) * block : panel_offset(type, columns);
}

}  // namespace decodescope
