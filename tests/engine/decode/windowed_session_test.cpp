// Ring and sinks on a model, against the oracle with the same mask: every row, prompts around the window, every way of
// cutting them (SW-01 to SW-07), positions counted inside the cache (SW-05), and what a session may do with them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "engine/decode/generation.h"
#include "tests/engine/decode/window_oracle.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

ModelPtr one_layer() {
    ModelConfig config = tiny_llama_config();
    config.layers = 1;
    return make_tiny_model(config);
}

struct Case {
    Window window;
    std::string backend, kv;
};
void PrintTo(const Case& one, std::ostream* out) {
    *out << fmt::format("{} {} {}", one.window.spec, one.backend, one.kv);
}

class AgainstMask : public testing::TestWithParam<Case> {};

// SW-01, SW-03: prompts of 7, 8, 9, 16 and 60 tokens at every chunk size, then single steps.
TEST_P(AgainstMask, SW01_SW03_EveryRowAtEveryChunkSize) {
    const Case& c = GetParam();
    const OracleResult& oracle = oracle_of(c.window);
    const auto on_backend = loaded(model_l3(), c.backend);
    for (const std::int64_t prompt : {7, 8, 9, 16, 60}) {
        for (const std::int64_t chunk : {std::int64_t{1}, std::int64_t{3}, std::int64_t{5}, std::int64_t{8},
                                         std::int64_t{9}, std::int64_t{20}, prompt}) {
            if (chunk > prompt) continue;
            SCOPED_TRACE(fmt::format("prompt {} chunk {}", prompt, chunk));
            const auto session = session_of(on_backend, every_row(c.window.spec, c.kv));
            Fed fed = feed_all(*session, text(0, prompt), chunk);
            feed_into(fed, *session, text(prompt, 5), 1);
            ASSERT_EQ(fed.logits.size(), static_cast<std::size_t>(prompt + 5));
            if (c.kv == "f32") {
                EXPECT_LE(worst_error(fed.logits, oracle), kExact);
            } else {
                EXPECT_LE(worst_l2(fed.logits, oracle), kHalf);
            }
        }
    }
}

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const Window& window : {kRing, kSinks, kRebased})
        for (const char* backend : {"cpu", "reference"})
            for (const char* kv : {"f32", "f16"}) list.push_back({window, backend, kv});
    for (const Window& window : {Window{"ring:window=1", 0, 1, false}, Window{"ring:window=33", 0, 33, false},
                                 Window{"sinks:sinks=0,window=5,positions=rebased", 0, 5, true},
                                 Window{"sinks:sinks=9,window=1,positions=rebased", 9, 1, true}})
        list.push_back({window, "cpu2", "k=f16,v=f32"});
    return list;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
    std::string name = info.param.window.spec + "_" + info.param.backend + "_" + info.param.kv;
    std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, AgainstMask, testing::ValuesIn(cases()), case_name);

// SW-02: 10 tokens, then 20 in one call, then 3, then 1; the attention of every row too, over the entries that it sees.
TEST(Windowed, SW02_ContinuedOnARolledOverWindow) {
    for (const Window& window : {kRing, kSinks, kRebased}) {
        SCOPED_TRACE(window.spec);
        const OracleResult& oracle = oracle_of(window);
        SessionConfig config = every_row(window.spec);
        config.capture_attention = true;
        const auto session = session_of(loaded(model_l3()), config);
        std::int64_t row = 0;
        for (const std::int64_t rows : {10, 20, 3, 1, 1, 9}) {
            auto pass = session->feed(text(row, rows), {});
            ASSERT_TRUE(pass.ok());
            ASSERT_EQ(pass->attention.size(), 3u);
            for (std::int32_t r = 0; r < pass->rows; ++r, ++row) {
                const auto logits = pass->all_logits.subspan(static_cast<std::size_t>(r) * 97, 97);
                const auto at = static_cast<std::size_t>(row);
                EXPECT_LE(relative_error(logits, oracle.logits[at]), kExact) << row;
                const std::int32_t entries = pass->row_entries[static_cast<std::size_t>(r)];
                const auto positions = pass->entry_positions(r);
                ASSERT_TRUE(positions.empty() || positions.size() == static_cast<std::size_t>(entries));
                ASSERT_EQ(entries, std::min(row + 1, window.sinks + window.window));
                for (std::size_t layer = 0; layer < 3; ++layer) {
                    for (std::size_t h = 0; h < 8; ++h) {
                        const float* line = pass->attention[layer] +
                                            (static_cast<std::size_t>(r) * 8 + h) *
                                                static_cast<std::size_t>(pass->attention_stride);
                        double sum = 0;
                        for (std::int32_t e = 0; e < entries; ++e) {
                            const std::int32_t position =
                                positions.empty() ? e : positions[static_cast<std::size_t>(e)];
                            sum += line[e];
                            ASSERT_NEAR(line[e], oracle.attention[layer][h][at][static_cast<std::size_t>(position)],
                                        1e-5)
                                << "row " << row << " position " << position;
                        }
                        ASSERT_NEAR(sum, 1.0, 1e-5);
                        for (std::int64_t e = entries; e < pass->attention_stride; ++e) ASSERT_EQ(line[e], 0.0f);
                    }
                }
            }
        }
    }
}

