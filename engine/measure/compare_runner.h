// What a comparison does, apart from where its sessions come from: a test hands in sessions whose times and logits it
// knows.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/measure/compare.h"

namespace decodescope {

struct CompareParts {
    std::function<Result<std::unique_ptr<DecodeSession>>(std::size_t lane, const SessionConfig&)> create;
    const Tokenizer* tokenizer = nullptr;
    std::function<bool(std::int32_t)> ends;  // whether a token ends the text
    std::int64_t sampled_vocabulary = 0;     // ids that may be sampled; 0 = all
};

// `result` comes with its lanes named and described, one for each configuration of the request.
Result<CompareResult> run_compare_with(const CompareParts& parts, const CompareRequest& request, CompareResult result,
                                       const std::function<void(const CompareProgress&)>& progress,
                                       std::stop_token stop);

}  // namespace decodescope
