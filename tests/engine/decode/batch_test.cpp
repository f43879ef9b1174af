// Several conversations in one step: each as if it were alone (CC-09, CC-10, CC-11, CC-16, CC-18).
#include "engine/decode/batch.h"

#include <fmt/format.h>

#include <numeric>

#include "tests/engine/decode/batch_helpers.h"

namespace decodescope {
namespace {

Talk talk(std::int64_t length, std::uint64_t seed, std::int64_t new_tokens = 5) {
    return {random_tokens(length, 97, seed), new_tokens, {}, false};
}

double worst_difference(const TalkResult& got, const TalkResult& expected) {
    if (got.logits.size() != expected.logits.size()) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t i = 0; i < got.logits.size(); ++i) {
        std::vector<double> exact(expected.logits[i].begin(), expected.logits[i].end());
        worst = std::max(worst, relative_error(got.logits[i], exact));
    }
    return worst;
}

struct Row {
    const char* cache;
    const char* kv;
    const char* backend;
    bool llama;
    std::int64_t chunk;
};

// Prompts of 1, 5 and 12 tokens, a longer one in parts and one that draws at random; the fourth joins after two steps.
TEST(Batch, CC09_EachIsAsAlone) {
    for (const Row& row : {Row{"paged:page=4", "f32", "cpu2", true, 0}, {"growing", "f16", "cpu", false, 5},
                           {"ring:window=6", "f32", "cpu", true, 3}, {"sinks:sinks=2,window=5,positions=rebased", "f32",
                           "cpu", true, 7}, {"recompute", "f32", "cpu", false, 0}, {"preallocated", "k=f16,v=bf16",
                           "cpu", true, 16}, {"paged:page=1,pages=90", "f16", "reference", true, 4},
                           {"paged:page=4", "int8", "cpu2", true, 5},
                           {"growing", "int8-kivi(group=4,residual=4)", "cpu2", true, 0},
                           {"preallocated", "k=int8-kivi(group=2,residual=3),v=f16", "cpu", false, 3}}) {
        SCOPED_TRACE(fmt::format("{} {} {} llama {} chunk {}", row.cache, row.kv, row.backend, row.llama, row.chunk));
        const auto model = loaded(row.llama ? make_tiny_llama() : make_tiny_gpt2(), row.backend);
        const auto config = session_config(row.cache, row.kv, row.chunk);
        std::vector<Talk> talks = {talk(1, 1, 3), talk(5, 2, 7), talk(12, 3, 6), talk(19, 4, 8)};
        talks[1].sampler = {0.9, 0, 0.95, 77};
        Together together(model, config);
        for (std::size_t i = 0; i < 3; ++i) together.add(talks[i]);
        together.run(2);
        together.add(talks[3]);
        together.run();
        for (std::size_t i = 0; i < talks.size(); ++i) {
            SCOPED_TRACE(i);
            const TalkResult expected = alone(model, config, talks[i]);
            EXPECT_LE(worst_difference(together.result(static_cast<SequenceId>(i)), expected), kExact);
            expect_same(together.result(static_cast<SequenceId>(i)), expected);
        }
    }
}

// Other words, and another number of them, in one prompt change no bit of the others.
TEST(Batch, CC09_CC16_OneChangedPromptChangesNoBitOfTheOthers) {
    const auto model = loaded(make_tiny_llama(), "cpu2");
    for (const char* cache : {"paged:page=4", "preallocated", "ring:window=7"}) {
        std::vector<TalkResult> before;
        for (const auto& third : {talk(12, 3), talk(12, 9), talk(31, 3), talk(2, 3)}) {
            Together together(model, session_config(cache));
            together.add(talk(1, 1));
            together.add(talk(5, 2));
            together.add(third);
            together.run();
            if (before.empty()) before = {together.result(0), together.result(1)};
            expect_same(together.result(0), before[0]);
            expect_same(together.result(1), before[1]);
        }
    }
}

// The weights are read once for all: one run of the backend, the rows of all in it.
TEST(Batch, OneRunOfTheBackendPerStep) {
    Probed probed(make_tiny_llama());
    Together together(probed.model, session_config("paged:page=4"));
    for (std::uint64_t i = 0; i < 5; ++i) together.add(talk(3 + static_cast<std::int64_t>(i), i));
    std::vector<std::size_t> sequences, logits;
    probed.backend->on_run = [&](StepInputs& inputs) {
        sequences.push_back(inputs.sequences.size());
        logits.push_back(inputs.logits_rows.size());
    };
    together.run();
    EXPECT_EQ(sequences, std::vector<std::size_t>(5, 5u));
    EXPECT_EQ(logits, std::vector<std::size_t>(5, 5u));  // CC-11: of each the last row, no other
    EXPECT_EQ(together.seen[0].rows, 3 + 4 + 5 + 6 + 7);
    EXPECT_EQ(together.seen[1].rows, 5);
    std::int64_t weights = 0;
    for (const auto& op : probed.model->program.ops) weights += op.kind == OpKind::Linear ? op.weight_bytes : 0;
    EXPECT_GT(together.seen[1].bytes, weights);
    EXPECT_LT(together.seen[1].bytes, 2 * weights);
}

// A prompt in parts runs beside the single rows of the others, and they do not wait for all of it.
TEST(Batch, PartsOfAPromptRunBesideTheOthers) {
    const auto model = loaded(make_tiny_llama());
    BatchConfig config = Together::batch_config(session_config("growing", "f32", 8));
    config.prefill_rows = 8;
    Together together(model, config);
    together.add(talk(4, 1, 12));
    together.run(3);
    together.add(talk(40, 2, 4));
    together.add(talk(9, 3, 4));
    together.run(1);
    EXPECT_EQ(together.seen.back().sequences, 2);
    EXPECT_EQ(together.seen.back().rows, 9);
    EXPECT_EQ(together.seen.back().prefill_rows, 8);
    together.run();
    for (SequenceId id = 0; id < 3; ++id) EXPECT_EQ(together.result(id).stop_reason, "length");
    EXPECT_EQ(together.result(1).tokens,
              alone(model, session_config("growing", "f32", 8), talk(40, 2, 4)).tokens);
}

// CC-10: the end token is a matter of one sequence. In a prompt it is a token like any other.
TEST(Batch, CC10_EachStopsForItself) {
    constexpr std::int32_t kEnd = 3;
    TinyOptions options;
    options.eos = kEnd;
    Probed probed(make_tiny_llama(options));
    Together together(probed.model, session_config("paged:page=4,pages=16"));
    Talk first = talk(4, 1, 20), second = talk(6, 2, 20);
    first.stop_at_eos = second.stop_at_eos = true;
    second.prompt[2] = kEnd;
    together.add(first);
    together.add(second);
    int step = 0;
    probed.backend->after_run = [&](StepOutputs& outputs) -> Status {
        ++step;
        const std::size_t rows = outputs.logits.size() / 97;
        std::fill(outputs.logits.begin(), outputs.logits.end(), 0.0f);
        for (std::size_t r = 0; r < rows; ++r) {
            const bool is_first = rows == 2 && r == 0;
            outputs.logits[r * 97 + static_cast<std::size_t>(step == (is_first ? 2 : 7) ? kEnd : 50)] = 9.0f;
        }
        return {};
    };
    together.run(2);
    EXPECT_EQ(together.batch->sequence(0).state, BatchSequence::State::Finished);
    EXPECT_EQ(together.batch->kv_facts(0).pages_used, 0);
    EXPECT_EQ(together.batch->pool()->used_pages(), 2);  // of the other: 7 tokens
    together.run();
    EXPECT_EQ(together.result(0).tokens.size(), 4u + 2u);
    EXPECT_EQ(together.result(1).tokens.size(), 6u + 7u);
    for (SequenceId id : {0, 1}) {
        EXPECT_EQ(together.result(id).stop_reason, "eos");
        EXPECT_EQ(together.result(id).tokens.back(), kEnd);
    }
    std::int64_t rows = 0;
    for (const BatchStep& one : together.seen) rows += one.rows;
    EXPECT_EQ(rows, 4 + 1 + 6 + 6);  // nobody computes for a sequence that has ended
    EXPECT_EQ(together.batch->pool()->free_pages(), 16);
}

// CC-10: who stops at the end token and who does not is each one's own; the end token is then fed like any other, and
// ends a prompt without ending the run.
TEST(Batch, CC10_OnlyThoseStopThatShall) {
    constexpr std::int32_t kEnd = 3;
    TinyOptions options;
    options.eos = kEnd;
    Probed probed(make_tiny_llama(options));
    for (const bool first_stops : {true, false}) {
        Together together(probed.model, session_config("paged:page=4,pages=16"));
        std::vector<Talk> talks = {talk(4, 1, 6), talk(5, 2, 6), talk(3, 3, 6)};
        talks[0].stop_at_eos = first_stops;
        talks[1].stop_at_eos = !first_stops;
        talks[2].stop_at_eos = true;
        talks[2].prompt.back() = kEnd;
        for (const Talk& one : talks) together.add(one);
        int step = 0;
        probed.backend->after_run = [&](StepOutputs& outputs) -> Status {
            ++step;
            std::fill(outputs.logits.begin(), outputs.logits.end(), 0.0f);
            // In the third step everybody draws the end token but the last one, which draws it in the fifth.
            const std::size_t rows = outputs.logits.size() / 97;
            for (std::size_t r = 0; r < rows; ++r) {
                const bool ends = r + 1 == rows ? step == 5 : step == 3;
                outputs.logits[r * 97 + static_cast<std::size_t>(ends ? kEnd : 50)] = 9.0f;
            }
            return {};
        };
        together.run();
        const SequenceId stops = first_stops ? 0 : 1, goes_on = first_stops ? 1 : 0;
        EXPECT_EQ(together.result(stops).stop_reason, "eos");
        EXPECT_EQ(together.result(stops).logits.size(), 3u);
        EXPECT_EQ(together.result(goes_on).stop_reason, "length");
        EXPECT_EQ(together.result(goes_on).logits.size(), 6u);
        EXPECT_EQ(together.result(2).stop_reason, "eos");
        EXPECT_EQ(together.result(2).logits.size(), 5u);
        // Rows of each step: the one that has ended has none, whatever the others do.
        std::vector<std::int64_t> rows;
        for (const BatchStep& one : together.seen) rows.push_back(one.rows);
        EXPECT_EQ(rows, (std::vector<std::int64_t>{4 + 5 + 3, 3, 3, 2, 2, 1}));
        EXPECT_EQ(together.batch->pool()->free_pages(), 16);
    }
}

// CC-11: every sequence is sampled from its own last row.
TEST(Batch, CC11_TheRowOfTheLastTokenIsSampled) {
    Probed probed(make_tiny_llama());
    Together together(probed.model, session_config("preallocated"));
    for (std::uint64_t i = 0; i < 3; ++i) together.add(talk(2 + 5 * static_cast<std::int64_t>(i), i, 1));
    probed.backend->on_run = [](StepInputs& inputs) {
        EXPECT_EQ(std::vector<std::int32_t>(inputs.logits_rows.begin(), inputs.logits_rows.end()),
                  (std::vector<std::int32_t>{1, 8, 20}));
    };
    probed.backend->after_run = [](StepOutputs& outputs) -> Status {
        for (std::size_t r = 0; r < 3; ++r) outputs.logits[r * 97 + 10 * (r + 1)] = 1000.0f;
        return {};
    };
    together.run();
    for (std::size_t r = 0; r < 3; ++r)
        EXPECT_EQ(together.result(static_cast<SequenceId>(r)).tokens.back(), static_cast<std::int32_t>(10 * (r + 1)));
}

// CC-16: a secret that was there before, and one that runs beside it.
TEST(Batch, CC16_NobodySeesAnothersTokens) {
    const auto model = loaded(make_tiny_llama());
    Talk secret = talk(7, 1, 6);
    std::iota(secret.prompt.begin(), secret.prompt.end(), 90);
    const Talk other = talk(9, 5, 6);
    for (const char* cache : {"paged:page=2,pages=16", "preallocated:slab=true", "ring:window=4"}) {
        SCOPED_TRACE(cache);
        const auto config = session_config(cache);
        Together after(model, config);
        for (const Talk& one : {secret, other, secret}) {
            after.add(one);
            after.run();
        }
        Together beside(model, config);
        for (const Talk& one : {secret, other}) beside.add(one);
        beside.run();
        const TalkResult fresh = alone(model, config, other), fresh_secret = alone(model, config, secret);
        expect_same(after.result(1), fresh);
        expect_same(beside.result(1), fresh);
        expect_same(beside.result(0), fresh_secret);
        expect_same(after.result(0), fresh_secret);
        EXPECT_EQ(after.result(2).tokens, fresh_secret.tokens);
    }
}

// CC-18: alone, as the second of three, and in pages that lie in any order.
TEST(Batch, CC18_WhereASequenceLiesChangesNoBit) {
    const auto model = loaded(make_tiny_llama(), "cpu2");
    const auto config = session_config("paged:page=2,pages=40");
    const Talk asked = talk(11, 50, 6);
    const TalkResult expected = alone(model, config, asked);
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        Together together(model, config);
        // Others that come and go leave the queue of free pages in disorder.
        for (std::uint64_t i = 0; i < 6; ++i)
            together.add(talk(3 + static_cast<std::int64_t>((i * seed) % 5), 10 * seed + i,
                              2 + 3 * static_cast<std::int64_t>(i % 3)));
        together.run(7);
        const SequenceId id = together.add(asked);
        together.add(talk(8, 99, 9));
        together.run(2);
        const auto free = together.batch->pool()->free_list();
        EXPECT_FALSE(std::is_sorted(free.begin(), free.end()));
        together.run();
        expect_same(together.result(id), expected);
    }
}

