// Every strategy, format and backend against the oracle: logits of every row, attention of every row, at chunks of 1,
// 3, 5, 16 and all, then single steps (CC-01, CC-02, CC-03, CC-15; attention as in UI-06).
#include <fmt/format.h>

#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

struct Case {
    std::string model, backend, cache, kv;
};
void PrintTo(const Case& one, std::ostream* out) {
    *out << fmt::format("{} {} {} {}", one.model, one.backend, one.cache, one.kv);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
    std::string name = info.param.model + "_" + info.param.backend + "_" + info.param.cache + "_" + info.param.kv;
    std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return name;
}

class AgainstOracle : public testing::TestWithParam<Case> {};

void expect_attention(const Fed& fed, const OracleResult& oracle, double tolerance) {
    for (std::size_t r = 0; r < fed.attention.size(); ++r) {
        for (std::size_t layer = 0; layer < fed.attention[r].size(); ++layer) {
            for (std::size_t h = 0; h < fed.attention[r][layer].size(); ++h) {
                const auto& row = fed.attention[r][layer][h];
                ASSERT_EQ(row.size(), r + 1);
                double sum = 0, worst = 0;
                for (std::size_t e = 0; e < row.size(); ++e) {
                    sum += row[e];
                    worst = std::max(worst, std::abs(static_cast<double>(row[e]) - oracle.attention[layer][h][r][e]));
                }
                ASSERT_NEAR(sum, 1.0, 1e-5) << "row " << r << " layer " << layer << " head " << h;
                ASSERT_LE(worst, tolerance) << "row " << r << " layer " << layer << " head " << h;
            }
        }
    }
}

TEST_P(AgainstOracle, EveryRowAtEveryChunkSize) {
    const Case& c = GetParam();
    const ModelPtr model = c.model == "L3" ? make_tiny_llama() : make_tiny_gpt2();
    const std::int64_t prompt = c.model == "L3" ? 40 : 24, steps = 8;
    const auto tokens = random_tokens(prompt + steps, model->config.vocabulary, 7);
    const auto oracle = run_oracle(*model, tokens);
    const auto model_on_backend = loaded(model, c.backend);
    const bool exact = c.kv == "f32" || c.cache == "recompute";
    const double stored = c.kv.find("bf16") == std::string::npos ? kHalf : kBrain;
    for (const std::int64_t chunk :
         {std::int64_t{1}, std::int64_t{3}, std::int64_t{5}, std::int64_t{16}, prompt - 1, prompt}) {
        for (const bool capture : {false, true}) {
            if (capture && chunk != 1 && chunk != 5 && chunk != prompt) continue;
            SCOPED_TRACE(fmt::format("chunk {} capture {}", chunk, capture));
            SessionConfig config = session_config(c.cache, c.kv);
            config.capture_attention = capture;
            config.all_logits = true;
            const auto session = session_of(model_on_backend, config);
            Fed fed = feed_all(*session, std::span(tokens).first(static_cast<std::size_t>(prompt)), chunk);
            feed_into(fed, *session, std::span(tokens).subspan(static_cast<std::size_t>(prompt)), 1);
            ASSERT_EQ(fed.logits.size(), tokens.size());
            if (exact) {
                EXPECT_LE(worst_error(fed.logits, oracle), kExact);
            }
            EXPECT_LE(worst_l2(fed.logits, oracle), exact ? kExact : stored);
            ASSERT_EQ(fed.attention.size(), capture ? tokens.size() : 0u);
            expect_attention(fed, oracle, exact ? 1e-5 : stored);
        }
    }
}

