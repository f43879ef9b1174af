// Ring and sinks without tensors: slots, masks, what leaves, what a truncation may keep; random operations beside a
// model that only knows positions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/cache/cache_strategy.h"

namespace decodescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<std::unique_ptr<CacheStrategy>> try_make(const std::string& text, const RunLimits& limits = {128, 0}) {
    auto spec = parse_cache_spec(text);
    if (!spec.ok()) return spec.error();
    return make_strategy(*spec, limits);
}

std::unique_ptr<CacheStrategy> make(const std::string& text) {
    auto strategy = try_make(text);
    DS_CHECK(strategy.ok());
    return std::move(*strategy);
}

CachePlan feed(CacheStrategy& strategy, std::int64_t tokens) {
    auto plan = strategy.plan(tokens);
    DS_CHECK(plan.ok());
    strategy.commit(*plan);
    return *plan;
}

std::set<std::int32_t> kept(const CacheStrategy& strategy) {
    const EntryList entries = strategy.entries();
    std::set<std::int32_t> positions;
    for (std::int32_t e = 0; e < entries.count; ++e) positions.insert(entries.position(e));
    return positions;
}

std::set<std::int32_t> range(std::int32_t first, std::int32_t end) {
    std::set<std::int32_t> positions;
    for (std::int32_t p = first; p < end; ++p) positions.insert(p);
    return positions;
}

struct Shape {
    std::string spec;
    std::int64_t sinks, window;

    std::set<std::int32_t> seen_by(std::int64_t row) const {
        std::set<std::int32_t> positions;
        for (std::int64_t p = 0; p <= row; ++p)
            if (p < sinks || row - p < window) positions.insert(static_cast<std::int32_t>(p));
        return positions;
    }
};

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> list = {
        {"ring:window=8", 0, 8},
        {"ring:window=1", 0, 1},
        {"sinks:sinks=4,window=8", 4, 8},
        {"sinks:sinks=3,window=5,positions=rebased", 3, 5},
        {"sinks:sinks=2,window=1", 2, 1},
        {"sinks:sinks=0,window=6", 0, 6},
    };
    return list;
}

// SW-06, to the letter.
TEST(Windowed, SW06_SlotsOfSinksAndWindow) {
    const auto strategy = make("sinks:sinks=4,window=8");
    for (std::int32_t t = 0; t < 21; ++t) {
        feed(*strategy, 1);
        ASSERT_EQ(strategy->slot_of(t), t < 4 ? t : 4 + (t - 4) % 8) << t;
        const std::map<std::int32_t, std::int64_t> golden = {{4, 4}, {11, 11}, {12, 4}, {19, 11}, {20, 4}};
        if (golden.count(t) > 0) {
            EXPECT_EQ(strategy->slot_of(t), golden.at(t));
        }
    }
    std::set<std::int32_t> expected = range(0, 4);
    expected.merge(range(13, 21));
    EXPECT_EQ(kept(*strategy), expected);
    EXPECT_EQ(strategy->tokens_stored(), 12);
    EXPECT_EQ(strategy->capacity(), 12);
}

// CC-04 and SW-05: the position comes from the tokens seen, and rebased sinks are read from the index in the cache.
TEST(Windowed, CC04_SeenStoredAndTheNextPosition) {
    for (const bool rebased : {false, true}) {
        const auto strategy =
            make(fmt::format("sinks:sinks=4,window=8,positions={}", rebased ? "rebased" : "absolute"));
        feed(*strategy, 21);
        EXPECT_EQ(strategy->tokens_seen(), 21);
        EXPECT_EQ(strategy->tokens_stored(), 12);
        EXPECT_EQ(strategy->bounded_by_context(), !rebased);
        auto plan = strategy->plan(1);
        ASSERT_TRUE(plan.ok());
        const RowVisibility& row = plan->visibility.front();
        EXPECT_EQ(plan->first_position, 21);
        EXPECT_EQ(row.position, 21);
        EXPECT_EQ(row.window_first, 14);
        EXPECT_EQ(row.sink_end, 4);
        EXPECT_EQ(row.position - row.sink_shift, rebased ? 11 : 21);
        EXPECT_THAT(plan->evicted, ElementsAre(13));  // the oldest that is no sink
    }
    const auto strategy = make("sinks:sinks=4,window=8,positions=rebased");
    for (std::int32_t t = 0; t < 30; ++t)
        EXPECT_EQ(feed(*strategy, 1).visibility.front().sink_shift, std::max(0, t + 1 - 12)) << t;
}

