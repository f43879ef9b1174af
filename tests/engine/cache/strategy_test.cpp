// Bookkeeping without tensors: counters, plans, and 10,000 random operations with a model of the storage beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "engine/cache/cache_strategy.h"

namespace decodescope {
namespace {

std::unique_ptr<CacheStrategy> make(const std::string& text, const RunLimits& limits = {128, 0}) {
    auto spec = parse_cache_spec(text);
    DS_CHECK(spec.ok());
    auto strategy = make_strategy(*spec, limits);
    DS_CHECK(strategy.ok());
    return std::move(*strategy);
}

std::vector<std::string> specs() {
    return {"recompute", "growing", "preallocated:capacity=40", "preallocated:capacity=40,slab=true"};
}

void feed(CacheStrategy& strategy, std::int64_t tokens) {
    auto plan = strategy.plan(tokens);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    strategy.commit(*plan);
}

// What the storage would hold: position of the row in each slot, -1 = never written.
struct FakeStorage {
    std::vector<std::int32_t> slot_position;

    void apply(const CachePlan& plan) {
        if (static_cast<std::int64_t>(slot_position.size()) != plan.capacity_after) {
            std::vector<std::int32_t> next(static_cast<std::size_t>(plan.capacity_after), -1);
            for (const auto& move : plan.moves) {
                for (std::int64_t i = 0; i < move.count; ++i) {
                    next.at(static_cast<std::size_t>(move.to + i)) =
                        slot_position.at(static_cast<std::size_t>(move.from + i));
                }
            }
            slot_position = std::move(next);
        }
        for (std::size_t r = 0; r < plan.store_slots.size(); ++r) {
            slot_position.at(static_cast<std::size_t>(plan.store_slots[r])) =
                plan.first_position + static_cast<std::int32_t>(r);
        }
    }
};

// Section 9: no slot holds two entries, a slot holds its own position's row, used <= reserved, every position is found.
void expect_consistent(const CacheStrategy& strategy, const FakeStorage& storage, std::int64_t seen) {
    ASSERT_EQ(strategy.tokens_seen(), seen);
    ASSERT_LE(strategy.tokens_stored(), strategy.tokens_seen());
    ASSERT_LE(strategy.tokens_stored(), strategy.capacity());
    const EntryList entries = strategy.entries();
    ASSERT_EQ(entries.count, strategy.tokens_stored());
    std::set<std::int64_t> taken;
    for (std::int32_t e = 0; e < entries.count; ++e) {
        const std::int64_t slot = entries.slot(e);
        ASSERT_TRUE(taken.insert(slot).second) << "slot " << slot << " twice";
        ASSERT_LT(slot, static_cast<std::int64_t>(storage.slot_position.size()));
        ASSERT_EQ(storage.slot_position[static_cast<std::size_t>(slot)], entries.position(e));
        ASSERT_EQ(strategy.slot_of(entries.position(e)), slot);
    }
    ASSERT_FALSE(strategy.slot_of(static_cast<std::int32_t>(seen)).has_value());
    ASSERT_FALSE(strategy.slot_of(-1).has_value());
}

void expect_plan_consistent(const CachePlan& plan, std::int64_t new_tokens, bool has_cache) {
    const auto rows = static_cast<std::size_t>(new_tokens);
    ASSERT_EQ(plan.visibility.size(), rows);
    ASSERT_EQ(plan.row_entries.size(), rows);
    ASSERT_EQ(plan.store_slots.size(), has_cache ? rows : 0u);
    for (std::size_t r = 0; r < rows; ++r) {
        ASSERT_EQ(plan.visibility[r].position, plan.first_position + static_cast<std::int32_t>(r));
        // CC-19: the mask and the table count the same entries.
        std::int32_t seen = 0;
        for (std::int32_t e = 0; e < plan.entries.count; ++e)
            seen += visible(plan.visibility[r], plan.entries.position(e)) ? 1 : 0;
        ASSERT_EQ(seen, plan.row_entries[r]);
    }
}

struct Actor {
    std::unique_ptr<CacheStrategy> strategy;
    FakeStorage storage;
    std::int64_t seen = 0;
};

void random_operation(const std::string& spec, std::vector<Actor>& actors, std::mt19937& random) {
    const bool has_cache = find_strategy(spec.substr(0, spec.find(':')))->has_cache;
    Actor& actor = actors[random() % actors.size()];
    const unsigned what = random() % 20;
    if (what < 12) {
        const std::int64_t tokens = 1 + static_cast<std::int64_t>(random() % 6);
        auto plan = actor.strategy->plan(tokens);
        const bool fits = spec.find("capacity=40") == std::string::npos || actor.seen + tokens <= 40;
        ASSERT_EQ(plan.ok(), fits);
        if (!fits) {
            ASSERT_EQ(plan.error().kind, ErrorKind::Capacity);
            return;
        }
        expect_plan_consistent(*plan, tokens, has_cache);
        if (what == 0) return;  // a pass that was cancelled: planned, never committed
        actor.storage.apply(*plan);
        if (what == 1) return;  // one that was cancelled after storage had changed
        actor.strategy->commit(*plan);
        actor.seen += tokens;
    } else if (what < 16) {
        const std::int64_t kept = static_cast<std::int64_t>(random() % static_cast<unsigned>(actor.seen + 3)) - 1;
        const bool valid = kept >= 0 && kept <= actor.seen;
        ASSERT_EQ(actor.strategy->truncate(kept).ok(), valid);
        if (valid) actor.seen = kept;
    } else if (what < 18 && actors.size() < 4) {
        Actor copy{actor.strategy->clone(), actor.storage, actor.seen};
        actors.push_back(std::move(copy));
    } else if (what == 18 && actors.size() > 1) {
        actors.erase(actors.begin() + static_cast<std::ptrdiff_t>(random() % actors.size()));
    } else if (what == 19 && random() % 4 == 0) {
        actor.strategy->reset();
        actor.storage.slot_position.assign(static_cast<std::size_t>(actor.strategy->capacity()), -1);
        actor.seen = 0;
        const auto fresh = make(spec);
        ASSERT_EQ(actor.strategy->capacity(), fresh->capacity());
        ASSERT_EQ(actor.strategy->tokens_stored(), 0);
    }
}

TEST(Strategy, TenThousandRandomOperations) {
    for (const auto& spec : specs()) {
        SCOPED_TRACE(spec);
        std::mt19937 random(42);
        std::vector<Actor> actors(1);
        actors[0].strategy = make(spec);
        for (int i = 0; i < 10000; ++i) {
            SCOPED_TRACE(i);
            random_operation(spec, actors, random);
            if (testing::Test::HasFatalFailure()) return;
            for (const auto& actor : actors) expect_consistent(*actor.strategy, actor.storage, actor.seen);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

// CC-19: 1000 random pairs of past and new.
TEST(Strategy, CC19_MaskAndTableCountTheSame) {
    std::mt19937 random(7);
    for (const auto& spec : specs()) {
        const bool has_cache = spec != "recompute";
        for (int i = 0; i < 1000; ++i) {
            const auto strategy = make(spec);
            const std::int64_t past = random() % 20, fresh = 1 + random() % 20;
            if (past > 0) feed(*strategy, past);
            auto plan = strategy->plan(fresh);
            ASSERT_TRUE(plan.ok());
            expect_plan_consistent(*plan, fresh, has_cache);
            ASSERT_EQ(plan->entries.count, past + fresh);
        }
    }
}

TEST(Strategy, PlanChangesNothing) {
    for (const auto& spec : specs()) {
        const auto strategy = make(spec);
        feed(*strategy, 5);
        const auto capacity = strategy->capacity();
        for (int i = 0; i < 3; ++i) {
            auto plan = strategy->plan(3);
            ASSERT_TRUE(plan.ok());
            EXPECT_EQ(plan->first_position, 5);
        }
        EXPECT_EQ(strategy->tokens_seen(), 5);
        EXPECT_EQ(strategy->capacity(), capacity);
    }
}

TEST(StrategyDeathTest, APlanOfAnotherStateIsRefused) {
    const auto strategy = make("growing");
    auto plan = strategy->plan(1);
    ASSERT_TRUE(plan.ok());
    feed(*strategy, 1);
    EXPECT_DEATH(strategy->commit(*plan), "revision");
}

// CC-04: two readings.
TEST(Strategy, CC04_SeenAndStoredAreCountedApart) {
    for (const auto& spec : specs()) {
        const auto strategy = make(spec);
        feed(*strategy, 7);
        feed(*strategy, 1);
        EXPECT_EQ(strategy->tokens_seen(), 8) << spec;
        EXPECT_EQ(strategy->tokens_stored(), spec == "recompute" ? 0 : 8) << spec;
        auto plan = strategy->plan(1);
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ(plan->first_position, 8) << spec;  // also where nothing is stored
    }
}

TEST(Strategy, CC06_Truncate) {
    for (const auto& spec : specs()) {
        const auto strategy = make(spec);
        feed(*strategy, 3);
        for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{5}, std::int64_t{-1}, std::int64_t{-5}}) {
            const Status status = strategy->truncate(bad);
            ASSERT_FALSE(status.ok());
            EXPECT_EQ(status.error().kind, ErrorKind::Argument);
            EXPECT_THAT(status.error().message, testing::HasSubstr(std::to_string(bad)));
            EXPECT_THAT(status.error().message, testing::HasSubstr("3"));
            EXPECT_EQ(strategy->tokens_seen(), 3);
        }
        for (const std::int64_t kept : {3, 2, 0}) {
            ASSERT_TRUE(strategy->truncate(kept).ok());
            EXPECT_EQ(strategy->tokens_seen(), kept);
            EXPECT_EQ(strategy->tokens_stored(), spec == "recompute" ? 0 : kept);
        }
    }
}

TEST(Strategy, NoTokensIsNoStep) {
    for (const auto& spec : specs()) {
        for (const std::int64_t bad : {0, -1}) {
            auto plan = make(spec)->plan(bad);
            ASSERT_FALSE(plan.ok());
            EXPECT_EQ(plan.error().kind, ErrorKind::Argument);
        }
        auto plan = make(spec)->plan(std::int64_t{1} << 31);
        ASSERT_FALSE(plan.ok());
        EXPECT_EQ(plan.error().kind, ErrorKind::Capacity);
    }
}

TEST(Strategy, GrowingHasExactlyWhatIsStored) {
    const auto strategy = make("growing");
    EXPECT_EQ(strategy->capacity(), 0);
    std::int64_t copied = 0;
    for (std::int64_t n = 0; n < 50; ++n) {
        auto plan = strategy->plan(1);
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ(plan->capacity_before, n);
        EXPECT_EQ(plan->capacity_after, n + 1);
        for (const auto& move : plan->moves) copied += move.count;
        strategy->commit(*plan);
    }
    EXPECT_EQ(copied, 50 * 49 / 2);
}

TEST(Strategy, PreallocatedCapacity) {
    EXPECT_EQ(make("preallocated", {128, 0})->capacity(), 128);
    EXPECT_EQ(make("preallocated", {128, 30})->capacity(), 30);
    EXPECT_EQ(make("preallocated", {128, 500})->capacity(), 128);
    EXPECT_EQ(make("preallocated:capacity=17", {128, 500})->capacity(), 17);
    EXPECT_FALSE(make("preallocated")->one_slab());
    EXPECT_TRUE(make("preallocated:slab=true")->one_slab());
    const auto strategy = make("preallocated:capacity=8");
    feed(*strategy, 6);
    auto plan = strategy->plan(3);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().kind, ErrorKind::Capacity);
    EXPECT_THAT(plan.error().message, testing::HasSubstr("9"));
    EXPECT_THAT(plan.error().message, testing::HasSubstr("8"));
    EXPECT_EQ(strategy->tokens_seen(), 6);
    feed(*strategy, 2);
    EXPECT_EQ(strategy->tokens_stored(), 8);
}

TEST(Strategy, EntryListThroughPages) {
    EntryList list;
    list.count = 6;
    list.log2_page = 1;
    list.pages = {4, 0, 2};
    list.positions = {0, 1, 7, 8, 9, 10};
    std::vector<std::int64_t> found;
    for (std::int32_t e = 0; e < list.count; ++e) found.push_back(list.slot(e));
    EXPECT_THAT(found, testing::ElementsAre(8, 9, 0, 1, 4, 5));
    EXPECT_EQ(list.position(2), 7);
    EXPECT_EQ(list.table().count, 6);
}

}  // namespace
}  // namespace decodescope