std::vector<Case> cases() {
    std::vector<Case> list = {
        {"L3", "cpu2", "recompute", "f32"}, {"L3", "cpu2", "growing", "f16"}, {"G2", "cpu2", "preallocated", "f32"}};
    for (const char* model : {"L3", "G2"}) {
        for (const char* backend : {"reference", "cpu"}) {
            list.push_back({model, backend, "recompute", "f32"});
            for (const char* cache : {"paged:page=1", "paged:page=4", "paged", "paged:page=256,slab=true"}) {
                for (const char* kv : {"f32", "k=f16,v=f32"}) list.push_back({model, backend, cache, kv});
            }
            for (const char* cache : {"growing", "preallocated", "preallocated:slab=true"}) {
                for (const char* kv : {"f32", "f16", "bf16", "k=f16,v=f32", "k=bf16,v=f32"}) {
                    if (std::string(kv).size() > 3 && std::string(cache) == "preallocated") continue;
                    list.push_back({model, backend, cache, kv});
                }
            }
        }
    }
    return list;
}

INSTANTIATE_TEST_SUITE_P(All, AgainstOracle, testing::ValuesIn(cases()), case_name);

// CC-01 to the letter: a prompt of 7, then 33 single steps, compared at every step, logits of the last row only.
TEST(Session, CC01_SevenTokensThenThirtyThreeSteps) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(40, model->config.vocabulary, 11);
    const auto oracle = run_oracle(*model, tokens);
    for (const char* cache : {"recompute", "growing", "preallocated", "preallocated:slab=true"}) {
        SCOPED_TRACE(cache);
        const auto session = session_of(loaded(model), session_config(cache));
        Fed fed = feed_all(*session, std::span(tokens).first(7), 7);
        feed_into(fed, *session, std::span(tokens).subspan(7), 1);
        EXPECT_LE(worst_error(fed.logits, oracle, 6), kExact);
    }
}

// CC-03, the second half: chunks that continue a cache which was forked from another session.
TEST(Session, CC03_ChunksAfterSevenTokensOfARestoredCache) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(40, model->config.vocabulary, 12);
    const auto oracle = run_oracle(*model, tokens);
    for (const char* cache : {"recompute", "growing", "preallocated"}) {
        const auto parent = session_of(loaded(model), session_config(cache));
        feed_all(*parent, std::span(tokens).first(7), 7);
        for (const std::int64_t chunk : {1, 3, 5, 16, 33}) {
            SCOPED_TRACE(fmt::format("{} chunk {}", cache, chunk));
            auto session = parent->fork();
            ASSERT_TRUE(session.ok());
            const Fed fed = feed_all(**session, std::span(tokens).subspan(7), chunk);
            for (std::size_t i = 0, row = 6; i < fed.logits.size(); ++i) {
                row += static_cast<std::size_t>(fed.passes[i].rows);
                EXPECT_LE(relative_error(fed.logits[i], oracle.logits[row]), kExact);
            }
        }
    }
}

// CC-11: the row that is sampled from is the last one of the prompt, whatever the tile size.
TEST(Session, CC11_LogitsAreThoseOfTheLastPromptRow) {
    const auto model = make_tiny_llama();
    for (const std::int64_t prompt : {1, 2, 17, 61}) {
        const auto tokens = random_tokens(prompt, model->config.vocabulary, 13);
        const auto oracle = run_oracle(*model, tokens);
        for (const char* cache : {"recompute", "growing", "preallocated"}) {
            const auto session = session_of(loaded(model), session_config(cache));
            const Fed fed = feed_all(*session, tokens, prompt);
            EXPECT_LE(relative_error(fed.logits.back(), oracle.logits.back()), kExact) << cache << " " << prompt;
        }
    }
}

// CC-15: other divisions of query heads among KV heads, and one that cannot be.
TEST(Session, CC15_OtherHeadCounts) {
    for (const auto& [heads, kv_heads] : {std::pair{4, 4}, {4, 1}, {6, 3}, {6, 2}}) {
        ModelConfig config = tiny_llama_config();
        config.heads = heads;
        config.kv_heads = kv_heads;
        const auto model = make_tiny_model(config);
        const auto tokens = random_tokens(20, config.vocabulary, 14);
        const auto oracle = run_oracle(*model, tokens);
        const auto session = session_of(loaded(model), session_config("growing"));
        const Fed fed = feed_all(*session, tokens, 3);
        EXPECT_LE(relative_error(fed.logits.back(), oracle.logits.back()), kExact) << heads << "/" << kv_heads;
    }
    auto broken = std::make_shared<LoadedModel>(*loaded(make_tiny_llama()));
    auto model = std::make_shared<Model>(*broken->model);
    model->config.kv_heads = 3;
    broken->model = model;
    auto session = DecodeSession::create(broken, session_config("growing"));
    ASSERT_FALSE(session.ok());
    EXPECT_EQ(session.error().kind, ErrorKind::Model);
}

