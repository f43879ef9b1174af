// The loop: stop reasons, the end of the context, seeds, what is recorded (CC-08, CC-10, CC-14, LD-15, SP-07, TH-03).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

#include "engine/measure/commentary.h"
#include "tests/engine/decode/generation_helpers.h"
#include "tests/support/fake_run.h"

namespace decodescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
// Logits that are all alike except for the winners.
std::function<Status(StepOutputs&)> always(const Tokens& winners) {
    return [winners](StepOutputs& outputs) -> Status {
        std::fill(outputs.logits.begin(), outputs.logits.end(), -1.0f);
        for (const auto token : winners) outputs.logits[static_cast<std::size_t>(token)] = 3.0f;
        return {};
    };
}

// CC-14: prompt P of a context C gives at most C - P + 1 tokens; P = C + 1 is refused with both numbers.
TEST(Generation, CC14_ContextBoundary) {
    ModelConfig llama = tiny_llama_config();
    llama.context = 32;
    for (const auto& model : {make_tiny_gpt2(), make_tiny_model(llama)}) {
        const auto on_cpu = loaded(model);
        for (const char* cache : kCaches) {
            for (const std::int64_t prompt : {32, 31, 1}) {
                SCOPED_TRACE(fmt::format("{} {} {}", model->config.name, cache, prompt));
                Generation generation(session_of(on_cpu, session_config(cache)), config_of(0), nullptr);
                ASSERT_TRUE(generation.start(random_tokens(prompt, 97, 1), {}, {}).ok());
                run_to_end(generation);
                EXPECT_EQ(generation.stop_reason(), "context_full");
                EXPECT_EQ(generation.last_step().stop_reason, "context_full");
                EXPECT_EQ(generation.generated_count(), 32 - prompt + 1);
                EXPECT_EQ(generation.tokens().size(), 33u);
                EXPECT_EQ(generation.session().tokens().size(), 32u);
                ASSERT_TRUE(generation.step({}).ok());  // and it stays there
                EXPECT_EQ(generation.tokens().size(), 33u);
                generation.set_stop_reason("");
                ASSERT_TRUE(generation.step({}).ok());
                EXPECT_EQ(generation.stop_reason(), "context_full");
            }
            Generation generation(session_of(on_cpu, session_config(cache)), config_of(0), nullptr);
            const Status status = generation.start(random_tokens(33, 97, 1), {}, {});
            ASSERT_FALSE(status.ok());
            EXPECT_EQ(status.error().kind, ErrorKind::Capacity);
            EXPECT_THAT(status.error().message, HasSubstr("33"));
            EXPECT_THAT(status.error().message, HasSubstr("32"));
            EXPECT_EQ(generation.session().tokens().size(), 0u);
        }
    }
}

TEST(Generation, BeyondTheCapacityIsAnErrorWithBothNumbers) {
    Generation generation(session_of(loaded(make_tiny_llama()), session_config("preallocated:capacity=10")),
                          config_of(0), nullptr);
    ASSERT_TRUE(generation.start(random_tokens(9, 97, 1), {}, {}).ok());
    ASSERT_TRUE(generation.step({}).ok());
    const auto before = tokens_of(generation);
    const Status status = generation.step({});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::Capacity);
    EXPECT_THAT(status.error().message, HasSubstr("11"));
    EXPECT_THAT(status.error().message, HasSubstr("10"));
    EXPECT_EQ(tokens_of(generation), before);
    EXPECT_EQ(generation.pending_token(), before.back());
}

// What does not fit is said of the whole prompt, before its first pass.
TEST(Generation, PromptsBeyondTheCapacityAreRefusedWhole) {
    for (const auto& [cache, said] :
         {std::pair("preallocated:capacity=10", "The sequence would have 20 tokens and the cache was allocated for 10."),
          std::pair("paged:page=4,pages=3", "20 more tokens need 5 pages of 4 tokens and 3 of 3 are free.")}) {
        Generation generation(session_of(loaded(make_tiny_llama()), session_config(cache, "f32", 8)), config_of(0),
                              nullptr);
        const Status status = generation.start(random_tokens(20, 97, 1), {}, {});
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().kind, ErrorKind::Capacity);
        EXPECT_EQ(status.error().message, said);
        EXPECT_EQ(generation.session().tokens().size(), 0u);
        EXPECT_TRUE(generation.start(random_tokens(9, 97, 1), {}, {}).ok());
    }
    for (const char* cache : {"growing", "ring:window=6", "h2o:budget=6,recent=2", "recompute"}) {
        Generation generation(session_of(loaded(make_tiny_llama()), session_config(cache, "f32", 8)), config_of(0),
                              nullptr);
        EXPECT_TRUE(generation.start(random_tokens(20, 97, 1), {}, {}).ok()) << cache;
    }
}

