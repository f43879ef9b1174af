// Eviction by score on a model, against an oracle that runs full attention with a mask for each layer and decides for
// itself, from its own probabilities, what leaves. And groups of layers that keep different tokens for other reasons.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <unistd.h>

#include <optional>

#include "engine/decode/cached_session.h"
#include "engine/decode/generation.h"
#include "engine/measure/commentary.h"
#include "engine/trace/recording_file.h"
#include "tests/engine/decode/h2o_oracle.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

struct Case {
    std::size_t budget, recent;
    std::string backend;
    std::int64_t prompt, chunk;
};

class H2oAgainstOracle : public testing::TestWithParam<Case> {};

TEST_P(H2oAgainstOracle, SW06_EveryRowAndEveryEviction) {
    const Case& c = GetParam();
    H2oOracle oracle{c.budget, c.recent, {}, {}, {}};
    const OracleResult expected = oracle.run(*model_l3(), long_text());
    ASSERT_GT(oracle.narrowest, 1e-5);  // no accident of rounding decides
    const auto session = session_of(loaded(model_l3(), c.backend), every_row(spec_of(c.budget, c.recent)));
    Fed fed = feed_all(*session, text(0, c.prompt), c.chunk);
    feed_into(fed, *session, text(c.prompt, 65 - c.prompt), 1);
    ASSERT_EQ(fed.logits.size(), 65u);
    EXPECT_LE(worst_error(fed.logits, expected), kExact);
    const auto left = left_of(fed, 3);
    for (std::size_t layer = 0; layer < 3; ++layer) {
        ASSERT_EQ(left[layer], oracle.left[layer]) << layer;
        for (std::size_t i = 0; i < left[layer].size(); ++i)
            EXPECT_NEAR(left[layer][i].score, oracle.left[layer][i].score, 1e-4);
        for (std::int32_t position = 0; position < 65; ++position)
            ASSERT_EQ(session->cell(static_cast<std::int32_t>(layer), position).ok(),
                      static_cast<bool>(oracle.kept[layer][static_cast<std::size_t>(position)]));
    }
}

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const char* backend : {"cpu", "reference"})
        for (const std::int64_t chunk : {1, 3, 5, 16, 60}) list.push_back({12, 4, backend, 60, chunk});
    for (const auto& [budget, recent] : {std::pair{2, 1}, {5, 4}, {9, 1}, {33, 7}, {64, 63}})
        list.push_back({static_cast<std::size_t>(budget), static_cast<std::size_t>(recent), "cpu2", 40, 16});
    list.push_back({11, 3, "reference", 7, 4});
    list.push_back({40, 1, "cpu", 64, 40});
    return list;
}

INSTANTIATE_TEST_SUITE_P(All, H2oAgainstOracle, testing::ValuesIn(cases()), [](const auto& info) {
    const Case& c = info.param;
    return fmt::format("budget{}_recent{}_{}_{}_{}", c.budget, c.recent, c.backend, c.prompt, c.chunk);
});

// Layers really do keep different tokens here; else one set for all would pass, too.
TEST(H2oSession, LayersKeepDifferentTokens) {
    H2oOracle oracle{12, 4, {}, {}, {}};
    oracle.run(*model_l3(), long_text());
    EXPECT_NE(oracle.kept[0], oracle.kept[1]);
    EXPECT_NE(oracle.kept[1], oracle.kept[2]);
}

TEST(H2oSession, OtherHeadCountsAndLearnedPositions) {
    for (const auto& [heads, kv_heads] : {std::pair{4, 4}, {4, 1}, {9, 3}}) {
        ModelConfig config = tiny_llama_config();
        config.heads = heads;
        config.kv_heads = kv_heads;
        config.head_dim = 6;
        const auto model = make_tiny_model(config);
        H2oOracle oracle{10, 3, {}, {}, {}};
        const auto expected = oracle.run(*model, text(0, 30));
        const auto session = session_of(loaded(model), every_row("h2o:budget=10,recent=3"));
        const Fed fed = feed_all(*session, text(0, 30), 7);
        EXPECT_LE(worst_error(fed.logits, expected), kExact) << heads;
        EXPECT_EQ(left_of(fed, 3), oracle.left);
    }
    const auto model = make_tiny_gpt2();
    const auto tokens = random_tokens(32, model->config.vocabulary, 34);
    H2oOracle oracle{9, 2, {}, {}, {}};
    const auto expected = oracle.run(*model, tokens);
    const auto session = session_of(loaded(model), every_row("h2o:budget=9,recent=2"));
    EXPECT_LE(worst_error(feed_all(*session, tokens, 5).logits, expected), kExact);
    EXPECT_FALSE(session->feed(std::span(tokens).first(1), {}).ok());  // true positions end with the context
}

