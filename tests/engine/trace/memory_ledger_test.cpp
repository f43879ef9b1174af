#include "engine/trace/memory_ledger.h"

#include <gtest/gtest.h>

#include "tests/support/fake_run.h"

namespace decodescope {
namespace {

const LedgerLine& line(const std::vector<LedgerLine>& lines, const std::string& purpose) {
    for (const LedgerLine& l : lines)
        if (l.purpose == purpose) return l;
    ADD_FAILURE() << "no line " << purpose;
    static const LedgerLine none;
    return none;
}

TEST(MemoryLedger, FormulaWithTheNumbers) {
    RunFacts facts;
    facts.config.layers = 6;
    facts.config.heads = 4;
    facts.config.kv_heads = 2;
    facts.config.head_dim = 32;
    facts.kv_type = facts.weights_type = "f32";
    StepFacts step;
    step.kv.tokens_seen = step.kv.tokens_stored = step.kv.capacity_tokens = 21;
    step.kv.used_bytes = step.kv.reserved_bytes = 64512;
    const auto lines = memory_ledger(facts, step);
    const LedgerLine& used = line(lines, "KV used");
    EXPECT_EQ(used.formula, "2 · L · H_kv · d · bytes · tokens stored");
    EXPECT_EQ(used.filled_in, "2 · 6 · 2 · 32 · 4 · 21 = 64,512");
    EXPECT_EQ(used.derived_bytes, 64512);
    EXPECT_EQ(used.gap, "");
    EXPECT_EQ(line(lines, "KV reserved").gap, "");
    facts.kv_type = "k=f16,v=f32";
    EXPECT_EQ(line(memory_ledger(facts, step), "KV used").filled_in, "6 · 2 · 32 · (2 + 4) · 21 = 48,384");
}

// Layers that attend to a window keep no more than that; the others everything.
TEST(MemoryLedger, LayersWithAWindowAreCountedApart) {
    RunFacts facts;
    facts.config.layers = 4;
    facts.config.heads = facts.config.kv_heads = 2;
    facts.config.head_dim = 12;
    facts.config.context = 128;
    facts.config.window = 6;
    facts.config.local_layers = {true, true, false, true};
    facts.kv_type = facts.weights_type = "f32";
    facts.cache_spec = "preallocated:capacity=24";
    StepFacts step;
    step.kv.tokens_seen = step.kv.tokens_stored = 20, step.kv.capacity_tokens = 24;
    step.kv.used_bytes = 192 * (20 + 3 * 6), step.kv.reserved_bytes = 192 * (24 + 3 * 6);
    const auto lines = memory_ledger(facts, step);
    EXPECT_EQ(line(lines, "KV used").filled_in, "192 · (1 global · 20 + 3 local · 6) = 7,296");
    EXPECT_EQ(line(lines, "KV used").gap, "");
    EXPECT_EQ(line(lines, "KV reserved").derived_bytes, step.kv.reserved_bytes);
    step.kv.tokens_seen = step.kv.tokens_stored = 4;  // before the window is full
    EXPECT_EQ(line(memory_ledger(facts, step), "KV used").derived_bytes, 192 * 4 * 4);
    facts.config.context = 6;  // a window that never ends
    EXPECT_EQ(line(memory_ledger(facts, step), "KV used").derived_bytes, 192 * 4 * 4);
}

TEST(MemoryLedger, ReserveOfPreallocated) {
    FakeRunOptions options;
    const auto recording = make_fake_run(options);
    const auto lines = memory_ledger(recording->facts(), *recording->step(1));
    const LedgerLine& reserved = line(lines, "KV reserved");
    EXPECT_EQ(reserved.measured_bytes, reserved.derived_bytes);
    EXPECT_EQ(reserved.gap, "Room for 11 more tokens is reserved and not used yet: 5,632 bytes, 65.6 % of it in use.");
    EXPECT_EQ(line(lines, "KV used").derived_bytes, recording->step(1)->kv.used_bytes);
}

// MA-05: peak = old + new of the layer being grown, beside the steady figure.
TEST(MemoryLedger, PeakOfGrowing) {
    FakeRunOptions options;
    options.cache = "growing";
    const auto recording = make_fake_run(options);
    const auto lines = memory_ledger(recording->facts(), *recording->step(5));
    const LedgerLine& peak = line(lines, "KV peak");
    EXPECT_EQ(peak.measured_bytes, peak.derived_bytes);
    EXPECT_EQ(peak.filled_in, "(4 · 25 + 24) · 128 = 15,872");
    EXPECT_NE(peak.gap.find("12,288 bytes were copied"), std::string::npos) << peak.gap;
    EXPECT_EQ(line(lines, "KV reserved").gap, "");
    for (const LedgerLine& l : memory_ledger(make_fake_run({})->facts(), *make_fake_run({})->step(5)))
        EXPECT_NE(l.purpose, "KV peak");
}

TEST(MemoryLedger, WithoutACacheAndAfterEviction) {
    RunFacts facts = fake_run_facts({});
    StepFacts step;
    step.kv.tokens_seen = 40;
    const auto none = memory_ledger(facts, step);
    EXPECT_EQ(line(none, "KV used").derived_bytes, 0);
    EXPECT_NE(line(none, "KV used").gap.find("Nothing is kept"), std::string::npos);
    FakeRunOptions options;
    options.cache = "ring";
    options.window = 8;
    const auto ring = make_fake_run(options);
    EXPECT_NE(line(memory_ledger(ring->facts(), *ring->step(4)), "KV used").gap.find("8 of 24 tokens"),
              std::string::npos);
}

TEST(MemoryLedger, FormatIsTheCachesOwn) {
    RunFacts facts = fake_run_facts({});
    facts.kv_type = "f16";
    facts.weights_type = "f32";
    StepFacts step;
    step.kv.tokens_seen = step.kv.tokens_stored = step.kv.capacity_tokens = 3;
    step.kv.used_bytes = step.kv.reserved_bytes = 3 * 2 * 4 * 2 * 8 * 2;
    const LedgerLine used = line(memory_ledger(facts, step), "KV used");
    EXPECT_EQ(used.measured_bytes, used.derived_bytes);
    EXPECT_NE(used.gap.find("f16"), std::string::npos);
}

// MA-02 and MA-06: int8 with its scales, and what is kept in full precision, by formulas that equal the counted bytes.
TEST(MemoryLedger, MA02_Int8CountsItsScales) {
    RunFacts facts = fake_run_facts({});
    facts.kv_type = "k=int8,v=f16";
    StepFacts step;
    step.kv.tokens_seen = step.kv.tokens_stored = step.kv.capacity_tokens = 3;
    const ModelConfig& c = facts.config;
    const std::int64_t heads = c.layers * c.kv_heads, d = c.head_dim;
    step.kv.used_bytes = step.kv.reserved_bytes = 3 * heads * (d + 4 + 2 * d);
    const LedgerLine used = line(memory_ledger(facts, step), "KV used");
    EXPECT_EQ(used.measured_bytes, used.derived_bytes);
    EXPECT_NE(used.formula.find("a scale of 4 bytes"), std::string::npos) << used.formula;
    EXPECT_NE(used.gap.find(std::to_string(3 * heads * 4) + " bytes of it are scales"), std::string::npos) << used.gap;

    facts.kv_type = "int8-kivi(group=8,residual=8)";
    step.kv.tokens_seen = step.kv.tokens_stored = 20;  // 8 quantized, 12 in full precision
    step.kv.capacity_tokens = 30;                      // 16 can be quantized
    step.kv.used_bytes = heads * (8 * d + 2 * d * 4 + 8 * (d + 4) + 2 * 12 * d * 4);
    step.kv.reserved_bytes = heads * (16 * d + 2 * 2 * d * 4 + 16 * (d + 4) + 2 * 16 * d * 4);
    for (const char* purpose : {"KV used", "KV reserved"}) {
        const LedgerLine kivi = line(memory_ledger(facts, step), purpose);
        EXPECT_EQ(kivi.measured_bytes, kivi.derived_bytes) << purpose << kivi.filled_in;
        EXPECT_NE(kivi.formula, "");
    }
}

TEST(MemoryLedger, WeightsByTheirFormula) {
    RunFacts facts = fake_run_facts({});
    facts.weights_type = "f16";
    const ModelConfig& c = facts.config;
    StepFacts step;
    const std::int64_t matrices = c.layer_matrix_parameters() + c.vocabulary * c.hidden;
    const std::int64_t vectors = (2 * c.layers + 1) * c.hidden;
    step.memory.bytes[0] = 2 * matrices + 4 * vectors;
    const LedgerLine exact = line(memory_ledger(facts, step), "weights");
    EXPECT_EQ(exact.derived_bytes, exact.measured_bytes);
    EXPECT_EQ(exact.gap, "");
    step.memory.bytes[0] += 1234;
    EXPECT_EQ(line(memory_ledger(facts, step), "weights").gap.rfind("1,234 bytes more", 0), 0u)
        << line(memory_ledger(facts, step), "weights").gap;
    facts.weights_type = "of another planet";
    EXPECT_EQ(line(memory_ledger(facts, step), "weights").derived_bytes, -1);
}

// MA-08
TEST(MemoryLedger, LargeNumbersStayWhole) {
    RunFacts facts;
    facts.config.layers = 80;
    facts.config.heads = facts.config.kv_heads = 64;
    facts.config.head_dim = 128;
    facts.kv_type = "f32";
    StepFacts step;
    step.kv.tokens_seen = step.kv.tokens_stored = step.kv.capacity_tokens = 131072;
    const LedgerLine used = line(memory_ledger(facts, step), "KV used");
    EXPECT_EQ(used.filled_in, "2 · 80 · 64 · 128 · 4 · 131,072 = 687,194,767,360");
}

}  // namespace
}  // namespace decodescope