// TH-03: what is said of a prompt that goes through in several passes, and of a cache that keeps fewer rows than that.
TEST(Generation, TH03_PassesOfAPromptAndTheRowsThatStay) {
    const struct {
        const char* cache;
        std::int64_t chunk;
        std::int32_t passes, last_rows;
        const char *computed, *written;
    } cases[] = {{"preallocated", 0, 1, 20, "step.prefill", "step.cache.block"},
                 {"preallocated", 8, 3, 4, "step.prefill.passes", "step.cache.passes"},
                 {"ring:window=6", 0, 1, 20, "step.prefill", "step.cache.block.kept"},
                 {"ring:window=6", 8, 3, 4, "step.prefill.passes", "step.cache.passes.kept"},
                 {"h2o:budget=12,recent=4", 0, 9, 1, "step.prefill.passes", "step.cache.passes.kept"}};
    RunFacts facts = fake_run_facts({});
    facts.config = make_tiny_llama()->config;
    for (const auto& c : cases) {
        SCOPED_TRACE(fmt::format("{} chunk {}", c.cache, c.chunk));
        facts.cache_spec = c.cache;
        Generation generation(session_of(loaded(make_tiny_llama()), session_config(c.cache, "f32", c.chunk)),
                              config_of(0), std::make_shared<RunRecording>(facts, RecordingLimits{}));
        ASSERT_TRUE(generation.start(random_tokens(20, 97, 1), {}, {}).ok());
        const StepFacts& step = generation.last_step();
        EXPECT_EQ(step.passes, c.passes);
        EXPECT_EQ(step.last_pass_rows, c.last_rows);
        EXPECT_EQ(step.row_count, 20);
        RunRecording recording(facts, {});
        recording.append_step(step);
        const auto sentences = what_happened(recording, 0);
        ASSERT_GE(sentences.size(), 2u);
        EXPECT_EQ(sentences[0].id, c.computed);
        EXPECT_EQ(sentences[1].id, c.written) << sentences[1].english;
    }
}

// CC-08: the token sampled last has not been fed.
TEST(Generation, CC08_SeenIsPromptPlusSteps) {
    for (const char* cache : kCaches) {
        for (const std::int64_t steps : {0, 1, 5}) {
            Generation generation(session_of(loaded(make_tiny_llama()), session_config(cache)), config_of(0), nullptr);
            ASSERT_TRUE(generation.start(random_tokens(7, 97, 1), {}, {}).ok());
            for (std::int64_t i = 0; i < steps; ++i) ASSERT_TRUE(generation.step({}).ok());
            EXPECT_EQ(generation.session().kv_facts().tokens_seen, 7 + steps);
            EXPECT_EQ(generation.tokens().size(), static_cast<std::size_t>(7 + steps + 1));
            EXPECT_EQ(generation.last_step().kv.tokens_seen, 7 + steps);
        }
    }
}

TEST(Generation, LengthIsCounted) {
    for (const std::int64_t n : {1, 3}) {
        Generation generation(session_of(loaded(make_tiny_llama()), session_config("growing")), config_of(n), nullptr);
        EXPECT_FALSE(generation.step({}).ok());  // not started
        ASSERT_TRUE(generation.start(random_tokens(4, 97, 1), {}, {}).ok());
        run_to_end(generation);
        EXPECT_EQ(generation.stop_reason(), "length");
        EXPECT_EQ(generation.generated_count(), n);
        EXPECT_EQ(generation.session().tokens().size(), static_cast<std::size_t>(4 + n - 1));
        ASSERT_TRUE(generation.step({}).ok());
        EXPECT_EQ(generation.generated_count(), n);
    }
}

TEST(Generation, StopsAtTheEndOfText) {
    TinyOptions options;
    options.eos = 5;
    Probed probed(make_tiny_llama(options));
    const Tokens prompt = {1, 5, 2};  // the end of text inside a prompt is a token like any other
    Generation generation(session_of(probed.model, session_config("growing")), config_of(20), nullptr);
    probed.backend->after_run = always({9});
    ASSERT_TRUE(generation.start(prompt, {}, {}).ok());
    ASSERT_TRUE(generation.step({}).ok());
    probed.backend->after_run = always({5});
    ASSERT_TRUE(generation.step({}).ok());
    EXPECT_EQ(generation.stop_reason(), "eos");
    EXPECT_THAT(tokens_of(generation), ElementsAre(1, 5, 2, 9, 9, 5));
    const auto runs = probed.backend->runs;
    ASSERT_TRUE(generation.step({}).ok());
    EXPECT_EQ(probed.backend->runs, runs);  // its row is never computed
    EXPECT_EQ(generation.session().kv_facts().tokens_stored, 5);

    GenerationConfig on = config_of(4);
    on.stop_at_eos = false;
    Generation further(session_of(probed.model, session_config("growing")), on, nullptr);
    ASSERT_TRUE(further.start(prompt, {}, {}).ok());
    run_to_end(further);
    EXPECT_EQ(further.stop_reason(), "length");
    EXPECT_THAT(tokens_of(further), ElementsAre(1, 5, 2, 5, 5, 5, 5));
}

