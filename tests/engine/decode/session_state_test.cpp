// What a session keeps, gives up, shares and refuses (CC-06, CC-07, CC-12, CC-13, CC-16 to CC-18), and its facts.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <bit>
#include <limits>

#include "kernels/api/half.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

const std::vector<const char*> kCaches = {"recompute", "growing", "preallocated", "preallocated:slab=true"};

std::int64_t kv_live(const Backend& backend) {
    return backend.memory().bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)];
}

std::vector<std::int32_t> tokens_for(const ModelPtr& model, std::int64_t count, std::uint64_t seed = 31) {
    return random_tokens(count, model->config.vocabulary, seed);
}

TEST(SessionState, CC06_TruncateAndFeedAgain) {
    const auto model = make_tiny_llama();
    const auto on_cpu = loaded(model);
    for (const char* cache : kCaches) {
        SCOPED_TRACE(cache);
        const auto session = session_of(on_cpu, session_config(cache));
        auto tokens = tokens_for(model, 20);
        feed_all(*session, tokens, 7);
        EXPECT_EQ(session->truncate(21).error().kind, ErrorKind::Argument);
        EXPECT_EQ(session->truncate(-5).error().kind, ErrorKind::Argument);
        EXPECT_EQ(session->tokens().size(), 20u);
        for (const std::size_t kept : {20u, 19u, 11u, 1u, 0u}) {
            ASSERT_TRUE(session->truncate(static_cast<std::int64_t>(kept)).ok());
            ASSERT_EQ(session->tokens().size(), kept);
            EXPECT_EQ(session->kv_facts().tokens_seen, static_cast<std::int64_t>(kept));
            EXPECT_LE(session->kv_facts().used_bytes, session->kv_facts().reserved_bytes);
            // Another continuation than before, so that a row left behind would show.
            tokens.resize(kept);
            for (const auto token : tokens_for(model, 20 - static_cast<std::int64_t>(kept) + 1, kept))
                tokens.push_back(token);
            const auto oracle = run_oracle(*model, tokens);
            const Fed fed = feed_all(*session, std::span(tokens).subspan(kept), 4);
            EXPECT_LE(relative_error(fed.logits.back(), oracle.logits.back()), kExact);
            ASSERT_TRUE(session->truncate(20).ok());
            tokens.resize(20);
        }
    }
}

TEST(SessionState, CC07_ForksLeaveTheParentAlone) {
    const auto model = make_tiny_llama();
    const auto prefix = tokens_for(model, 12);
    for (const char* cache : kCaches) {
        for (const bool a_first : {true, false}) {
            SCOPED_TRACE(fmt::format("{} {}", cache, a_first));
            const auto parent = session_of(loaded(model), session_config(cache));
            feed_all(*parent, prefix, 5);
            const bool has_cache = std::string(cache) != "recompute";
            const auto before = has_cache ? all_cells(*parent) : std::vector<float>();
            const auto facts = parent->kv_facts();
            for (const bool a : {a_first, !a_first}) {
                auto fork = parent->fork();
                ASSERT_TRUE(fork.ok());
                auto tokens = prefix;
                for (const auto token : tokens_for(model, 10, a ? 100 : 200)) tokens.push_back(token);
                const auto oracle = run_oracle(*model, tokens);
                const Fed fed = feed_all(**fork, std::span(tokens).subspan(12), 1);
                EXPECT_LE(worst_error(fed.logits, oracle, 12), kExact);
            }
            if (has_cache) {
                EXPECT_EQ(all_cells(*parent), before);
            }
            EXPECT_EQ(parent->tokens().size(), 12u);
            EXPECT_EQ(parent->kv_facts().reserved_bytes, facts.reserved_bytes);
        }
    }
}