// Stored in fewer bits, another token may leave; the rows are still right for the masks that the session chose.
TEST(H2oSession, FewerBitsAgainstTheMasksThatWereChosen) {
    for (const char* kv : {"f16", "k=f16,v=f32", "bf16", "int8"}) {
        const auto session = session_of(loaded(model_l3()), every_row("h2o:budget=12,recent=4", kv));
        const Fed fed = feed_all(*session, long_text(), 8);
        const auto left = left_of(fed, 3);
        OracleOptions masks;
        masks.visible_in_layer = [&](std::int64_t layer, std::int64_t row, std::int64_t j) {
            for (const Left& gone : left[static_cast<std::size_t>(layer)])
                if (gone.position == j && gone.row < row) return false;
            return j <= row;
        };
        EXPECT_LE(worst_l2(fed.logits, run_oracle(*model_l3(), long_text(), masks)),
                  std::string(kv).find("f16") == 0 || kv[0] == 'k' ? kHalf : kBrain)
            << kv;
    }
}

// A budget that nothing outgrows keeps everything: the same bits as a preallocated cache. Capturing changes none.
TEST(H2oSession, WithinTheBudgetItIsFullAttention) {
    const auto on_cpu = loaded(model_l3());
    for (const char* kv : {"f32", "int8"}) {
        const auto plain = feed_all(*session_of(on_cpu, every_row("preallocated", kv)), text(0, 40), 9).logits;
        EXPECT_EQ(feed_all(*session_of(on_cpu, every_row("h2o:budget=64,recent=5", kv)), text(0, 40), 9).logits, plain)
            << kv;
    }
    SessionConfig captured = every_row("h2o:budget=12,recent=4");
    const auto without = feed_all(*session_of(on_cpu, captured), text(0, 40), 9).logits;
    captured.capture_attention = true;
    EXPECT_EQ(feed_all(*session_of(on_cpu, captured), text(0, 40), 9).logits, without);
}

// What is captured names each layer's own positions, and its weights are the oracle's.
TEST(H2oSession, CapturedAttentionOfEveryLayer) {
    H2oOracle oracle{12, 4, {}, {}, {}};
    const OracleResult expected = oracle.run(*model_l3(), long_text());
    SessionConfig config = session_config("h2o:budget=12,recent=4");
    config.capture_attention = true;
    const auto session = session_of(loaded(model_l3()), config);
    std::int64_t row = 0;
    while (row < 40) {
        auto pass = session->feed(text(row, std::min<std::int64_t>(5, session->max_pass_rows())), {});
        ASSERT_TRUE(pass.ok());
        for (std::int32_t r = 0; r < pass->rows; ++r, ++row) {
            for (std::size_t layer = 0; layer < 3; ++layer) {
                const auto at = static_cast<std::int64_t>(layer);
                const std::int32_t entries = pass->entry_count(r, at);
                ASSERT_EQ(entries, std::min<std::int64_t>(row + 1, 13));
                const auto positions = pass->entry_positions(r, at);
                for (std::size_t h = 0; h < 8; ++h) {
                    const float* line = pass->attention[layer] + (static_cast<std::size_t>(r) * 8 + h) *
                                                                     static_cast<std::size_t>(pass->attention_stride);
                    for (std::int32_t e = 0; e < entries; ++e) {
                        const auto p = static_cast<std::size_t>(
                            positions.empty() ? e : positions[static_cast<std::size_t>(e)]);
                        ASSERT_NEAR(line[e], expected.attention[layer][h][static_cast<std::size_t>(row)][p], 1e-5);
                    }
                }
            }
        }
    }
}

