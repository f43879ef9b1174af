// Who may start, on numbers alone (PG-04, PG-10, PG-14).
#include "engine/decode/batch_admission.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "engine/cache/strategies/paged.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

BatchAdmission::Found nothing(SequenceId) { return {}; }

TEST(BatchAdmission, PG14_WhatCanNeverFitIsRefusedAtOnce) {
    BatchAdmission pages({10, 4, 8});
    const Status refused = pages.submit(0, 41);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Capacity);
    EXPECT_THAT(refused.error().message, HasSubstr("11 pages of 4 tokens for its 41 tokens"));
    EXPECT_THAT(refused.error().message, HasSubstr("10 pages, for 40 tokens"));
    ASSERT_TRUE(pages.submit(1, 8).ok());
    EXPECT_EQ(pages.next(10, nothing), 1);
    EXPECT_EQ(pages.set_aside(), 2);
    BatchAdmission tokens({30, 0, 8});
    EXPECT_THAT(tokens.submit(0, 31).error().message, HasSubstr("cache of 31 tokens and there is room for 30 tokens"));
}

// Two that fit one at a time but not together: the second waits, then runs.
TEST(BatchAdmission, PG14_WhatFitsLaterWaits) {
    BatchAdmission queue({10, 4, 8});
    ASSERT_TRUE(queue.submit(0, 24).ok());
    ASSERT_TRUE(queue.submit(1, 24).ok());
    EXPECT_EQ(queue.next(10, nothing), 0);
    for (int step = 0; step < 1000; ++step) {
        const std::int64_t taken = std::min(step / 100, 6);
        queue.has_taken(0, taken);
        EXPECT_EQ(queue.next(10 - taken, nothing), std::nullopt);
        EXPECT_EQ(queue.set_aside(), 6 - taken);
    }
    queue.leave(0);
    EXPECT_EQ(queue.set_aside(), 0);
    EXPECT_EQ(queue.next(10, nothing), 1);
    EXPECT_EQ(queue.waiting(), 0);
}

// A large one neither blocks the small ones for ever nor is starved by them.
TEST(BatchAdmission, PG14_ALargeOneIsOvertakenAFewTimesOnly) {
    BatchAdmission queue({10, 1, 100});
    ASSERT_TRUE(queue.submit(0, 6).ok());
    EXPECT_EQ(queue.next(10, nothing), 0);
    queue.has_taken(0, 6);
    ASSERT_TRUE(queue.submit(1, 9).ok());  // does not fit beside it
    std::vector<SequenceId> overtook;
    for (SequenceId id = 2; id < 20; ++id) {
        ASSERT_TRUE(queue.submit(id, 1).ok());
        if (const auto next = queue.next(4, nothing)) {
            overtook.push_back(*next);
            queue.leave(*next);  // a short one: its room is free again
        }
    }
    EXPECT_EQ(overtook, (std::vector<SequenceId>{2, 3, 4, 5}));
    EXPECT_EQ(queue.next(4, nothing), std::nullopt);
    queue.leave(0);
    EXPECT_EQ(queue.next(10, nothing), 1);
}

// A growing cache copies one layer after another: the largest sequence needs room for one layer more.
TEST(BatchAdmission, PG14_OldAndNewOfAGrowingCacheAreSetAside) {
    BatchAdmission queue({40, 0, 8, 4});
    const Status refused = queue.submit(0, 33);  // 33 + 9
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("33 tokens, room for 9 more while it is copied, and there is room "
                                                   "for 40 tokens"));
    ASSERT_TRUE(queue.submit(0, 32).ok());  // 32 + 8
    EXPECT_EQ(queue.next(40, nothing), 0);
    queue.leave(0);
    ASSERT_TRUE(queue.submit(1, 20).ok());
    ASSERT_TRUE(queue.submit(2, 16).ok());
    ASSERT_TRUE(queue.submit(3, 15).ok());
    EXPECT_EQ(queue.next(40, nothing), 1);
    EXPECT_EQ(queue.next(40, nothing), 3);  // 20 + 15 + 5, where 16 would need one more
    EXPECT_EQ(queue.next(40, nothing), std::nullopt);
}