// CC-05: one position for Q and K of a token, in every layer, and it counts the tokens seen, chunk by chunk.
TEST(SessionState, CC05_PositionsCountTheTokensSeen) {
    const auto model = make_tiny_llama();
    const auto tokens = tokens_for(model, 20);
    for (const char* cache : kCaches) {
        Probed probed(model);
        const auto session = session_of(probed.model, session_config(cache));
        std::vector<std::int32_t> positions;
        probed.backend->on_run = [&](StepInputs& inputs) {
            positions.assign(inputs.positions.begin(), inputs.positions.end());
            ASSERT_EQ(inputs.visibility.size(), positions.size());
            for (std::size_t r = 0; r < positions.size(); ++r) ASSERT_EQ(inputs.visibility[r].position, positions[r]);
            for (const auto& view : inputs.sequences.front().views) ASSERT_EQ(view.table.count, positions.back() + 1);
        };
        for (std::int32_t first = 0; first < 20; first += 4) {
            feed_all(*session, std::span(tokens).subspan(static_cast<std::size_t>(first), 4), 4);
            ASSERT_EQ(positions.back(), first + 3);
            ASSERT_EQ(positions.front(), std::string(cache) == "recompute" ? 0 : first);
        }
    }
}

TEST(SessionState, CC12_AZeroKeyIsARowLikeAnyOther) {
    TinyOptions options;
    options.edit = [](TinyTensors& tensors) {  // K of KV head 0 in layer 0: 8 rows of 64
        std::fill_n(tensors.at("0.key").begin(), 8 * 64, 0.0f);
    };
    const auto model = make_tiny_llama(options);
    const auto tokens = tokens_for(model, 9);
    const auto oracle = run_oracle(*model, tokens);
    for (const char* cache : kCaches) {
        const auto session = session_of(loaded(model), session_config(cache));
        const Fed fed = feed_all(*session, tokens, 2);
        EXPECT_LE(relative_error(fed.logits.back(), oracle.logits.back()), kExact);
        const KvFacts facts = session->kv_facts();
        EXPECT_EQ(facts.tokens_seen, 9);
        EXPECT_EQ(facts.tokens_stored, std::string(cache) == "recompute" ? 0 : 9);
        EXPECT_EQ(facts.used_bytes,
                  facts.tokens_stored * model->config.kv_bytes_per_token(ElementType::F32, ElementType::F32));
    }
}

TEST(SessionState, CC13_SlotsNotYetWrittenAreNotRead) {
    const auto model = make_tiny_llama();
    const auto tokens = tokens_for(model, 10);
    const auto oracle = run_oracle(*model, tokens);
    for (const char* cache : {"preallocated:capacity=64", "preallocated:capacity=64,slab=true", "growing"}) {
        for (const char* kv : {"f32", "f16"}) {
            const auto clean = session_of(loaded(model), session_config(cache, kv));
            const auto expected = feed_all(*clean, tokens, 1).logits;
            for (const float value : {1e4f, std::numeric_limits<float>::quiet_NaN()}) {
                SCOPED_TRACE(fmt::format("{} {} {}", cache, kv, value));
                Probed probed(model);
                const bool half = std::string(kv) == "f16";
                const std::uint32_t bits = half ? f32_to_f16(value) : std::bit_cast<std::uint32_t>(value);
                for (std::size_t i = 0; i < (half ? 2u : 4u); ++i)
                    probed.backend->fill.push_back(static_cast<std::byte>(bits >> (8 * i)));
                const auto session = session_of(probed.model, session_config(cache, kv));
                const Fed fed = feed_all(*session, tokens, 1);
                EXPECT_EQ(fed.logits, expected);
                EXPECT_LE(worst_l2(fed.logits, oracle), half ? kHalf : kExact);
            }
        }
    }
}

TEST(SessionState, CC16_SequencesDoNotLeakIntoEachOther) {
    const auto model = make_tiny_llama();
    const auto on_cpu = loaded(model);
    std::vector<std::int32_t> secret = {90, 91, 92, 93, 94, 95, 96}, other = tokens_for(model, 9);
    for (const char* cache : kCaches) {
        SCOPED_TRACE(cache);
        const auto run = [&](const std::vector<std::int32_t>& tokens) {
            return feed_all(*session_of(on_cpu, session_config(cache)), tokens, 2).logits;
        };
        const auto fresh = feed_all(*session_of(loaded(model), session_config(cache)), other, 2).logits;
        const auto first = run(secret);
        EXPECT_EQ(run(other), fresh);
        EXPECT_EQ(run(secret), first);
        // The same session used again, and two sessions token by token in turn.
        const auto a = session_of(on_cpu, session_config(cache)), b = session_of(on_cpu, session_config(cache));
        feed_all(*a, secret, 7);
        ASSERT_TRUE(a->reset().ok());
        EXPECT_EQ(a->tokens().size(), 0u);
        EXPECT_EQ(a->kv_facts().tokens_stored, 0);
        const auto alone = feed_all(*session_of(on_cpu, session_config(cache)), other, 1).logits;
        Fed fed;
        for (std::size_t i = 0; i < other.size(); ++i) {
            feed_into(fed, *a, std::span(other).subspan(i, 1), 1);
            if (i < secret.size()) feed_all(*b, std::span(secret).subspan(i, 1), 1);
        }
        EXPECT_EQ(fed.logits, alone);
    }
}

