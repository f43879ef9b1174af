// A generation that goes on: after a switch, a cut, a step given up or cancelled, from a session that holds a prefix.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/engine/decode/generation_helpers.h"

namespace decodescope {
namespace {

// Switching the strategy keeps all tokens; with the same seed the run goes on as if nothing had happened.
TEST(Generation, FeedAgainGoesOnWhereTheOtherStopped) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto prompt = random_tokens(6, 97, 4);
    for (const double temperature : {0.0, 1.0}) {
        const auto expected = generate(on_cpu, session_config("growing"), config_of(20, temperature), prompt);
        for (const bool with_pending : {false, true}) {
            for (const char* cache : kCaches) {
                SCOPED_TRACE(fmt::format("{} {} {}", temperature, with_pending, cache));
                Generation first(session_of(on_cpu, session_config("growing")), config_of(20, temperature), nullptr);
                ASSERT_TRUE(first.start(prompt, {}, {}).ok());
                for (int i = 0; i < 7; ++i) ASSERT_TRUE(first.step({}).ok());
                Tokens kept = tokens_of(first);
                if (!with_pending) kept.pop_back();
                const auto marks = std::make_unique<bool[]>(kept.size());
                for (std::size_t i = 0; i < kept.size(); ++i) marks[i] = i >= prompt.size();
                Generation second(session_of(on_cpu, session_config(cache, "f32", 5)), config_of(20, temperature),
                                  nullptr);
                ASSERT_TRUE(second.feed_again(kept, {marks.get(), kept.size()}, {}, {}).ok());
                EXPECT_EQ(second.last_step().phase, Phase::Refeed);
                EXPECT_EQ(second.generated_count(), with_pending ? 9 : 8);
                run_to_end(second);
                EXPECT_EQ(tokens_of(second), expected);
            }
        }
        // A run that had ended: nothing more is sampled.
        const auto marks = std::make_unique<bool[]>(expected.size());
        for (std::size_t i = prompt.size(); i < expected.size(); ++i) marks[i] = true;
        Generation again(session_of(on_cpu, session_config("preallocated")), config_of(20, temperature), nullptr);
        ASSERT_TRUE(again.feed_again(expected, {marks.get(), expected.size()}, {}, {}).ok());
        EXPECT_EQ(again.stop_reason(), "length");
        EXPECT_EQ(again.pending_token(), -1);
        EXPECT_EQ(tokens_of(again), expected);
    }
}

// "Continue from here": the session is cut, the last token of what stays is fed again.
TEST(Generation, ContinuesAfterTheSessionWasCut) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto prompt = random_tokens(6, 97, 4);
    const auto expected = generate(on_cpu, session_config("growing"), config_of(20, 1.0), prompt);
    for (const char* cache : kCaches) {
        Generation generation(session_of(on_cpu, session_config(cache)), config_of(20, 1.0), nullptr);
        ASSERT_TRUE(generation.start(prompt, {}, {}).ok());
        run_to_end(generation);
        ASSERT_TRUE(generation.session().truncate(9).ok());
        const bool generated = true;
        ASSERT_TRUE(generation.feed_again({&expected[9], 1}, {&generated, 1}, {}, {}).ok());
        EXPECT_EQ(generation.generated_count(), 5);
        run_to_end(generation);
        EXPECT_EQ(tokens_of(generation), expected) << cache;
        ASSERT_TRUE(generation.session().truncate(8).ok());
        generation.set_stop_reason("");
        EXPECT_FALSE(generation.step({}).ok());  // nothing to feed until it is said what
        EXPECT_EQ(generation.tokens().size(), 8u);
    }
}

