// Data of the Unicode character database that composing needs. Hangul syllables are composed by arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace decodescope {

struct DecomposedPair {
    std::uint32_t character, first, second = 0;
};
struct CombiningRange {
    std::uint32_t first, last, order;  // Canonical_Combining_Class, never 0
};

// All sorted by their first member.
extern const DecomposedPair kComposedPairs[];   // taken apart and composed
extern const DecomposedPair kPairsKeptApart[];  // taken apart only: Full_Composition_Exclusion
extern const DecomposedPair kSingletons[];      // replaced by `first`
extern const CombiningRange kCombiningRanges[];
extern const std::size_t kComposedPairsCount, kPairsKeptApartCount, kSingletonsCount, kCombiningRangesCount;

}  // namespace decodescope