// SW-04 with one layer, where nothing of an evicted token is left: token 0 reaches row 7 and not row 8, to the bit.
TEST(Windowed, SW04_TheNinthTokenForgetsTheFirst) {
    const auto on_cpu = loaded(one_layer());
    std::vector<std::int32_t> tokens(long_text().begin(), long_text().begin() + 9), changed = tokens;
    changed[0] = (changed[0] + 1) % 97;
    for (const std::int64_t chunk : {1, 4, 5, 9}) {
        const auto a = feed_all(*session_of(on_cpu, every_row("ring:window=8")), tokens, chunk).logits;
        const auto b = feed_all(*session_of(on_cpu, every_row("ring:window=8")), changed, chunk).logits;
        EXPECT_NE(a[7], b[7]) << chunk;
        EXPECT_EQ(a[8], b[8]) << chunk;
    }
}

// SW-07: a window is not a run over its last tokens, except where there is one layer.
TEST(Windowed, SW07_NotARunOverTheLastTokens) {
    for (const std::int64_t layers : {1, 3}) {
        const auto on_cpu = loaded(layers == 1 ? one_layer() : model_l3());
        const auto session = session_of(on_cpu, session_config("ring:window=8"));
        const auto windowed = feed_all(*session, text(0, 30), 7).logits.back();
        const auto last = feed_all(*session_of(on_cpu, session_config("growing")), text(22, 8), 8).logits.back();
        const std::vector<double> expected(last.begin(), last.end());
        if (layers == 1) {
            EXPECT_LE(relative_error(windowed, expected), kExact);
        } else {
            EXPECT_GT(relative_error(windowed, expected), 1e-2);
        }
    }
    EXPECT_THAT(find_strategy("ring")->explanation, HasSubstr("nor that of a run over the last tokens alone"));
}

// SW-05: rebased positions never grow beyond the cache, so the text may grow beyond the context.
TEST(Windowed, SW05_RebasedRunsOnBeyondTheContext) {
    const auto tokens = random_tokens(300, 97, 33);
    const auto oracle = run_oracle(*model_l3(), tokens, kRebased.mask());
    for (const char* backend : {"cpu", "reference"}) {
        const auto session = session_of(loaded(model_l3(), backend), every_row(kRebased.spec));
        EXPECT_EQ(session->context(), std::numeric_limits<std::int32_t>::max());
        Fed fed = feed_all(*session, std::span(tokens).first(270), 64);
        feed_into(fed, *session, std::span(tokens).subspan(270), 1);
        EXPECT_LE(worst_error(fed.logits, oracle), kExact);
    }
    for (const Window& window : {kRing, kSinks}) {
        const auto session = session_of(loaded(model_l3()), session_config(window.spec));
        EXPECT_EQ(session->context(), 128);
        feed_all(*session, std::span(tokens).first(128), 64);
        auto pass = session->feed(std::span(tokens).subspan(128, 1), {});
        ASSERT_FALSE(pass.ok());
        EXPECT_EQ(pass.error().kind, ErrorKind::Capacity);
        EXPECT_THAT(pass.error().message, HasSubstr("129"));
    }
}

// Learned positions: absolute only, and no further than the context.
TEST(Windowed, SW05_LearnedPositionsStayAbsolute) {
    const auto model = make_tiny_gpt2();
    const auto tokens = random_tokens(32, model->config.vocabulary, 34);
    for (const Window& window : {kRing, kSinks}) {
        const auto oracle = run_oracle(*model, tokens, window.mask());
        const auto session = session_of(loaded(model), every_row(window.spec));
        const Fed fed = feed_all(*session, tokens, 5);
        EXPECT_LE(worst_error(fed.logits, oracle), kExact);
        EXPECT_FALSE(session->feed(std::span(tokens).first(1), {}).ok());
    }
    auto session = DecodeSession::create(loaded(model), session_config(kRebased.spec));
    ASSERT_FALSE(session.ok());
    EXPECT_EQ(session.error().kind, ErrorKind::Unsupported);
}

