// Pages of several conversations in one pool: who waits, what is shared, what is left after a failure (PG-09 to PG-15).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

#include "tests/engine/decode/batch_helpers.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

Talk talk(std::vector<std::int32_t> prompt, std::int64_t new_tokens) {
    return {std::move(prompt), new_tokens, {}, false};
}

std::vector<std::int32_t> joined(std::vector<std::int32_t> a, const std::vector<std::int32_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// Page 16; what two prompts have in common is 15, 16 and 33 tokens.
TEST(Batch, PG09_WhyNothingOfAShortPrefixIsFound) {
    const auto model = loaded(make_tiny_llama());
    struct Row {
        std::int64_t common, found;
    };
    for (const Row& row : {Row{15, 0}, {16, 16}, {33, 32}}) {
        Together together(model, session_config("paged:page=16"));
        const auto common = random_tokens(row.common, 96, 8);
        together.add(talk(joined(common, {95, 1, 2}), 3));
        together.run();
        const SequenceId id = together.add(talk(joined(common, {96, 3}), 3));
        together.run();
        EXPECT_EQ(together.batch->sequence(id).found_tokens, row.found);
        EXPECT_EQ(together.batch->sequence(id).prefix_note,
                  row.found > 0 ? ""
                                : "Shared prefix 15 < page 16: only full pages are shared, so nothing was found.");
    }
}

// A prompt whose beginning is being computed waits for it instead of computing it again.
TEST(Batch, QT07_ASharedBeginningIsComputedOnce) {
    const auto model = loaded(make_tiny_llama());
    for (const char* kv : {"f32", "f16"}) {
        const auto config = session_config("paged:page=4", kv, 4);
        const auto common = random_tokens(24, 97, 8);
        Together together(model, config);
        for (std::int32_t i = 0; i < 3; ++i) together.add(talk(joined(common, {i, 7, i}), 4));
        together.add(talk(random_tokens(6, 97, 30), 4));
        together.run();
        std::int64_t rows = 0;
        for (const BatchStep& step : together.seen) rows += step.prefill_rows;
        EXPECT_EQ(rows, 27 + 3 + 3 + 6);
        for (std::int32_t i = 0; i < 3; ++i)
            expect_same(together.result(i), alone(model, session_config("preallocated", kv, 4),
                                                  talk(joined(common, {i, 7, i}), 4)));
    }
}

// One spare page, two live sequences with a common beginning; the third needs two pages and waits.
TEST(Batch, PG12_AWaitingSequenceTakesNoPageOfALivingOne) {
    const auto model = loaded(make_tiny_llama());
    const auto config = session_config("paged:page=4,pages=5", "f32", 4);
    const auto common = random_tokens(8, 97, 8);
    const std::vector<Talk> talks = {talk(joined(common, {1}), 4), talk(joined(common, {2}), 4),
                                     talk(random_tokens(5, 97, 9), 4)};
    Together together(model, config);
    for (const std::size_t i : {0u, 1u}) together.add(talks[i]);
    together.run(4);
    together.add(talks[2]);
    together.run(1);
    EXPECT_EQ(together.batch->sequence(1).found_tokens, 8);
    EXPECT_EQ(together.batch->pool()->used_pages(), 4);
    EXPECT_EQ(together.batch->sequence(2).state, BatchSequence::State::Waiting);
    together.run();
    for (std::size_t i = 0; i < talks.size(); ++i)
        expect_same(together.result(static_cast<SequenceId>(i)),
                    alone(model, session_config("preallocated", "f32", 4), talks[i]));
    EXPECT_EQ(together.batch->pool()->free_pages(), 5);
}

TEST(Batch, PG14_TooLargeIsRefusedAndTheNextOneRuns) {
    const auto model = loaded(make_tiny_llama());
    Together together(model, session_config("paged:page=4,pages=10"));
    GenerationConfig config;
    config.new_tokens = 8;
    const auto refused = together.batch->add(random_tokens(34, 97, 1), config);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("needs 11 pages of 4 tokens for its 41 tokens"));
    EXPECT_THAT(refused.error().message, HasSubstr("there are 10 pages"));
    // Two that fit one at a time, and one that fits beside either.
    const std::vector<Talk> talks = {talk(random_tokens(20, 97, 2), 5), talk(random_tokens(20, 97, 3), 5),
                                     talk(random_tokens(5, 97, 4), 4)};
    for (const Talk& one : talks) together.add(one);
    together.run(1);
    EXPECT_EQ(together.seen[0].started, (std::vector<SequenceId>{0, 2}));
    EXPECT_EQ(together.seen[0].waiting, 1);
    together.run();
    for (std::size_t i = 0; i < talks.size(); ++i)
        expect_same(together.result(static_cast<SequenceId>(i)),
                    alone(model, session_config("preallocated"), talks[i]));
}

