// How single values look in the tables of the command line.
#include <gtest/gtest.h>

#include "app/cli/output.h"
#include "engine/support/counted.h"

namespace decodescope {
namespace {

TEST(OutputText, PartsOfCharactersAsInTheWindow) {
    EXPECT_EQ(shown_token("\\xE5\\xB0"), "⟨E5 B0⟩");
    EXPECT_EQ(shown_token("\\x9F"), "⟨9F⟩");
    EXPECT_EQ(shown_token(" key"), " key");
    EXPECT_EQ(shown_token("小"), "小");
    EXPECT_EQ(shown_token("\\n"), "\\n");
    EXPECT_EQ(shown_token(""), "");
}

TEST(OutputText, NounsFollowTheirNumber) {
    EXPECT_EQ(counted(0, "page"), "0 pages");
    EXPECT_EQ(counted(1, "page"), "1 page");
    EXPECT_EQ(counted(2, "more token"), "2 more tokens");
}

}  // namespace
}  // namespace decodescope
