// The options of the newer families in a recording's facts; those of the first two families are written as ever.
#include <gtest/gtest.h>

#include "engine/trace/recording_codec.h"
#include "tests/support/fake_run.h"

namespace decodescope {
namespace {

TEST(RecordingOptions, WindowsAndTypesComeBack) {
    RunFacts facts = fake_run_facts({});
    ByteWriter plain;
    encode_facts(plain, facts);
    facts.config.family = Family::Gemma3;
    facts.config.window = 6;
    facts.config.local_layers.assign(static_cast<std::size_t>(facts.config.layers), true);
    facts.config.local_layers.back() = false;
    facts.config.stored_as = "Q4_K";
    facts.config.kept_bytes = 12345;
    facts.config.widened_bytes = 4096;
    facts.config.parallel_blocks = true;
    ByteWriter out;
    encode_facts(out, facts);
    EXPECT_GT(out.size(), plain.size());
    ByteReader in(out.bytes(), "FACTS");
    const RunFacts back = decode_facts(in);
    ASSERT_TRUE(in.ok());
    EXPECT_EQ(back.config.family, Family::Gemma3);
    EXPECT_EQ(back.config.window, 6);
    EXPECT_EQ(back.config.local_layers, facts.config.local_layers);
    EXPECT_EQ(back.config.stored_as, "Q4_K");
    EXPECT_EQ(back.config.kept_bytes, 12345);
    EXPECT_EQ(back.config.widened_bytes, 4096);
    EXPECT_TRUE(back.config.parallel_blocks);
    for (std::size_t size = 0; size < out.size(); ++size) {
        ByteReader cut(out.bytes().first(size), "FACTS");
        (void)decode_facts(cut);
        EXPECT_FALSE(cut.ok()) << size;
    }
}

}  // namespace
}  // namespace decodescope
