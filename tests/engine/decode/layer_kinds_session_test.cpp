// A model whose layers attend differently, the first ones to a window: what its sessions count is what the formulas say
// of each kind of layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cache/kv_storage.h"
#include "engine/decode/batch.h"
#include "engine/measure/commentary.h"
#include "engine/measure/cost_model.h"
#include "engine/measure/run_facts.h"
#include "engine/measure/what_if.h"
#include "engine/model/layer_kinds.h"
#include "engine/trace/memory_ledger.h"
#include "engine/trace/run_recording.h"
#include "tests/engine/decode/batch_helpers.h"
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kWindow = 6, kTokens = 23;
constexpr std::int64_t kRow = 2 * 2 * 8;  // elements of K and V of a token in one layer

// L4: local, local, global, local; the first group of layers is not the one that the strategy rules.
ModelPtr mixed_model() {
    ModelConfig config = tiny_llama_config();
    config.layers = 4;
    config.window = kWindow;
    config.local_layers = {true, true, false, true};
    return make_tiny_model(config);
}

const char* const kCaches[] = {"recompute",      "growing",       "preallocated:capacity=32,slab=true",
                               "ring:window=9",  "ring:window=4", "paged:page=4",
                               "sinks:sinks=2,window=8", "h2o:budget=8,recent=4"};

// Rows that the one global layer and each local layer keep after `tokens` tokens.
struct Kept {
    std::int64_t global = 0, local = 0;
};
Kept kept(const std::string& cache, std::int64_t tokens) {
    const std::int64_t window = std::min(tokens, kWindow);
    if (cache == "recompute") return {};
    if (cache == "ring:window=9") return {std::min<std::int64_t>(tokens, 9), window};
    if (cache == "ring:window=4") return {std::min<std::int64_t>(tokens, 4), std::min<std::int64_t>(tokens, 4)};
    if (cache.rfind("sinks", 0) == 0) return {std::min<std::int64_t>(tokens, 10), window};
    if (cache.rfind("h2o", 0) == 0) return {std::min<std::int64_t>(tokens, 8), window};
    return {tokens, window};
}

TEST(LayerKindsSession, BytesAndLedgerByKind) {
    const auto model = loaded(mixed_model());
    for (const char* cache : kCaches)
        for (const char* kv : {"f32", "k=int8,v=f16"}) {
            SCOPED_TRACE(std::string(cache) + " " + kv);
            SessionConfig config = session_config(cache, kv);
            config.expected_tokens = kTokens;
            const auto session = session_of(model, config);
            RunFacts facts = make_run_facts(*session, {});
            const std::int64_t row = KvShape::of(model->model->config, config.kv).entry_bytes();
            for (const auto token : random_tokens(kTokens, 97, 31)) {
                auto pass = session->feed(std::span(&token, 1), {});
                ASSERT_TRUE(pass.ok()) << pass.error().text();
                StepFacts step;
                step.phase = Phase::Decode;
                step.row_count = 1;
                step.kv = pass->kv;
                const Kept rows = kept(cache, pass->kv.tokens_seen);
                EXPECT_EQ(step.kv.used_bytes, row * (rows.global + 3 * rows.local));
                for (int layer = 0; layer < 4; ++layer)
                    EXPECT_EQ(rows_kept(facts, step.kv, layer), layer == 2 ? rows.global : rows.local);
                if (rows.global == 0) continue;
                for (const LedgerLine& line : memory_ledger(facts, step))
                    if (line.purpose.rfind("KV ", 0) == 0 && line.purpose != "KV pool" && line.derived_bytes >= 0) {
                        EXPECT_EQ(line.derived_bytes, line.measured_bytes) << line.purpose << " " << line.filled_in;
                    }
            }
        }
}

// Pages are those of the global layer, wherever it is among the groups.
TEST(LayerKindsSession, PagesOfTheGroupThatHasThem) {
    const auto session = session_of(loaded(mixed_model()), session_config("paged:page=4"));
    feed_all(*session, random_tokens(17, 97, 32), 5);
    const KvFacts facts = session->kv_facts();
    EXPECT_EQ(facts.page_tokens, 4);
    EXPECT_EQ(facts.pages_used, 5);
    EXPECT_EQ(facts.capacity_tokens, 20);
    EXPECT_EQ(facts.reserved_bytes, 4 * kRow * (20 + 3 * kWindow));
    EXPECT_EQ(session->placement().page_tokens, 4) << "the map shows what the strategy does";
}

// MA-03: what was said before the run, layer kind by layer kind.
TEST(LayerKindsSession, MA03_ThePredictionIsWhatIsAllocated) {
    const auto model = loaded(mixed_model());
    const KvModelShape shape = kv_model_shape(model->model->config);
    EXPECT_EQ(shape.local_layers, 3);
    for (const char* cache : kCaches) {
        SCOPED_TRACE(cache);
        SessionConfig config = session_config(cache, "f16");
        config.expected_tokens = kTokens;
        const auto session = session_of(model, config);
        feed_all(*session, random_tokens(kTokens, 97, 33), 1);
        const auto slots = cache_slots(config.cache, kTokens);
        ASSERT_TRUE(slots.ok());
        const auto need = cache_need(shape, *slots, config.kv);
        ASSERT_TRUE(need.ok());
        const KvFacts facts = session->kv_facts();
        EXPECT_EQ(need->used_bytes, facts.used_bytes);
        if (std::string(cache).find("capacity") == std::string::npos) {
            EXPECT_EQ(need->reserved_bytes, facts.reserved_bytes);
        }
        EXPECT_EQ(need->local_stored, kept(cache, kTokens).local);
    }
}

