// A buffer of a capacity that is known at the start; a row is written at its position and nothing is ever moved.
#include <fmt/format.h>

#include <algorithm>

#include "engine/cache/strategies/contiguous.h"
#include "engine/support/counted.h"

namespace decodescope {
namespace {

class PreallocatedStrategy final : public ContiguousStrategy {
public:
    PreallocatedStrategy(std::int64_t capacity, bool slab) : ContiguousStrategy(capacity), slab_(slab) {}
    std::unique_ptr<CacheStrategy> clone() const override { return std::make_unique<PreallocatedStrategy>(*this); }
    bool one_slab() const override { return slab_; }

protected:
    Result<std::int64_t> capacity_for(std::int64_t tokens) const override {
        if (tokens <= capacity()) return capacity();
        return make_error(
            ErrorKind::Capacity,
            fmt::format("The sequence would have {} and the cache was allocated for {}.", counted(tokens, "token"),
                        capacity()),
            "Choose a larger capacity, or a strategy that grows.");
    }

private:
    bool slab_ = false;
};

}  // namespace

StrategyDescriptor preallocated_strategy() {
    StrategyDescriptor descriptor;
    descriptor.id = "preallocated";
    descriptor.title = "Preallocated";
    descriptor.explanation =
        "Room for all tokens is allocated at the start and every row is written at its own position. "
        "Nothing is copied, but what is reserved and not used yet is taken all the same.";
    descriptor.parameters = {
        integer_parameter(
            "capacity", 0, kMostParameterTokens, 0,
            "Tokens that the cache has room for; 0 takes prompt and new tokens together, at most the model's context."),
        slab_parameter()};
    descriptor.create = [](const ParameterValues& values, const RunLimits& limits) -> std::unique_ptr<CacheStrategy> {
        std::int64_t tokens = values.at("capacity");
        if (tokens == 0)
            tokens = limits.expected_tokens > 0 ? std::min(limits.expected_tokens, limits.context) : limits.context;
        return std::make_unique<PreallocatedStrategy>(tokens, values.at("slab") != 0);
    };
    return descriptor;
}

}  // namespace decodescope