// CC-06, SW-10 on a session.
TEST(H2oSession, CC06_SW10_TruncateIsExactOrRefused) {
    const auto on_cpu = loaded(model_l3());
    const auto expected = feed_all(*session_of(on_cpu, every_row("h2o:budget=12,recent=4")), text(0, 30), 1).logits;
    for (const std::int64_t kept : {0, 1, 7, 11, 12}) {
        const auto session = session_of(on_cpu, every_row("h2o:budget=12,recent=4"));
        feed_all(*session, text(0, 12), 1);
        ASSERT_TRUE(session->truncate(kept).ok());
        const auto again = feed_all(*session, text(kept, 30 - kept), 1).logits;
        EXPECT_EQ(again, std::vector(expected.begin() + kept, expected.end())) << kept;
        const Status refused = session->truncate(29);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
        EXPECT_THAT(refused.error().hint, HasSubstr("All 30 tokens can be kept"));
        EXPECT_EQ(session->tokens().size(), 30u);
        EXPECT_TRUE(session->truncate(30).ok());
    }
    const auto session = session_of(on_cpu, session_config("h2o:budget=12,recent=4"));
    feed_all(*session, text(0, 5), 5);
    EXPECT_EQ(session->truncate(6).error().kind, ErrorKind::Argument);
    EXPECT_EQ(session->truncate(-1).error().kind, ErrorKind::Argument);
}

// CC-07: branches take the scores along and leave the parent alone.
TEST(H2oSession, CC07_ForksGoTheirOwnWays) {
    const auto on_cpu = loaded(model_l3());
    const auto config = session_config("h2o:budget=12,recent=4");
    for (const std::int64_t start : {6, 21}) {
        const auto parent = session_of(on_cpu, config);
        feed_all(*parent, text(0, start), 4);
        auto fork = parent->fork();
        ASSERT_TRUE(fork.ok());
        const auto other = feed_all(**fork, text(start + 20, 20), 1).logits;
        const auto own = feed_all(*parent, text(start, 20), 1).logits;
        const auto whole = session_of(on_cpu, config);
        feed_all(*whole, text(0, start), 4);
        EXPECT_EQ(feed_all(*whole, text(start, 20), 1).logits, own);
        const auto apart = session_of(on_cpu, config);
        feed_all(*apart, text(0, start), 4);
        EXPECT_EQ(feed_all(*apart, text(start + 20, 20), 1).logits, other);
        EXPECT_NE(own, other);
    }
}

// CC-12: equal attention to all is a case like any other; of nearly equal sums those of the newest are the lowest.
TEST(H2oSession, CC12_ZeroKeysInOneLayer) {
    TinyOptions options;
    options.edit = [](TinyTensors& tensors) {
        std::fill(tensors.at("0.key").begin(), tensors.at("0.key").end(), 0.0f);
    };
    const auto model = make_tiny_llama(options);
    H2oOracle oracle{8, 2, {}, {}, {}};
    const auto expected = oracle.run(*model, text(0, 30));
    const auto session = session_of(loaded(model), every_row("h2o:budget=8,recent=2"));
    const Fed fed = feed_all(*session, text(0, 30), 6);
    EXPECT_LE(worst_error(fed.logits, expected), kExact);
    EXPECT_EQ(left_of(fed, 3), oracle.left);
    EXPECT_EQ(session->kv_facts().tokens_stored, 8);
}

TEST(H2oSession, CC17_LargeScores) {
    ModelConfig config = tiny_gpt2_config();
    config.heads = config.kv_heads = 2;
    config.head_dim = 128;
    TinyOptions options;
    options.edit = [](TinyTensors& tensors) {
        for (const char* name : {"0.query", "0.key"}) {
            std::fill(tensors.at(name).begin(), tensors.at(name).end(), 0.0f);
            std::fill(tensors.at(std::string(name) + "_bias").begin(), tensors.at(std::string(name) + "_bias").end(),
                      256.0f);
        }
    };
    const auto model = make_tiny_model(config, options);
    const auto tokens = random_tokens(20, model->config.vocabulary, 5);
    H2oOracle oracle{9, 3, {}, {}, {}};
    const auto expected = oracle.run(*model, tokens);
    for (const char* backend : {"cpu", "reference"}) {
        const auto session = session_of(loaded(model, backend), session_config("h2o:budget=9,recent=3", "f16"));
        EXPECT_LE(relative_error(feed_all(*session, tokens, 4).logits.back(), expected.logits.back()), 1e-3) << backend;
    }
}

