// What cannot be combined: the one table of family x strategy x format x backend. The engine refuses such a run with
// the row's sentence, the command line repeats it, and the window does not offer the choice.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cache/kv_format.h"
#include "engine/cache/strategy_descriptor.h"
#include "engine/model/model_config.h"

namespace decodescope {

// A run, as far as it is known.
struct RunChoice {
    std::optional<Family> family;   // unknown: rows of one family do not apply
    CacheSpec cache;                // with all its parameters, see complete_cache_spec
    KvFormat kv;
    std::string_view backend;       // "cpu", "cuda:0"; empty: rows of one backend do not apply
    bool shares_prefixes = false;   // pages are found by the tokens that they hold
    bool batched = false;           // its passes are computed together with those of other sequences
    bool local_layers = false;      // layers of the model attend to a window, and keep a ring
};

struct UnsupportedPair {
    std::optional<Family> family;   // none: any
    std::string_view strategy;      // empty: any with a cache
    bool grouped_only = false;      // formats that keep the newest tokens in full precision; else any
    std::string_view backend;       // first characters of the id; empty: any
    std::function<bool(const RunChoice&)> when;  // null: always
    std::string_view reason;        // one sentence
    std::string_view hint;          // what to do
};

const std::vector<UnsupportedPair>& unsupported_pairs();
// The first row that forbids the run, or null.
const UnsupportedPair* find_unsupported(const RunChoice& choice,
                                        const std::vector<UnsupportedPair>& pairs = unsupported_pairs());
// The choice's cache where it can be had; else the same with one parameter that has a list of values changed, to the
// nearest larger value that can be, then the nearest smaller one. Nothing when no single change helps.
std::optional<CacheSpec> nearest_supported(const RunChoice& choice);
// The row's sentence and hint as an error of kind Unsupported.
Status check_supported(const RunChoice& choice);

}  // namespace decodescope
