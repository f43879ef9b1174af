// One conversation: a model on a backend, a cache strategy, the tokens so far.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/cache/kv_format.h"
#include "engine/cache/strategy_descriptor.h"
#include "engine/model/model.h"
#include "engine/text/sampler.h"
#include "engine/trace/step_facts.h"
#include "kernels/api/backend.h"

namespace decodescope {

// A model whose weights lie on a backend; shared by the sessions and lanes that use them.
struct LoadedModel {
    ModelPtr model;
    std::shared_ptr<Backend> backend;
    WeightSetPtr weights;
    StepProgram program;
    WeightType weight_type = WeightType::AsInFile;  // as asked for

    // "f16"; "Q4_K" where most matrices stay as such blocks of the file.
    std::string weights_name() const;
};
using LoadedModelPtr = std::shared_ptr<const LoadedModel>;
// Whether layers of the model attend to less than its context.
bool has_local_layers(const ModelConfig& config);
// What the strategies of a conversation with this model are made from.
RunLimits run_limits(const ModelConfig& config, std::int64_t expected_tokens);

Result<LoadedModelPtr> load_model(ModelPtr model, std::shared_ptr<Backend> backend, WeightType type,
                                  const ProgressFn& progress, std::stop_token stop);

class PrefixCache;

struct SessionConfig {
    CacheSpec cache;
    KvFormat kv;
    std::int64_t expected_tokens = 0;  // prompt + tokens to generate: the default capacity; 0 = the model's context
    std::int64_t prefill_chunk = 0;    // rows of one prefill pass; 0 = chosen by the session
    bool capture_attention = false;    // all layers, all heads
    bool profile = false;
    bool all_logits = false;           // PassResult::all_logits of every row (--trace), not only of the last
    // Caches with pages: conversations that were given the same object find each other's full pages; null: none.
    std::shared_ptr<PrefixCache> prefixes = nullptr;
};

// What one pass (one call of feed) produced beside the facts. Valid until the next call.
struct PassResult {
    std::int32_t first_position = 0;
    std::int32_t rows = 0;
    std::span<const float> logits;                 // [vocabulary], of the last row
    std::span<const float> all_logits;             // [rows, vocabulary] when SessionConfig::all_logits, else empty
    // Attention, [layers], null = not captured: [rows, heads, stride], of which the first row_entries[row] are the
    // entries that the row sees, in the order of the cache's entries.
    std::vector<const float*> attention;
    std::int64_t attention_stride = 0;
    std::vector<std::int32_t> row_entries;         // [rows] entries that each row sees
    // Positions of these entries, row after row; captured with attention. Empty: entry e is position e.
    std::span<const std::int32_t> seen_positions;
    // Where layers keep different tokens: both of the above for every layer, [layers]; else empty.
    struct LayerEntries {
        std::vector<std::int32_t> row_entries;
        std::span<const std::int32_t> seen_positions;
    };
    std::vector<LayerEntries> layer_entries;
    std::int32_t entry_count(std::int32_t row, std::int64_t layer = 0) const;
    std::span<const std::int32_t> entry_positions(std::int32_t row, std::int64_t layer = 0) const;  // [count] or empty
    std::vector<float> k_rms, v_rms;               // [rows, layers]; NaN without a cache
    double micros = 0;
    double host_micros = 0;                        // see StepFacts
    std::int64_t graph_captures = 0;
    std::vector<OpRecord> ops;
    KvFacts kv;
    std::vector<EvictedEntry> evicted;             // each once when all layers dropped it, else once for each layer
    StepShape shape;                               // what flops and bytes were derived from
    std::int64_t flops = 0, bytes = 0;
    bool warm_up = false;
};

class DecodeSession {
public:
    static Result<std::unique_ptr<DecodeSession>> create(LoadedModelPtr model, const SessionConfig& config);
    virtual ~DecodeSession() = default;

    // Feeds new tokens after those already seen, in one pass of at most max_pass_rows() rows. Capacity error, with both
    // numbers, when they do not fit the context. Cancelled: nothing was fed. NonFinite: named by layer or step, nothing
    // fed.
    virtual Result<PassResult> feed(std::span<const std::int32_t> tokens, std::stop_token stop) = 0;
    // Of the next pass; may be fewer than of the one before: a cache that quantizes in groups ends a pass where a group
    // is complete, and one that evicts by score takes rows one at a time once it is full.
    virtual std::int64_t max_pass_rows() const = 0;
    // Before the first of several passes: whether so many more tokens find room. Capacity error with both numbers,
    // those of all the tokens and not of the pass that would fail.
    virtual Status check_room(std::int64_t) const { return {}; }
    // Takes over the stored rows of the first of these tokens, as if they had been fed; never the last one, so that
    // there is something to compute. Only before anything was fed; see SessionConfig::prefixes. Returns the number of
    // tokens seen now.
    virtual std::int64_t take_prefix(std::span<const std::int32_t>) { return std::ssize(tokens()); }
    // Keeps the first `tokens` tokens. More than seen, or negative: Argument error. Fewer than can be restored
    // (rows were evicted): Unsupported error that says how many can be kept.
    virtual Status truncate(std::int64_t tokens) = 0;
    virtual Result<std::unique_ptr<DecodeSession>> fork() const = 0;
    virtual Status reset() = 0;

    virtual std::span<const std::int32_t> tokens() const = 0;  // seen
    virtual std::int64_t context() const = 0;                  // tokens that can be seen at most
    virtual KvFacts kv_facts() const = 0;
    virtual Placement placement() const { return {}; }         // where the rows lie now; not known without a cache
    virtual const LoadedModel& model() const = 0;
    virtual const SessionConfig& config() const = 0;
    virtual void set_capture(bool capture) = 0;
    virtual std::vector<std::string> stage_names() const = 0;
    virtual std::vector<int> stage_layers() const = 0;

    // K and V of one cached token in one layer, widened to f32: [kv_heads, head_dim] each. Error when the row has left.
    struct CellValues {
        std::vector<float> k, v;
        std::int64_t kv_heads = 0, head_dim = 0;
        std::string k_type, v_type;
    };
    virtual Result<CellValues> cell(std::int32_t layer, std::int32_t position) const = 0;
};

}  // namespace decodescope
