// Ring and sinks: the mask of each as an option of the oracle, a text, and one oracle for each mask.
#pragma once

#include <map>

#include "tests/engine/decode/session_helpers.h"

namespace decodescope {

struct Window {
    std::string spec;
    std::int64_t sinks = 0, window = 8;
    bool rebased = false;

    OracleOptions mask() const {
        const std::int64_t s = sinks, w = window;
        OracleOptions options;
        options.visible = [s, w](std::int64_t row, std::int64_t j) { return j <= row && (j < s || row - j < w); };
        if (!rebased) return options;
        // The index among the tokens that the row sees, counted one by one.
        options.position_in_row = [visible = options.visible](std::int64_t row, std::int64_t j) {
            std::int64_t index = 0;
            for (std::int64_t i = 0; i < j; ++i) index += visible(row, i) ? 1 : 0;
            return index;
        };
        return options;
    }
};

inline const Window kRing{"ring:window=8", 0, 8, false};
inline const Window kSinks{"sinks:sinks=4,window=8", 4, 8, false};
inline const Window kRebased{"sinks:sinks=4,window=8,positions=rebased", 4, 8, true};

inline const ModelPtr& model_l3() {
    static const ModelPtr model = make_tiny_llama();
    return model;
}

inline const std::vector<std::int32_t>& long_text() {
    static const std::vector<std::int32_t> tokens = random_tokens(65, 97, 31);
    return tokens;
}

// One oracle for each mask; a prompt's rows are the first ones of the long text.
inline const OracleResult& oracle_of(const Window& window) {
    static std::map<std::string, OracleResult> results;
    auto found = results.find(window.spec);
    if (found == results.end())
        found = results.emplace(window.spec, run_oracle(*model_l3(), long_text(), window.mask())).first;
    return found->second;
}

inline std::span<const std::int32_t> text(std::int64_t first, std::int64_t count) {
    return std::span(long_text()).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

inline SessionConfig every_row(const std::string& cache, const std::string& kv = "f32") {
    SessionConfig config = session_config(cache, kv);
    config.all_logits = true;
    return config;
}

}  // namespace decodescope