// SW-04: token i attends to max(0, i - W + 1) .. i.
TEST(Windowed, SW04_TheWindowCountsTheTokenItself) {
    const auto strategy = make("ring:window=8");
    const CachePlan plan = feed(*strategy, 20);
    for (std::int32_t i = 0; i < 20; ++i) {
        EXPECT_EQ(plan.visibility[static_cast<std::size_t>(i)].window_first, std::max(0, i - 7));
        EXPECT_EQ(plan.row_entries[static_cast<std::size_t>(i)], std::min(i + 1, 8));
    }
    EXPECT_EQ(kept(*strategy), range(12, 20));
}

// SW-09: what leaves no room, or cannot be filled, is refused when it is configured; everything else makes progress.
TEST(Windowed, SW09_RefusedAtConfiguration) {
    for (const char* text : {"ring:window=0", "ring:window=-3", "sinks:sinks=4,window=0", "sinks:sinks=-1,window=8",
                             "sinks:positions=relative", "ring:window=16777217"}) {
        auto spec = parse_cache_spec(text);
        ASSERT_FALSE(spec.ok()) << text;
        EXPECT_EQ(spec.error().kind, ErrorKind::Argument);
    }
    auto wide = try_make("sinks:sinks=4,window=125");
    ASSERT_FALSE(wide.ok());
    EXPECT_EQ(wide.error().kind, ErrorKind::Argument);
    EXPECT_THAT(wide.error().message, HasSubstr("129"));
    EXPECT_THAT(wide.error().message, HasSubstr("128"));
    EXPECT_TRUE(try_make("sinks:sinks=4,window=124").ok());
    EXPECT_FALSE(try_make("sinks:sinks=128,window=1").ok());
    EXPECT_FALSE(try_make("ring:window=129").ok());
    EXPECT_TRUE(try_make("ring:window=128").ok());
    for (const std::int64_t chunk : {1, 40}) {
        const auto strategy = make("sinks:sinks=4,window=8");
        for (std::int64_t done = 0; done < 40; done += chunk) {
            feed(*strategy, chunk);
            ASSERT_EQ(strategy->tokens_seen(), done + chunk);
        }
    }
}

// SW-11: which positions which family can have.
TEST(Windowed, SW11_LearnedPositionsCannotBeRebased) {
    struct Pair {
        const char* spec;
        bool rotary, learned;
    };
    for (const Pair& pair : {Pair{"ring:window=8", true, true}, {"sinks:sinks=4,window=8", true, true},
                             {"sinks:sinks=4,window=8,positions=absolute", true, true},
                             {"sinks:sinks=4,window=8,positions=rebased", true, false}}) {
        EXPECT_EQ(try_make(pair.spec, {128, 0, false}).ok(), pair.rotary) << pair.spec;
        auto learned = try_make(pair.spec, {128, 0, true});
        EXPECT_EQ(learned.ok(), pair.learned) << pair.spec;
        if (learned.ok()) continue;
        EXPECT_EQ(learned.error().kind, ErrorKind::Unsupported);
        EXPECT_THAT(learned.error().text(), HasSubstr("learned positions"));
    }
}

// SW-10.
TEST(Windowed, SW10_TruncateIsExactOrRefused) {
    const auto strategy = make("ring:window=8");
    feed(*strategy, 20);
    const Status refused = strategy->truncate(15);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("positions 8 to 11"));
    EXPECT_THAT(refused.error().message, HasSubstr("evicted"));
    EXPECT_THAT(refused.error().hint, HasSubstr("19 to 20 tokens can be kept, or none"));
    EXPECT_EQ(strategy->tokens_seen(), 20);
    EXPECT_EQ(kept(*strategy), range(12, 20));
    ASSERT_TRUE(strategy->truncate(20).ok());
    EXPECT_EQ(kept(*strategy), range(12, 20));
    ASSERT_TRUE(strategy->truncate(19).ok());  // row 19 reads 12 .. 18, all of which are there
    EXPECT_EQ(kept(*strategy), range(12, 19));
    EXPECT_FALSE(strategy->truncate(18).ok());
    feed(*strategy, 1);
    EXPECT_EQ(kept(*strategy), range(12, 20));
    ASSERT_TRUE(strategy->truncate(0).ok());
    EXPECT_EQ(strategy->tokens_stored(), 0);
    feed(*strategy, 3);
    EXPECT_EQ(kept(*strategy), range(0, 3));
    EXPECT_TRUE(strategy->truncate(2).ok());  // nothing has left
    for (const std::int64_t bad : {-1, 3}) EXPECT_EQ(strategy->truncate(bad).error().kind, ErrorKind::Argument);

    const auto sinks = make("sinks:sinks=4,window=8");
    feed(*sinks, 21);
    EXPECT_THAT(sinks->truncate(5).error().hint, HasSubstr("20 to 21 tokens can be kept, or up to 4"));
    ASSERT_TRUE(sinks->truncate(4).ok());
    EXPECT_EQ(kept(*sinks), range(0, 4));
}

