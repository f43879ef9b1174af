// What the menu, the form, `--cache` and the conformance tests know of a strategy. Parameters are declared once, here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/status.h"

namespace decodescope {

class CacheStrategy;
class PagePool;

enum class ParameterType { Integer, Boolean, Choice };

struct ParameterDescriptor {
    std::string name;             // as in `--cache preallocated:capacity=N`
    ParameterType type = ParameterType::Integer;
    std::int64_t minimum = 0, maximum = 0;
    std::int64_t default_value = 0;  // Integer: 0 may mean "chosen from the run", see help; Boolean 0/1; Choice: index
    std::vector<std::string> choices;
    std::string help;             // one sentence
};

// Tokens that a parameter may ask for at most.
constexpr std::int64_t kMostParameterTokens = std::int64_t{1} << 24;

ParameterDescriptor integer_parameter(std::string name, std::int64_t minimum, std::int64_t maximum,
                                      std::int64_t default_value, std::string help);
ParameterDescriptor choice_parameter(std::string name, std::vector<std::string> choices, std::int64_t default_value,
                                     std::string help);
ParameterDescriptor slab_parameter();  // one allocation for all layers, off by default
// Of every strategy that keeps something; the catalogue adds it. Choices are those of OffloadPlace, in order.
ParameterDescriptor offload_parameter();

// What may stand after the '=', in words: "true or false", "one of none, host and file", "a whole number from 1 to 8".
std::string allowed_values(const ParameterDescriptor& parameter);
// A value as it is written there: a choice by its name.
std::string value_text(const ParameterDescriptor& parameter, std::int64_t value);

using ParameterValues = std::map<std::string, std::int64_t>;

// What a strategy may derive a parameter from that is left at "chosen from the run".
struct RunLimits {
    std::int64_t context = 0;          // tokens that the model can see
    std::int64_t expected_tokens = 0;  // prompt and tokens to generate; 0 = unknown
    bool learned_positions = false;    // of the model; else rotary ones
    std::shared_ptr<PagePool> pages = nullptr;  // of a group that shares prefixes; null: pages of its own
    // [layers] positions that the model itself lets a token attend to, 0: all; empty: all in every layer.
    std::vector<std::int64_t> layer_windows = {};
    std::int64_t window = 0;           // the same of the layers that one strategy is for
};

struct StrategyDescriptor {
    std::string id;               // "preallocated"
    std::string title;            // "Preallocated"
    std::string explanation;      // two sentences for the menu and the help
    std::vector<ParameterDescriptor> parameters;
    bool has_cache = true;        // false: recompute
    bool lossy = false;           // differs by design from full attention
    bool per_layer = false;       // every layer has an entry table of its own; else all share one
    // What the ranges of the parameters cannot say: values that contradict each other or do not fit the model. Empty:
    // everything fits. Like create, it gets every parameter (see parse_cache_spec).
    std::function<Status(const ParameterValues& values, const RunLimits& limits)> check;
    std::function<std::unique_ptr<CacheStrategy>(const ParameterValues& values, const RunLimits& limits)> create;
};

// All strategies, in menu order. engine/cache/catalogue.cpp holds one line for each.
const std::vector<StrategyDescriptor>& strategy_catalogue();
const StrategyDescriptor* find_strategy(std::string_view id);

// A parsed `--cache` argument; every parameter has a value.
struct CacheSpec {
    std::string id = "preallocated";
    ParameterValues parameters;
    bool operator==(const CacheSpec&) const = default;
};
// "preallocated:capacity=256,slab=true". Errors name the value and what is allowed (kind Argument).
Result<CacheSpec> parse_cache_spec(std::string_view text);
std::string to_string(const CacheSpec& spec);  // defaults left out
// Adds parameters that are missing and checks those that are there; for specs that were not parsed.
Result<CacheSpec> complete_cache_spec(const CacheSpec& spec);
Result<std::unique_ptr<CacheStrategy>> make_strategy(const CacheSpec& spec, const RunLimits& limits);

}  // namespace decodescope
