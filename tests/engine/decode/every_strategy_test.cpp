// What holds for every strategy of the catalogue and every format that it takes: lengths are counted and not read off
// the data, slots that were never written are not read, the context ends where it ends, and what was predicted is allocated.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "engine/cache/supported_pairs.h"
#include "engine/measure/what_if.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kFormats = {  // of K and V
    "f32", "f16", "bf16", "int8", "k=int8,v=f16", "int8-kivi(group=4,residual=3)"};

// Room for 40 tokens and more: nothing leaves within the tests that use it, so that every one is exact.
const std::vector<std::string> kRoomy = {"recompute",
                                         "growing",
                                         "preallocated:capacity=64",
                                         "preallocated:capacity=64,slab=true",
                                         "ring:window=64",
                                         "sinks:sinks=2,window=60",
                                         "sinks:sinks=2,window=60,positions=rebased",
                                         "paged:page=4",
                                         "paged:page=16,slab=true",
                                         "h2o:budget=64,recent=8",
                                         "growing:offload=host",
                                         "preallocated:capacity=64,offload=file"};
// Where rows leave, written over what was there.
const std::vector<std::string> kTight = {"ring:window=6", "sinks:sinks=2,window=5",
                                         "sinks:sinks=2,window=5,positions=rebased", "h2o:budget=7,recent=3"};

bool supported(const std::string& cache, const std::string& kv) {
    return find_unsupported({{}, *parse_cache_spec(cache), *parse_kv_format(kv), {}, false}) == nullptr;
}

TEST(EveryStrategy, TheListsNameEveryStrategy) {
    std::map<std::string, int> ids;
    for (const std::string& spec : kRoomy) ++ids[parse_cache_spec(spec)->id];
    for (const StrategyDescriptor& strategy : strategy_catalogue()) EXPECT_GT(ids[strategy.id], 0) << strategy.id;
}

// Memory that is handed out holds a pattern: NaN in every float type and in every scale, or large numbers.
TEST(EveryStrategy, CC13_SlotsNotYetWrittenAreNotRead) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(19, 97, 17);
    int rows = 0;
    for (const auto* list : {&kRoomy, &kTight})
        for (const std::string& cache : *list)
            for (const std::string& kv : kFormats) {
                if (!supported(cache, kv)) continue;
                ++rows;
                SCOPED_TRACE(cache + " " + kv);
                const auto expected = feed_all(*session_of(loaded(model), session_config(cache, kv)), tokens, 3).logits;
                for (const int byte : {0xFF, 0x47}) {
                    Probed probed(model);
                    probed.backend->fill.assign(4, static_cast<std::byte>(byte));
                    const auto session = session_of(probed.model, session_config(cache, kv));
                    EXPECT_EQ(feed_all(*session, tokens, 3).logits, expected) << byte;
                }
            }
    EXPECT_GE(rows, 70);
}

// K of KV head 0 in layer 0 is zero in every row.
TEST(EveryStrategy, CC12_AZeroKeyIsARowLikeAnyOther) {
    TinyOptions options;
    options.edit = [](TinyTensors& tensors) {
        std::fill_n(tensors.at("0.key").begin(), 8 * 64, 0.0f);
    };
    const auto model = make_tiny_llama(options);
    const auto tokens = random_tokens(9, 97, 18);
    const auto oracle = run_oracle(*model, tokens);
    const std::int64_t row = model->config.kv_bytes_per_token(ElementType::F32, ElementType::F32);
    for (const std::string& cache : kRoomy) {
        SCOPED_TRACE(cache);
        const auto session = session_of(loaded(model), session_config(cache));
        const Fed fed = feed_all(*session, tokens, 2);
        EXPECT_LE(relative_error(fed.logits.back(), oracle.logits.back()), kExact);
        const KvFacts facts = session->kv_facts();
        const std::int64_t stored = cache == "recompute" ? 0 : 9;
        EXPECT_EQ(facts.tokens_seen, 9);
        EXPECT_EQ(facts.tokens_stored, stored);
        EXPECT_EQ(facts.used_bytes, stored * row);
        if (facts.page_tokens > 0) {
            EXPECT_EQ(facts.pages_used, (9 + facts.page_tokens - 1) / facts.page_tokens);
        }
    }
}

// The last position of the context is computed, the one after it refused with both numbers, and nothing is lost. Only
// positions that are counted anew within the cache go on.
TEST(EveryStrategy, CC14_TheContextEndsWhereItEnds) {
    ModelConfig config = tiny_llama_config();
    config.context = 64;
    const auto model = make_tiny_model(config);
    const auto tokens = random_tokens(65, 97, 19);
    for (const auto* list : {&kRoomy, &kTight})
        for (const std::string& cache : *list) {
            SCOPED_TRACE(cache);
            const auto session = session_of(loaded(model), session_config(cache));
            feed_all(*session, std::span(tokens).first(64), 5);
            ASSERT_EQ(session->tokens().size(), 64u);
            const auto beyond = session->feed(std::span(tokens).subspan(64, 1), {});
            if (cache.find("rebased") != std::string::npos) {
                EXPECT_TRUE(beyond.ok());
                continue;
            }
            ASSERT_FALSE(beyond.ok());
            EXPECT_EQ(beyond.error().kind, ErrorKind::Capacity);
            EXPECT_THAT(beyond.error().message, HasSubstr("65"));
            EXPECT_THAT(beyond.error().message, HasSubstr("64"));
            EXPECT_EQ(session->tokens().size(), 64u);
            // And of a text in several passes, the whole of it is named before the first one.
            const Status room = session->check_room(20);
            ASSERT_FALSE(room.ok());
            EXPECT_THAT(room.error().message, HasSubstr("84"));
        }
}

