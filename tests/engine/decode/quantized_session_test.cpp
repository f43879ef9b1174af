// int8 caches: every strategy against an oracle that quantizes by itself, past the moment at which rows are quantized
// (QT-02), in any chunks, with scales that follow the data (QT-03, QT-05), in branches (QT-07), refused where rows that
// were in full precision are not any more.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "engine/cache/kv_storage.h"
#include "engine/decode/prefix_cache.h"
#include "kernels/api/half.h"
#include "tests/engine/decode/format_oracle.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

constexpr double kInt8 = 2e-2;       // int8 KV, relative L2 against full precision
// Against the oracle with the same rounding: a value that lies within f32's error of the middle between two codes may
// take the other one.
constexpr double kSameRounding = 1e-3;
// The same where few rows are seen and one code weighs more: with sinks and k=int8 one key of row 20 is such a value,
// and from there on both backends, which agree with each other to 1e-6, are off by up to 1.7e-3.
constexpr double kSameRoundingInAWindow = 2e-3;

const ModelPtr& l3() {
    static const ModelPtr model = make_tiny_llama();
    return model;
}

const std::vector<std::int32_t>& text() {
    static const std::vector<std::int32_t> tokens = random_tokens(100, 97, 77);
    return tokens;
}

std::span<const std::int32_t> text(std::size_t first, std::size_t count) {
    return std::span(text()).subspan(first, count);
}

SessionConfig with_logits(const std::string& cache, const std::string& kv, std::int64_t chunk = 0) {
    SessionConfig config = session_config(cache, kv, chunk);
    config.all_logits = true;
    return config;
}

const OracleResult& exact_oracle() {
    static const OracleResult result = run_oracle(*l3(), text());
    return result;
}

const OracleResult& oracle_of(const std::string& kv) {
    static std::map<std::string, OracleResult> results;
    const auto found = results.find(kv);
    if (found != results.end()) return found->second;
    return results.emplace(kv, run_oracle(*l3(), text(), format_oracle(*parse_kv_format(kv), 8))).first->second;
}

// QT-01, QT-02, QT-08: formats and full-attention strategies in pairs, chunks and backends taking turns.
TEST(QuantizedSession, QT02_EveryStrategyEqualsTheOracleThatRoundsAlike) {
    struct Case {
        const char *cache, *kv, *backend;
        std::int64_t chunk;
    };
    const Case cases[] = {
        {"growing", "int8", "cpu", 5},
        {"growing", "int8-kivi(group=16,residual=16)", "cpu", 1},
        {"preallocated", "int8", "reference", 100},
        {"preallocated:capacity=100", "k=int8,v=f16", "cpu", 100},
        {"preallocated:slab=true", "k=f16,v=int8", "cpu2", 16},
        {"preallocated:slab=true", "int8-kivi(group=16,residual=16)", "cpu", 100},
        {"preallocated", "k=int8-kivi(group=8,residual=20),v=f16", "reference", 7},
        {"preallocated", "k=int8,v=int8-kivi(group=16,residual=0)", "cpu", 3},
        {"paged:page=1", "int8", "cpu", 16},
        {"paged:page=16", "int8-kivi(group=16,residual=16)", "cpu2", 100},
        {"paged:page=32,slab=true", "k=int8-kivi(group=16,residual=3),v=int8", "cpu", 16},
        {"paged:page=4", "k=f32,v=int8", "reference", 1},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", c.cache, c.kv, c.backend, c.chunk));
        const auto session = session_of(loaded(l3(), c.backend), with_logits(c.cache, c.kv, c.chunk));
        const Fed fed = feed_all(*session, text(), c.chunk);
        EXPECT_LT(worst_l2(fed.logits, oracle_of(c.kv)), kSameRounding);
        EXPECT_LT(worst_l2(fed.logits, exact_oracle()), kInt8);
        EXPECT_GT(worst_l2(fed.logits, exact_oracle()), 1e-5) << "nothing was rounded";
    }
}

