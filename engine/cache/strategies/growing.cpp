// Concatenation, as in the first lines of code that everyone writes: at every step a new buffer of exactly the old rows
// and the new ones, a copy, and the old buffer is freed. Over n tokens n (n - 1) / 2 rows are copied.
#include "engine/cache/strategies/contiguous.h"

namespace decodescope {
namespace {

class GrowingStrategy final : public ContiguousStrategy {
public:
    GrowingStrategy() : ContiguousStrategy(0) {}
    std::unique_ptr<CacheStrategy> clone() const override { return std::make_unique<GrowingStrategy>(*this); }

protected:
    Result<std::int64_t> capacity_for(std::int64_t tokens) const override { return tokens; }
};

}  // namespace

StrategyDescriptor growing_strategy() {
    StrategyDescriptor descriptor;
    descriptor.id = "growing";
    descriptor.title = "Growing";
    descriptor.explanation =
        "Every step makes a new buffer that is longer by the new rows, copies the old rows into it and frees the old "
        "one. "
        "Nothing is reserved in advance, but the copies add up and for a moment old and new lie side by side.";
    descriptor.create = [](const ParameterValues&, const RunLimits&) -> std::unique_ptr<CacheStrategy> {
        return std::make_unique<GrowingStrategy>();
    };
    return descriptor;
}

}  // namespace decodescope