// CC-19: a table of a layer has as many entries as its keys have, and a row sees at least itself and no more than there
// are, for random pairs of past and new rows.
TEST(EveryStrategy, CC19_MaskAndTableCountTheSame) {
    std::int64_t next = 7;
    const auto random = [&](std::int64_t below) { return (next = next * 48271 % 2147483647) % below; };
    const auto tokens = random_tokens(60, 97, 22);
    for (const auto* list : {&kRoomy, &kTight})
        for (const std::string& cache : *list) {
            SCOPED_TRACE(cache);
            Probed probed(make_tiny_llama());
            int passes = 0;
            probed.backend->on_run = [&](StepInputs& inputs) {
                ++passes;
                const SequenceRows& rows = inputs.sequences.front();
                ASSERT_EQ(rows.views.size(), 3u);
                for (std::int64_t layer = 0; layer < 3; ++layer) {
                    const EntryTable& table = rows.views[static_cast<std::size_t>(layer)].table;
                    for (std::int64_t r = 0; r < rows.row_count; ++r) {
                        const RowVisibility& row = row_visibility(inputs, rows, layer, rows.first_row + r);
                        std::int32_t seen = 0;
                        for (std::int32_t e = 0; e < table.count; ++e)
                            seen += visible(row, entry_position(table, e)) ? 1 : 0;
                        ASSERT_GE(seen, 1);
                        ASSERT_LE(seen, row.position + 1);
                    }
                }
            };
            const auto session = session_of(probed.model, session_config(cache));
            while (passes < 80) {
                const auto past = std::ssize(session->tokens());
                const std::int64_t rows = std::min(1 + random(12), session->max_pass_rows());
                if (past + rows > 60) {
                    ASSERT_TRUE(session->reset().ok());
                    continue;
                }
                const auto next_tokens = std::span(tokens).subspan(static_cast<std::size_t>(past));
                auto pass = session->feed(next_tokens.first(static_cast<std::size_t>(rows)), {});
                ASSERT_TRUE(pass.ok()) << pass.error().text();
            }
        }
}

// MA-03: what is said before a run is what the backend has handed out after it, for every strategy and format.
TEST(EveryStrategy, MA03_ThePredictionIsWhatIsAllocated) {
    const KvModelShape shape{"L3", 3, 8, 2, 8, 128};
    for (const auto* list : {&kRoomy, &kTight})
        for (const std::string& cache : *list) {
            if (cache.find("offload") != std::string::npos) continue;  // its pool and its places are counted apart
            for (const std::string& kv : kFormats) {
                if (!supported(cache, kv)) continue;
                SCOPED_TRACE(cache + " " + kv);
                const Probed probed(make_tiny_llama());
                SessionConfig config = session_config(cache, kv);
                config.expected_tokens = 23;
                const auto session = session_of(probed.model, config);
                feed_all(*session, random_tokens(23, 97, 20), 1);
                const KvFacts facts = session->kv_facts();
                const auto slots = cache_slots(config.cache, 23);
                ASSERT_TRUE(slots.ok());
                const auto need = cache_need(shape, *slots, config.kv);
                ASSERT_TRUE(need.ok());
                EXPECT_EQ(need->stored, facts.tokens_stored);
                EXPECT_EQ(need->used_bytes, facts.used_bytes);
                EXPECT_EQ(need->reserved_bytes, facts.reserved_bytes);
            }
        }
}

// SW-08: keys are stored as they were turned once and queries are turned to them, so that a thousand shifts lose nothing.
// With one layer the newest row depends on what it sees alone: on sinks and window as a text of their own.
TEST(EveryStrategy, SW08_AThousandShiftsLoseNothing) {
    ModelConfig config = tiny_llama_config();
    config.layers = 1;
    const auto model = make_tiny_model(config);
    const auto tokens = random_tokens(1100, 97, 21);
    std::vector<std::int32_t> seen(tokens.begin(), tokens.begin() + 4);
    seen.insert(seen.end(), tokens.end() - 8, tokens.end());
    const auto oracle = run_oracle(*model, seen);
    const std::pair<const char*, double> formats[] = {
        {"f32", kExact}, {"f16", kHalf}, {"bf16", kBrain}, {"int8", 2e-2}};
    for (const auto& [kv, tolerance] : formats) {
        const auto session = session_of(loaded(model), session_config("sinks:sinks=4,window=8,positions=rebased", kv));
        const Fed fed = feed_all(*session, tokens, 9);
        EXPECT_LE(relative_l2(fed.logits.back(), oracle.logits.back()), tolerance) << kv;
    }
}

}  // namespace
}  // namespace decodescope