// The window's mask with int8 rows: their scales go through staging and settling.
TEST(QuantizedSession, QT02_RingAndSinksMoveScalesAlong) {
    for (const bool sinks : {false, true}) {
        for (const char* kv : {"int8", "k=int8,v=f16"}) {
            OracleOptions options = format_oracle(*parse_kv_format(kv), 8);
            const std::int64_t s = sinks ? 4 : 0;
            options.visible = [s](std::int64_t row, std::int64_t j) { return j <= row && (j < s || row - j < 8); };
            const OracleResult oracle = run_oracle(*l3(), text(0, 40), options);
            for (const std::int64_t chunk : {1, 5, 40}) {
                SCOPED_TRACE(fmt::format("{} {} {}", sinks, kv, chunk));
                const auto session = session_of(
                    loaded(l3(), "cpu"), with_logits(sinks ? "sinks:sinks=4,window=8" : "ring:window=8", kv, chunk));
                EXPECT_LT(worst_l2(feed_all(*session, text(0, 40), chunk).logits, oracle), kSameRoundingInAWindow);
            }
        }
    }
}

// Rebased sinks score keys a second time with another query: the scale belongs to that, too.
TEST(QuantizedSession, RebasedSinksOfInt8StayNearThoseOfF32) {
    std::vector<std::vector<std::vector<float>>> logits;
    for (const char* kv : {"f32", "int8"}) {
        const auto session = session_of(loaded(l3()), with_logits("sinks:sinks=4,window=8,positions=rebased", kv));
        logits.push_back(feed_all(*session, text(0, 40), 3).logits);
    }
    for (std::size_t row = 0; row < logits[0].size(); ++row) {
        const std::vector<double> exact(logits[0][row].begin(), logits[0][row].end());
        EXPECT_LT(relative_l2(logits[1][row], exact), kInt8);
    }
}

// QT-02: the same bytes for every way to divide the tokens; on the reference, where a row never depends on the rows
// beside it. The residual is what the formula says.
TEST(QuantizedSession, QT02_SameBytesForAnyChunking) {
    const auto on_reference = loaded(l3(), "reference");
    const char* kv = "int8-kivi(group=16,residual=16)";
    for (const std::size_t length : {15u, 16u, 17u, 31u, 32u, 33u, 47u, 48u, 49u, 100u}) {
        std::vector<std::vector<float>> cells;
        for (const std::int64_t chunk : {1, 3, 16, 100}) {
            const auto session = session_of(on_reference, session_config("growing", kv, chunk));
            feed_all(*session, text(0, length), chunk);
            cells.push_back(all_cells(*session));
            const auto quantized = static_cast<std::int32_t>(length < 32 ? 0 : length - 16 - (length - 16) % 16);
            const auto type_at = [&](std::int32_t position) { return session->cell(1, position)->k_type; };
            EXPECT_EQ(type_at(static_cast<std::int32_t>(length) - 1), "f32");
            if (quantized > 0) {
                EXPECT_EQ(type_at(quantized - 1), "int8-kivi(group=16,residual=16)");
                EXPECT_EQ(type_at(quantized), "f32");
            }
        }
        for (const auto& other : cells) EXPECT_EQ(other, cells.front()) << length;
    }
}

// QT-05: a token ten times larger than all before changes its own group only, and is kept within half a step.
TEST(QuantizedSession, QT05_ClosedGroupsNeverChange) {
    std::vector<float> before;
    const auto session = session_of(loaded(l3()), session_config("preallocated", "int8-kivi(group=8,residual=8)"));
    feed_all(*session, text(0, 40), 40);
    const auto closed = [&] {
        std::vector<float> values;
        for (std::int32_t layer = 0; layer < 3; ++layer)
            for (std::int32_t position = 0; position < 32; ++position) {
                const auto cell = *session->cell(layer, position);
                values.insert(values.end(), cell.k.begin(), cell.k.end());
                values.insert(values.end(), cell.v.begin(), cell.v.end());
            }
        return values;
    };
    before = closed();
    feed_all(*session, text(40, 41), 5);
    EXPECT_EQ(closed(), before);
}

