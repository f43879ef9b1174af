#include "engine/text/piece_merger.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "engine/support/utf8.h"
#include "engine/text/splitter.h"

namespace decodescope {
namespace {

// For a heap whose top is the highest score, leftmost first.
bool later(const PieceMerger::Scratch::Candidate& a, const PieceMerger::Scratch::Candidate& b) {
    return a.score != b.score ? a.score < b.score : a.position > b.position;
}

std::string_view text_of(std::string_view text, const PieceMerger::Scratch::Symbol& symbol) {
    return text.substr(static_cast<std::size_t>(symbol.begin), static_cast<std::size_t>(symbol.bytes));
}

// One symbol for each character, and for each byte that is part of none.
void cut(std::string_view text, std::vector<PieceMerger::Scratch::Symbol>& symbols) {
    symbols.clear();
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Unit unit = utf8_front(text.substr(at));
        const std::size_t bytes = unit.kind == Utf8Kind::Valid ? unit.bytes : 1;
        const auto index = static_cast<std::int32_t>(symbols.size());
        at += bytes;
        symbols.push_back({static_cast<std::int32_t>(at - bytes), static_cast<std::int32_t>(bytes), index - 1,
                           at < text.size() ? index + 1 : -1});
    }
}

}  // namespace

bool PieceMerger::add(std::string_view text, std::int32_t id, float score, bool unused) {
    longest_ = std::max(longest_, text.size());
    return pieces_.try_emplace(std::string(text), Piece{id, score, unused}).second;
}

const PieceMerger::Piece* PieceMerger::find(std::string_view text) const {
    if (text.size() > longest_) return nullptr;
    const auto found = pieces_.find(text);
    return found != pieces_.end() ? &found->second : nullptr;
}

void PieceMerger::propose(std::string_view text, std::int32_t position, Scratch& scratch) const {
    const Scratch::Symbol& left = scratch.symbols[static_cast<std::size_t>(position)];
    if (left.next < 0) return;
    const Scratch::Symbol& right = scratch.symbols[static_cast<std::size_t>(left.next)];
    const std::string_view joined = text_of(text, {left.begin, left.bytes + right.bytes, -1, -1});
    const Piece* piece = find(joined);
    if (piece == nullptr) return;
    ++scratch.candidates;
    scratch.heap.push_back({piece->score, position, left.bytes + right.bytes});
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), later);
    if (piece->unused) scratch.parts.insert_or_assign(std::string(joined), Scratch::Parts{left.bytes, right.bytes});
}

bool PieceMerger::apply(std::string_view text, const Scratch::Candidate& candidate, Scratch& scratch) const {
    Scratch::Symbol& left = scratch.symbols[static_cast<std::size_t>(candidate.position)];
    if (left.bytes == 0 || left.next < 0) return false;
    Scratch::Symbol& right = scratch.symbols[static_cast<std::size_t>(left.next)];
    if (left.bytes + right.bytes != candidate.bytes) return false;
    left.bytes += right.bytes;
    right.bytes = 0;
    left.next = right.next;
    if (right.next >= 0) scratch.symbols[static_cast<std::size_t>(right.next)].previous = candidate.position;
    if (left.previous >= 0) propose(text, left.previous, scratch);
    propose(text, candidate.position, scratch);
    return true;
}

Status PieceMerger::emit(std::string_view piece, const Scratch& scratch, const PieceSink& sink) const {
    const Piece* whole = find(piece);
    if (whole == nullptr || !whole->unused) return sink(whole != nullptr ? whole->id : -1, piece);
    std::vector<std::string_view> rest = {piece};  // the leftmost last
    while (!rest.empty()) {
        const std::string_view text = rest.back();
        rest.pop_back();
        const Piece* found = find(text);
        const auto parts = found != nullptr && found->unused ? scratch.parts.find(text) : scratch.parts.end();
        if (parts == scratch.parts.end()) {
            // An unused piece of one character has no parts and stays what it is, as in SentencePiece.
            DS_RETURN_IF_ERROR(sink(found != nullptr ? found->id : -1, text));
            continue;
        }
        rest.push_back(text.substr(static_cast<std::size_t>(parts->second.left_bytes)));
        rest.push_back(text.substr(0, static_cast<std::size_t>(parts->second.left_bytes)));
    }
    return {};
}

Status PieceMerger::merge(std::string_view text, Scratch& scratch, const PieceSink& sink,
                          const std::stop_token& stop) const {
    if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        return make_error(ErrorKind::Argument, fmt::format("A text of {} bytes is too long to tokenize.", text.size()));
    cut(text, scratch.symbols);
    scratch.heap.clear();
    scratch.parts.clear();
    const auto count = static_cast<std::int32_t>(scratch.symbols.size());
    for (std::int32_t i = 0; i + 1 < count; ++i) {
        if ((i & 0xFFFF) == 0 && stop.stop_requested()) return tokenizing_cancelled();
        propose(text, i, scratch);
    }
    std::int64_t steps = 0;
    while (!scratch.heap.empty()) {
        if ((++steps & 0xFFF) == 0 && stop.stop_requested()) return tokenizing_cancelled();
        std::pop_heap(scratch.heap.begin(), scratch.heap.end(), later);
        const Scratch::Candidate candidate = scratch.heap.back();
        scratch.heap.pop_back();
        if (apply(text, candidate, scratch)) ++scratch.merges;
    }
    for (std::int32_t i = count > 0 ? 0 : -1; i >= 0; i = scratch.symbols[static_cast<std::size_t>(i)].next)
        DS_RETURN_IF_ERROR(emit(text_of(text, scratch.symbols[static_cast<std::size_t>(i)]), scratch, sink));
    return {};
}

}  // namespace decodescope