TEST(Windowed, OtherHeadCounts) {
    for (const auto& [heads, kv_heads] : {std::pair{4, 4}, {4, 1}, {6, 3}, {9, 3}}) {
        ModelConfig config = tiny_llama_config();
        config.heads = heads;
        config.kv_heads = kv_heads;
        config.head_dim = 6;
        const auto model = make_tiny_model(config);
        for (const Window& window : {kRing, kRebased}) {
            const auto oracle = run_oracle(*model, text(0, 30), window.mask());
            const auto session = session_of(loaded(model), every_row(window.spec));
            EXPECT_LE(worst_error(feed_all(*session, text(0, 30), 11).logits, oracle), kExact) << heads;
        }
    }
}

// The rows that are there are those of their own positions; the others are refused. Sizes of staged rows are right too.
TEST(Windowed, CellsHoldTheirOwnPositionsRow) {
    const OracleResult& oracle = oracle_of(kSinks);
    for (const std::int64_t chunk : {1, 5, 21}) {
        const auto session = session_of(loaded(model_l3()), session_config(kSinks.spec));
        const Fed fed = feed_all(*session, text(0, 21), chunk);
        for (std::int32_t p = 0; p < 21; ++p) {
            for (std::int32_t layer = 0; layer < 3; ++layer) {
                const auto& k = oracle.k[static_cast<std::size_t>(layer)][static_cast<std::size_t>(p)];
                double square = 0;
                for (const double x : k) square += x * x / static_cast<double>(k.size());
                const auto& pass = fed.passes[static_cast<std::size_t>(p / chunk)];
                EXPECT_NEAR(pass.k_rms[static_cast<std::size_t>(p % chunk * 3 + layer)], std::sqrt(square), 1e-5);
                auto cell = session->cell(layer, p);
                ASSERT_EQ(cell.ok(), p < 4 || p >= 13) << p;
                if (!cell.ok()) continue;
                EXPECT_LE(relative_error(cell->k, k), 1e-5) << p;
            }
        }
    }
}

// SW-10 on a session: a refusal changes nothing, one token back is exact.
TEST(Windowed, SW10_TruncateOnASession) {
    const auto on_cpu = loaded(model_l3());
    for (const Window& window : {kRing, kSinks, kRebased}) {
        const auto session = session_of(on_cpu, session_config(window.spec));
        Fed fed = feed_all(*session, text(0, 20), 6);
        feed_into(fed, *session, text(20, 10), 1);
        const Status refused = session->truncate(25);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
        EXPECT_THAT(refused.error().hint, HasSubstr("29 to 30 tokens can be kept"));
        EXPECT_EQ(session->tokens().size(), 30u);
        ASSERT_TRUE(session->truncate(30).ok());
        ASSERT_TRUE(session->truncate(29).ok());
        auto again = session->feed(text(29, 1), {});
        ASSERT_TRUE(again.ok());
        EXPECT_EQ(std::vector<float>(again->logits.begin(), again->logits.end()), fed.logits.back());
        ASSERT_TRUE(session->truncate(0).ok());
        Fed second = feed_all(*session, text(0, 20), 6);
        feed_into(second, *session, text(20, 10), 1);
        EXPECT_EQ(second.logits, fed.logits);
        ASSERT_TRUE(session->reset().ok());
        EXPECT_EQ(session->kv_facts().used_bytes, 0);
        EXPECT_EQ(feed_all(*session, text(0, 20), 6).logits.back(), fed.logits[3]);
    }
}

TEST(Windowed, ForksGoTheirOwnWays) {
    const auto on_cpu = loaded(model_l3());
    for (const Window& window : {kRing, kRebased}) {
        const auto parent = session_of(on_cpu, session_config(window.spec));
        const Fed start = feed_all(*parent, text(0, 21), 7);
        auto fork = parent->fork();
        ASSERT_TRUE(fork.ok());
        const auto other = feed_all(**fork, text(40, 9), 3).logits;  // another text
        const auto whole = session_of(on_cpu, session_config(window.spec));
        Fed expected = feed_all(*whole, text(0, 21), 7);
        feed_into(expected, *whole, text(21, 9), 3);
        const auto own = feed_all(*parent, text(21, 9), 3).logits;
        EXPECT_EQ(own, std::vector(expected.logits.begin() + 3, expected.logits.end()));
        const auto apart = session_of(on_cpu, session_config(window.spec));  // CC-07: the branch is as good as new
        feed_all(*apart, text(0, 21), 7);
        EXPECT_EQ(other, feed_all(*apart, text(40, 9), 3).logits);
        EXPECT_NE(own, other);
    }
}