// A step in parts that is given up, as often as one likes: the token that was not fed is still the next one, and it
// still counts as generated.
TEST(Generation, PG15_AnAbandonedStepKeepsItsPendingToken) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto prompt = random_tokens(6, 97, 4);
    const auto expected = generate(on_cpu, session_config("growing"), config_of(5, 1.0), prompt);
    Generation generation(session_of(on_cpu, session_config("growing")), config_of(5, 1.0), nullptr);
    ASSERT_TRUE(generation.start(prompt, {}, {}).ok());
    const Error why = make_error(ErrorKind::Memory, "No room.");
    for (std::int64_t n = 1; !generation.finished(); ++n) {
        for (int tries = 0; tries < 3; ++tries) {
            const auto next = generation.next_pass();
            ASSERT_EQ(next.size(), 1u);
            EXPECT_EQ(next[0], expected[prompt.size() + static_cast<std::size_t>(n) - 1]);
            generation.abandon(why);
            EXPECT_EQ(generation.pending_token(), expected[prompt.size() + static_cast<std::size_t>(n) - 1]);
            EXPECT_EQ(generation.generated_count(), n);
            EXPECT_EQ(std::ssize(generation.tokens()), std::ssize(prompt) + n);
            EXPECT_FALSE(generation.finished());
        }
        auto pass = generation.session().feed(generation.next_pass(), {});
        ASSERT_TRUE(pass.ok());
        ASSERT_TRUE(generation.take(*pass).ok());
    }
    EXPECT_EQ(tokens_of(generation), expected);
}

TEST(Generation, CancelledStepCanBeTakenAgain) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto prompt = random_tokens(6, 97, 4);
    const auto expected = generate(on_cpu, session_config("growing"), config_of(10, 1.0), prompt);
    Generation generation(session_of(on_cpu, session_config("growing", "f32", 2)), config_of(10, 1.0), nullptr);
    std::stop_source stop;
    // Cancelled after the first chunk of the prompt: what was fed stays.
    const Status cancelled = generation.start(
        prompt,
        [&](std::int64_t done, std::int64_t) {
            if (done == 4) stop.request_stop();
        },
        stop.get_token());
    ASSERT_FALSE(cancelled.ok());
    EXPECT_EQ(cancelled.error().kind, ErrorKind::Cancelled);
    EXPECT_EQ(generation.stop_reason(), "cancelled");
    EXPECT_EQ(generation.last_step().row_count, 4);
    EXPECT_EQ(generation.pending_token(), -1);
    ASSERT_TRUE(generation.start(prompt, {}, {}).ok());
    ASSERT_TRUE(generation.step({}).ok());
    const auto before = tokens_of(generation);
    EXPECT_EQ(generation.step(stop.get_token()).error().kind, ErrorKind::Cancelled);
    EXPECT_EQ(generation.stop_reason(), "cancelled");
    EXPECT_EQ(tokens_of(generation), before);
    EXPECT_EQ(generation.pending_token(), before.back());
    EXPECT_EQ(generation.last_step().row_count, 1);  // still the step before
    ASSERT_TRUE(generation.step({}).ok());
    EXPECT_EQ(generation.stop_reason(), "");
    run_to_end(generation);
    EXPECT_EQ(tokens_of(generation), expected);
}

TEST(Generation, StartsFromASessionThatHoldsThePrefix) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto prompt = random_tokens(9, 97, 8);
    const auto expected = generate(on_cpu, session_config("growing"), config_of(6), prompt);
    for (const std::size_t held : {4u, 9u}) {
        std::shared_ptr<DecodeSession> session = session_of(on_cpu, session_config("growing"));
        feed_all(*session, std::span(prompt).first(held), 9);
        Generation generation(session, config_of(6), nullptr);
        ASSERT_TRUE(generation.start(prompt, {}, {}).ok());
        EXPECT_EQ(generation.last_step().kv.rows_written,
                  held == 4 ? 5 : 1);  // what was cached is not counted as prefilled
        run_to_end(generation);
        EXPECT_EQ(tokens_of(generation), expected);
        Generation other(session, config_of(6), nullptr);
        EXPECT_FALSE(other.start(Tokens{1, 2, 3}, {}, {}).ok());
    }
}

}  // namespace
}  // namespace decodescope
