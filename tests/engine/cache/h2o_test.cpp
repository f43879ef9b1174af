// Eviction by score without a model: the attention is made up, a list beside the strategy says what must be kept.
#include "engine/cache/strategies/h2o.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "engine/cache/layer_groups.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

// Made-up attention of the row at `position` to a token, the same whenever it is asked for.
float weight(std::int32_t row, std::int32_t position, unsigned seed) {
    std::mt19937 random(seed + static_cast<unsigned>(row) * 7919u + static_cast<unsigned>(position) * 104729u);
    random.discard(3);
    return static_cast<float>(random() % 1000) / 1000.0f;
}

// What must be kept after each row, written a second time: positions and sums in a map.
struct Expected {
    std::int64_t budget, recent;
    unsigned seed;
    std::map<std::int32_t, double> scores;
    std::int32_t seen = 0;
    std::vector<std::int32_t> left;

    void row() {
        scores[seen] = 0;
        for (auto& [position, score] : scores) score += static_cast<double>(weight(seen, position, seed));
        ++seen;
        if (static_cast<std::int64_t>(scores.size()) <= budget) return;
        std::int32_t worst = -1;
        for (const auto& [position, score] : scores)
            if (position < seen - recent && (worst < 0 || score < scores.at(worst) - 1e-6)) worst = position;
        scores.erase(worst);
        left.push_back(worst);
    }
};

std::vector<float> sums_of(const CachePlan& plan, unsigned seed) {
    std::vector<float> sums;
    for (const RowVisibility& row : plan.visibility)
        for (std::int32_t e = 0; e < plan.entries.count; ++e) {
            const std::int32_t position = plan.entries.position(e);
            sums.push_back(visible(row, position) ? weight(row.position, position, seed) : 0.0f);
        }
    return sums;
}

// Positions by slot, as the storage would hold them; `budget` slots and the staged ones.
struct FakeSlots {
    std::vector<std::int32_t> slots;

    void store(const CachePlan& plan) {
        slots.resize(static_cast<std::size_t>(plan.capacity_after + plan.staged_rows), -1);
        for (std::size_t r = 0; r < plan.store_slots.size(); ++r)
            slots.at(static_cast<std::size_t>(plan.store_slots[r])) =
                plan.first_position + static_cast<std::int32_t>(r);
        for (std::int32_t e = 0; e < plan.entries.count; ++e)  // what the pass reads
            ASSERT_EQ(slots.at(static_cast<std::size_t>(plan.entries.slot(e))), plan.entries.position(e));
    }
    void settle(const CachePlan& plan) {
        for (const SlotMove& move : plan.settled)
            slots.at(static_cast<std::size_t>(move.to)) = slots.at(static_cast<std::size_t>(move.from));
        slots.resize(static_cast<std::size_t>(plan.capacity_after));
    }
};

struct Actor {
    H2oStrategy strategy;
    FakeSlots slots;
    Expected expected;

    Actor(std::int64_t budget, std::int64_t recent, unsigned seed)
        : strategy(budget, recent), expected{budget, recent, seed, {}, 0, {}} {}

    void feed(std::int64_t tokens) {
        while (tokens > 0) {
            const std::int64_t rows = std::min(tokens, strategy.most_new_tokens());
            auto plan = strategy.plan(rows);
            ASSERT_TRUE(plan.ok()) << plan.error().text();
            slots.store(*plan);
            strategy.observe(sums_of(*plan, expected.seed), *plan);
            slots.settle(*plan);
            strategy.commit(*plan);
            for (std::int64_t r = 0; r < rows; ++r) expected.row();
            ASSERT_EQ(plan->evicted.size(), plan->evicted_scores.size());
            if (!plan->evicted.empty()) {
                ASSERT_EQ(plan->evicted.back(), expected.left.back());
            }
            tokens -= rows;
        }
    }

    void check() const {
        ASSERT_EQ(strategy.tokens_seen(), expected.seen);
        ASSERT_EQ(strategy.tokens_stored(), static_cast<std::int64_t>(expected.scores.size()));
        const EntryList entries = strategy.entries();
        ASSERT_EQ(entries.count, strategy.tokens_stored());
        std::set<std::int64_t> taken;
        std::int32_t e = 0;
        for (const auto& [position, score] : expected.scores) {
            ASSERT_EQ(entries.position(e), position);  // in the order of the text
            ASSERT_TRUE(taken.insert(entries.slot(e)).second);
            ASSERT_LT(entries.slot(e), strategy.capacity());
            ASSERT_EQ(slots.slots.at(static_cast<std::size_t>(entries.slot(e))), position);
            ASSERT_EQ(strategy.slot_of(position), entries.slot(e));
            ASSERT_NEAR(*strategy.score_of(position), score, 1e-6);
            ++e;
        }
        for (std::int32_t position = 0; position < expected.seen; ++position) {
            ASSERT_EQ(strategy.slot_of(position).has_value(), expected.scores.count(position) != 0);
            ASSERT_TRUE(position < expected.seen - expected.recent || strategy.slot_of(position).has_value());
        }
    }
};

