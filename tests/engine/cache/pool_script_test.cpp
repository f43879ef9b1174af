// `pool --script`: figures worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cache/pool_script.h"

namespace decodescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(PoolScript, ForkCopiesAndEnds) {
    PoolScript script;
    EXPECT_THAT(script.run("start A 1").error, HasSubstr("no pool"));
    PoolState state = script.run("new pages=6 page=4");
    EXPECT_EQ(state.line, "new pages=6 page=4");
    EXPECT_THAT(state.free, ElementsAre(0, 1, 2, 3, 4, 5));
    state = script.run("start A 1,2,3,4,5,6");
    EXPECT_EQ(state.error, "");
    EXPECT_THAT(state.tables, ElementsAre(Pair("A", ElementsAre(0, 1))));
    EXPECT_THAT(state.cached, ElementsAre(0));
    state = script.run("fork A B");
    EXPECT_THAT(state.owners, ElementsAre(Pair(0, 2), Pair(1, 2)));
    state = script.run("append A 7");
    EXPECT_EQ(state.copied, 1);
    EXPECT_THAT(state.tables, ElementsAre(Pair("A", ElementsAre(0, 2)), Pair("B", ElementsAre(0, 1))));
    state = script.run("append B 9");
    EXPECT_EQ(state.copied, 0);  // the last owner writes in place
    EXPECT_THAT(state.free, ElementsAre(3, 4, 5));
    state = script.run("end A");
    EXPECT_THAT(state.free, ElementsAre(3, 4, 5, 2));
    state = script.run("end B");
    EXPECT_THAT(state.free, ElementsAre(3, 4, 5, 2, 1, 0));
    EXPECT_THAT(state.cached, ElementsAre(0));
    EXPECT_THAT(state.owners, IsEmpty());
}

TEST(PoolScript, FullPagesAreFoundUntilTheyAreUsedAgain) {
    PoolScript script;
    script.run("new pages=4 page=2");
    script.run("start A 1,2,3,4");
    PoolState state = script.run("start B 1,2,3,4");  // the last token is computed again, and its page with it
    EXPECT_EQ(state.hits, 1);
    EXPECT_THAT(state.tables.at("B"), ElementsAre(0, 2));
    script.run("end A");
    state = script.run("end B");
    EXPECT_THAT(state.free, ElementsAre(3, 1, 2, 0));
    state = script.run("start C 1,2,3,4,5");
    EXPECT_EQ(state.hits, 2);
    EXPECT_THAT(state.tables.at("C"), ElementsAre(0, 1, 3));  // a hit leaves free
    EXPECT_THAT(state.free, ElementsAre(2));
    script.run("end C");
    script.run("start D 9,9,9,9,9,9,9,9");
    state = script.run("end D");
    EXPECT_EQ(script.run("start E 1,2,3").hits, 0);
}

TEST(PoolScript, ErrorsChangeNothing) {
    PoolScript script;
    script.run("new pages=3 page=2");
    script.run("start A 1,2,3");
    const PoolState before = script.run("");
    for (const char* line : {"start A 5", "start B 1,2,5,6,7,8,9", "append A 4,5,6,7,8", "append C 1", "fork C D",
                             "fork A A", "end C", "start B 1,,2", "start B", "sing A 1", "new pages=0 page=2",
                             "new pages=4 page=3", "start B -1"}) {
        const PoolState after = script.run(line);
        EXPECT_NE(after.error, "") << line;
        EXPECT_EQ(after.tables, before.tables) << line;
        EXPECT_EQ(after.free, before.free) << line;
        EXPECT_EQ(after.cached, before.cached) << line;
        EXPECT_EQ(after.owners, before.owners) << line;
    }
}

// Pages of any size that is a power of two; others are refused by their number, and the pool stays.
TEST(PoolScript, PageSizes) {
    PoolScript script;
    for (const int page : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
        const PoolState made = script.run(fmt::format("new pages=3 page={}", page));
        EXPECT_EQ(made.error, "") << page;
        const PoolState state = script.run("start A 1,2,3,4,5,6,7,8,9");
        EXPECT_EQ(state.error.empty(), page * 3 >= 9) << page;
        if (!state.error.empty()) continue;
        EXPECT_EQ(state.tables.at("A").size(), static_cast<std::size_t>((9 + page - 1) / page));
    }
    const PoolState before = script.run("");
    for (const int page : {0, 3, 12, 24, 48, 192, 512, -8}) {
        const PoolState after = script.run(fmt::format("new pages=3 page={}", page));
        EXPECT_NE(after.error.find(fmt::format("A page cannot have {} tokens.", page)), std::string::npos) << after.error;
        EXPECT_NE(after.error.find("a power of two from 1 to 256"), std::string::npos);
        EXPECT_EQ(after.tables, before.tables);
    }
    EXPECT_NE(script.run("new pages=0 page=4").error.find("cannot have 0 pages"), std::string::npos);
}

}  // namespace
}  // namespace decodescope
