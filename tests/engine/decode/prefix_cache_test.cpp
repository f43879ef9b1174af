// Conversations that find each other's prefix (PG-05 to PG-08, PG-11, QT-07): the rows that are found are the rows that
// would have been computed.
#include "engine/decode/prefix_cache.h"

#include <fmt/format.h>

#include <limits>

#include "engine/decode/generation.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

std::vector<std::int32_t> with(std::vector<std::int32_t> tokens, std::initializer_list<std::int32_t> more) {
    tokens.insert(tokens.end(), more);
    return tokens;
}

SessionConfig sharing(const std::string& cache, const std::shared_ptr<PrefixCache>& prefixes,
                      const std::string& kv = "f32") {
    SessionConfig config = session_config(cache, kv);
    config.prefixes = prefixes;
    return config;
}

// What a conversation gives that was fed alone, its prompt page by page.
std::vector<float> alone(const LoadedModelPtr& model, const std::vector<std::int32_t>& prompt, const char* kv = "f32") {
    return last_logits(*session_of(model, session_config("preallocated", kv)), prompt, 4);
}

// QT-07 and PG-08: a found prefix changes no bit, while its first owner lives and after it has gone.
TEST(PrefixCache, QT07_AFoundPrefixChangesNothing) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto prefix = random_tokens(16, 97, 39);
    for (const char* kv : {"f32", "f16", "bf16", "k=f16,v=f32", "int8", "k=int8,v=f16"}) {
        for (const bool lives : {true, false}) {
            SCOPED_TRACE(fmt::format("{} {}", kv, lives));
            auto prefixes = std::make_shared<PrefixCache>();
            auto first = session_of(on_cpu, sharing("paged:page=4", prefixes, kv));
            EXPECT_EQ(first->take_prefix(prefix), 0);
            feed_all(*first, prefix, 4);
            const auto cells = all_cells(*first);
            if (!lives) first.reset();
            for (const auto& prompt : {with(prefix, {7, 8, 9}), prefix}) {
                const auto second = session_of(on_cpu, sharing("paged:page=4", prefixes, kv));
                const auto taken = static_cast<std::size_t>(second->take_prefix(prompt));
                EXPECT_EQ(taken, prompt.size() == 16 ? 12u : 16u);
                EXPECT_EQ(second->tokens().size(), taken);
                EXPECT_EQ(second->kv_facts().pages_shared, lives ? second->kv_facts().pages_used : 0);
                EXPECT_EQ(last_logits(*second, std::span(prompt).subspan(taken), 4), alone(on_cpu, prompt, kv));
                if (lives) {
                    EXPECT_EQ(all_cells(*first), cells);
                }
            }
        }
    }
}

TEST(PrefixCache, PG06_AWeakHashServesNobodyElsesRows) {
    const auto on_cpu = loaded(make_tiny_llama());
    auto prefixes = std::make_shared<PrefixCache>(
        [](PageContent, std::span<const std::int32_t>) { return std::uint64_t{3}; });
    std::vector<std::unique_ptr<DecodeSession>> sessions;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const auto prompt = random_tokens(14, 97, 40 + seed / 2);  // each twice
        sessions.push_back(session_of(on_cpu, sharing("paged:page=4", prefixes)));
        const auto taken = static_cast<std::size_t>(sessions.back()->take_prefix(prompt));
        EXPECT_EQ(taken, seed % 2 == 0 ? 0u : 12u);
        EXPECT_EQ(last_logits(*sessions.back(), std::span(prompt).subspan(taken), 4), alone(on_cpu, prompt));
    }
}

TEST(PrefixCache, PG07_OnlyTheSameKindOfRowsIsFound) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto other_model = loaded(make_tiny_llama());
    const auto prompt = random_tokens(20, 97, 44);
    auto prefixes = std::make_shared<PrefixCache>();
    const auto first = session_of(on_cpu, sharing("paged:page=4", prefixes));
    feed_all(*first, prompt, 20);
    const auto taken = [&](const LoadedModelPtr& model, const char* cache, const char* kv) {
        return session_of(model, sharing(cache, prefixes, kv))->take_prefix(prompt);
    };
    EXPECT_EQ(taken(on_cpu, "paged:page=4", "f32"), 16);
    EXPECT_EQ(taken(on_cpu, "paged:page=4", "f16"), 0);
    EXPECT_EQ(taken(on_cpu, "paged:page=8", "f32"), 0);
    EXPECT_EQ(taken(other_model, "paged:page=4", "f32"), 0);
    EXPECT_EQ(taken(on_cpu, "growing", "f32"), 0);
    EXPECT_EQ(session_of(on_cpu, session_config("paged:page=4"))->take_prefix(prompt), 0);
}