// Whatever has started can grow to its end: bytes as a storage of `layers` blocks would take them never exceed the room.
TEST(BatchAdmission, PG14_GrowingSequencesNeverExceedTheRoom) {
    constexpr std::int64_t kRoom = 200, kLayers = 3;
    std::mt19937 random(5);
    BatchAdmission queue({kRoom, 0, 8, kLayers});
    std::map<SequenceId, std::pair<std::int64_t, std::int64_t>> running;  // tokens now, tokens at the end
    std::vector<std::int64_t> asked;
    std::int64_t peak = 0;
    for (int step = 0; step < 3000; ++step) {
        const auto tokens = static_cast<std::int64_t>(random() % 150 + 1);
        if (queue.waiting() < 4 && queue.submit(static_cast<SequenceId>(asked.size()), tokens).ok())
            asked.push_back(tokens);
        while (const auto id = queue.next(kRoom, nothing)) running[*id] = {0, asked[static_cast<std::size_t>(*id)]};
        std::int64_t live = 0;  // layers x tokens
        for (const auto& [id, sequence] : running) live += sequence.first * kLayers;
        for (auto& [id, sequence] : running) {
            const std::int64_t grown = std::min(sequence.first + 1 + static_cast<std::int64_t>(random() % 20),
                                                sequence.second);
            for (int layer = 0; layer < kLayers; ++layer) {
                peak = std::max(peak, live + grown);
                live += grown - sequence.first;
            }
            sequence.first = grown;
        }
        std::erase_if(running, [&queue](const auto& entry) {
            if (entry.second.first < entry.second.second) return false;
            queue.leave(entry.first);
            return true;
        });
    }
    EXPECT_LE(peak, kRoom * kLayers);
    EXPECT_GT(peak, kRoom * kLayers * 9 / 10);
    EXPECT_GT(asked.size(), 300u);
}

TEST(BatchAdmission, FoundPagesAreNotNeededAgain) {
    BatchAdmission queue({10, 4, 8});
    ASSERT_TRUE(queue.submit(0, 40).ok());
    bool soon = true;
    const auto find = [&soon](SequenceId) { return BatchAdmission::Found{6, 2, soon}; };
    EXPECT_EQ(queue.next(10, find), std::nullopt);  // waits for what is being computed
    soon = false;
    EXPECT_EQ(queue.next(5, find), std::nullopt);  // two of the five are among those it would find
    EXPECT_EQ(queue.next(6, find), 0);
    EXPECT_EQ(queue.set_aside(), 4);
}

// Sequences in numbers only: what a batch does with plans, pages and admission, in random order.
class Numbers {
public:
    explicit Numbers(unsigned seed) : random_(seed) { options_.log2_page = 2, options_.by_content = true; }

    void operate() {
        switch (below(8)) {
            case 0:
            case 1: submit(); break;
            case 2: admit(); break;
            case 3:
                if (!active_.empty()) leave(below(static_cast<int>(active_.size())));
                break;
            default: step(); break;
        }
    }

    void expect_consistent() const {
        std::vector<std::int64_t> owners(static_cast<std::size_t>(pool_->pages()), 0);
        std::int64_t set_aside = 0;
        for (const auto& sequence : active_) {
            for (const std::int32_t page : sequence.strategy->table()) ++owners[static_cast<std::size_t>(page)];
            set_aside += queue_.units_of(sequence.tokens) -
                         static_cast<std::int64_t>(sequence.strategy->table().size());
        }
        std::int64_t used = 0;
        for (std::int32_t page = 0; page < static_cast<std::int32_t>(pool_->pages()); ++page) {
            ASSERT_EQ(pool_->owners(page), owners[static_cast<std::size_t>(page)]) << "page " << page;
            used += owners[static_cast<std::size_t>(page)] > 0 ? 1 : 0;
        }
        ASSERT_EQ(pool_->used_pages(), used);
        ASSERT_EQ(pool_->free_pages() + used, pool_->pages());
        ASSERT_EQ(static_cast<std::int64_t>(pool_->free_list().size()), pool_->free_pages());
        ASSERT_EQ(queue_.set_aside(), set_aside);
        ASSERT_LE(queue_.set_aside(), pool_->free_pages());  // everybody can still take what was promised
        ASSERT_EQ(queue_.active(), static_cast<std::int64_t>(active_.size()));
    }

    void end() {
        for (int i = 0; i < 100000 && !(active_.empty() && queue_.waiting() == 0); ++i) {
            admit();
            step();
        }
        EXPECT_EQ(queue_.waiting(), 0);
        EXPECT_EQ(pool_->free_pages(), pool_->pages());
        EXPECT_GT(finished_, 500);
        EXPECT_GT(failed_, 100);
        EXPECT_GT(found_, 200);
    }

private:
    struct Sequence {
        SequenceId id = 0;
        std::int64_t tokens = 0;  // in all
        std::vector<std::int32_t> prompt;
        std::unique_ptr<PagedStrategy> strategy;
    };

    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