// QT-07: a branch reads what the conversation reads, and neither changes the other, wherever it begins.
TEST(QuantizedSession, QT07_BranchesEqualConversationsOfTheirOwn) {
    const auto on_reference = loaded(l3(), "reference");
    for (const char* cache : {"paged:page=16", "paged:page=32", "preallocated", "growing"}) {
        for (const char* kv : {"int8", "int8-kivi(group=16,residual=8)"}) {
            for (const std::size_t at : {20u, 40u, 50u}) {
                SCOPED_TRACE(fmt::format("{} {} {}", cache, kv, at));
                const auto trunk = session_of(on_reference, session_config(cache, kv));
                feed_all(*trunk, text(0, at), 100);
                auto branch = trunk->fork();
                ASSERT_TRUE(branch.ok()) << branch.error().text();
                const auto shared = text(0, at);
                std::vector<std::int32_t> other(shared.begin(), shared.end());
                other.insert(other.end(), text().rbegin(), text().rbegin() + 40);
                feed_all(**branch, std::span(other).subspan(at, 20), 7);
                feed_all(*trunk, text(at, 40), 3);
                feed_all(**branch, std::span(other).subspan(at + 20, 20), 7);
                for (const bool is_branch : {false, true}) {
                    const auto alone = session_of(on_reference, session_config("preallocated", kv));
                    feed_all(*alone, is_branch ? std::span<const std::int32_t>(other) : text(0, at + 40), 100);
                    EXPECT_EQ(all_cells(is_branch ? **branch : *trunk), all_cells(*alone)) << is_branch;
                }
            }
        }
    }
}

TEST(QuantizedSession, QT07_SharedPrefixesAreExactOrRefused) {
    const auto on_cpu = loaded(l3());
    SessionConfig config = session_config("paged:page=16", "int8-kivi(group=16,residual=16)");
    config.prefixes = std::make_shared<PrefixCache>();
    const auto refused = DecodeSession::create(on_cpu, config);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(refused.error().text(), HasSubstr("newest tokens in full precision"));
}

// Exactly what a shorter conversation has, or refused with what can be kept.
TEST(QuantizedSession, TruncateIsExactOrRefused) {
    const auto on_reference = loaded(l3(), "reference");
    for (const char* cache : {"growing", "paged:page=16"}) {
        const auto session = session_of(on_reference, session_config(cache, "int8-kivi(group=16,residual=8)"));
        feed_all(*session, text(0, 50), 50);  // 32 are quantized
        const auto refused = session->truncate(39);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
        EXPECT_THAT(refused.error().text(), HasSubstr("40 to 50 tokens can be kept"));
        EXPECT_EQ(session->tokens().size(), 50u);
        ASSERT_TRUE(session->truncate(40).ok());
        feed_all(*session, text(60, 30), 7);
        std::vector<std::int32_t> tokens(text().begin(), text().begin() + 40);
        tokens.insert(tokens.end(), text().begin() + 60, text().begin() + 90);
        const auto alone = session_of(on_reference, session_config("preallocated", "int8-kivi(group=16,residual=8)"));
        feed_all(*alone, tokens, 100);
        EXPECT_EQ(all_cells(*session), all_cells(*alone)) << cache;
        ASSERT_TRUE(session->truncate(0).ok());
        feed_all(*session, tokens, 11);
        EXPECT_EQ(all_cells(*session), all_cells(*alone)) << cache;
    }
}

// QT-03: a key channel that is 0 or the same in every token, and one twenty times larger than the others.
TEST(QuantizedSession, QT03_ConstantAndLargeChannels) {
    TinyOptions options;
    options.edit = [](TinyTensors& tensors) {
        for (const char* layer : {"0", "1"}) {
            auto& weight = tensors.at(std::string(layer) + ".key");
            auto& bias = tensors.at(std::string(layer) + ".key_bias");
            const std::size_t in = weight.size() / bias.size();
            for (std::size_t i = 0; i < in; ++i) weight[i] = weight[in + i] = 0.0f, weight[2 * in + i] *= 20.0f;
            bias[0] = 0.0f;
            bias[1] = 3.7f;
        }
    };
    const ModelPtr model = make_tiny_gpt2(options);
    const auto tokens = random_tokens(30, 300, 5);
    const auto session = session_of(loaded(model), session_config("preallocated", "int8-kivi(group=8,residual=8)"));
    feed_all(*session, tokens, 9);
    for (std::int32_t position = 0; position < 30; ++position) {
        const auto cell = *session->cell(1, position);
        EXPECT_EQ(cell.k[0], 0.0f);
        EXPECT_EQ(cell.k[1], 3.7f);
    }
}