// Chat models name several ids that end a text: each of them does.
TEST(Generation, StopsAtEveryEndToken) {
    ModelConfig config = tiny_llama_config();
    config.end_tokens = {5, 29};
    for (const std::int32_t last : {5, 29, 6}) {
        Probed probed(make_tiny_model(config));
        Generation generation(session_of(probed.model, session_config("growing")), config_of(4), nullptr);
        probed.backend->after_run = always({9});
        ASSERT_TRUE(generation.start(Tokens{1, 29, 2}, {}, {}).ok());
        probed.backend->after_run = always({last});
        ASSERT_TRUE(generation.step({}).ok());
        EXPECT_EQ(generation.stop_reason(), last == 6 ? "" : "eos") << last;
        EXPECT_EQ(generation.pending_token(), last);
    }
}

TEST(Generation, GreedyTiesGoToTheLowestId) {
    Probed probed(make_tiny_llama());
    probed.backend->after_run = always({31, 7, 96});
    EXPECT_THAT(generate(probed.model, session_config("growing"), config_of(2), Tokens{1}), ElementsAre(1, 7, 7));
}

// LD-15: ids of a padded embedding are never sampled and never shown.
TEST(Generation, LD15_PadLogitsAreNeverSampled) {
    TinyOptions options;
    options.sampled_vocabulary = 90;
    Probed probed(make_tiny_llama(options));
    probed.backend->after_run = always({95});
    Generation generation(session_of(probed.model, session_config("growing")), config_of(12, 1.0), nullptr);
    ASSERT_TRUE(generation.start(Tokens{1}, {}, {}).ok());
    run_to_end(generation);
    for (const auto token : generation.tokens()) EXPECT_LT(token, 90);
    for (const auto& entry : generation.last_step().top) EXPECT_LT(entry.token, 90);
}

TEST(Generation, SameSeedSameRunWhateverTheCacheAndChunk) {
    const auto model = make_tiny_llama();
    const auto prompt = random_tokens(11, 97, 3);
    const auto on_cpu = loaded(model);
    const auto expected = generate(on_cpu, session_config("preallocated"), config_of(30, 1.0, 5), prompt);
    EXPECT_EQ(expected.size(), 41u);
    EXPECT_EQ(generate(on_cpu, session_config("preallocated"), config_of(30, 1.0, 5), prompt), expected);
    EXPECT_NE(generate(on_cpu, session_config("preallocated"), config_of(30, 1.0, 6), prompt), expected);
    EXPECT_EQ(generate(on_cpu, session_config("growing", "f32", 3), config_of(30, 1.0, 5), prompt), expected);
    EXPECT_EQ(generate(on_cpu, session_config("recompute"), config_of(30, 1.0, 5), prompt), expected);
    EXPECT_EQ(
        generate(loaded(model, "reference"), session_config("preallocated:slab=true"), config_of(30, 1.0, 5), prompt),
        expected);
}

// SP-07: not a number is an error, never token 0.
TEST(Generation, SP07_NoTokenFromNaN) {
    Probed probed(make_tiny_llama());
    Generation generation(session_of(probed.model, session_config("growing")), config_of(10), nullptr);
    ASSERT_TRUE(generation.start(Tokens{3, 4}, {}, {}).ok());
    const auto before = tokens_of(generation);
    probed.backend->after_run = [](StepOutputs& outputs) -> Status {
        outputs.logits[50] = std::numeric_limits<float>::quiet_NaN();
        return {};
    };
    const Status status = generation.step({});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::NonFinite);
    EXPECT_EQ(tokens_of(generation), before);
}

TEST(Generation, RefusesABadPrompt) {
    const auto on_cpu = loaded(make_tiny_llama());
    Generation generation(session_of(on_cpu, session_config("growing")), config_of(3), nullptr);
    EXPECT_EQ(generation.start({}, {}, {}).error().kind, ErrorKind::Argument);
    for (const std::int32_t bad : {-1, 97}) {
        const Status status = generation.start(Tokens{1, bad}, {}, {});
        ASSERT_FALSE(status.ok());
        EXPECT_THAT(status.error().message, HasSubstr(std::to_string(bad)));
        EXPECT_THAT(status.error().message, HasSubstr("97"));
    }
    Generation hot(session_of(on_cpu, session_config("growing")), config_of(3, -1.0), nullptr);
    EXPECT_FALSE(hot.start(Tokens{1}, {}, {}).ok());
    EXPECT_EQ(generation.session().tokens().size(), 0u);
    const bool mark = false;
    EXPECT_FALSE(generation.feed_again(Tokens{1, 2}, {&mark, 1}, {}, {}).ok());
}

}  // namespace
}  // namespace decodescope