// A pool that grows moves the rows of everybody, also of those that have planned already.
TEST(Batch, PG10_APoolThatGrowsBetweenPlans) {
    const auto model = loaded(make_tiny_llama());
    SessionConfig config = session_config("paged:page=2");
    config.expected_tokens = 4;
    Together together(model, config);
    std::vector<Talk> talks;
    for (std::int64_t i = 0; i < 4; ++i)
        talks.push_back(talk(random_tokens(3 + i, 97, static_cast<std::uint64_t>(i)), 9));
    for (const Talk& one : talks) together.add(one);
    together.run();
    for (std::size_t i = 0; i < talks.size(); ++i)
        expect_same(together.result(static_cast<SequenceId>(i)), alone(model, session_config("growing"), talks[i]));
    EXPECT_EQ(together.batch->pool()->free_pages(), together.batch->pool()->pages());
}

// What lies twice while storage is exchanged is not promised to anybody: a layer of a growing cache, a block of a pool.
TEST(Batch, PG14_OldAndNewOfAPoolAreNotPromised) {
    CpuBackendOptions options;
    options.memory_limit_bytes = 2'000'000;
    const auto limited = [&options] { return std::shared_ptr<Backend>(make_cpu_backend(options).value()); };
    const auto model = loaded(make_tiny_llama(), limited());
    const std::int64_t left = options.memory_limit_bytes - model->backend->memory().total_bytes();
    const std::int64_t token_bytes = model->model->config.layers * 2 * 2 * 8 * 4;
    const Together growing(model, session_config("growing"));
    EXPECT_EQ(growing.batch->admission().limits().units, left / token_bytes);
    EXPECT_EQ(growing.batch->admission().limits().exchange_parts, model->model->config.layers);
    const Together fixed(model, session_config("preallocated"));
    EXPECT_EQ(fixed.batch->admission().limits().exchange_parts, 0);

    for (const char* cache : {"paged:page=4", "paged:page=4,slab=true"}) {
        SCOPED_TRACE(cache);
        const auto fresh = loaded(make_tiny_llama(), limited());
        SessionConfig config = session_config(cache);
        config.expected_tokens = 40;
        const Together paged(fresh, config);
        const std::int64_t pages = paged.batch->pool()->pages(), units = paged.batch->admission().limits().units;
        const std::int64_t page_bytes = 4 * token_bytes;
        const std::int64_t room = options.memory_limit_bytes - fresh->backend->memory().total_bytes() +
                                  pages * page_bytes;
        const std::int64_t blocks = std::string(cache).find("slab") == std::string::npos ? fresh->model->config.layers : 1;
        ASSERT_GT(units, pages);
        EXPECT_EQ((units - pages) % pages, 0);
        // The last exchange: all of the new pool, and one block of the one before.
        EXPECT_LE(units * page_bytes + (units - pages) * page_bytes / blocks, room);
        EXPECT_GT((units + 2 * pages) * page_bytes * (blocks + 1) / blocks, room - page_bytes);
    }
}

// PG-10: usage never beyond the pool, whatever is shared; at the end everything is free.
TEST(Batch, PG10_ManyLifeCyclesLeaveNothingBehind) {
    const auto model = loaded(make_tiny_llama());
    Together together(model, session_config("paged:page=4,pages=14"));
    const auto common = random_tokens(8, 97, 3);
    for (int round = 0; round < 40; ++round) {
        for (std::int32_t i = 0; i < 3; ++i)
            together.add(talk(joined(round % 2 ? common : random_tokens(5, 97, 50 + static_cast<std::uint64_t>(round)),
                                     {i, round % 7}), 1 + (round + i) % 5));
        together.run(3);
        const PagePool& pool = *together.batch->pool();
        EXPECT_LE(pool.used_pages(), 14);
        EXPECT_EQ(pool.used_pages() + pool.free_pages(), 14);
        EXPECT_LE(together.batch->admission().set_aside(), pool.free_pages());
    }
    together.run();
    EXPECT_EQ(together.batch->pool()->free_pages(), 14);
    for (SequenceId id = 0; id < together.batch->size(); ++id) EXPECT_EQ(together.result(id).stop_reason, "length");
}