TEST(H2o, SW06_TheLeastAttendedOutsideTheRecentOnesLeaves) {
    for (const auto& [budget, recent] : {std::pair{2, 1}, {5, 1}, {5, 4}, {9, 4}, {16, 3}}) {
        SCOPED_TRACE(testing::Message() << budget << ' ' << recent);
        Actor run(budget, recent, 17);
        for (int i = 0; i < 60; ++i) {
            ASSERT_NO_FATAL_FAILURE(run.feed(1));
            ASSERT_NO_FATAL_FAILURE(run.check());
        }
        EXPECT_EQ(run.expected.left.size(), static_cast<std::size_t>(60 - budget));
    }
}

TEST(H2o, TheSameWhateverTheChunks) {
    Actor alone(7, 3, 5);
    ASSERT_NO_FATAL_FAILURE(alone.feed(1));
    for (int i = 1; i < 40; ++i) ASSERT_NO_FATAL_FAILURE(alone.feed(1));
    for (const std::int64_t chunk : {2, 3, 5, 16, 40}) {
        Actor run(7, 3, 5);
        for (std::int64_t fed = 0; fed < 40; fed += chunk)
            ASSERT_NO_FATAL_FAILURE(run.feed(std::min<std::int64_t>(chunk, 40 - fed)));
        ASSERT_NO_FATAL_FAILURE(run.check());
        EXPECT_EQ(run.expected.left, alone.expected.left);
        for (std::int32_t position = 0; position < 40; ++position)  // to the bit: scores are whole numbers
            EXPECT_EQ(run.strategy.score_of(position), alone.strategy.score_of(position));
    }
}

// Of equal scores the oldest leaves.
TEST(H2o, TiesGoToTheOldest) {
    H2oStrategy strategy(4, 1);
    const auto feed = [&](const std::vector<float>& sums) {
        auto plan = strategy.plan(1);
        ASSERT_TRUE(plan.ok());
        strategy.observe(sums, *plan);
        strategy.commit(*plan);
    };
    for (int row = 0; row < 4; ++row) feed(std::vector<float>(static_cast<std::size_t>(row) + 1, row < 3 ? 0.0f : 0.5f));
    feed({0, 0, 0, 0, 1});  // positions 0 to 3 have 0.5 each, and 4 is recent
    EXPECT_FALSE(strategy.slot_of(0).has_value());
    EXPECT_TRUE(strategy.slot_of(1).has_value());
    feed({0, 0, 0.25f, 0, 1});
    EXPECT_FALSE(strategy.slot_of(1).has_value());
    EXPECT_EQ(strategy.score_of(3), 0.75);
}

TEST(H2o, SW09_RefusedAtConfiguration) {
    const auto make = [](const char* text) { return make_strategy(*parse_cache_spec(text), {64, 0}); };
    for (const char* text : {"h2o:budget=8,recent=8", "h2o:budget=8,recent=9", "h2o:budget=16"}) {  // whatever the model
        const auto spec = parse_cache_spec(text);
        ASSERT_FALSE(spec.ok()) << text;
        EXPECT_EQ(spec.error().kind, ErrorKind::Argument);
        EXPECT_THAT(spec.error().message, HasSubstr("recent tokens leave no room"));
        EXPECT_THAT(spec.error().hint, HasSubstr("Choose recent from 1 to "));
    }
    const auto large = make("h2o:budget=65,recent=2");
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().kind, ErrorKind::Argument);
    EXPECT_THAT(large.error().message, HasSubstr("65"));
    for (const char* text : {"h2o", "h2o:budget=64,recent=63", "h2o:budget=2,recent=1"}) EXPECT_TRUE(make(text).ok());
    for (const char* text : {"h2o:budget=1", "h2o:recent=0", "h2o:budget=-3"}) EXPECT_FALSE(parse_cache_spec(text).ok());
}

