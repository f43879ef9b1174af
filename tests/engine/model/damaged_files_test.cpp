// Flipped bytes and cut-off files, with a fixed seed: the outcome is a value or an error with a sentence, never a
// crash.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/model/config_reader.h"
#include "engine/model/model.h"
#include "engine/model/safetensors.h"
#include "engine/text/load_tokenizer.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

class Damage {
public:
    explicit Damage(std::uint64_t seed) : state_(seed) {}
    std::uint64_t below(std::uint64_t limit) {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return (state_ >> 33) % limit;
    }
    // One to four bytes changed, or the end cut off, or a piece doubled, within the first `reach` bytes.
    std::string apply(std::string bytes, std::size_t reach) {
        reach = std::min(reach, bytes.size());
        const std::uint64_t kind = below(8);
        if (kind == 0) return bytes.substr(0, below(reach + 1));
        if (kind == 1) {
            const std::size_t at = below(reach), size = below(64);
            return bytes.insert(at, bytes.substr(at, size));
        }
        constexpr std::string_view telling = "{}[]\",:0123456789-.eE \\\0\xff\x80";
        for (std::uint64_t i = 0; i <= below(4); ++i)
            bytes[below(reach)] = below(2) == 0 ? static_cast<char>(below(256)) : telling[below(telling.size())];
        return bytes;
    }

private:
    std::uint64_t state_;
};

// Touches every byte that an accepted header promises, so that a wrong promise is seen by the sanitizers.
std::uint64_t touch(const SafetensorsHeader& header, std::span<const std::byte> bytes) {
    std::uint64_t sum = 0;
    for (const SafetensorsEntry& entry : header.entries)
        for (std::int64_t i = entry.begin; i < entry.end; ++i)
            sum += std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(header.data_offset + i)]);
    return sum;
}

TEST(DamagedFiles, SafetensorsHeaders) {
    std::vector<FileTensor> tensors = fixture_tensors("l3");
    tensors.resize(6);
    for (FileTensor& tensor : tensors) {  // short rows: nearly all of the file is header
        tensor.shape = {3};
        tensor.bytes.resize(12);
    }
    const std::string whole = safetensors_bytes(tensors);
    Damage damage(1);
    int accepted = 0;
    for (int i = 0; i < 4000; ++i) {
        // An exact heap copy: reading one byte beyond is seen.
        const std::string bytes = damage.apply(whole, whole.size());
        std::vector<std::byte> copy(bytes.size());
        if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
        const auto header = read_safetensors(copy, "x");
        if (header) {
            ++accepted;
            touch(*header, copy);
        } else {
            EXPECT_FALSE(header.error().message.empty());
        }
    }
    EXPECT_LT(accepted, 4000);
}

TEST(DamagedFiles, TokenizerJson) {
    const std::string whole = read_fixture("tokenizer-llama3/tokenizer.json");
    Damage damage(2);
    int accepted = 0;
    for (int i = 0; i < 250; ++i) {
        // Every second time in the first part, where the options are; the rest is vocabulary.
        auto parts = read_tokenizer_json(damage.apply(whole, i % 2 == 0 ? 3000 : whole.size()), "x");
        if (!parts) continue;
        const auto tokenizer = BpeTokenizer::make(std::move(*parts), "x");
        if (!tokenizer) continue;
        ++accepted;
        const auto ids = (*tokenizer)->encode("I'll wait 12345 \xff <tool> \u4f60\u597d\n", {});
        if (ids) (*tokenizer)->decode(*ids);
    }
    EXPECT_GT(accepted, 0);
}

TEST(DamagedFiles, VocabAndMerges) {
    const std::string vocab = read_fixture("tokenizer-gpt2/vocab.json"),
                      merges = read_fixture("tokenizer-gpt2/merges.txt");
    Damage damage(3);
    for (int i = 0; i < 250; ++i) {
        auto parts = i % 2 == 0 ? read_vocab_and_merges(damage.apply(vocab, vocab.size()), merges, "x")
                                : read_vocab_and_merges(vocab, damage.apply(merges, merges.size()), "x");
        if (!parts) continue;
        const auto tokenizer = BpeTokenizer::make(std::move(*parts), "x");
        if (tokenizer) (void)(*tokenizer)->encode("Hello world, hello again!!!", {});
    }
}

TEST(DamagedFiles, Configs) {
    const std::string whole = read_fixture("l3/config.json");
    Damage damage(4);
    int accepted = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto config = read_config(damage.apply(whole, whole.size()), "x", "m");
        if (config) {
            ++accepted;
            EXPECT_EQ(config->config.heads % config->config.kv_heads, 0);
        }
    }
    EXPECT_GT(accepted, 0);
}

TEST(DamagedFiles, WholeModels) {
    TemporaryFolder folder;
    for (const char* name : {"config.json", "tokenizer.json"}) folder.copy_fixture("l3", name);
    const std::string whole = read_fixture("l3/model.safetensors");
    Damage damage(5);
    for (int i = 0; i < 60; ++i) {
        folder.write("model.safetensors", damage.apply(whole, 3000));
        const auto model = open_model(folder.path(), {}, {}, {});
        if (!model) {
            EXPECT_FALSE(model.error().message.empty());
            continue;
        }
        for (const WeightTensor& t : (*model)->weights.tensors) {
            const std::int64_t last = (t.rows - 1) * t.row_stride + (t.columns - 1) * t.column_stride;
            std::uint32_t value = 0;
            std::memcpy(&value,
                        static_cast<const std::byte*>(t.data) + last * static_cast<std::int64_t>(element_bytes(t.type)),
                        element_bytes(t.type));
        }
    }
}

}  // namespace
}  // namespace decodescope