TEST(Windowed, SingleRowsStageOneRowAndChunksAsManyAsTheyHave) {
    const auto strategy = make("ring:window=8");
    CachePlan plan = feed(*strategy, 5);
    EXPECT_EQ(plan.staged_rows, 0);
    EXPECT_EQ(plan.entries.staged_first, kNothingStaged);
    EXPECT_TRUE(plan.entries.pages.empty());  // nothing has left: the cache is read as a plain one
    plan = feed(*strategy, 3);
    EXPECT_EQ(plan.staged_rows, 0);
    EXPECT_THAT(plan.store_slots, ElementsAre(5, 6, 7));
    plan = feed(*strategy, 1);
    EXPECT_EQ(plan.staged_rows, 1);
    EXPECT_THAT(plan.evicted, ElementsAre(0));
    EXPECT_EQ(plan.entries.count, 8);  // what left is not read: exactly W rows
    plan = feed(*strategy, 20);
    EXPECT_EQ(plan.staged_rows, 20);
    EXPECT_EQ(plan.entries.count, 27);
    ASSERT_EQ(plan.settled.size(), 2u);  // positions 21 .. 28: two runs of slots
    EXPECT_EQ(plan.settled[0].from, 8 + 12);
    EXPECT_EQ(plan.settled[0].to, 5);
    EXPECT_EQ(plan.settled[0].count, 3);
    EXPECT_EQ(plan.settled[1].to, 0);
    EXPECT_EQ(plan.settled[1].count, 5);
}

// Positions in slots and in the staging buffer, as a storage would hold them; -1 = nothing.
struct Rows {
    std::vector<std::int32_t> slot, staged;

    std::int32_t& at(std::int64_t index) {
        const auto capacity = static_cast<std::int64_t>(slot.size());
        return index < capacity ? slot.at(static_cast<std::size_t>(index))
                                : staged.at(static_cast<std::size_t>(index - capacity));
    }
    void write(const CachePlan& plan) {
        staged.assign(static_cast<std::size_t>(plan.staged_rows), -1);
        for (std::size_t r = 0; r < plan.store_slots.size(); ++r)
            at(plan.store_slots[r]) = plan.first_position + static_cast<std::int32_t>(r);
    }
    void settle(const CachePlan& plan) {
        for (const auto& move : plan.settled)
            for (std::int64_t i = 0; i < move.count; ++i) at(move.to + i) = at(move.from + i);
    }
};

struct Actor {
    std::unique_ptr<CacheStrategy> strategy;
    Rows rows;
    std::int64_t seen = 0;
    std::set<std::int32_t> stored;
};

void expect_state(const Shape& shape, Actor& actor) {
    ASSERT_EQ(actor.strategy->tokens_seen(), actor.seen);
    ASSERT_EQ(actor.strategy->tokens_stored(), static_cast<std::int64_t>(actor.stored.size()));
    ASSERT_EQ(actor.strategy->capacity(), shape.sinks + shape.window);
    ASSERT_LE(actor.strategy->tokens_stored(), actor.strategy->capacity());
    ASSERT_EQ(kept(*actor.strategy), actor.stored);
    const EntryList entries = actor.strategy->entries();
    std::set<std::int64_t> taken;
    for (std::int32_t e = 0; e < entries.count; ++e) {
        ASSERT_TRUE(taken.insert(entries.slot(e)).second);
        ASSERT_LT(entries.slot(e), actor.strategy->capacity());
        ASSERT_EQ(actor.rows.at(entries.slot(e)), entries.position(e));
        ASSERT_EQ(actor.strategy->slot_of(entries.position(e)), entries.slot(e));
    }
    for (std::int32_t p = -1; p <= static_cast<std::int32_t>(actor.seen) + 1; ++p)
        ASSERT_EQ(actor.strategy->slot_of(p).has_value(), actor.stored.count(p) > 0) << p;
}

// Every row sees exactly what the definition says, and the slots hold these rows once the new ones are written.
void expect_plan(const Shape& shape, Actor& actor, const CachePlan& plan) {
    ASSERT_EQ(plan.first_position, actor.seen);
    std::set<std::int32_t> read;
    for (std::size_t r = 0; r < plan.visibility.size(); ++r) {
        std::set<std::int32_t> seen;
        for (std::int32_t e = 0; e < plan.entries.count; ++e)
            if (visible(plan.visibility[r], plan.entries.position(e))) seen.insert(plan.entries.position(e));
        ASSERT_EQ(seen, shape.seen_by(actor.seen + static_cast<std::int64_t>(r)));
        ASSERT_EQ(plan.row_entries[r], static_cast<std::int32_t>(seen.size()));
        read.merge(seen);
    }
    ASSERT_EQ(static_cast<std::size_t>(plan.entries.count), read.size());  // nothing is listed that no row reads
    Rows written = actor.rows;
    written.write(plan);
    for (std::int32_t e = 0; e < plan.entries.count; ++e)
        ASSERT_EQ(written.at(plan.entries.slot(e)), plan.entries.position(e));
}