TEST(H2o, RowsBeyondTheBudgetAreFedOneByOne) {
    Actor run(6, 2, 3);
    EXPECT_EQ(run.strategy.most_new_tokens(), 6);
    EXPECT_FALSE(run.strategy.plan(7).ok());
    ASSERT_NO_FATAL_FAILURE(run.feed(4));
    EXPECT_EQ(run.strategy.most_new_tokens(), 2);
    ASSERT_NO_FATAL_FAILURE(run.feed(2));
    EXPECT_EQ(run.strategy.most_new_tokens(), 1);
    const auto refused = run.strategy.plan(2);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("6 of 6"));
    EXPECT_FALSE(run.strategy.plan(0).ok());
}

// SW-10: exact while nothing has left, refused afterwards with what can be kept.
TEST(H2o, SW10_TruncateTakesScoresBackOrRefuses) {
    for (std::int32_t kept = 0; kept <= 9; ++kept) {
        Actor run(10, 3, 11), fresh(10, 3, 11);
        ASSERT_NO_FATAL_FAILURE(run.feed(9));
        ASSERT_TRUE(run.strategy.truncate(kept).ok());
        ASSERT_NO_FATAL_FAILURE(fresh.feed(kept));
        for (std::int32_t position = 0; position < 9; ++position)
            ASSERT_EQ(run.strategy.score_of(position), fresh.strategy.score_of(position)) << kept;
        run.expected = fresh.expected;
        ASSERT_NO_FATAL_FAILURE(run.feed(20));
        ASSERT_NO_FATAL_FAILURE(run.check());
        ASSERT_NO_FATAL_FAILURE(fresh.feed(20));
        EXPECT_EQ(run.expected.left, fresh.expected.left);
    }
    Actor run(10, 3, 11);
    ASSERT_NO_FATAL_FAILURE(run.feed(12));
    for (const std::int64_t tokens : {1, 9, 11}) {
        const Status refused = run.strategy.truncate(tokens);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
        EXPECT_THAT(refused.error().message, HasSubstr("evicted"));
        EXPECT_THAT(refused.error().hint, HasSubstr("All 12 tokens can be kept, or none"));
        ASSERT_NO_FATAL_FAILURE(run.check());
    }
    EXPECT_TRUE(run.strategy.truncate(12).ok());
    EXPECT_EQ(run.strategy.truncate(13).error().kind, ErrorKind::Argument);
    EXPECT_EQ(run.strategy.truncate(-1).error().kind, ErrorKind::Argument);
    ASSERT_TRUE(run.strategy.truncate(0).ok());
    EXPECT_EQ(run.strategy.tokens_stored(), 0);
}

// What a row added is remembered up to a bound; what lies beyond it cannot be taken back, and is said.
TEST(H2o, SW10_RowsThatCanBeTakenBackAreBounded) {
    H2oStrategy strategy(2000, 10);
    auto plan = strategy.plan(1500);
    ASSERT_TRUE(plan.ok());
    strategy.observe(std::vector<float>(1500u * 1500u, 0.001f), *plan);
    strategy.commit(*plan);
    const Status refused = strategy.truncate(1000);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().hint, HasSubstr("to 1500 tokens can be kept, or none"));
    const double before = *strategy.score_of(0);
    ASSERT_TRUE(strategy.truncate(1450).ok());
    EXPECT_NEAR(*strategy.score_of(0), before - 50 * 0.001, 1e-5);
}

// A plan, an observation and a clone change nothing; a clone goes its own way with the scores it was given.
TEST(H2o, CC07_OnlyCommitChangesAnything) {
    Actor run(5, 2, 8);
    ASSERT_NO_FATAL_FAILURE(run.feed(9));
    auto plan = run.strategy.plan(1);
    ASSERT_TRUE(plan.ok());
    run.strategy.observe(sums_of(*plan, 99), *plan);
    ASSERT_NO_FATAL_FAILURE(run.check());
    const auto copy = run.strategy.clone();
    copy->commit(*plan);
    ASSERT_NO_FATAL_FAILURE(run.check());
    EXPECT_EQ(copy->tokens_seen(), 10);
    ASSERT_NO_FATAL_FAILURE(run.feed(10));
    ASSERT_NO_FATAL_FAILURE(run.check());
    run.strategy.reset();
    EXPECT_EQ(run.strategy.tokens_seen(), 0);
    EXPECT_EQ(run.strategy.capacity(), 5);
    run.expected = Expected{5, 2, 8, {}, 0, {}};
    ASSERT_NO_FATAL_FAILURE(run.feed(12));
    ASSERT_NO_FATAL_FAILURE(run.check());
}

