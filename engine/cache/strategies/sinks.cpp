// StreamingLLM (Xiao et al. 2023): the first S rows, which take up attention that has nowhere else to go, and a ring of
// the last W.
#include <fmt/format.h>

#include "engine/cache/strategies/windowed.h"

namespace decodescope {
namespace {

constexpr std::int64_t kRebased = 1;  // index of the choice

Status check_sinks(const ParameterValues& values, const RunLimits& limits) {
    const std::int64_t sinks = values.at("sinks"), window = values.at("window");
    if (limits.context > 0 && sinks + window > limits.context) {
        return make_error(ErrorKind::Argument,
                          fmt::format("{} sinks and a window of {} are {} tokens, more than the model's context of {}.",
                                      sinks, window, sinks + window, limits.context),
                          "Choose a smaller window or fewer sinks.");
    }
    return {};
}

}  // namespace

StrategyDescriptor sinks_strategy() {
    StrategyDescriptor descriptor;
    descriptor.id = "sinks";
    descriptor.title = "Window with sinks";
    descriptor.explanation =
        "The first tokens and the last ones stay (StreamingLLM): the first take up attention that has nowhere else to "
        "go, and a plain window breaks down when they leave. "
        "Positions are those of the text, or are counted inside the cache, which lets a rotary model run on beyond its "
        "context without remembering more of the text.";
    descriptor.parameters = {
        integer_parameter("sinks", 0, kMostParameterTokens, 4,
                          "Tokens at the beginning of the sequence that always stay."),
        integer_parameter("window", 1, kMostParameterTokens, 28,
                          "Last tokens that stay beside the sinks, the newest included."),
        choice_parameter("positions", {"absolute", "rebased"}, 0,
                         "absolute: every token keeps its position in the text; rebased: positions count from 0 inside "
                         "the cache.")};
    descriptor.lossy = true;
    descriptor.check = check_sinks;
    descriptor.create = [](const ParameterValues& values, const RunLimits&) -> std::unique_ptr<CacheStrategy> {
        return std::make_unique<WindowedStrategy>(values.at("sinks"), values.at("window"),
                                                  values.at("positions") == kRebased);
    };
    return descriptor;
}

}  // namespace decodescope
