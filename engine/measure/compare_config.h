// One configuration of a comparison: how the cache is kept and stored, what the weights are, who computes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cache/kv_format.h"
#include "engine/cache/strategy_descriptor.h"
#include "kernels/api/backend.h"
#include "kernels/api/status.h"

namespace decodescope {

constexpr std::size_t kMostConfigs = 4;

struct CompareConfig {
    CacheSpec cache = {"preallocated", {}};
    KvFormat kv;
    WeightType weights = WeightType::AsInFile;
    std::string backend = "cpu";
    bool operator==(const CompareConfig&) const = default;
};

// "cache=paged:page=16;kv=k=f16,v=f32;weights=f16;backend=cpu", every key at most once and in any order; what is not
// named comes from `defaults`. Argument error that names the configuration by its number, counted from 1.
Result<CompareConfig> parse_compare_config(std::string_view text, std::size_t number,
                                           const CompareConfig& defaults = {});
// One to kMostConfigs of them.
Result<std::vector<CompareConfig>> parse_compare_configs(std::span<const std::string> texts,
                                                         const CompareConfig& defaults = {});
// The whole of it, as it can be parsed; weights that are as in the file are left out.
std::string to_string(const CompareConfig& config);
// "configuration 2: " before the message.
Error named_config_error(std::size_t number, Error error);

// Short and different from each other: the cache, then what else is not the same in all of them.
std::vector<std::string> config_names(std::span<const CompareConfig> configs);

// Growing, preallocated and paged beside each other, with the other choices as given.
std::vector<CompareConfig> growth_configs(const CompareConfig& others = {});

}  // namespace decodescope