TEST(SessionState, CC17_LargeScoresDoNotOverflowHalfPrecision) {
    ModelConfig config = tiny_gpt2_config();
    config.heads = config.kv_heads = 2;
    config.head_dim = 128;
    TinyOptions options;
    options.edit = [](TinyTensors& tensors) {  // q = k = 256 in every component: the unscaled score is 8,388,608
        for (const char* name : {"0.query", "0.key", "1.query", "1.key"}) {
            std::fill(tensors.at(name).begin(), tensors.at(name).end(), 0.0f);
            std::fill(tensors.at(std::string(name) + "_bias").begin(), tensors.at(std::string(name) + "_bias").end(),
                      256.0f);
        }
    };
    const auto model = make_tiny_model(config, options);
    const auto tokens = tokens_for(model, 12);
    const auto oracle = run_oracle(*model, tokens);
    for (const char* cache : {"growing", "preallocated"}) {
        for (const char* backend : {"cpu", "reference"}) {
            const Fed fed = feed_all(*session_of(loaded(model, backend), session_config(cache, "f16")), tokens, 5);
            EXPECT_LE(relative_error(fed.logits.back(), oracle.logits.back()), 1e-3) << cache << backend;
        }
    }
}

TEST(SessionState, CC18_PlaceAndNeighboursDoNotMatter) {
    const auto model = make_tiny_llama();
    const auto on_cpu = loaded(model);
    const auto tokens = tokens_for(model, 17);
    const auto alone = feed_all(*session_of(on_cpu, session_config("preallocated")), tokens, 3).logits;
    std::vector<std::unique_ptr<DecodeSession>> neighbours;
    for (int i = 0; i < 5; ++i) {
        neighbours.push_back(session_of(on_cpu, session_config("growing")));
        feed_all(*neighbours.back(), tokens_for(model, 5 + i, 50 + static_cast<std::uint64_t>(i)), 2);
    }
    neighbours.erase(neighbours.begin() + 1);
    for (const char* cache :
         {"growing", "preallocated", "preallocated:capacity=40", "preallocated:capacity=33,slab=true"}) {
        EXPECT_EQ(feed_all(*session_of(on_cpu, session_config(cache)), tokens, 3).logits, alone) << cache;
    }
}

