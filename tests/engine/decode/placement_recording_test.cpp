// What a recording says of where rows lie is where the sessions put them.
#include <gmock/gmock.h>

#include <set>

#include "engine/decode/generation.h"
#include "engine/decode/prefix_cache.h"
#include "engine/measure/run_facts.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

using testing::ElementsAre;

// A slot holds one row, a page that holds rows is owned by the sequence, and the last tokens are stored.
void check_sound(const Placement& placement, std::int64_t seen, std::int64_t stored) {
    std::set<std::int32_t> slot_set;
    std::int64_t rows = 0;
    for (const RowRun& run : placement.rows)
        for (std::int32_t i = 0; i < run.count; ++i, ++rows) slot_set.insert(run.slot + i);
    EXPECT_EQ(rows, stored);
    EXPECT_EQ(std::ssize(slot_set), stored);
    ASSERT_FALSE(placement.rows.empty());
    EXPECT_EQ(placement.rows.back().position + placement.rows.back().count, seen);
    EXPECT_LT(*slot_set.rbegin(), placement.slots);
    std::int64_t pages = 0;
    for (const PageRun& run : placement.pages) {
        EXPECT_EQ(run.page, pages);
        pages += run.count;
        const bool own = std::count(run.owners.begin(), run.owners.end(), placement.sequence) > 0;
        for (std::int32_t page = run.page; page < run.page + run.count; ++page) {
            const auto at = slot_set.lower_bound(static_cast<std::int32_t>(page * placement.page_tokens));
            EXPECT_EQ(own, at != slot_set.end() && *at < (page + 1) * placement.page_tokens) << "page " << page;
        }
    }
    EXPECT_EQ(pages, placement.page_tokens > 0 ? placement.slots / placement.page_tokens : 0);
}

TEST(PlacementRecord, EveryStepSaysWhereTheRowsLie) {
    const auto model = loaded(make_tiny_llama());
    for (const char* cache : {"growing", "preallocated:capacity=40", "preallocated:slab=true", "ring:window=7",
                              "sinks:sinks=2,window=5", "h2o:budget=14,recent=3", "paged:page=1", "paged:page=4,slab=true", "paged:page=256"}) {
        SCOPED_TRACE(cache);
        std::shared_ptr<DecodeSession> session = session_of(model, session_config(cache, "f32", 5));
        auto recording = std::make_shared<RunRecording>(make_run_facts(*session, {}), RecordingLimits{});
        GenerationConfig config;
        config.new_tokens = 14;
        Generation generation(session, config, recording);
        ASSERT_TRUE(generation.start(random_tokens(11, 97, 3), {}, {}).ok());
        Placement state;
        std::int64_t next = kNotStored;
        while (true) {
            const auto step = recording->step(recording->step_count() - 1);
            EXPECT_EQ(step->placement.whole, step->index == 0);
            ASSERT_TRUE(apply_placement(state, step->placement));
            const Placement now = session->placement();
            EXPECT_EQ(state.rows, now.rows);
            EXPECT_EQ(state.pages, now.pages);
            EXPECT_EQ(state.next_slot, now.next_slot);
            EXPECT_EQ(state.one_slab, std::string(cache).find("slab") != std::string::npos);
            check_sound(state, step->kv.tokens_seen, step->kv.tokens_stored);
            if (step->index > 0) {  // the row went where the step before said
                if (next != kNotStored) {
                    EXPECT_EQ(state.rows.back().slot + state.rows.back().count - 1, next);
                } else {
                    EXPECT_GT(step->kv.tokens_seen, step->kv.capacity_tokens);  // h2o decides after the row
                }
                EXPECT_LE(step->placement.rows.size() + step->placement.pages.size(), 4u);
            }
            for (const EvictedEntry& left : step->evicted) {
                if (left.layer != kNone && left.layer != placed_layer(model->model->config)) continue;
                for (const RowRun& run : state.rows)
                    EXPECT_FALSE(left.position >= run.position && left.position < run.position + run.count);
            }
            next = state.next_slot;
            if (generation.finished()) break;
            ASSERT_TRUE(generation.step({}).ok());
        }
    }
    std::shared_ptr<DecodeSession> none = session_of(model, session_config("recompute"));
    EXPECT_FALSE(none->placement().known);
}