// MA-03: the budget of every layer is what is reserved, from the first token on; the row above it is no part of it.
TEST(H2oSession, MA03_FactsAreExact) {
    const auto on_cpu = loaded(model_l3());
    const std::int64_t row = model_l3()->config.kv_bytes_per_token(ElementType::F32, ElementType::F32);
    const auto bytes = [&](MemoryPurpose purpose) {
        return on_cpu->backend->memory().bytes[static_cast<std::size_t>(purpose)];
    };
    const auto session = session_of(on_cpu, session_config("h2o:budget=12,recent=4"));
    for (std::int64_t n = 0; n < 30; ++n) {
        auto pass = session->feed(text(n, 1), {});
        ASSERT_TRUE(pass.ok());
        EXPECT_EQ(pass->kv.tokens_seen, n + 1);
        EXPECT_EQ(pass->kv.tokens_stored, std::min<std::int64_t>(n + 1, 12));
        EXPECT_EQ(pass->kv.used_bytes, pass->kv.tokens_stored * row);
        EXPECT_EQ(pass->kv.capacity_tokens, 12);
        EXPECT_EQ(pass->kv.reserved_bytes, 12 * row);
        EXPECT_EQ(pass->kv.reserved_bytes, bytes(MemoryPurpose::KvCache));
        EXPECT_EQ(pass->kv.peak_bytes, 12 * row);
        EXPECT_EQ(pass->kv.copied_bytes, 0);
        EXPECT_EQ(pass->kv.rows_written, 1);
        EXPECT_EQ(pass->kv.rows_read, std::min<std::int64_t>(n + 1, 13));
        EXPECT_EQ(pass->evicted.size(), n < 12 ? 0u : 3u);
    }
}

// ---- what is shown