TEST(Batch, RefusedAtOnce) {
    {
        BatchConfig config;
        config.session = session_config("paged:page=4", "int8-kivi(group=4,residual=4)");
        const auto refused = Batch::create(loaded(make_tiny_llama()), config);
        ASSERT_FALSE(refused.ok());  // pages of a batch are found by their tokens
        EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
    }
    const auto model = loaded(make_tiny_llama());
    // What only a pass of one sequence can do.
    for (const auto& [cache, why] : {std::pair{"h2o:budget=8,recent=2", "Eviction by score reads the attention"},
                                     {"growing:offload=host", "Offloaded rows are fetched into a pool"},
                                     {"paged:page=4,offload=file", "Offloaded rows are fetched into a pool"}}) {
        const auto refused = Batch::create(model, Together::batch_config(session_config(cache)));
        ASSERT_FALSE(refused.ok()) << cache;
        EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
        EXPECT_EQ(refused.error().message.find(why), 0u) << refused.error().message;
    }
    auto made = Batch::create(model, Together::batch_config(session_config("preallocated:capacity=16")));
    ASSERT_TRUE(made.ok());
    const auto batch = std::move(*made);
    const auto message = [&](std::vector<std::int32_t> prompt, std::int64_t new_tokens) {
        GenerationConfig config;
        config.new_tokens = new_tokens;
        auto id = batch->add(prompt, config);
        return id.ok() ? std::string("accepted") : id.error().text();
    };
    EXPECT_NE(message({}, 1).find("no tokens"), std::string::npos);
    EXPECT_NE(message({1, 97}, 1).find("Token 1 of the prompt is 97"), std::string::npos);
    EXPECT_NE(message(random_tokens(129, 97, 1), 1).find("129 tokens and the context of the model is 128"),
              std::string::npos);
    EXPECT_NE(message({1, 2, 3}, 20).find("would have 22 tokens and the cache was allocated for 16"),
              std::string::npos);
    EXPECT_EQ(message({1, 2, 3}, 14), "accepted");
    SessionConfig capturing = session_config("growing");
    capturing.capture_attention = true;
    EXPECT_EQ(Batch::create(model, Together::batch_config(capturing)).error().kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace decodescope
