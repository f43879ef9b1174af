// Up to four configurations on the same prompt, step by step beside each other: time, memory, how far the logits lie
// from those of the first configuration, and which text each of them writes.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/backend/backend_registry.h"
#include "engine/decode/decode_session.h"
#include "engine/measure/compare_config.h"
#include "engine/measure/format_error.h"
#include "engine/measure/statistics.h"
#include "engine/trace/run_recording.h"

namespace decodescope {

struct CompareRequest {
    std::vector<CompareConfig> configs;  // the first is the reference
    std::vector<std::int32_t> prompt;    // tokens
    std::int64_t new_tokens = 64;
    std::int64_t prefill_chunk = 0;      // rows of one prefill pass; 0 = chosen by the session
    bool stop_at_eos = true;
    SamplerConfig sampler;               // every configuration draws with the same random numbers
};

// One pass of one configuration. The tokens fed are those of the reference, so that the logits can be compared.
struct ComparePass {
    std::int64_t length = 0;  // tokens in the sequence after it; the first pass is the prefill
    double micros = 0;
    bool warm_up = false;     // left out of the times below
    std::int64_t kv_bytes_used = 0, kv_bytes_reserved = 0, kv_bytes_peak = 0, kv_bytes_copied = 0;
    double max_abs_logit_diff = 0;  // to the reference
    double kl = 0;                  // KL(reference || this) of the softmax, in nats
    bool same_token = true;         // greedy token of both
};

struct CompareLane {
    CompareConfig config;
    std::string name;                       // see config_names
    std::string weights, backend, kv_type;  // as they are: weights of the file by their type, no cache keeps f32
    std::int64_t weight_bytes = 0;
    std::vector<ComparePass> passes;        // prefill, then decode
    std::vector<std::int32_t> tokens;       // the new ones that it writes on its own
    std::vector<std::string> pieces;        // [tokens]; concatenated they are the text
    std::string text, stop_reason;
    std::int64_t first_different = -1;      // index into tokens; -1: none
    std::string error;                      // why it ended before the reference; empty: it did not

    Spread prefill_micros, decode_micros;   // warm-up left out
    int prefill_repeats = 0, decode_steps = 0;
    std::int64_t kv_bytes_used = 0, kv_bytes_reserved = 0;  // after the last pass
    std::int64_t kv_bytes_peak = 0, kv_bytes_copied = 0;    // of the whole run
    double max_abs_logit_diff = 0, max_kl = 0, mean_kl = 0;
    std::int64_t max_diff_length = 0;       // length at which the largest difference was
    // Rows of K and V at the end against those of the reference, [layers]; empty unless the format is what differs.
    std::vector<LayerFormatError> layers;
    LayerFormatError largest_layer_error() const;  // of K and of V, perhaps in different layers
};

struct CompareResult {
    std::vector<CompareLane> lanes;         // in the order of the request
    std::vector<std::int32_t> prompt;
    std::int64_t new_tokens = 0;            // asked for
    std::string stop_reason;                // of the reference: length, eos, context_full, cancelled
    RunFacts run;
    bool cancelled = false;                 // what was measured until then
};

struct CompareProgress {
    std::int64_t done = 0, total = 0;  // passes
    std::string what;                  // "step 12 of 63"
};

// Every configuration is warmed up, then prefilled in turn several times; the steps follow, one of each configuration
// after the other in an order that changes from step to step, so that a busy machine disturbs all alike. Last, those
// whose token was once another one write their own text. `ready` may hold models that are loaded already: those
// whose model, backend and type of weights fit are used as they are. Errors of one configuration name it by its number; one that fails
// on its way is left behind there, unless it is the reference. Cancelled within one token.
Result<CompareResult> run_compare(const ModelPtr& model, const BackendRegistry& registry, const BackendRequest& machine,
                                  const CompareRequest& request, const std::vector<LoadedModelPtr>& ready,
                                  const std::function<void(const CompareProgress&)>& progress, std::stop_token stop);

// How the steps of one configuration compare with the same steps of another: each pair was taken within a moment.
struct PairedTimes {
    double ratio = 0, low = 0, high = 0;  // micros / other micros: median and the middle half; 0 without steps
    int steps = 0, faster = 0, slower = 0;  // pairs, and those in which this one was faster or slower
    // By the sign test at two standard deviations: more pairs point one way than would by chance.
    bool different() const;
};
PairedTimes paired_times(const CompareLane& lane, const CompareLane& other);

// One row per configuration, run facts and sentences in '#' lines.
std::string compare_csv(const CompareResult& result);
std::string compare_json(const CompareResult& result);  // the table, every step, the tokens and the sentences

}  // namespace decodescope