// QT-04: a key or value that is not finite is never kept as a number: the step that reads it says in which layer.
TEST(QuantizedSession, QT04_NotFiniteIsRefusedAndNamed) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
        for (const char* kv : {"int8", "int8-kivi(group=8,residual=0)"}) {
            TinyOptions options;
            options.edit = [bad](TinyTensors& tensors) { tensors.at("1.key_bias")[3] = bad; };
            const auto session = session_of(loaded(make_tiny_gpt2(options)), session_config("preallocated", kv));
            const auto pass = session->feed(random_tokens(5, 300, 5), {});
            ASSERT_FALSE(pass.ok()) << kv << bad;
            EXPECT_EQ(pass.error().kind, ErrorKind::NonFinite);
            EXPECT_THAT(pass.error().text(), HasSubstr("layer 1"));
            EXPECT_EQ(session->tokens().size(), 0u);
        }
    }
}

// MA-03: what is reserved is what the formula says before, for every strategy; used is what is stored.
TEST(QuantizedSession, MA03_BytesAreThoseOfTheFormula) {
    for (const char* kv : {"int8", "k=int8,v=f16", "int8-kivi(group=16,residual=8)", "k=int8-kivi(group=16),v=f16"}) {
        for (const char* cache : {"growing", "preallocated:capacity=90", "paged:page=16", "preallocated:slab=true"}) {
            SCOPED_TRACE(fmt::format("{} {}", cache, kv));
            const Probed probed(l3());
            SessionConfig config = session_config(cache, kv);
            config.expected_tokens = 80;
            const auto session = session_of(probed.model, config);
            const KvShape shape{3, 2, 8, config.kv};
            for (std::size_t fed = 0; fed < 80; fed += 5) {
                feed_all(*session, text(fed, 5), 5);
                const KvFacts facts = session->kv_facts();
                EXPECT_EQ(facts.used_bytes, shape.stored_bytes(facts.tokens_stored));
                EXPECT_EQ(facts.reserved_bytes,
                          *shape.total_bytes(facts.capacity_tokens, facts.page_tokens > 0) + shape.residual_bytes());
                EXPECT_LE(facts.used_bytes, facts.reserved_bytes);
                const std::int64_t live =
                    probed.backend->memory().bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)];
                EXPECT_EQ(facts.page_tokens > 0 ? facts.pool_bytes + shape.residual_bytes() : facts.reserved_bytes,
                          live);
            }
        }
    }
}

// Windows and groups, pages and groups: refused by the one table.
TEST(QuantizedSession, UnsupportedPairsAreRefused) {
    const auto on_cpu = loaded(l3());
    for (const char* cache : {"ring:window=64", "sinks:window=64", "paged:page=16", "paged:page=1"}) {
        const auto session = DecodeSession::create(on_cpu, session_config(cache, "k=int8-kivi,v=f16"));
        ASSERT_FALSE(session.ok()) << cache;
        EXPECT_EQ(session.error().kind, ErrorKind::Unsupported);
    }
    EXPECT_TRUE(DecodeSession::create(on_cpu, session_config("paged:page=64", "int8-kivi")).ok());
}

// A cancelled or failed pass leaves the conversation as it was, groups included.
TEST(QuantizedSession, AFailedPassChangesNothing) {
    Probed probed(l3(), "reference");
    const auto session = session_of(probed.model, session_config("growing", "int8-kivi(group=16,residual=8)"));
    feed_all(*session, text(0, 39), 39);
    probed.backend->after_run = [](StepOutputs&) { return make_error(ErrorKind::Device, "broken"); };
    EXPECT_FALSE(session->feed(text(90, 1), {}).ok());  // would have completed a group
    probed.backend->after_run = {};
    feed_all(*session, text(39, 30), 4);
    const auto alone = session_of(probed.model, session_config("growing", "int8-kivi(group=16,residual=8)"));
    feed_all(*alone, text(0, 69), 69);
    EXPECT_EQ(all_cells(*session), all_cells(*alone));
}

}  // namespace
}  // namespace decodescope
