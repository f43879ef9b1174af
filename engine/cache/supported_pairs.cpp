#include "engine/cache/supported_pairs.h"

#include <algorithm>
#include <iterator>

namespace decodescope {
namespace {

bool splits_groups(const RunChoice& choice) {
    const auto page = choice.cache.parameters.find("page");  // the choice's number: log2
    if (page == choice.cache.parameters.end()) return false;
    return (std::int64_t{1} << page->second) % choice.kv.group != 0;
}

bool is_rebased(const RunChoice& choice) {
    const auto positions = choice.cache.parameters.find("positions");
    return positions != choice.cache.parameters.end() && positions->second == 1;
}

bool is_offloaded(const RunChoice& choice) {
    const auto place = choice.cache.parameters.find("offload");
    return place != choice.cache.parameters.end() && place->second != 0;
}

constexpr std::string_view kWindowReason =
    "A window drops tokens one by one, and int8-kivi keeps groups of tokens behind common scales: a group would have "
    "to stay until its last token leaves.";
constexpr std::string_view kOtherFormat = "Choose int8, or a strategy that keeps all tokens.";

}  // namespace

const std::vector<UnsupportedPair>& unsupported_pairs() {
    static const std::vector<UnsupportedPair> pairs = {
        {{}, "ring", true, "", {}, kWindowReason, kOtherFormat},
        {{}, "sinks", true, "", {}, kWindowReason, kOtherFormat},
        {{}, "", true, "", [](const RunChoice& choice) { return choice.local_layers; },
         "Layers of this model attend to a window and keep only that, and int8-kivi keeps groups of tokens behind "
         "common scales: a group would have to stay until its last token leaves.",
         "Choose int8."},
        {{}, "h2o", true, "", {},
         "Eviction by score takes single tokens from the middle, and int8-kivi keeps groups of tokens behind common "
         "scales.",
         kOtherFormat},
        {{}, "paged", true, "", splits_groups,
         "A page must hold whole groups of int8-kivi: its size has to be a multiple of the group.",
         "Choose a larger page or a smaller group, both powers of two."},
        {{}, "", true, "", [](const RunChoice& choice) { return choice.shares_prefixes; },
         "Pages found by their tokens hold int8-kivi rows only, and a conversation that begins there would need its "
         "newest tokens in full precision: it would not give what it gives alone.",
         "Choose another format, or do not share prefixes."},
        {{}, "", true, "", is_offloaded,
         "Offloaded rows are moved one by one, and int8-kivi keeps groups of tokens behind common scales and its "
         "newest tokens apart.",
         "Choose int8, or offload=none."},
        {{}, "paged", false, "", [](const RunChoice& choice) { return choice.batched && choice.local_layers; },
         "A batch shares the pages of one table of all layers, and layers of this model that attend to a window have a "
         "table of their own.",
         "Choose preallocated, or run the sequence alone."},
        {{}, "h2o", false, "", [](const RunChoice& choice) { return choice.batched; },
         "Eviction by score reads the attention of each pass, and the joint pass of a batch does not hand it out by "
         "sequence.",
         "Choose another strategy, or run the sequence alone."},
        {{}, "", false, "", [](const RunChoice& choice) { return choice.batched && is_offloaded(choice); },
         "Offloaded rows are fetched into a pool with room for one layer of one sequence, and a batch computes a layer "
         "of all its sequences at once.",
         "Choose offload=none, or run the sequence alone."},
        {Family::Gpt2, "sinks", false, "", is_rebased,
         "Positions cannot be rebased in a model with learned positions: they are added to a token before its K and V "
         "are computed, so every row that stays would have to be computed again.",
         "Choose positions=absolute, or a model with rotary positions."},
    };
    return pairs;
}

const UnsupportedPair* find_unsupported(const RunChoice& choice, const std::vector<UnsupportedPair>& pairs) {
    const StrategyDescriptor* strategy = find_strategy(choice.cache.id);
    if (strategy != nullptr && !strategy->has_cache) return nullptr;
    const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const UnsupportedPair& pair) {
        return (!pair.family || pair.family == choice.family) &&
               (pair.strategy.empty() || pair.strategy == choice.cache.id) &&
               (!pair.grouped_only || choice.kv.has_residual()) &&
               (pair.backend.empty() || choice.backend.substr(0, pair.backend.size()) == pair.backend) &&
               (!pair.when || pair.when(choice));
    });
    return found == pairs.end() ? nullptr : &*found;
}

std::optional<CacheSpec> nearest_supported(const RunChoice& choice) {
    if (find_unsupported(choice) == nullptr) return choice.cache;
    const StrategyDescriptor* strategy = find_strategy(choice.cache.id);
    if (strategy == nullptr) return std::nullopt;
    for (const ParameterDescriptor& parameter : strategy->parameters) {
        if (parameter.type != ParameterType::Choice) continue;
        RunChoice other = choice;
        std::int64_t& value = other.cache.parameters[parameter.name];
        const std::int64_t now = value;
        for (value = now + 1; value < std::ssize(parameter.choices); ++value)
            if (find_unsupported(other) == nullptr) return other.cache;
        for (value = now - 1; value >= 0; --value)
            if (find_unsupported(other) == nullptr) return other.cache;
    }
    return std::nullopt;
}

Status check_supported(const RunChoice& choice) {
    const UnsupportedPair* pair = find_unsupported(choice);
    if (pair == nullptr) return {};
    return make_error(ErrorKind::Unsupported, std::string(pair->reason), std::string(pair->hint));
}

}  // namespace decodescope