// Pages of different sizes side by side: each finds those of its own size only, and nobody's rows change.
TEST(PrefixCache, PG07_PageSizesSideBySide) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto prompt = random_tokens(50, 97, 47);
    const auto expected = alone(on_cpu, prompt);
    auto prefixes = std::make_shared<PrefixCache>();
    std::vector<std::unique_ptr<DecodeSession>> sessions;
    for (const bool again : {false, true}) {
        for (const std::int64_t page : {8, 1, 16, 4, 256, 32, 2}) {
            SCOPED_TRACE(fmt::format("page {}", page));
            sessions.push_back(session_of(on_cpu, sharing(fmt::format("paged:page={}", page), prefixes)));
            const std::int64_t taken = sessions.back()->take_prefix(prompt);
            EXPECT_EQ(taken, again ? 49 / page * page : 0);
            const auto rest = std::span(prompt).subspan(static_cast<std::size_t>(taken));
            // In passes that begin and end where those of the whole prompt do, as far as the page allows.
            const auto got = last_logits(*sessions.back(), rest, again ? std::int64_t{1} : 4);
            double difference = 0;
            for (std::size_t i = 0; i < got.size(); ++i)
                difference = std::max(difference, std::abs(static_cast<double>(got[i] - expected[i])));
            EXPECT_LE(difference, 1e-5);
        }
    }
    // One row each more, all at once in turn: nobody writes into another's page.
    const auto next = alone(on_cpu, with(prompt, {5}));
    for (const auto& session : sessions) {
        auto pass = session->feed(std::vector<std::int32_t>{5}, {});
        ASSERT_TRUE(pass.ok());
        double difference = 0;
        for (std::size_t i = 0; i < next.size(); ++i)
            difference = std::max(difference, std::abs(static_cast<double>(pass->logits[i] - next[i])));
        EXPECT_LE(difference, 1e-5);
    }
}

// The loop that the command line and the window share takes the prefix by itself.
TEST(PrefixCache, GenerationComputesOnlyTheRest) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto prompt = random_tokens(14, 97, 50);
    auto prefixes = std::make_shared<PrefixCache>();
    std::vector<std::int32_t> tokens;
    for (const std::size_t computed : {14u, 2u}) {
        SessionConfig config = sharing("paged:page=4", prefixes);
        config.prefill_chunk = 4;
        GenerationConfig generation_config;
        generation_config.new_tokens = 5;
        generation_config.stop_at_eos = false;
        std::size_t fed_first = 0;
        generation_config.on_pass = [&](const PassResult&, std::span<const std::int32_t> fed, Phase phase) {
            if (phase == Phase::Prefill) fed_first += fed.size();
        };
        std::shared_ptr<DecodeSession> session = session_of(on_cpu, config);
        Generation generation(session, generation_config, nullptr);
        ASSERT_TRUE(generation.start(prompt, {}, {}).ok());
        EXPECT_EQ(fed_first, computed);
        while (!generation.finished()) ASSERT_TRUE(generation.step({}).ok());
        const std::vector<std::int32_t> got(generation.tokens().begin(), generation.tokens().end());
        if (tokens.empty()) tokens = got;
        EXPECT_EQ(got, tokens);
        EXPECT_EQ(got.size(), 19u);
    }
}

// PG-05 and PG-11: a pass that fails has written into pages that could still be found.
TEST(PrefixCache, PG11_AFailedPassLeavesNothingThatCanBeFound) {
    Probed probed(make_tiny_llama());
    const auto prompt = random_tokens(12, 97, 45), other = random_tokens(12, 97, 46);
    const auto expected = alone(loaded(make_tiny_llama()), prompt);
    auto prefixes = std::make_shared<PrefixCache>();
    const auto config = sharing("paged:page=4,pages=3", prefixes);
    feed_all(*session_of(probed.model, config), prompt, 4);
    EXPECT_EQ(session_of(probed.model, config)->take_prefix(prompt), 8);
    const auto failing = session_of(probed.model, config);
    probed.backend->after_run = [](StepOutputs& outputs) -> Status {
        outputs.logits[0] = std::numeric_limits<float>::quiet_NaN();
        return {};
    };
    EXPECT_FALSE(failing->feed(other, {}).ok());
    probed.backend->after_run = {};
    EXPECT_EQ(failing->kv_facts().pages_free, 3);
    const auto again = session_of(probed.model, config);
    ASSERT_EQ(again->take_prefix(prompt), 0);
    EXPECT_EQ(last_logits(*again, prompt, 4), expected);
}

}  // namespace
}  // namespace decodescope
