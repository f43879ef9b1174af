#include "engine/text/normalizer.h"

namespace decodescope {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    out.reserve(text.size());
    for (;;) {
        const std::size_t at = text.find(from);
        out.append(text.substr(0, at));
        if (at == std::string_view::npos) return out;
        out.append(to);
        text.remove_prefix(at + from.size());
    }
}

std::string normalized(const std::vector<NormalizerStep>& steps, std::string_view text, bool prepend) {
    std::string out(text);
    for (const NormalizerStep& step : steps) {
        switch (step.kind) {
            case NormalizerStep::Kind::Prepend:
                if (prepend && !out.empty()) out.insert(0, step.to);
                break;
            case NormalizerStep::Kind::Replace: out = replaced(out, step.from, step.to); break;
            case NormalizerStep::Kind::Compose: out = composed(out); break;
        }
    }
    return out;
}

}  // namespace decodescope