// Whichever allocation fails: an error of the step or of a sequence, no page lost, and the next request works.
TEST(Batch, PG11_AnAllocationThatFailsAnywhere) {
    const Talk first = talk(random_tokens(7, 97, 1), 4), second = talk(random_tokens(10, 97, 2), 5);
    const Talk next = talk(random_tokens(9, 97, 3), 5);
    const auto expected = alone(loaded(make_tiny_llama()), session_config("preallocated"), next);
    for (const char* cache : {"paged:page=4", "growing"}) {
        bool failed = true;
        for (int nth = 1; failed; ++nth) {
            SCOPED_TRACE(fmt::format("{} allocation {}", cache, nth));
            Probed probed(make_tiny_llama());
            SessionConfig config = session_config(cache);
            config.expected_tokens = 6;  // so that the pool grows
            Together together(probed.model, config);
            together.add(first);
            probed.backend->fail_allocation(nth);
            const auto before = probed.backend->allocations();
            failed = false;
            for (int i = 0; i < 40 && !together.batch->finished(); ++i) {
                if (i == 1) together.add(second);
                failed = !together.batch->step({}).ok() || failed;
            }
            EXPECT_TRUE(together.batch->finished());
            for (SequenceId id = 0; id < together.batch->size(); ++id)
                failed = failed || together.batch->sequence(id).error.has_value();
            EXPECT_EQ(failed, probed.backend->allocations() - before >= nth);
            probed.backend->fail_allocation(0);
            const SequenceId again = together.add(next);
            together.run();
            expect_same(together.result(again), expected);
            if (const PagePool* pool = together.batch->pool()) {
                EXPECT_EQ(pool->free_pages(), pool->pages());
            }
        }
    }
}

// A step that fails, or logits that are not finite, concern the pass or the one sequence.
TEST(Batch, PG11_OneSequenceFailsAlone) {
    Probed probed(make_tiny_llama());
    Together together(probed.model, session_config("paged:page=4,pages=9"));
    const std::vector<Talk> talks = {talk(random_tokens(7, 97, 1), 6), talk(random_tokens(9, 97, 2), 6)};
    for (const Talk& one : talks) together.add(one);
    together.run(3);
    probed.backend->after_run = [](StepOutputs& outputs) -> Status {
        outputs.logits[5] = std::numeric_limits<float>::quiet_NaN();
        return {};
    };
    together.run(1);
    probed.backend->after_run = {};
    ASSERT_TRUE(together.batch->sequence(0).error.has_value());
    EXPECT_EQ(together.batch->sequence(0).error->kind, ErrorKind::NonFinite);
    EXPECT_EQ(together.result(0).tokens.size(), 7u + 3u);
    together.run();
    expect_same(together.result(1), alone(probed.model, session_config("preallocated"), talks[1]));
    EXPECT_EQ(together.batch->pool()->free_pages(), 9);
}

// There is no preemption. What was interrupted goes on from everything that it had, and nothing is given twice.
TEST(Batch, PG15_AnInterruptedStepGoesOnFromAllTokens) {
    Probed probed(make_tiny_llama());
    const std::vector<Talk> talks = {talk(random_tokens(7, 97, 1), 9), talk(random_tokens(22, 97, 2), 9)};
    const auto config = session_config("paged:page=4", "f32", 8);
    Together together(probed.model, config);
    for (const Talk& one : talks) together.add(one);
    for (const int before : {1, 1, 3}) {  // while a prompt is computed, and in the middle
        together.run(before);
        std::stop_source source;
        probed.backend->on_run = [&source](StepInputs&) { source.request_stop(); };
        const auto used = together.batch->pool()->free_list();
        const auto stopped = together.batch->step(source.get_token());
        ASSERT_FALSE(stopped.ok());
        EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
        EXPECT_EQ(together.batch->pool()->free_list(), used);
        probed.backend->on_run = {};
    }
    together.run();
    for (std::size_t i = 0; i < talks.size(); ++i)
        expect_same(together.result(static_cast<SequenceId>(i)), alone(probed.model, config, talks[i]));
}