TEST(SessionState, RefusesWhatCannotBeFed) {
    const auto model = make_tiny_gpt2();
    for (const char* cache : kCaches) {
        SCOPED_TRACE(cache);
        const auto session = session_of(loaded(model), session_config(cache));
        const auto tokens = tokens_for(model, 33);
        feed_all(*session, std::span(tokens).first(30), 30);
        auto empty = session->feed({}, {});
        ASSERT_FALSE(empty.ok());
        for (const std::int32_t bad : {-1, 300, std::numeric_limits<std::int32_t>::max()}) {
            auto refused = session->feed({&bad, 1}, {});
            ASSERT_FALSE(refused.ok());
            EXPECT_EQ(refused.error().kind, ErrorKind::Argument);
            EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(bad)));
            EXPECT_THAT(refused.error().message, HasSubstr("300"));
        }
        auto beyond = session->feed(std::span(tokens).subspan(30, 3), {});
        ASSERT_FALSE(beyond.ok());
        EXPECT_EQ(beyond.error().kind, ErrorKind::Capacity);
        EXPECT_THAT(beyond.error().message, HasSubstr("33"));
        EXPECT_THAT(beyond.error().message, HasSubstr("32"));
        EXPECT_EQ(session->tokens().size(), 30u);
        feed_all(*session, std::span(tokens).subspan(30, 2), 1);  // exactly to the end of the context
        EXPECT_EQ(session->tokens().size(), 32u);
        EXPECT_FALSE(session->feed(std::span(tokens).first(1), {}).ok());
    }
    const auto small = session_of(loaded(model), session_config("preallocated:capacity=10"));
    const auto tokens = tokens_for(model, 11);
    auto beyond = small->feed(tokens, {});
    ASSERT_FALSE(beyond.ok());
    EXPECT_EQ(beyond.error().kind, ErrorKind::Capacity);
    EXPECT_EQ(small->tokens().size(), 0u);
    const auto chunked = session_of(loaded(model), session_config("growing", "f32", 4));
    EXPECT_EQ(chunked->max_pass_rows(), 4);
    EXPECT_EQ(chunked->feed(std::span(tokens).first(5), {}).error().kind, ErrorKind::Argument);
    EXPECT_FALSE(DecodeSession::create(loaded(model), session_config("growing", "f32", -1)).ok());
}

TEST(SessionState, DefaultCapacity) {
    const auto model = make_tiny_llama();
    SessionConfig config = session_config("preallocated");
    config.expected_tokens = 21;
    const std::int64_t row = model->config.kv_bytes_per_token(ElementType::F32, ElementType::F32);
    EXPECT_EQ(session_of(loaded(model), config)->kv_facts().reserved_bytes, 21 * row);
    config.expected_tokens = 1000;
    EXPECT_EQ(session_of(loaded(model), config)->kv_facts().reserved_bytes, 128 * row);
    config.expected_tokens = 0;
    EXPECT_EQ(session_of(loaded(model), config)->kv_facts().capacity_tokens, 128);
}

// Facts of every step: rows, bytes, copies, peaks; the allocator counts the same.
TEST(SessionState, FactsAreExact) {
    const auto model = make_tiny_llama();
    const auto tokens = tokens_for(model, 16);
    for (const char* kv : {"f32", "f16"}) {
        const std::int64_t row = 3 * 2 * 2 * 8 * (std::string(kv) == "f32" ? 4 : 2);
        for (const char* cache : kCaches) {
            SCOPED_TRACE(fmt::format("{} {}", cache, kv));
            Probed probed(model);
            const auto session = session_of(probed.model, session_config(cache, kv));
            const Fed first = feed_all(*session, std::span(tokens).first(5), 5);
            for (std::int64_t n = 5; n < 16; ++n) {
                auto pass = session->feed(std::span(tokens).subspan(static_cast<std::size_t>(n), 1), {});
                ASSERT_TRUE(pass.ok());
                const KvFacts& kv_facts = pass->kv;
                EXPECT_EQ(kv_facts.tokens_seen, n + 1);
                EXPECT_EQ(kv_facts.reserved_bytes, kv_live(*probed.backend));
                const bool none = std::string(cache) == "recompute", growing = std::string(cache) == "growing";
                EXPECT_EQ(kv_facts.rows_written, none ? 0 : 1);
                EXPECT_EQ(kv_facts.rows_read, none ? 0 : n + 1);
                EXPECT_EQ(kv_facts.tokens_stored, none ? 0 : n + 1);
                EXPECT_EQ(kv_facts.used_bytes, none ? 0 : (n + 1) * row);
                EXPECT_EQ(kv_facts.reserved_bytes, none ? 0 : growing ? (n + 1) * row : 128 * row);
                EXPECT_EQ(kv_facts.copied_bytes, growing ? n * row : 0);
                EXPECT_EQ(kv_facts.peak_bytes, growing ? (n + 1) * row + n * row / 3 : kv_facts.reserved_bytes);
                EXPECT_GT(pass->micros, 0);
                EXPECT_EQ(pass->k_rms.size(), 3u);
                EXPECT_EQ(std::isnan(pass->k_rms[0]), none);
            }
        }
    }
}

