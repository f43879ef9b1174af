// Merging by scores as SentencePiece does it, in O(n log n): of all neighbours that together are a piece of the
// vocabulary, those whose piece has the highest score are joined first, the leftmost of equals.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/added_tokens.h"
#include "kernels/api/status.h"

namespace decodescope {

class PieceMerger {
public:
    // False when the text is there already. An unused piece is a step to longer ones; left over, it is taken apart
    // again.
    bool add(std::string_view text, std::int32_t id, float score, bool unused);

    // What one call needs; kept by the caller.
    struct Scratch {
        struct Symbol {
            std::int32_t begin, bytes, previous, next;  // links are indices, -1 at the ends; 0 bytes: merged away
        };
        struct Candidate {
            float score;
            std::int32_t position, bytes;  // stale when the two no longer have so many bytes together
        };
        struct Parts {
            std::int32_t left_bytes, right_bytes;
        };
        std::vector<Symbol> symbols;
        std::vector<Candidate> heap;
        TextMap<Parts> parts;         // of unused pieces
        std::int64_t merges = 0, candidates = 0;  // done in all, for tests
    };

    // The id of a piece; -1 and its text (one character, or one byte that is no UTF-8) for what is none.
    using PieceSink = std::function<Status(std::int32_t id, std::string_view text)>;
    // Error when stopped, or of the sink.
    Status merge(std::string_view text, Scratch& scratch, const PieceSink& sink, const std::stop_token& stop) const;

private:
    struct Piece {
        std::int32_t id;
        float score;
        bool unused;
    };
    const Piece* find(std::string_view text) const;
    void propose(std::string_view text, std::int32_t position, Scratch& scratch) const;
    bool apply(std::string_view text, const Scratch::Candidate& candidate, Scratch& scratch) const;
    Status emit(std::string_view piece, const Scratch& scratch, const PieceSink& sink) const;

    TextMap<Piece> pieces_;
    std::size_t longest_ = 0;  // bytes
};

}  // namespace decodescope
