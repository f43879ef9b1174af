// Strategy x format x chunk x where it is computed x capture: every pair of values that is supported is in a row of the
// table below, which is made from the supported pairs, and every row is compared with an oracle at every step.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <map>
#include <set>

#include "engine/cache/supported_pairs.h"
#include "tests/engine/decode/h2o_oracle.h"

namespace decodescope {
namespace {

constexpr std::int64_t kPrompt = 40, kTokens = 48;  // past the moment at which groups of 16 with 16 to spare quantize
constexpr double kInt8 = 2e-2;                      // relative L2
constexpr std::size_t kBudget = 12, kRecent = 4;

const Window kAll{"all", 0, 1 << 20, false};

struct Strategy {
    std::string spec;
    const Window* mask = &kAll;  // null: scores decide
};

// Names are those of the command line; chunk 0 is the whole prompt.
struct Factors {
    std::vector<Strategy> strategies = {{"recompute"},
                                        {"growing"},
                                        {"preallocated"},
                                        {"preallocated:slab=true"},
                                        {kRing.spec, &kRing},
                                        {kSinks.spec, &kSinks},
                                        {kRebased.spec, &kRebased},
                                        {"paged:page=4"},
                                        {"paged:page=32,slab=true"},
                                        {spec_of(kBudget, kRecent), nullptr},
                                        {"growing:offload=host"},
                                        {"preallocated:offload=file"}};
    std::vector<std::string> formats = {"f32",          "f16",
                                        "bf16",         "int8",
                                        "k=int8,v=f16", "int8-kivi(group=16,residual=16)",
                                        "k=int8-kivi(group=8,residual=20),v=f16"};
    std::vector<std::int64_t> chunks = {1, 3, 5, 16, 0};
    std::vector<std::string> places;  // "reference", or threads and instruction set of the CPU: "1 AVX2"
    std::vector<bool> captures = {false, true};

