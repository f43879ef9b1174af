// All cache strategies in menu order, one line for each: `name` stands for the function name_strategy() in the
// strategy's own file.
#include "engine/cache/strategy_descriptor.h"

#define DECODESCOPE_STRATEGIES(ENTRY) \
    ENTRY(recompute)                  \
    ENTRY(growing)                    \
    ENTRY(preallocated)               \
    ENTRY(ring)                       \
    ENTRY(sinks)                      \
    ENTRY(paged)                      \
    ENTRY(h2o)

namespace decodescope {

#define DECODESCOPE_DECLARE(name) StrategyDescriptor name##_strategy();
DECODESCOPE_STRATEGIES(DECODESCOPE_DECLARE)
#undef DECODESCOPE_DECLARE

// Storage options are no strategy's own.
std::vector<StrategyDescriptor> with_storage_options(std::vector<StrategyDescriptor> strategies) {
    for (StrategyDescriptor& strategy : strategies)
        if (strategy.has_cache) strategy.parameters.push_back(offload_parameter());
    return strategies;
}

const std::vector<StrategyDescriptor>& strategy_catalogue() {
#define DECODESCOPE_CALL(name) name##_strategy(),
    static const std::vector<StrategyDescriptor> catalogue =
        with_storage_options({DECODESCOPE_STRATEGIES(DECODESCOPE_CALL)});
#undef DECODESCOPE_CALL
    return catalogue;
}

const StrategyDescriptor* find_strategy(std::string_view id) {
    for (const auto& descriptor : strategy_catalogue()) {
        if (descriptor.id == id) return &descriptor;
    }
    return nullptr;
}

}  // namespace decodescope