void expect_feed(const Shape& shape, Actor& actor, std::int64_t tokens, unsigned how) {
    auto plan = actor.strategy->plan(tokens);
    ASSERT_TRUE(plan.ok());
    expect_plan(shape, actor, *plan);
    if (how == 0) return;  // cancelled before anything ran
    actor.rows.write(*plan);
    if (how == 1) return;  // cancelled in the middle of the pass: stored rows must be untouched
    actor.rows.settle(*plan);
    actor.strategy->commit(*plan);
    std::set<std::int32_t> before = actor.stored;
    before.merge(range(static_cast<std::int32_t>(actor.seen), static_cast<std::int32_t>(actor.seen + tokens)));
    actor.seen += tokens;
    std::vector<std::int32_t> left;
    for (const std::int32_t p : before)
        if (p >= shape.sinks && p < actor.seen - shape.window) left.push_back(p);
    for (const std::int32_t p : left) before.erase(p);
    actor.stored = std::move(before);
    ASSERT_EQ(plan->evicted, left);
    ASSERT_EQ(plan->stored_after, static_cast<std::int64_t>(actor.stored.size()));
}

void expect_truncate(const Shape& shape, Actor& actor, std::int64_t tokens) {
    bool complete = tokens >= 0 && tokens <= actor.seen;
    if (complete) {
        for (const std::int32_t p : shape.seen_by(tokens))
            complete = complete && (p == tokens || actor.stored.count(p) > 0);
    }
    const Status status = actor.strategy->truncate(tokens);
    ASSERT_EQ(status.ok(), complete) << tokens << " of " << actor.seen;
    if (!complete) return;
    actor.stored.erase(actor.stored.lower_bound(static_cast<std::int32_t>(tokens)), actor.stored.end());
    actor.seen = tokens;
}

TEST(Windowed, TenThousandRandomOperations) {
    for (const Shape& shape : shapes()) {
        SCOPED_TRACE(shape.spec);
        std::mt19937 random(7);
        const auto fresh = [&] {
            Actor actor;
            actor.strategy = make(shape.spec);
            actor.rows.slot.assign(static_cast<std::size_t>(shape.sinks + shape.window), -1);
            return actor;
        };
        std::vector<Actor> actors;
        actors.push_back(fresh());
        for (int i = 0; i < 10000; ++i) {
            SCOPED_TRACE(i);
            Actor& actor = actors[random() % actors.size()];
            const unsigned what = random() % 20;
            if (actor.seen > 60 || what == 19) {
                actor.strategy->reset();
                actor.seen = 0;
                actor.stored.clear();
            } else if (what < 12) {
                expect_feed(shape, actor, 1 + random() % (what % 3 == 0 ? 20 : 3), what);
            } else if (what < 16) {
                const auto back = static_cast<std::int64_t>(random() % (what == 12 ? 70 : 4));
                expect_truncate(shape, actor, actor.seen - back + (what == 13 ? 1 : 0));
            } else if (what < 18 && actors.size() < 4) {
                actors.push_back({actor.strategy->clone(), actor.rows, actor.seen, actor.stored});
            } else if (actors.size() > 1) {
                actors.erase(actors.begin() + static_cast<std::ptrdiff_t>(random() % actors.size()));
            }
            if (HasFatalFailure()) return;
            for (Actor& each : actors) expect_state(shape, each);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(WindowedDeathTest, APlanOfAnotherStateIsRefused) {
    const auto strategy = make("ring:window=8");
    auto plan = strategy->plan(1);
    ASSERT_TRUE(plan.ok());
    feed(*strategy, 1);
    EXPECT_DEATH(strategy->commit(*plan), "revision");
}

TEST(Windowed, TheDescriptorSaysThatItIsLossy) {
    for (const char* id : {"ring", "sinks"}) {
        EXPECT_TRUE(find_strategy(id)->lossy);
        EXPECT_TRUE(find_strategy(id)->has_cache);
    }
    auto spec = parse_cache_spec("sinks:positions=rebased,window=8,sinks=2");
    ASSERT_TRUE(spec.ok());
    EXPECT_EQ(to_string(*spec), "sinks:sinks=2,window=8,positions=rebased");
}

}  // namespace
}  // namespace decodescope