TEST(H2o, TenThousandRandomOperations) {
    std::mt19937 random(4);
    std::vector<Actor> runs(1, Actor(12, 4, 21));
    for (int i = 0; i < 10000; ++i) {
        Actor& run = runs[random() % runs.size()];
        const unsigned what = random() % 16;
        if (what < 12) {
            ASSERT_NO_FATAL_FAILURE(run.feed(1 + random() % 3));
        } else if (what == 12 && runs.size() < 3) {
            runs.push_back(Actor(run));
            continue;  // `run` may have moved
        } else if (what == 13 && runs.size() > 1) {
            runs.erase(runs.begin());
            continue;
        } else if (what == 14) {
            const bool all = run.expected.left.empty();
            const std::int32_t kept = run.expected.seen - static_cast<std::int32_t>(random() % 4);
            ASSERT_EQ(run.strategy.truncate(kept).ok(), kept >= 0 && (all || kept == 0 || kept == run.expected.seen));
            if (all && kept >= 0) {
                Actor again(12, 4, 21);
                ASSERT_NO_FATAL_FAILURE(again.feed(kept));
                run.expected = again.expected;
            }
        } else if (what == 15) {
            run.strategy.reset();
            run.expected = Expected{12, 4, 21, {}, 0, {}};
        }
        ASSERT_NO_FATAL_FAILURE(run.check()) << i;
    }
}

TEST(H2o, TheDescriptorSaysWhatItIs) {
    const StrategyDescriptor* descriptor = find_strategy("h2o");
    ASSERT_NE(descriptor, nullptr);
    EXPECT_TRUE(descriptor->lossy);
    EXPECT_TRUE(descriptor->per_layer);
    EXPECT_EQ(to_string(*parse_cache_spec("h2o:budget=9,recent=2")), "h2o:budget=9,recent=2");
}

// ---- groups of layers

LayerGroups groups_of(const char* text, int layers) {
    auto groups = make_layer_groups(*parse_cache_spec(text), {128, 0}, layers);
    DS_CHECK(groups.ok());
    return std::move(*groups);
}

TEST(LayerGroups, OneForAllLayersOrOneForEach) {
    const LayerGroups one = groups_of("ring:window=4", 3), each = groups_of("h2o:budget=4,recent=2", 3);
    EXPECT_EQ(one.count(), 1);
    EXPECT_EQ(one.layers_of(0), 3);
    EXPECT_EQ(one.index_in_group(2), 2);
    EXPECT_EQ(each.count(), 3);
    EXPECT_EQ(each.group_of(2), 2);
    EXPECT_EQ(each.index_in_group(2), 0);
    EXPECT_TRUE(each.wants_weight_sums());
    EXPECT_FALSE(one.wants_weight_sums());
}

LayerGroups local_and_global() {
    std::vector<std::unique_ptr<CacheStrategy>> groups;
    groups.push_back(make_strategy(*parse_cache_spec("ring:window=4"), {128, 0}).value());
    groups.push_back(make_strategy(*parse_cache_spec("preallocated:capacity=10"), {128, 0}).value());
    return {std::move(groups), {0, 1, 0, 0, 1}};
}

// What one group refuses, no group does.
TEST(LayerGroups, AllOrNone) {
    LayerGroups groups = local_and_global();
    EXPECT_EQ(groups.index_in_group(3), 2);
    EXPECT_EQ(groups.layers_of(0), 3);
    for (int i = 0; i < 9; ++i) {
        auto plans = groups.plan(1);
        ASSERT_TRUE(plans.ok());
        groups.commit(*plans);
    }
    EXPECT_FALSE(groups.plan(2).ok());  // the second has room for one more
    EXPECT_EQ(groups.tokens_stored(), 9);
    const Status refused = groups.truncate(6);  // the ring cannot; the other could
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(groups.group(1).tokens_seen(), 9);
    EXPECT_EQ(groups.group(0).tokens_seen(), 9);
    ASSERT_TRUE(groups.truncate(8).ok());
    EXPECT_EQ(groups.group(0).tokens_seen(), 8);
    EXPECT_EQ(groups.group(1).tokens_seen(), 8);
    LayerGroups copy = groups.clone();
    groups.reset();
    EXPECT_EQ(groups.group(1).tokens_seen(), 0);
    EXPECT_EQ(copy.group(1).tokens_seen(), 8);
    EXPECT_EQ(copy.group_of(4), 1);
}

}  // namespace
}  // namespace decodescope
