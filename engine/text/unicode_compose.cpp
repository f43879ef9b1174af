// Unicode normalization form C by its definition: take apart, order the marks, compose.
#include <algorithm>
#include <array>
#include <span>

#include "engine/support/utf8.h"
#include "engine/text/normalizer.h"
#include "engine/text/unicode_tables.h"

namespace decodescope {
namespace {

// Below this character nothing is taken apart that is not composed again, and nothing combines.
constexpr std::uint32_t kFirstCombining = 0x300;
// Stands for a byte that is no UTF-8 and is handed on.
constexpr std::uint32_t kRawByte = 0x80000000;

// Hangul syllables: leading consonant, vowel and an optional trailing consonant (Unicode, section 3.12).
constexpr std::uint32_t kSyllables = 0xAC00, kLeading = 0x1100, kVowel = 0x1161, kTrailing = 0x11A7;
constexpr std::uint32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;
constexpr std::uint32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

const DecomposedPair* find(std::span<const DecomposedPair> table, std::uint32_t character) {
    const auto at = std::lower_bound(table.begin(), table.end(), character,
                                     [](const DecomposedPair& row, std::uint32_t c) { return row.character < c; });
    return at != table.end() && at->character == character ? &*at : nullptr;
}

// 0 for starters.
std::uint32_t combining_order(std::uint32_t character) {
    if (character < kFirstCombining) return 0;
    const std::span ranges(kCombiningRanges, kCombiningRangesCount);
    const auto at = std::upper_bound(ranges.begin(), ranges.end(), character,
                                     [](std::uint32_t c, const CombiningRange& row) { return c < row.first; });
    return at != ranges.begin() && character <= (at - 1)->last ? (at - 1)->order : 0;
}

void take_apart(std::uint32_t character, std::vector<std::uint32_t>& out) {
    if (character >= kSyllables && character < kSyllables + kSyllableCount) {
        const std::uint32_t at = character - kSyllables, trailing = at % kTrailingCount;
        out.push_back(kLeading + at / (kVowelCount * kTrailingCount));
        out.push_back(kVowel + at / kTrailingCount % kVowelCount);
        if (trailing > 0) out.push_back(kTrailing + trailing);
        return;
    }
    const DecomposedPair* row = find({kComposedPairs, kComposedPairsCount}, character);
    if (row == nullptr) row = find({kPairsKeptApart, kPairsKeptApartCount}, character);
    if (row == nullptr) row = find({kSingletons, kSingletonsCount}, character);
    if (row == nullptr) {
        out.push_back(character);
        return;
    }
    take_apart(row->first, out);
    if (row->second != 0) take_apart(row->second, out);
}

// The composed pairs by (first, second).
const std::vector<DecomposedPair>& pairs_by_parts() {
    static const std::vector<DecomposedPair> sorted = [] {
        std::vector<DecomposedPair> rows(kComposedPairs, kComposedPairs + kComposedPairsCount);
        std::sort(rows.begin(), rows.end(), [](const DecomposedPair& a, const DecomposedPair& b) {
            return a.first != b.first ? a.first < b.first : a.second < b.second;
        });
        return rows;
    }();
    return sorted;
}

// 0 when the two do not compose.
std::uint32_t pair_of(std::uint32_t first, std::uint32_t second) {
    if (first >= kLeading && first < kLeading + kLeadingCount && second >= kVowel && second < kVowel + kVowelCount)
        return kSyllables + ((first - kLeading) * kVowelCount + (second - kVowel)) * kTrailingCount;
    if (first >= kSyllables && first < kSyllables + kSyllableCount && (first - kSyllables) % kTrailingCount == 0 &&
        second > kTrailing && second < kTrailing + kTrailingCount)
        return first + (second - kTrailing);
    const auto& pairs = pairs_by_parts();
    const auto at = std::lower_bound(pairs.begin(), pairs.end(), std::pair(first, second),
                                     [](const DecomposedPair& row, const std::pair<std::uint32_t, std::uint32_t>& key) {
                                         return row.first != key.first ? row.first < key.first
                                                                       : row.second < key.second;
                                     });
    return at != pairs.end() && at->first == first && at->second == second ? at->character : 0;
}

// Marks between two starters, by their class; equal ones keep their order.
void order_marks(std::vector<std::uint32_t>& characters) {
    for (auto begin = characters.begin(); begin != characters.end();) {
        if (combining_order(*begin) == 0) {
            ++begin;
            continue;
        }
        const auto end = std::find_if(begin, characters.end(), [](std::uint32_t c) { return combining_order(c) == 0; });
        std::stable_sort(begin, end,
                         [](std::uint32_t a, std::uint32_t b) { return combining_order(a) < combining_order(b); });
        begin = end;
    }
}

// In place: a mark joins the last starter unless one of its class or a higher one stands between.
void put_together(std::vector<std::uint32_t>& characters) {
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::size_t starter = kNone, size = 0;
    std::uint32_t last_order = 0;
    for (const std::uint32_t character : characters) {
        const std::uint32_t order = combining_order(character);
        if (starter != kNone && (size == starter + 1 || last_order < order)) {
            if (const std::uint32_t joined = pair_of(characters[starter], character); joined != 0) {
                characters[starter] = joined;
                continue;
            }
        }
        if (order == 0) starter = size;
        characters[size++] = character;
        last_order = order;
    }
    characters.resize(size);
}

}  // namespace

std::string composed(std::string_view text) {
    std::vector<std::uint32_t> characters;
    bool plain = true;
    for (std::string_view rest = text; !rest.empty();) {
        const Utf8Unit unit = utf8_front(rest);
        if (unit.kind == Utf8Kind::Valid) {
            plain = plain && unit.code_point < kFirstCombining;
            characters.push_back(unit.code_point);
        } else {
            for (std::size_t i = 0; i < unit.bytes; ++i)
                characters.push_back(kRawByte | static_cast<unsigned char>(rest[i]));
        }
        rest.remove_prefix(unit.bytes);
    }
    if (plain) return std::string(text);
    std::vector<std::uint32_t> apart;
    apart.reserve(characters.size());
    for (const std::uint32_t character : characters) take_apart(character, apart);
    order_marks(apart);
    put_together(apart);
    std::string out;
    out.reserve(text.size());
    for (const std::uint32_t character : apart) {
        if ((character & kRawByte) != 0)
            out.push_back(static_cast<char>(character & 0xFF));
        else
            utf8_append(out, character);
    }
    return out;
}

}  // namespace decodescope
