// Several sequences in one step (CC-09, CC-16): each as if it were alone, whatever its neighbours are.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/kernel_cases.h"

namespace decodescope {
namespace {

using test::CacheShape;
using test::Layout;
using test::ProgramBuilder;
using test::StepCase;
using test::StepResult;
using test::TestCache;
using test::TinyShape;
using Tokens = std::vector<std::int32_t>;

TinyShape shape_of(bool llama) {
    TinyShape shape;
    shape.llama = llama;
    shape.heads = 6;
    shape.kv_heads = llama ? 3 : 6;
    shape.head_dim = 20;
    return shape;
}

class Batch {
public:
    Batch(Backend& backend, const TinyShape& shape, WeightType kept = WeightType::AsInFile)
        : backend_(backend), shape_(shape) {
        ProgramBuilder builder(21);
        test::build_tiny_model(shape, builder);
        auto weights = backend.load_weights(builder.table, builder.program, kept, {}, {});
        CompileOptions options;
        options.max_rows = options.max_logits_rows = 64;
        step_ = std::move(backend.compile(builder.program, weights.value(), options).value());
    }

    // Logits of every row of each sequence, all sequences in one step on fresh caches. [sequences][rows * vocabulary]
    std::vector<std::vector<float>> run(const std::vector<Tokens>& sequences) {
        std::vector<std::unique_ptr<TestCache>> caches;
        std::vector<std::vector<KvView>> views;
        std::vector<SequenceRows> parts;
        StepCase all;
        for (const Tokens& tokens : sequences) {
            const auto count = static_cast<std::int32_t>(tokens.size()),
                       first = static_cast<std::int32_t>(all.tokens.size());
            caches.push_back(TestCache::make(backend_, {shape_.layers, shape_.kv_heads, shape_.head_dim, 64,
                                                        ElementType::F32, ElementType::F32, Layout::Paged, 4,
                                                        10 + caches.size()}));
            views.push_back(caches.back()->views(count));
            const StepCase rows = StepCase::causal(tokens, 0);  // positions of its own, from 0
            all.tokens.insert(all.tokens.end(), rows.tokens.begin(), rows.tokens.end());
            all.positions.insert(all.positions.end(), rows.positions.begin(), rows.positions.end());
            all.visibility.insert(all.visibility.end(), rows.visibility.begin(), rows.visibility.end());
            for (std::int32_t row = 0; row < count; ++row) all.logits_rows.push_back(first + row);
            parts.push_back({first, count, {}});
        }
        for (std::size_t s = 0; s < parts.size(); ++s) parts[s].views = views[s];
        const StepResult result = test::run_step(backend_, *step_, all, parts);
        EXPECT_TRUE(result.status.ok()) << result.status.error().text();
        EXPECT_EQ(result.damage, "");
        std::vector<std::vector<float>> out;
        auto at = result.logits.begin();
        for (const Tokens& tokens : sequences) {
            const auto size = static_cast<std::ptrdiff_t>(tokens.size()) * shape_.vocabulary;
            out.emplace_back(at, at + size);
            at += size;
        }
        return out;
    }

    Tokens tokens(std::uint64_t seed, int count) const {
        test::Random random(seed);
        Tokens tokens;
        for (int i = 0; i < count; ++i) tokens.push_back(random.below(shape_.vocabulary));
        return tokens;
    }

private:
    Backend& backend_;
    TinyShape shape_;
    std::unique_ptr<CompiledStep> step_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// CC-09: lengths 1, 5 and 12, and some of which others make a product of many rows, in two orders. No bit differs.
void check_each_as_alone(Backend& backend, bool llama, WeightType kept) {
    Batch batch(backend, shape_of(llama), kept);
    for (const std::vector<int>& lengths : {std::vector{1, 5, 12}, std::vector{12, 1, 30, 5}}) {
        std::vector<Tokens> sequences;
        for (std::size_t s = 0; s < lengths.size(); ++s) sequences.push_back(batch.tokens(50 + s, lengths[s]));
        const auto together = batch.run(sequences);
        for (std::size_t s = 0; s < lengths.size(); ++s)
            EXPECT_TRUE(same_bits(together[s], batch.run({sequences[s]})[0]))
                << "sequence " << s << " of " << lengths[s] << " tokens";
    }
}

// CC-09, CC-18: other words in the third sequence, and another length of it, change no bit of the first and the second.
void check_neighbours_change_nothing(Backend& backend, bool llama) {
    Batch batch(backend, shape_of(llama));
    const Tokens first = batch.tokens(50, 1), second = batch.tokens(51, 5);
    const auto before = batch.run({first, second, batch.tokens(52, 12)});
    const auto other_words = batch.run({first, second, batch.tokens(99, 12)});
    EXPECT_FALSE(same_bits(other_words[2], before[2])) << "the third sequence did change";
    for (std::size_t s : {0u, 1u}) EXPECT_TRUE(same_bits(other_words[s], before[s])) << "sequence " << s;
    for (const int length : {1, 2, 3, 11, 13, 40}) {
        const auto other_length = batch.run({first, second, batch.tokens(52, length)});
        for (std::size_t s : {0u, 1u})
            EXPECT_TRUE(same_bits(other_length[s], before[s])) << "sequence " << s << ", third of " << length;
    }
}

// CC-18: more single rows than one call of the kernel takes, and long sequences between them.
void check_many_sequences(Backend& backend) {
    Batch batch(backend, shape_of(true));
    std::vector<Tokens> sequences;
    for (int s = 0; s < 21; ++s) sequences.push_back(batch.tokens(60 + s, s % 7 == 3 ? 9 : 1 + s % 2));
    const auto together = batch.run(sequences);
    for (const std::size_t s : {0u, 3u, 8u, 10u, 20u})
        EXPECT_TRUE(same_bits(together[s], batch.run({sequences[s]})[0])) << "sequence " << s;
}

class BatchCpu : public testing::TestWithParam<std::string> {
protected:
    std::unique_ptr<Backend> backend() const {
        CpuBackendOptions options;
        options.threads = 2;
        options.instruction_set = GetParam();
        return std::move(make_cpu_backend(options).value());
    }
};

TEST_P(BatchCpu, EachSequenceIsAsAlone) {
    for (const bool llama : {true, false}) check_each_as_alone(*backend(), llama, WeightType::AsInFile);
    check_each_as_alone(*backend(), true, WeightType::F16);
    check_each_as_alone(*backend(), false, WeightType::Int8);
}

TEST_P(BatchCpu, NeighboursChangeNoBit) {
    for (const bool llama : {true, false}) check_neighbours_change_nothing(*backend(), llama);
}

TEST_P(BatchCpu, CC18_ManySequencesOfAFewRows) { check_many_sequences(*backend()); }

INSTANTIATE_TEST_SUITE_P(Kernels, BatchCpu, testing::ValuesIn(cpu_instruction_sets()),
                         [](const auto& info) { return info.param; });

TEST(BatchReference, EachSequenceIsAsAloneAndNeighboursChangeNoBit) {
    const auto backend = make_reference_backend();
    for (const bool llama : {true, false}) {
        check_each_as_alone(*backend, llama, WeightType::AsInFile);
        check_neighbours_change_nothing(*backend, llama);
    }
    check_many_sequences(*backend);
}

}  // namespace
}  // namespace decodescope