    void submit() {
        Sequence sequence;
        sequence.id = next_id_++;
        for (int i = 1 + below(20); i > 0; --i) sequence.prompt.push_back(below(12) == 0 ? 1 : 0);
        sequence.tokens = static_cast<std::int64_t>(sequence.prompt.size()) + below(40);
        const bool fits = queue_.units_of(sequence.tokens) <= pool_->pages();
        ASSERT_EQ(queue_.submit(sequence.id, sequence.tokens).ok(), fits);
        if (fits) waiting_.push_back(std::move(sequence));
    }

    void admit() {
        const auto find = [this](SequenceId id) {
            BatchAdmission::Found stored;
            const auto& prompt = waiting(id)->prompt;
            for (const auto& found : pool_->find(std::span(prompt).first(prompt.size() - 1))) {
                ++stored.units;
                stored.free += pool_->owners(found.page) == 0 ? 1 : 0;
            }
            return stored;
        };
        while (const auto id = queue_.next(pool_->free_pages(), find)) {
            const auto started = waiting(*id);
            started->strategy = std::make_unique<PagedStrategy>(pool_, options_);
            found_ += started->strategy->take_prefix(started->prompt) > 0 ? 1 : 0;
            queue_.has_taken(*id, static_cast<std::int64_t>(started->strategy->table().size()));
            active_.push_back(std::move(*started));
            waiting_.erase(started);
        }
    }

    // All plan, and hold what they planned, before any commits; now and then the pass fails.
    void step() {
        std::vector<CachePlan> plans;
        std::vector<std::vector<std::int32_t>> fed;
        const auto before = pool_->free_list();
        for (const auto& sequence : active_) {
            const std::int64_t seen = sequence.strategy->tokens_seen();
            const std::int64_t count = std::min<std::int64_t>(sequence.tokens - seen, 1 + below(9));
            std::vector<std::int32_t> tokens;
            for (std::int64_t i = seen; i < seen + count; ++i)
                tokens.push_back(i < static_cast<std::int64_t>(sequence.prompt.size())
                                     ? sequence.prompt[static_cast<std::size_t>(i)]
                                     : static_cast<std::int32_t>(sequence.id));
            auto plan = sequence.strategy->plan(count);
            ASSERT_TRUE(plan.ok()) << "what has started never waits for room: " << plan.error().text();
            sequence.strategy->begin_write(*plan);
            sequence.strategy->hold(*plan);
            plans.push_back(std::move(*plan));
            fed.push_back(std::move(tokens));
        }
        if (below(5) == 0) {
            for (std::size_t i = active_.size(); i-- > 0;) active_[i].strategy->release();
            ASSERT_EQ(pool_->free_list(), before);
            failed_ += 1;
            return;
        }
        for (std::size_t i = 0; i < active_.size(); ++i) {
            active_[i].strategy->commit(plans[i]);
            active_[i].strategy->name_tokens(fed[i]);
            queue_.has_taken(active_[i].id, static_cast<std::int64_t>(active_[i].strategy->table().size()));
        }
        for (std::size_t i = active_.size(); i-- > 0;) {
            if (active_[i].strategy->tokens_seen() < active_[i].tokens) continue;
            leave(static_cast<int>(i));
            ++finished_;
        }
    }

    void leave(int index) {
        queue_.leave(active_[static_cast<std::size_t>(index)].id);
        active_.erase(active_.begin() + index);
    }

    std::vector<Sequence>::iterator waiting(SequenceId id) {
        return std::find_if(waiting_.begin(), waiting_.end(), [id](const Sequence& s) { return s.id == id; });
    }

    std::mt19937 random_;
    PagedStrategy::Options options_;
    std::shared_ptr<PagePool> pool_ = std::make_shared<PagePool>(24, 4);
    BatchAdmission queue_{{24, 4, 6}};
    std::vector<Sequence> waiting_, active_;
    SequenceId next_id_ = 0;
    std::int64_t finished_ = 0, failed_ = 0, found_ = 0;
};

TEST(BatchAdmission, PG04_PG10_TenThousandRandomOperations) {
    Numbers numbers(7);
    for (int i = 0; i < 10000; ++i) {
        SCOPED_TRACE(i);
        numbers.operate();
        if (testing::Test::HasFatalFailure()) return;
        numbers.expect_consistent();
        if (testing::Test::HasFatalFailure()) return;
    }
    numbers.end();
}

}  // namespace
}  // namespace decodescope