// FLOPs: 2 N + 4 L H d t + 2 V D for a step, the causal sum for a recomputed one; bytes grow by one row per step.
TEST(SessionState, CostsFollowTheFormulas) {
    const auto model = make_tiny_llama();
    const auto tokens = tokens_for(model, 12);
    const std::int64_t n = 3 * (64 * 64 + 2 * 64 * 16 + 64 * 64 + 3 * 64 * 128), head = 97 * 64;
    const auto cached = session_of(loaded(model), session_config("growing"));
    const auto again = session_of(loaded(model), session_config("recompute"));
    std::int64_t bytes = 0;
    for (std::int64_t t = 1; t <= 12; ++t) {
        auto pass = cached->feed(std::span(tokens).subspan(static_cast<std::size_t>(t - 1), 1), {});
        ASSERT_TRUE(pass.ok());
        EXPECT_EQ(pass->flops, 2 * n + 4 * 3 * 64 * t + 2 * head);
        if (t > 1) {
            EXPECT_EQ(pass->bytes - bytes, 3 * 2 * 2 * 8 * 4);
        }
        bytes = pass->bytes;
        auto full = again->feed(std::span(tokens).subspan(static_cast<std::size_t>(t - 1), 1), {});
        ASSERT_TRUE(full.ok());
        EXPECT_EQ(full->flops, 2 * n * t + 2 * 3 * 64 * t * (t + 1) + 2 * head);
    }
    const auto prefill = session_of(loaded(model), session_config("growing"));
    auto pass = prefill->feed(tokens, {});
    ASSERT_TRUE(pass.ok());
    EXPECT_EQ(pass->flops, 2 * n * 12 + 2 * 3 * 64 * 12 * 13 + 2 * head);
}

TEST(SessionState, RecomputeScratchCountsAsActivations) {
    const auto model = make_tiny_llama();
    Probed probed(model);
    const auto session = session_of(probed.model, session_config("recompute"));
    feed_all(*session, tokens_for(model, 40), 40);
    EXPECT_EQ(kv_live(*probed.backend), 0);
    // One layer's K and V of 64 rows (the next power of two), f32.
    EXPECT_EQ(probed.backend->allocations(), 1);
    EXPECT_GE(probed.backend->memory().bytes[static_cast<std::size_t>(MemoryPurpose::Activations)], 64 * 2 * 2 * 8 * 4);
    EXPECT_FALSE(session->cell(0, 0).ok());
}

TEST(SessionState, CaptureCanBeSwitchedAndChangesNothing) {
    const auto model = make_tiny_llama();
    const auto tokens = tokens_for(model, 20);
    for (const char* cache : kCaches) {
        SCOPED_TRACE(cache);
        const auto with = session_of(loaded(model), session_config(cache)),
                   without = session_of(loaded(model), session_config(cache));
        with->set_capture(true);
        const Fed captured = feed_all(*with, tokens, 6), plain = feed_all(*without, tokens, 6);
        EXPECT_EQ(captured.attention.size(), 20u);
        EXPECT_EQ(plain.attention.size(), 0u);
        for (std::size_t i = 0; i < plain.logits.size(); ++i) {
            const std::vector<double> reference(plain.logits[i].begin(), plain.logits[i].end());
            EXPECT_LE(relative_error(captured.logits[i], reference), 2e-6);
        }
        with->set_capture(false);
        EXPECT_TRUE(feed_all(*with, tokens, 6).attention.empty());
    }
}

TEST(SessionState, ProfileNamesItsStages) {
    const auto model = make_tiny_llama();
    SessionConfig config = session_config("growing");
    config.profile = true;
    const auto session = session_of(loaded(model), config);
    ASSERT_FALSE(session->stage_names().empty());
    EXPECT_EQ(session->stage_names().size(), session->stage_layers().size());
    const auto names = session->stage_names();
    const Fed fed = feed_all(*session, tokens_for(model, 20), 10);
    EXPECT_EQ(session->stage_names(), names);
    ASSERT_EQ(fed.passes[1].ops.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(fed.passes[1].ops[i].stage, static_cast<std::int32_t>(i));
    EXPECT_TRUE(fed.passes[0].warm_up);
    EXPECT_FALSE(fed.passes[1].warm_up);
}

}  // namespace
}  // namespace decodescope