// Products and bytes of every pass, in chunks, are those of the cost model, to the last one.
TEST(LayerKindsSession, CostOfAPassByKind) {
    const auto model = loaded(mixed_model());
    const ModelConfig& config = model->model->config;
    const auto tokens = random_tokens(kTokens, 97, 34);
    for (const std::int64_t chunk : {1, 5, 23}) {
        SCOPED_TRACE(chunk);
        const auto cached = session_of(model, session_config("preallocated"));
        const auto fed = feed_all(*cached, tokens, chunk);
        std::int64_t past = 0;
        for (const PassResult& pass : fed.passes) {
            const Cost expected = causal_cost(model->program, config, past, pass.rows, {}, true);
            EXPECT_EQ(pass.flops, expected.flops);
            EXPECT_EQ(pass.bytes, expected.bytes);
            EXPECT_EQ(pass.flops, pass_flops(config, past, pass.rows));
            past += pass.rows;
        }
    }
    const auto recompute = session_of(model, session_config("recompute"));
    const auto fed = feed_all(*recompute, tokens, 7);
    EXPECT_EQ(fed.passes.back().flops, recompute_step_cost(model->program, config, kTokens).flops);
    EXPECT_EQ(fed.passes.back().flops, recompute_flops(config, kTokens));
}

// What leaves a window was not judged by its score, and is told once for all layers.
TEST(LayerKindsSession, WhatLeavesAWindowIsToldAsThat) {
    RunFacts facts;
    facts.config = mixed_model()->config;
    facts.cache_spec = "h2o:budget=8,recent=4";
    facts.kv_type = "f32";
    RunRecording recording(facts, RecordingLimits{});
    for (std::int32_t position = 0; position < 9; ++position) {
        RunRecording::NewRow row;
        row.row = {position, position, 0, Phase::Prefill, false, false};
        recording.append_row(row, {}, {}, {}, position + 1, {});
    }
    StepFacts step;
    step.kv.tokens_seen = 9, step.kv.tokens_stored = 8;
    step.row_count = 9;
    for (const std::int32_t layer : {0, 1, 3}) step.evicted.push_back({2, layer});
    step.evicted.push_back({5, 2, 0.25f});
    recording.append_step(std::move(step));
    std::string all;
    for (const Sentence& sentence : what_happened(recording, 0)) all += sentence.english + "\n";
    EXPECT_THAT(all, HasSubstr("The 3 layers with a window of 6 tokens let go of position 2."));
    EXPECT_THAT(all, HasSubstr("Layer 2 dropped position 5: least attended to, 0.25 in all."));
    EXPECT_EQ(all.find("nan"), std::string::npos) << all;
}

// Local layers need no more than their window: what would not fit at full length in every layer starts, and an order
// that can never fit is refused with bytes.
TEST(LayerKindsSession, BatchAdmissionCountsByKind) {
    ModelConfig config = mixed_model()->config;
    config.context = 4096;
    Probed probed(make_tiny_model(config));
    const std::int64_t used = probed.backend->memory().total_bytes();
    const std::int64_t each = 4 * kRow * (3020 + 3 * kWindow);  // at full length it would be 4 * kRow * 4 * 3020
    probed.backend->set_memory_bytes(used + 2 * each + each / 2);
    Together batch(probed.model, session_config("preallocated"));
    for (std::uint64_t i = 0; i < 3; ++i) batch.add({random_tokens(20, 97, 40 + i), 3000});
    auto step = batch.batch->step({});
    ASSERT_TRUE(step.ok()) << step.error().text();
    EXPECT_EQ(step->started.size(), 2u);
    EXPECT_EQ(step->waiting, 1);
    EXPECT_EQ(step->flops, 2 * pass_flops(config, 0, 20));
    for (SequenceId id = 0; id < 2; ++id) {
        EXPECT_FALSE(batch.batch->sequence(id).error.has_value());
        EXPECT_EQ(batch.batch->kv_facts(id).reserved_bytes, each);
        batch.batch->cancel(id);
    }
    step = batch.batch->step({});
    ASSERT_TRUE(step.ok()) << step.error().text();
    EXPECT_EQ(step->started.size(), 1u);
    batch.batch->cancel(2);
    probed.backend->set_memory_bytes(probed.backend->memory().total_bytes() + 1000);
    Together small(probed.model, session_config("preallocated"));
    std::vector<std::vector<float>> ignored;
    const auto never = small.batch->add(random_tokens(20, 97, 50), generation_of({{}, 3000}, ignored));
    ASSERT_FALSE(never.ok());
    EXPECT_EQ(never.error().kind, ErrorKind::Capacity);
    EXPECT_THAT(never.error().message, HasSubstr(std::to_string(each) + " bytes"));
    EXPECT_THAT(never.error().message, HasSubstr("1000 bytes"));
}

}  // namespace
}  // namespace decodescope
