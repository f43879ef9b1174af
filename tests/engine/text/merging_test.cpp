// Merging: the ids of the slow algorithm, and work that grows with n log n (TK-05, TK-10).
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "engine/text/byte_pair_merger.h"
#include "engine/text/least_tokens.h"
#include "engine/text/load_tokenizer.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using Ids = std::vector<std::int32_t>;

// A vocabulary of merges alone: bytes 0-255, then one id per merge.
struct Merges {
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    BytePairMerger merger;
    explicit Merges(std::vector<std::pair<std::int32_t, std::int32_t>> list) : pairs(std::move(list)) {
        for (int byte = 0; byte < 256; ++byte) merger.set_byte(static_cast<std::uint8_t>(byte), byte);
        for (std::size_t i = 0; i < pairs.size(); ++i)
            merger.add_merge(pairs[i].first, pairs[i].second, static_cast<std::int32_t>(256 + i));
    }
    // As the definition says: again and again the leftmost pair of the lowest rank.
    Ids slow(std::string_view text) const {
        std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> rank;
        for (std::size_t i = 0; i < pairs.size(); ++i) rank[pairs[i]] = static_cast<std::int32_t>(i);
        Ids ids;
        for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
        for (;;) {
            std::int32_t best = -1;
            std::size_t at = 0;
            for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
                const auto found = rank.find({ids[i], ids[i + 1]});
                if (found != rank.end() && (best < 0 || found->second < best)) best = found->second, at = i;
            }
            if (best < 0) return ids;
            ids[at] = 256 + best;
            ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        }
    }
    Ids fast(std::string_view text) {
        Ids ids;
        EXPECT_TRUE(merger.merge(text, scratch, ids, {}).ok());
        return ids;
    }
    BytePairMerger::Scratch scratch;
};

Merges doubling() {
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (const char c : {'a', '_', '7', ' '}) {
        std::int32_t id = c;
        for (int i = 0; i < 6; ++i) {
            pairs.push_back({id, id});
            id = static_cast<std::int32_t>(256 + pairs.size() - 1);
        }
    }
    return Merges(pairs);
}

TEST(Merging, EqualsTheSlowAlgorithmOnLongRuns) {  // TK-05
    Merges merges = doubling();
    for (const char c : {'a', '_', '7', ' '})
        for (const std::size_t length : {1u, 2u, 3u, 63u, 64u, 65u, 2000u})
            EXPECT_EQ(merges.fast(std::string(length, c)), merges.slow(std::string(length, c))) << c << " x " << length;
}

TEST(Merging, EqualsTheSlowAlgorithmOnRandomText) {
    std::uint32_t state = 5;
    const auto next = [&](std::uint32_t limit) {
        state = state * 1664525u + 1013904223u;
        return static_cast<std::int32_t>((state >> 16) % limit);
    };
    for (int run = 0; run < 60; ++run) {
        // Pairs of three letters and of earlier results, in any order of rank.
        std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
        for (int i = 0; i < 12; ++i) {
            const auto pick = [&] {
                return next(2) == 0 || i == 0 ? 'a' + next(3) : 256 + next(static_cast<std::uint32_t>(i));
            };
            const std::pair<std::int32_t, std::int32_t> pair = {pick(), pick()};
            if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
        }
        Merges merges(pairs);
        std::string text;
        for (int i = 0; i < 200; ++i) text += static_cast<char>('a' + next(3));
        EXPECT_EQ(merges.fast(text), merges.slow(text)) << run;
    }
}

TEST(Merging, WorkGrowsWithTheLength) {  // TK-05: counted, not timed
    Merges merges = doubling();
    const auto merges_of = [&](std::size_t length) {
        merges.scratch.merges = 0;
        merges.fast(std::string(length, 'a'));
        return merges.scratch.merges;
    };
    // 63 merges for every 64 letters, each done once: no pass over the piece per merge.
    EXPECT_EQ(merges_of(1 << 12), (1 << 12) / 64 * 63);
    EXPECT_EQ(merges_of(1 << 17), (1 << 17) / 64 * 63);
}

TEST(Merging, AMegabyteOfOneCharacterIsTokenized) {  // TK-05, with splitting; TK-10: no limit of the matcher is hit
    const auto tokenizer = *load_tokenizer(fixture_path("tokenizer-gpt2"), {});
    for (const char* unit : {"a", "_", "7", " ", "\n", "\U0001F4A9", "\xff"}) {
        std::string text;
        while (text.size() < (1 << 20)) text += unit;
        const auto ids = tokenizer->encode(text, {});
        ASSERT_TRUE(ids.ok()) << ids.error().text();
        std::string back;
        for (const std::int32_t id : *ids) back += tokenizer->token_bytes(id);
        EXPECT_EQ(back, text);
    }
}

TEST(Merging, LeastTokensIsABound) {  // TK-10: 50 MB are refused without being tokenized
    const auto tokenizer = *load_tokenizer(fixture_path("tokenizer-gpt2"), {});
    EXPECT_EQ(least_tokens(*tokenizer, 0), 0);
    const auto stored = nlohmann::json::parse(read_fixture("tokenizer_ids.json"));
    for (std::size_t i = 0; i < stored["strings"].size(); ++i)
        EXPECT_LE(least_tokens(*tokenizer, stored["strings"][i].get<std::string>().size()),
                  static_cast<std::int64_t>(stored["gpt2"][i].size()));
    EXPECT_GT(least_tokens(*tokenizer, 50'000'000), 300'000);
    EXPECT_TRUE(check_text_bytes(*tokenizer, 2048, 2048).ok());
    const Status refused = check_text_bytes(*tokenizer, 50'000'000, 2048);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().text().find("50000000 bytes"), std::string::npos) << refused.error().text();
    EXPECT_NE(refused.error().text().find("2048"), std::string::npos) << refused.error().text();
}

TEST(Merging, IsCancelled) {
    const auto tokenizer = *load_tokenizer(fixture_path("tokenizer-gpt2"), {});
    std::stop_source stop;
    stop.request_stop();
    for (const std::string& text : {std::string("hello"), std::string(1 << 20, 'a'), [] {
             std::string words;
             while (words.size() < (1 << 20)) words += "ab cd ";
             return words;
         }()}) {
        const auto ids = tokenizer->encode(text, {}, stop.get_token());
        ASSERT_FALSE(ids.ok());
        EXPECT_EQ(ids.error().kind, ErrorKind::Cancelled);
    }
}

}  // namespace
}  // namespace decodescope