    Factors() {
        places.push_back("reference");
        for (const std::string& set : cpu_instruction_sets()) places.push_back("1 " + set);
        places.push_back("2 " + cpu_instruction_sets().front());
    }
    std::array<std::size_t, 5> sizes() const {
        return {strategies.size(), formats.size(), chunks.size(), places.size(), captures.size()};
    }
};

const Factors& factors() {
    static const Factors all;
    return all;
}

using Row = std::array<std::size_t, 5>;        // index of the value of each factor
using Pair = std::array<std::size_t, 4>;       // factor and value, factor and value

std::set<Pair> pairs_of(const Row& row) {
    std::set<Pair> pairs;
    for (std::size_t a = 0; a < row.size(); ++a)
        for (std::size_t b = a + 1; b < row.size(); ++b) pairs.insert({a, row[a], b, row[b]});
    return pairs;
}

RunChoice choice_of(const Row& row) {
    const SessionConfig config = session_config(factors().strategies[row[0]].spec, factors().formats[row[1]]);
    return {Family::Llama, config.cache, config.kv, factors().places[row[3]] == "reference" ? "reference" : "cpu"};
}

// Nothing is stored without a cache: one format stands for all.
bool is_supported(const Row& row) {
    if (row[0] == 0 && row[1] != 0) return false;
    return find_unsupported(choice_of(row)) == nullptr;
}

std::vector<Row> all_rows(bool supported) {
    std::vector<Row> rows;
    const auto sizes = factors().sizes();
    Row row{};
    for (bool more = true; more;) {
        if (is_supported(row) == supported) rows.push_back(row);
        std::size_t f = 0;
        while (f < row.size() && ++row[f] == sizes[f]) row[f++] = 0;
        more = f < row.size();
    }
    return rows;
}

std::set<Pair> pairs_in(const std::vector<Row>& rows) {
    std::set<Pair> pairs;
    for (const Row& row : rows) pairs.merge(pairs_of(row));
    return pairs;
}

// Greedy: always the row that has most pairs that no row before it has.
std::vector<Row> covering_rows() {
    const std::vector<Row> candidates = all_rows(true);
    std::vector<std::set<Pair>> of_row;
    for (const Row& row : candidates) of_row.push_back(pairs_of(row));
    std::set<Pair> missing = pairs_in(candidates);
    std::vector<Row> rows;
    while (!missing.empty()) {
        std::size_t best = 0;
        std::ptrdiff_t most = 0;
        for (std::size_t i = 0; i < candidates.size() && most < 10; ++i) {
            const auto gain = std::count_if(of_row[i].begin(), of_row[i].end(),
                                            [&](const Pair& pair) { return missing.count(pair) > 0; });
            if (gain > most) best = i, most = gain;
        }
        rows.push_back(candidates[best]);
        for (const Pair& pair : of_row[best]) missing.erase(pair);
    }
    return rows;
}

const std::vector<Row>& table() {
    static const std::vector<Row> rows = covering_rows();
    return rows;
}

std::string words(const Row& row) {
    const Factors& f = factors();
    return fmt::format("{} {} chunk {} on {}{}", f.strategies[row[0]].spec, f.formats[row[1]], f.chunks[row[2]],
                       f.places[row[3]], f.captures[row[4]] ? " captured" : "");
}

const LoadedModelPtr& model_on(const std::string& place) {
    static std::map<std::string, LoadedModelPtr> models;
    auto found = models.find(place);
    if (found != models.end()) return found->second;
    std::shared_ptr<Backend> backend;
    if (place == "reference") {
        backend = make_reference_backend();
    } else {
        CpuBackendOptions options;
        options.threads = place[0] - '0';
        options.instruction_set = place.substr(2);
        backend = make_cpu_backend(options).value();
    }
    return models.emplace(place, loaded(model_l3(), backend)).first->second;
}

double tolerance_of(const std::string& kv) {
    if (kv == "f32") return kExact;
    if (kv == "f16") return kHalf;
    return kv == "bf16" ? kBrain : kInt8;
}

// The rows are right for the masks that the scores chose; each mask is computed once.
const OracleResult& oracle_of_choice(const std::vector<std::vector<Left>>& left) {
    std::string key;
    for (const auto& layer : left) {
        for (const Left& gone : layer) key += fmt::format("{}:{} ", gone.row, gone.position);
        key += '/';
    }
    static std::map<std::string, OracleResult> results;
    auto found = results.find(key);
    if (found != results.end()) return found->second;
    OracleOptions masks;
    masks.visible_in_layer = [&](std::int64_t layer, std::int64_t row, std::int64_t j) {
        for (const Left& gone : left[static_cast<std::size_t>(layer)])
            if (gone.position == j && gone.row < row) return false;
        return j <= row;
    };
    return results.emplace(key, run_oracle(*model_l3(), text(0, kTokens), masks)).first->second;
}

Fed run_row(const Row& row) {
    const Factors& f = factors();
    SessionConfig config = every_row(f.strategies[row[0]].spec, f.formats[row[1]]);
    config.capture_attention = f.captures[row[4]];
    config.expected_tokens = kTokens;
    const auto session = session_of(model_on(f.places[row[3]]), config);
    const std::int64_t chunk = f.chunks[row[2]] > 0 ? f.chunks[row[2]] : kPrompt;
    Fed fed = feed_all(*session, text(0, kPrompt), chunk);
    feed_into(fed, *session, text(kPrompt, kTokens - kPrompt), 1);
    return fed;
}

TEST(Pairwise, EveryRowOfTheTableEqualsItsMask) {
    for (const Row& row : table()) {
        SCOPED_TRACE(words(row));
        const Strategy& strategy = factors().strategies[row[0]];
        const std::string& kv = factors().formats[row[1]];
        const Fed fed = run_row(row);
        ASSERT_EQ(fed.logits.size(), static_cast<std::size_t>(kTokens));
        std::vector<std::vector<Left>> left;  // of each layer
        if (strategy.mask == nullptr) left = left_of(fed, 3);
        const OracleResult& oracle = strategy.mask != nullptr ? oracle_of(*strategy.mask) : oracle_of_choice(left);
        const double worst = worst_l2(fed.logits, oracle);
        EXPECT_LE(worst, tolerance_of(kv));
        if (kv == "f32") {
            EXPECT_LE(worst_error(fed.logits, oracle), kExact);
        } else {
            EXPECT_GT(worst, 2 * kExact) << "nothing was rounded";
        }
        if (strategy.mask != nullptr) continue;
        for (const auto& layer : left) EXPECT_EQ(layer.size(), static_cast<std::size_t>(kTokens) - kBudget);
        if (kv != "f32") continue;  // what leaves may be another token then
        H2oOracle scores{kBudget, kRecent, {}, {}, {}};
        scores.run(*model_l3(), text(0, kTokens));
        EXPECT_EQ(left, scores.left);
    }
}

TEST(Pairwise, TheTableHasEverySupportedPair) {
    EXPECT_EQ(pairs_in(table()), pairs_in(all_rows(true)));
    RecordProperty("rows", static_cast<int>(table().size()));
    // As many as there are pairs of a strategy and a format, and hardly more: no full product.
    const auto sizes = factors().sizes();
    EXPECT_LE(table().size(), sizes[0] * sizes[1]);
    // Whatever the catalogue offers is there, and every format.
    std::set<std::string> ids, types;
    for (const Strategy& strategy : factors().strategies) ids.insert(parse_cache_spec(strategy.spec)->id);
    for (const StrategyDescriptor& strategy : strategy_catalogue()) EXPECT_EQ(ids.count(strategy.id), 1u) << strategy.id;
    for (const std::string& kv : factors().formats) types.insert(part_name(*parse_kv_format(kv), KvPart::K).substr(0, 9));
    for (const KvTypeInfo& type : kKvTypes) EXPECT_EQ(types.count(std::string(type.name)), 1u) << type.name;
}

// SW-11: what the table of pairs forbids, and nothing else, is not made.
TEST(Pairwise, SW11_UnsupportedPairsAreRefused) {
    std::set<Pair> seen;
    int refused = 0;
    for (const Row& row : all_rows(false)) {
        if (row[0] == 0 || !seen.insert({0, row[0], 1, row[1]}).second) continue;
        SCOPED_TRACE(words(row));
        const auto session = DecodeSession::create(
            model_on("reference"), session_config(factors().strategies[row[0]].spec, factors().formats[row[1]]));
        ASSERT_FALSE(session.ok());
        EXPECT_EQ(session.error().kind, ErrorKind::Unsupported);
        ++refused;
    }
    EXPECT_EQ(refused, 14);  // two formats in groups: windows, scores, pages of 4, offload
}

}  // namespace
}  // namespace decodescope
