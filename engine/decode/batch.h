// Several conversations on one model: each has its own tokens, positions, sampler, stop reason and cache; one step
// computes the next rows of all active ones in one pass, which reads the weights once. Sequences join and leave between
// steps; a part of a prompt may be computed beside the single rows of others.
//
// What each gets is what it would get alone, to the bit where the backend computes a row independently of its
// neighbours: a prompt is always cut into the same parts, whoever else is there. (Pages that another conversation has
// already filled are taken over as if the prompt had been cut there.)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/decode/batch_admission.h"
#include "engine/decode/generation.h"
#include "engine/decode/pass_runner.h"
#include "engine/decode/prefix_cache.h"

namespace decodescope {

struct BatchConfig {
    // Of every conversation. `expected_tokens`: of all together, which is what a pool of pages without a given size is
    // made for. `prefixes`: caches with pages share one pool; null: the batch makes its own. No attention is captured.
    SessionConfig session;
    std::int64_t most_active = 64;      // sequences computed in one step
    std::int64_t prefill_rows = 256;    // parts of prompts join a step until they have so many rows; one always may
    bool record = true;                 // a RunRecording for each sequence, without attention
};

struct BatchSequence {
    enum class State { Waiting, Active, Finished };
    State state = State::Waiting;
    std::int64_t prompt_tokens = 0;
    std::vector<std::int32_t> tokens;          // the whole prompt and what was generated, once finished
    std::string stop_reason;                   // once finished, as in StepFacts; "" after an error
    std::optional<Error> error;                // why it ended before its time
    std::int64_t found_tokens = 0;             // of the prompt, in pages that others had filled
    std::string prefix_note;                   // why nothing was found although its beginning is stored; else empty
    std::shared_ptr<RunRecording> recording;   // from its start on; micros of its steps are those of the joint pass
};

struct BatchStep {
    std::vector<SequenceId> started, finished;
    std::int64_t sequences = 0, rows = 0, prefill_rows = 0;  // computed in this step
    std::int64_t waiting = 0;                                // after it
    double micros = 0;            // making room and the joint pass
    bool warm_up = false;
    std::int64_t flops = 0, bytes = 0;  // by the formula, weights counted once
};

class Batch {
public:
    static Result<std::unique_ptr<Batch>> create(LoadedModelPtr model, const BatchConfig& config);
    ~Batch();

    // The conversation waits for its turn, see BatchAdmission. Ids count from 0. Refused at once: an empty prompt, a
    // token out of range, a prompt longer than the context, what can never fit (need and have).
    Result<SequenceId> add(std::span<const std::int32_t> prompt, const GenerationConfig& config);
    // Starts what may start and computes one pass. An error that concerns one sequence ends that sequence. Cancelled,
    // or an error of the pass itself: nothing was fed, the next call goes on.
    Result<BatchStep> step(std::stop_token stop);
    // Ends a sequence that waits or is active, with stop reason "cancelled".
    void cancel(SequenceId id);
    bool finished() const;  // nothing waits or is active

    std::int64_t size() const { return static_cast<std::int64_t>(sequences_.size()); }
    const BatchSequence& sequence(SequenceId id) const;
    std::span<const std::int32_t> tokens(SequenceId id) const;  // so far
    KvFacts kv_facts(SequenceId id) const;                      // all 0 while it is not active
    const BatchAdmission& admission() const { return *admission_; }
    const PagePool* pool() const { return group_.pages.get(); }  // null: the cache has no pages

private:
    struct Entry;
    struct Part;

    Batch(LoadedModelPtr model, const BatchConfig& config);
    RunLimits limits(std::int64_t expected_tokens) const;
    Status make_admission();
    std::int64_t pages_of_growing_pool(std::int64_t added) const;
    Result<std::int64_t> units_needed(std::int64_t prompt, std::int64_t new_tokens) const;
    Result<std::int64_t> bytes_needed(std::int64_t tokens, std::int64_t expected) const;
    bool counts_bytes() const { return admission_->limits().unit == "byte"; }
    std::int64_t free_units() const;
    BatchAdmission::Found find_stored(SequenceId id) const;
    std::string why_nothing_found(SequenceId id) const;
    void start_waiting(BatchStep& step);
    Status start(SequenceId id);
    std::vector<Part> begin_parts(std::stop_token stop, BatchStep& step);
    Status compute(std::vector<Part>& parts, std::stop_token stop, BatchStep& step);
    void take_parts(std::vector<Part>& parts, BatchStep& step);
    void finish(SequenceId id, std::optional<Error> error, BatchStep* step);
    Entry& entry(SequenceId id);
    const Entry& entry(SequenceId id) const;

    LoadedModelPtr model_;
    BatchConfig config_;
    PrefixCache::Group group_;
    std::unique_ptr<BatchAdmission> admission_;
    std::vector<std::unique_ptr<Entry>> sequences_;
    PassRunner joint_;
};

}  // namespace decodescope