// A run that goes on from an earlier step says everything once more: changes would follow a step that is gone.
TEST(PlacementRecord, ARunThatWasCutSaysEverythingAgain) {
    const auto model = loaded(make_tiny_llama());
    std::shared_ptr<DecodeSession> session = session_of(model, session_config("paged:page=4"));
    auto recording = std::make_shared<RunRecording>(make_run_facts(*session, {}), RecordingLimits{});
    GenerationConfig config;
    config.new_tokens = 9;
    {
        Generation generation(session, config, recording);
        ASSERT_TRUE(generation.start(random_tokens(6, 97, 3), {}, {}).ok());
        for (int i = 0; i < 6; ++i) ASSERT_TRUE(generation.step({}).ok());
        ASSERT_TRUE(session->truncate(7).ok());
    }
    Generation again(session, config, recording);
    const std::vector<std::int32_t> more = {5};
    const bool marks[] = {true};
    ASSERT_TRUE(again.feed_again(more, marks, {}, {}).ok());
    const auto step = recording->step(recording->step_count() - 1);
    EXPECT_TRUE(step->placement.whole);
    check_sound(step->placement, 8, 8);
}

// PG-03: branches share pages by reference; the one that writes first takes a page of its own.
TEST(PlacementRecord, PG03_ForksAreSeenAsOwnersOfOnePage) {
    const auto model = loaded(make_tiny_llama());
    const auto first = session_of(model, session_config("paged:page=4"));
    feed_all(*first, random_tokens(6, 97, 3), 6);
    auto fork = first->fork();
    ASSERT_TRUE(fork.ok());
    const Placement before = (*fork)->placement();
    EXPECT_EQ(before.sequence, 1);
    EXPECT_TRUE(before.next_copies);
    EXPECT_EQ(before.next_slot, 2 * 4 + 2);
    ASSERT_GE(before.pages.size(), 2u);
    EXPECT_THAT(before.pages[0].owners, ElementsAre(0, 1));
    EXPECT_EQ(before.pages[0].count, 2);
    const std::int32_t token = 9;
    ASSERT_TRUE((*fork)->feed({&token, 1}, {}).ok());
    const Placement after = (*fork)->placement();
    EXPECT_THAT(after.rows, ElementsAre(RowRun{0, 0, 4}, RowRun{4, 8, 3}));
    EXPECT_THAT(after.pages[0].owners, ElementsAre(0, 1));
    EXPECT_THAT(after.pages[1].owners, ElementsAre(0));
    EXPECT_THAT(after.pages[2].owners, ElementsAre(1));
    EXPECT_FALSE(first->placement().next_copies) << "the last owner writes in place";
    const Placement change = placement_change(before, after);
    EXPECT_THAT(change.rows, ElementsAre(RowRun{4, 8, 3}));
}

// PG-05: a free page that could still be found is taken last, and then says that it was.
TEST(PlacementRecord, PG05_ReclaimedPagesSayIt) {
    const auto model = loaded(make_tiny_llama());
    auto prefixes = std::make_shared<PrefixCache>();
    SessionConfig config = session_config("paged:page=4,pages=4");
    config.prefixes = prefixes;
    auto first = session_of(model, config);
    feed_all(*first, random_tokens(9, 97, 3), 9);
    first.reset();
    const auto second = session_of(model, config);
    feed_all(*second, random_tokens(3, 97, 4), 3);
    const Placement fresh = second->placement();
    ASSERT_EQ(fresh.pages.size(), 3u);
    EXPECT_TRUE(fresh.pages[0].findable && fresh.pages[0].owners.empty());
    EXPECT_EQ(fresh.pages[0].count, 2);
    EXPECT_FALSE(fresh.pages[2].reclaimed);  // page 3 had never been used
    feed_all(*second, random_tokens(6, 97, 5), 6);
    const Placement later = second->placement();
    for (const PageRun& run : later.pages)
        if (run.page == 1) {
            EXPECT_TRUE(run.reclaimed);
            EXPECT_THAT(run.owners, ElementsAre(fresh.sequence));
        }
    EXPECT_EQ(std::count_if(later.pages.begin(), later.pages.end(), [](const PageRun& run) { return run.reclaimed; }),
              1);
}

}  // namespace
}  // namespace decodescope