// One that was ended after 5 new tokens, the one not yet fed included, and is taken up again later, from all that it had.
TEST(Batch, PG15_TakenUpAgainFromAllItsTokens) {
    const auto model = loaded(make_tiny_llama());
    const auto config = session_config("paged:page=4,pages=12", "f32", 8);
    const Talk whole = talk(random_tokens(9, 97, 5), 12);
    const TalkResult expected = alone(model, config, whole);
    Together together(model, config);
    together.add(whole);
    together.add(talk(random_tokens(7, 97, 6), 3));
    while (together.batch->tokens(0).size() < 9u + 5u) together.run(1);
    together.batch->cancel(0);
    const auto had = together.batch->tokens(0);
    const std::vector<std::int32_t> so_far(had.begin(), had.end());
    EXPECT_EQ(so_far, std::vector(expected.tokens.begin(), expected.tokens.begin() + 14));
    together.run();  // the other one goes on meanwhile
    const SequenceId again = together.add(talk(so_far, 7));
    together.run();
    EXPECT_EQ(together.result(again).tokens, expected.tokens);
    EXPECT_EQ(together.result(again).logits.size(), 7u);  // nothing is given twice
    EXPECT_EQ(together.batch->sequence(again).found_tokens, 12);  // its own pages, still there
    EXPECT_EQ(together.batch->pool()->free_pages(), 12);
}

TEST(Batch, CancelledSequencesKeepWhatTheyHave) {
    const auto model = loaded(make_tiny_llama());
    BatchConfig config = Together::batch_config(session_config("paged:page=4,pages=8", "f32", 8));
    Together together(model, config);
    together.add(talk(random_tokens(5, 97, 1), 9));
    together.add(talk(random_tokens(5, 97, 2), 9));
    together.add(talk(random_tokens(20, 97, 3), 9));  // waits
    together.run(3);
    for (SequenceId id : {0, 2}) together.batch->cancel(id);
    EXPECT_EQ(together.batch->tokens(0).size(), 5u + 3u);
    EXPECT_EQ(together.batch->sequence(0).stop_reason, "cancelled");
    EXPECT_EQ(together.batch->sequence(0).recording->step_count(), 3);
    EXPECT_EQ(together.batch->sequence(2).stop_reason, "cancelled");
    EXPECT_EQ(together.batch->sequence(2).recording, nullptr);
    EXPECT_FALSE(together.batch->finished());
    together.run();
    EXPECT_EQ(together.result(1).stop_reason, "length");
    EXPECT_EQ(together.batch->pool()->free_pages(), 8);
}

// Ended within its prompt: the conversation is still that of the whole prompt, and the recording has what was fed.
TEST(Batch, EndedWithinThePromptKeepsThePrompt) {
    const Talk whole = talk(random_tokens(20, 97, 4), 5);
    for (const char* cache : {"paged:page=4,pages=8", "preallocated", "recompute"}) {
        for (const int fed_passes : {0, 1}) {
            SCOPED_TRACE(fmt::format("{} after {} passes", cache, fed_passes));
            Probed probed(make_tiny_llama());
            Together together(probed.model, session_config(cache, "f32", 8));
            together.add(whole);
            together.run(fed_passes);
            std::stop_source source;
            probed.backend->on_run = [&](StepInputs&) { source.request_stop(); };
            EXPECT_EQ(together.batch->step(source.get_token()).ok(), false);
            together.batch->cancel(0);
            const BatchSequence& ended = together.batch->sequence(0);
            EXPECT_EQ(ended.tokens, whole.prompt);
            EXPECT_EQ(ended.stop_reason, "cancelled");
            EXPECT_FALSE(ended.error);
            ASSERT_NE(ended.recording, nullptr);
            ASSERT_EQ(ended.recording->step_count(), fed_passes);
            if (fed_passes > 0) {
                EXPECT_EQ(ended.recording->step(0)->row_count, 8);
            }
        }
    }
}

}  // namespace
}  // namespace decodescope
