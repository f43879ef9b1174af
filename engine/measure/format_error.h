// What a coarse format of K and V costs: the same tokens once in full precision and once in the format, and what
// differs. An average over many easy tokens hides rare large changes, so the largest ones are reported, too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/decode/decode_session.h"

namespace decodescope {

struct LayerFormatError {
    double k = 0, v = 0;  // |stored - exact| / |exact| over all rows of the layer, in the Euclidean norm
};

// What two sessions that were fed the same tokens hold of them, layer by layer; both keep all of them. Errors of
// reading a row as they are.
Result<std::vector<LayerFormatError>> compare_stored_rows(const DecodeSession& exact, const DecodeSession& other,
                                                          std::stop_token stop);

struct FormatError {
    std::int64_t tokens = 0;             // compared rows of logits: the prompt and the tokens after it
    std::vector<LayerFormatError> layers;  // what the two caches hold, errors of the layers below included
    double logits_l2 = 0;                // largest |difference| / |exact| of one row of logits
    double max_abs_logit_diff = 0;       // largest difference of one logit
    double max_kl = 0, mean_kl = 0;      // KL(exact || format) in nats, of one row; 0 for equal rows
    std::optional<std::int32_t> first_diverging;  // position after which the greedy token is another one
    std::int64_t diverging = 0;          // how many of `tokens` give another greedy token
    std::string warning;                 // one sentence when an error is above its threshold; else empty
};

// From where on a warning is given.
constexpr double kFormatWarnL2 = 2e-2;   // logits, relative; what int8 keeps to on well-behaved models
constexpr double kFormatWarnKl = 1e-2;   // nats
constexpr double kFormatWarnRows = 5e-2;  // rows of K or V of one layer, relative

struct FormatErrorRequest {
    CacheSpec cache;                     // of both runs; must keep all tokens, so that their rows can be compared
    KvFormat format;
    std::vector<std::int32_t> tokens;    // at least one
    // After them as many tokens are fed to both, each the greedy one in full precision, so that the two runs stay
    // comparable after they first disagree. Ends at the model's context.
    std::int64_t more_tokens = 0;
};

// Both runs on the same loaded model, the rows in chunks of the sessions' own size. Argument error without tokens or
// with a cache that keeps nothing or not all; errors of the sessions as they are.
Result<FormatError> measure_format_error(LoadedModelPtr model, const FormatErrorRequest& request,
                                         const ProgressFn& progress, std::stop_token stop);

}  // namespace decodescope
