// Where rows lie, as a recording keeps it: what changed in a step, and what it adds up to.
#include "engine/trace/placement.h"

#include <gmock/gmock.h>

#include <random>

#include "engine/trace/recording_codec.h"
#include "tests/engine/trace/recording_file_fixture.h"

namespace decodescope {
namespace {

bool same(const Placement& a, const Placement& b) {
    return std::tie(a.known, a.one_slab, a.slots, a.page_tokens, a.next_slot, a.next_copies, a.sequence, a.rows,
                    a.pages) == std::tie(b.known, b.one_slab, b.slots, b.page_tokens, b.next_slot, b.next_copies,
                                         b.sequence, b.rows, b.pages);
}

// As few runs as there can be, of rows in slots (kNotStored: none) and of pages.
Placement random_placement(std::mt19937& random, int pages) {
    Placement placement;
    placement.known = placement.whole = true;
    placement.page_tokens = 2;
    placement.slots = 2 * pages;
    placement.next_slot = static_cast<int>(random() % 5) - 1;
    for (int position = 0; position < 12; ++position) {
        const int slot = static_cast<int>(random() % 4) == 0 ? kNotStored : position + static_cast<int>(random() % 2);
        if (slot == kNotStored) continue;
        auto& rows = placement.rows;
        const bool follows = !rows.empty() && rows.back().position + rows.back().count == position &&
                             rows.back().slot + rows.back().count == slot;
        if (follows) ++rows.back().count;
        else rows.push_back({position, slot, 1});
    }
    for (int page = 0; page < pages; ++page) {
        PageRun run{page, 1, random() % 2 == 0, true, false, {}};
        for (unsigned owner = 0; owner < random() % 3; ++owner) run.owners.push_back(static_cast<int>(owner));
        if (!placement.pages.empty() && placement.pages.back().same_state(run)) ++placement.pages.back().count;
        else placement.pages.push_back(run);
    }
    return placement;
}

TEST(Placement, ChangesAddUpToWhatTheyCameFrom) {
    std::mt19937 random(7);
    for (int run = 0; run < 200; ++run) {
        Placement state, before;
        for (int step = 0; step < 8; ++step) {
            const Placement now = random_placement(random, 3 + step);
            const Placement change = placement_change(before, now);
            EXPECT_EQ(change.whole, step == 0);
            ASSERT_TRUE(apply_placement(state, change));
            ASSERT_TRUE(same(state, now)) << run << " " << step;
            EXPECT_TRUE(state.whole);
            const Placement nothing = placement_change(now, now);
            EXPECT_TRUE(nothing.rows.empty() && nothing.pages.empty());
            before = now;
        }
    }
}

TEST(Placement, WhatCannotBeFollowedIsSaid) {
    Placement now;
    now.known = now.whole = true;
    now.slots = 8;
    now.rows = {{0, 0, 3}};
    Placement later = now;
    later.rows = {{0, 0, 4}};
    const Placement change = placement_change(now, later);
    EXPECT_THAT(change.rows, testing::ElementsAre(RowRun{3, 3, 1}));
    Placement unknown;
    EXPECT_FALSE(apply_placement(unknown, change));
    EXPECT_FALSE(unknown.known);
    Placement shrunk = now;
    shrunk.slots = 4;
    EXPECT_TRUE(placement_change(now, shrunk).whole);
    EXPECT_TRUE(apply_placement(now, Placement{}));
    EXPECT_FALSE(now.known) << "a step without it leaves nothing to draw";
}

// A step costs tens of bytes in the file and in memory, however long the run is.
TEST(Placement, AStepCostsFewBytesAt2048Tokens) {
    for (const char* cache : {"preallocated", "growing", "ring", "paged"}) {
        FakeRunOptions options;
        options.cache = cache;
        options.window = options.cache == "ring" ? 64 : 0;
        options.prompt_tokens = 8;
        options.steps = 2040;
        options.capture = options.profile = options.race = false;
        const auto placed = make_fake_run(options);
        options.placed = false;
        const auto without = make_fake_run(options);
        std::size_t bytes = 0;
        for (std::int32_t s = 1; s < placed->step_count(); ++s) {
            ByteWriter a, b;
            encode_step(a, *placed->step(s));
            encode_step(b, *without->step(s));
            bytes += a.size() - b.size();
        }
        EXPECT_LE(bytes / 2040, 80u) << cache;
        EXPECT_LE(placed->history_bytes() - without->history_bytes(), 2048 * 120) << cache;
    }
}

// Files from before have none: they load, and nothing is known of where rows lay.
TEST_F(RecordingFile, PlacementIsOptional) {
    for (const bool placed : {false, true}) {
        FakeRunOptions options;
        options.cache = "paged";
        options.page = 4;
        options.shared_pages = 2;
        options.placed = placed;
        ASSERT_TRUE(save_recording(*make_fake_run(options), path(), {}, {}).ok());
        const auto loaded = load_recording(path(), {}, {});
        ASSERT_TRUE(loaded.ok()) << loaded.error().text();
        Placement state;
        for (std::int32_t s = 0; s < (*loaded)->step_count(); ++s) {
            EXPECT_TRUE(apply_placement(state, (*loaded)->step(s)->placement));
            EXPECT_EQ(state.known, placed);
        }
        if (!placed) continue;
        EXPECT_THAT(state.rows[0], (RowRun{0, 0, 12}));
        EXPECT_THAT(state.pages[0].owners, testing::ElementsAre(0, 1));
    }
}

TEST(PlacementCodec, HostileNumbersAreRefusedByName) {
    const auto recording = make_fake_run({});
    const auto refusal = [&](const auto& damage) {
        StepFacts step = *recording->step(1);
        step.placement = {};
        step.placement.known = true;
        step.placement.slots = 8;
        step.placement.page_tokens = 2;
        step.placement.rows = {{2, 0, 2}, {4, 6, 2}};
        step.placement.pages = {{0, 1, false, true, false, {0}}, {3, 1, true, false, false, {}}};
        damage(step.placement);
        ByteWriter out;
        encode_step(out, step);
        ByteReader in(out.bytes(), "test");
        decode_step(in, recording->facts(), recording->row_count(), recording->step_count());
        return in.error();
    };
    using testing::HasSubstr;
    EXPECT_EQ(refusal([](Placement&) {}), "");
    EXPECT_EQ(refusal([](Placement& p) { p.rows[0] = {2, kNotStored, 2}; }), "");
    EXPECT_THAT(refusal([](Placement& p) { p.rows[1].slot = 8; }), HasSubstr("slot of a run of rows"));
    EXPECT_THAT(refusal([](Placement& p) { p.rows[1].count = 3; }), HasSubstr("length of a run of rows"));
    EXPECT_THAT(refusal([](Placement& p) { p.rows[1].position = 3; }), HasSubstr("position of a run of rows"));
    EXPECT_THAT(refusal([](Placement& p) { p.pages[1].page = 4; }), HasSubstr("page of a run of pages"));
    EXPECT_THAT(refusal([](Placement& p) { p.pages[0].count = 5; }), HasSubstr("length of a run of pages"));
    EXPECT_THAT(refusal([](Placement& p) { p.pages[0].owners = {-1}; }), HasSubstr("owner of a page"));
    EXPECT_THAT(refusal([](Placement& p) { p.slots = kMostPlacedSlots + 1; }), HasSubstr("slots of the cache"));
    EXPECT_THAT(refusal([](Placement& p) { p.slots = kMostPlacedSlots; p.page_tokens = 1; }), HasSubstr("more pages"));
}

}  // namespace
}  // namespace decodescope
