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

// Times of a device apart, and its graphs; steps of the host are written as ever.
TEST(RecordingOptions, DeviceTimesComeBack) {
    FakeRunOptions options;
    const auto plain = make_fake_run(options);
    options.device = true;
    const auto run = make_fake_run(options);
    ByteWriter without, out;
    encode_step(without, *plain->step(2));
    encode_step(out, *run->step(2));
    EXPECT_EQ(out.size(), without.size() + 16);
    ByteReader in(out.bytes(), "STEPS");
    const StepFacts back = decode_step(in, run->facts(), run->row_count(), run->step_count());
    ASSERT_TRUE(in.ok());
    EXPECT_EQ(back.host_micros, run->step(2)->host_micros);
    EXPECT_EQ(back.graph_captures, 1);
    for (std::size_t size = 0; size < out.size(); ++size) {
        ByteReader cut(out.bytes().first(size), "STEPS");
        (void)decode_step(cut, run->facts(), run->row_count(), run->step_count());
        EXPECT_FALSE(cut.ok()) << size;
    }
}

}  // namespace
}  // namespace decodescope