// Odd sizes: a head of 6 dimensions, three KV heads, a vocabulary of 3.
TEST(Session, OddShapes) {
    ModelConfig config = tiny_llama_config();
    config.heads = 9;
    config.kv_heads = 3;
    config.head_dim = 6;
    config.hidden = 30;
    config.feed_forward = 17;
    config.vocabulary = 3;
    const auto model = make_tiny_model(config);
    const auto tokens = random_tokens(19, config.vocabulary, 15);
    const auto oracle = run_oracle(*model, tokens);
    for (const char* backend : {"reference", "cpu"}) {
        for (const char* kv : {"f32", "k=f16,v=f32", "k=f32,v=f16", "bf16", "k=f32,v=bf16"}) {
            const auto session = session_of(loaded(model, backend), session_config("growing", kv));
            const Fed fed = feed_all(*session, tokens, 4);
            const bool brain = std::string(kv).find("bf16") != std::string::npos;
            EXPECT_LE(relative_l2(fed.logits.back(), oracle.logits.back()),
                      std::string(kv) == "f32" ? kExact : brain ? 4e-2 : 5e-3)
                << backend << kv;
        }
    }
}

// The rows in the cache are the ones the formulas give, position by position.
TEST(Session, CellsHoldTheirOwnPositionsRow) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(23, model->config.vocabulary, 16);
    const auto oracle = run_oracle(*model, tokens);
    for (const char* cache : {"growing", "preallocated:slab=true"}) {
        const auto session = session_of(loaded(model), session_config(cache));
        const Fed fed = feed_all(*session, tokens, 5);
        for (std::int32_t layer = 0; layer < 3; ++layer) {
            for (std::size_t p = 0; p < tokens.size(); ++p) {
                auto cell = session->cell(layer, static_cast<std::int32_t>(p));
                ASSERT_TRUE(cell.ok());
                EXPECT_EQ(cell->kv_heads, 2);
                EXPECT_EQ(cell->head_dim, 8);
                const auto at = static_cast<std::size_t>(layer);
                EXPECT_LE(relative_error(cell->k, oracle.k[at][p]), 1e-5);
                EXPECT_LE(relative_error(cell->v, oracle.v[at][p]), 1e-5);
                double square = 0;
                for (const float x : cell->k)
                    square += static_cast<double>(x) * x / static_cast<double>(cell->k.size());
                const auto& pass = fed.passes[p / 5];
                EXPECT_NEAR(pass.k_rms[(p % 5) * 3 + at], std::sqrt(square), 1e-5);
            }
        }
        EXPECT_FALSE(session->cell(3, 0).ok());
        EXPECT_FALSE(session->cell(0, 23).ok());
        EXPECT_FALSE(session->cell(0, -1).ok());
    }
}

// The same numbers when K and V lie in memory that host code cannot follow (the recompute scratch too).
TEST(Session, MemoryNeedNotBeHostMemory) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(30, model->config.vocabulary, 17);
    for (const char* cache : {"recompute", "growing", "preallocated", "preallocated:slab=true"}) {
        SessionConfig config = session_config(cache);
        config.capture_attention = true;
        Probed opaque(model, "cpu", true);
        const auto there = session_of(opaque.model, config);
        const auto here = session_of(loaded(model), config);
        EXPECT_EQ(feed_all(*there, tokens, 7).logits, feed_all(*here, tokens, 7).logits) << cache;
        if (std::string(cache) != "recompute") {
            EXPECT_EQ(all_cells(*there), all_cells(*here));
        }
    }
}

}  // namespace
}  // namespace decodescope