// Exactly W rows are reserved, whatever the chunk; what lies beside them counts as activations and goes back.
TEST(Windowed, TheRingHoldsExactlyItsWindow) {
    const auto on_cpu = loaded(model_l3());
    const std::int64_t row = 3 * 2 * 2 * 8 * 4;  // layers, K and V, heads, dimensions, f32
    const auto bytes = [&](MemoryPurpose purpose) {
        return on_cpu->backend->memory().bytes[static_cast<std::size_t>(purpose)];
    };
    const auto session = session_of(on_cpu, session_config(kRing.spec));
    for (std::int64_t fed = 0; fed < 60; fed += 20) {
        auto pass = session->feed(text(fed, 20), {});
        ASSERT_TRUE(pass.ok());
        EXPECT_EQ(pass->kv.reserved_bytes, 8 * row);
        EXPECT_EQ(pass->kv.used_bytes, 8 * row);
        EXPECT_EQ(pass->kv.peak_bytes, 8 * row);
        EXPECT_EQ(pass->kv.copied_bytes, 0);
        EXPECT_EQ(pass->kv.rows_read, 8);
        EXPECT_EQ(pass->evicted.size(), fed == 0 ? 12u : 20u);
        EXPECT_EQ(bytes(MemoryPurpose::KvCache), 8 * row);
    }
    const std::int64_t during = bytes(MemoryPurpose::Activations);
    auto pass = session->feed(text(60, 1), {});
    ASSERT_TRUE(pass.ok());
    EXPECT_EQ(bytes(MemoryPurpose::Activations), during - 19 * row);
    EXPECT_EQ(pass->evicted.size(), 1u);
    EXPECT_EQ(pass->evicted.front().position, 52);
    // Read W rows, the new one included; write one.
    std::int64_t weights = 0;
    for (const auto& op : on_cpu->program.ops) weights += op.weight_bytes;
    EXPECT_EQ(pass->bytes, weights + 9 * row);
}

// The same numbers when the cache and what is staged beside it lie in memory that host code cannot follow.
TEST(Windowed, MemoryNeedNotBeHostMemory) {
    for (const Window& window : {kRing, kRebased}) {
        Probed opaque(model_l3(), "cpu", true);
        const auto there = session_of(opaque.model, every_row(window.spec));
        const auto here = session_of(loaded(model_l3()), every_row(window.spec));
        EXPECT_EQ(feed_all(*there, text(0, 40), 9).logits, feed_all(*here, text(0, 40), 9).logits);
    }
}

// What is captured and recorded names the positions that each row saw, and what left.
TEST(Windowed, RecordingsKnowPositionsAndWhatLeft) {
    SessionConfig config = session_config(kSinks.spec, "f32", 5);
    config.capture_attention = true;
    std::shared_ptr<DecodeSession> session = session_of(loaded(model_l3()), config);
    GenerationConfig generation_config;
    generation_config.new_tokens = 6;
    generation_config.stop_at_eos = false;
    auto recording = std::make_shared<RunRecording>(make_run_facts(*session, {}), RecordingLimits{});
    Generation generation(session, generation_config, recording);
    ASSERT_TRUE(generation.start(text(0, 17), {}, {}).ok());
    while (!generation.finished()) ASSERT_TRUE(generation.step({}).ok());
    ASSERT_EQ(recording->row_count(), 22);
    for (std::int32_t row = 0; row < 22; ++row) {
        const AttentionRow attention = recording->attention(row, 2);
        ASSERT_TRUE(attention.captured);
        std::set<std::int32_t> seen, expected;
        for (std::int32_t e = 0; e < attention.entries; ++e) seen.insert(attention.position(e));
        for (std::int32_t p = 0; p <= row; ++p)
            if (p < 4 || row - p < 8) expected.insert(p);
        EXPECT_EQ(seen, expected) << row;
        double sum = 0;
        for (std::int32_t e = 0; e < attention.entries; ++e) sum += attention.weight(3, e);
        EXPECT_NEAR(sum, 1.0, 1e-2);
    }
    EXPECT_EQ(recording->evicted_at(4, 5), 0);    // with the prompt
    EXPECT_EQ(recording->evicted_at(9, 5), 1);    // with the first step, position 17
    EXPECT_FALSE(recording->evicted_at(9, 0).has_value());
    EXPECT_FALSE(recording->evicted_at(3, 5).has_value());
    EXPECT_EQ(recording->step(1)->kv.tokens_seen, 18);
    EXPECT_EQ(recording->step(1)->kv.tokens_stored, 12);
}

}  // namespace
}  // namespace decodescope
