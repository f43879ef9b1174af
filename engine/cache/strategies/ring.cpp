// The last W rows in W slots that are taken in turn; attention within the window (Mistral's sliding window).
#include <fmt/format.h>

#include "engine/cache/strategies/windowed.h"

namespace decodescope {
namespace {

Status check_ring(const ParameterValues& values, const RunLimits& limits) {
    const std::int64_t window = values.at("window");
    if (limits.context <= 0 || window <= limits.context) return {};
    return make_error(ErrorKind::Argument,
                      fmt::format("The ring's window of {} tokens is larger than the model's context of {}.", window,
                                  limits.context),
                      fmt::format("Choose a window from 1 to {}.", limits.context));
}

}  // namespace

StrategyDescriptor ring_strategy() {
    StrategyDescriptor descriptor;
    descriptor.id = "ring";
    descriptor.title = "Ring (sliding window)";
    descriptor.explanation =
        "Only the last tokens stay: a new row takes the slot of the oldest, so memory and the work of a step stop "
        "growing. "
        "Deeper layers still carry what earlier rows read from tokens that have left, so the answer is neither that of "
        "full attention nor that of a run over the last tokens alone.";
    descriptor.parameters = {integer_parameter("window", 1, kMostParameterTokens, 32,
                                               "Tokens that stay and that a token attends to, itself included.")};
    descriptor.lossy = true;
    descriptor.check = check_ring;
    descriptor.create = [](const ParameterValues& values, const RunLimits&) -> std::unique_ptr<CacheStrategy> {
        return std::make_unique<WindowedStrategy>(0, values.at("window"), false);
    };
    return descriptor;
}

}  // namespace decodescope