TEST(H2oSession, WhatLeftAndWhyIsRecordedAndSaid) {
    SessionConfig config = session_config("h2o:budget=12,recent=4", "f32", 5);
    config.capture_attention = true;
    std::shared_ptr<DecodeSession> session = session_of(loaded(model_l3()), config);
    GenerationConfig generation_config;
    generation_config.new_tokens = 6;
    generation_config.stop_at_eos = false;
    auto recording = std::make_shared<RunRecording>(make_run_facts(*session, {}), RecordingLimits{});
    Generation generation(session, generation_config, recording);
    ASSERT_TRUE(generation.start(text(0, 17), {}, {}).ok());
    while (!generation.finished()) ASSERT_TRUE(generation.step({}).ok());
    EXPECT_EQ(recording->step(0)->evicted.size(), 15u);  // five rows beyond the budget, three layers
    const auto step = recording->step(2);
    ASSERT_EQ(step->evicted.size(), 3u);
    const EvictedEntry gone = step->evicted[1];
    EXPECT_EQ(gone.layer, 1);
    EXPECT_GT(gone.score, 0);
    EXPECT_EQ(recording->evicted_at(gone.position, 2, 1), 2);
    EXPECT_FALSE(recording->evicted_at(gone.position, 1, 1).has_value());
    std::string said;
    for (const Sentence& sentence : what_happened(*recording, 2)) said += sentence.english + "\n";
    EXPECT_THAT(said, HasSubstr(fmt::format("Layer 1 dropped position {}: least attended to, {:.2f} in all.",
                                            gone.position, gone.score)));
    said.clear();
    for (const Sentence& sentence : what_happened(*recording, 0)) said += sentence.english + "\n";
    EXPECT_THAT(said, HasSubstr("15 rows of 3 layers"));
    // A position has left the cache when the last layer has dropped it.
    for (std::int32_t position = 0; position < 22; ++position) {
        std::optional<std::int32_t> last = -1;
        for (std::int32_t layer = 0; layer < 3; ++layer) {
            const auto at = recording->evicted_at(position, 5, layer);
            last = at && last ? std::optional(std::max(*at, *last)) : std::nullopt;
            EXPECT_EQ(at.has_value(), !session->cell(layer, position).ok()) << position << ' ' << layer;
        }
        EXPECT_EQ(recording->evicted_at(position, 5), last) << position;
    }
    // The file knows it all.
    const std::string path = testing::TempDir() + fmt::format("h2o_{}.dscope", ::getpid());
    ASSERT_TRUE(save_recording(*recording, path, {}, {}).ok());
    auto loaded_run = load_recording(path, {}, {});
    ASSERT_TRUE(loaded_run.ok()) << loaded_run.error().text();
    std::remove(path.c_str());
    EXPECT_EQ((*loaded_run)->step(2)->evicted[1].score, gone.score);
    EXPECT_EQ((*loaded_run)->step(2)->evicted[1].layer, 1);
    int differing = 0;
    for (std::int32_t row = 0; row < recording->row_count(); ++row) {
        for (std::int32_t layer = 0; layer < 3; ++layer) {
            const AttentionRow a = recording->attention(row, layer), b = (*loaded_run)->attention(row, layer);
            ASSERT_TRUE(a.captured && b.captured);
            ASSERT_EQ(a.entries, std::min(row + 1, 13));
            ASSERT_EQ(std::vector(a.weights.begin(), a.weights.end()), std::vector(b.weights.begin(), b.weights.end()));
            for (std::int32_t e = 0; e < a.entries; ++e) ASSERT_EQ(a.position(e), b.position(e));
            differing += layer > 0 && !std::equal(a.positions.begin(), a.positions.end(),
                                                  recording->attention(row, 0).positions.begin(),
                                                  recording->attention(row, 0).positions.end());
        }
    }
    EXPECT_GT(differing, 0);
}

// ---- layers that keep different tokens for other reasons: local and global ones, as some models have them

TEST(LayerGroupsSession, LocalAndGlobalLayers) {
    const auto make = [](const char* spec) { return make_strategy(*parse_cache_spec(spec), {128, 0}).value(); };
    OracleOptions masks;
    masks.visible_in_layer = [](std::int64_t layer, std::int64_t row, std::int64_t j) {
        return j <= row && (layer == 1 || row - j < 6);
    };
    const OracleResult expected = run_oracle(*model_l3(), text(0, 40), masks);
    for (const char* backend : {"cpu", "reference"}) {
        for (const char* global : {"growing", "preallocated"}) {
            for (const std::int64_t chunk : {1, 5, 20}) {
                std::vector<std::unique_ptr<CacheStrategy>> groups;
                groups.push_back(make("ring:window=6"));
                groups.push_back(make(global));
                SessionConfig config = every_row("ring:window=6");
                config.capture_attention = true;
                auto session = CachedSession::create(loaded(model_l3(), backend), config,
                                                     LayerGroups(std::move(groups), {0, 1, 0}));
                ASSERT_TRUE(session.ok());
                const Fed fed = feed_all(**session, text(0, 40), chunk);
                EXPECT_LE(worst_error(fed.logits, expected), kExact) << backend << chunk;
                const PassResult& last = fed.passes.back();
                EXPECT_EQ(last.entry_count(last.rows - 1, 0), 6);
                EXPECT_EQ(last.entry_count(last.rows - 1, 1), 40);
                EXPECT_EQ((*session)->kv_facts().tokens_stored, 40);
                EXPECT_EQ((*session)->kv_facts().used_bytes, (40 + 2 * 6) * 2 * 2 * 8 * 4);
                EXPECT_TRUE((*session)->cell(1, 0).ok());
                EXPECT_FALSE((*session)->cell(0, 0).ok());
                EXPECT_TRUE(last.evicted.back().layer == 2);
            }
        }
    }
}

}  // namespace
}  // namespace decodescope
