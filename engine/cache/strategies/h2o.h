// Heavy hitters and recent tokens (H2O, Zhang et al. 2023): what has been attended to most stays, beside the newest.
//
// The score of an entry is the attention that it has got: the sum of its probabilities over the query heads of the
// layer and over all rows so far, the prompt's included. After each row, while more than `budget` entries are kept, the
// one with the lowest score outside the `recent` newest leaves; of equal ones the oldest. Row t therefore sees up to
// budget + 1 entries, itself included. Entries keep their true positions and their rotated keys.
//
// What leaves decides what the next row sees, so from a full budget on rows are fed one at a time: a prompt costs as
// much as decoding it, and how it is cut into chunks decides nothing. The one row above the budget is staged beside the
// cache and settled in the slot of what leaves.
//
// Scores are whole numbers of 2^-30: sums do not depend on their order, and rows can be taken back exactly.
#pragma once

#include <deque>

#include "engine/cache/cache_strategy.h"

namespace decodescope {

class H2oStrategy final : public CacheStrategy {
public:
    H2oStrategy(std::int64_t budget, std::int64_t recent);

    Result<CachePlan> plan(std::int64_t new_tokens) const override;
    void commit(const CachePlan& plan) override;
    // Exact while nothing has left: scores go back to what they were. Refused when something left, or when the rows to
    // be taken back are more than kMostUndoValues allows.
    Status truncate(std::int64_t tokens) override;
    void reset() override;
    std::unique_ptr<CacheStrategy> clone() const override { return std::make_unique<H2oStrategy>(*this); }
    std::int64_t tokens_seen() const override { return seen_; }
    std::int64_t tokens_stored() const override { return static_cast<std::int64_t>(kept_.size()); }
    std::int64_t capacity() const override { return budget_; }
    EntryList entries() const override;
    std::optional<std::int64_t> slot_of(std::int32_t position) const override;
    std::int64_t most_new_tokens() const override;
    bool wants_weight_sums() const override { return true; }
    void observe(std::span<const float> sums, CachePlan& plan) const override;

    std::optional<double> score_of(std::int32_t position) const;  // nothing when the row is not stored

    // Summands kept of rows that can be taken back, the newest: 1 MiB for each layer.
    static constexpr std::int64_t kMostUndoValues = std::int64_t{1} << 17;

private:
    struct Kept {
        std::int32_t position = 0;
        std::int32_t slot = 0;
        std::int64_t score = 0;  // in units of 2^-30
    };
    std::size_t index_to_leave(const CachePlan& plan) const;
    void remember(const CachePlan& plan);
    std::int64_t undoable() const { return static_cast<std::int64_t>(undo_.size()); }  // rows
    void forget_rows();

    std::int64_t budget_ = 0, recent_ = 0;
    std::int64_t seen_ = 0;
    std::vector<Kept> kept_;                       // by position
    std::deque<std::vector<std::int64_t>> undo_;   // of the newest rows: what each added to the entries of its time
    std::int64_t undo_values_ = 0;
    bool left_ = false;                            // something has left: what is before cannot be had back
    std::uint64_t revision_ = 0;
};

}  // namespace decodescope
