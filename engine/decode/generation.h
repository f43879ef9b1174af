// Prefill, sample, feed, until a stop: the loop that the command line, the window and the measurements share.
// It appends what happens to a RunRecording.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/decode/decode_session.h"
#include "engine/trace/run_recording.h"

namespace decodescope {

struct GenerationConfig {
    SamplerConfig sampler;
    std::int64_t new_tokens = 0;   // step() refuses beyond it with stop reason "length"; 0 = until the context is full
    bool stop_at_eos = true;
    // Called after every pass with the tokens that it fed; the result is valid during the call (--trace, logits hash).
    std::function<void(const PassResult& pass, std::span<const std::int32_t> fed, Phase phase)> on_pass;
};

class Generation {
public:
    // `recording` may be null. The session must be empty or hold a prefix of the tokens given to start().
    Generation(std::shared_ptr<DecodeSession> session, const GenerationConfig& config,
               std::shared_ptr<RunRecording> recording);
    ~Generation();

    // Prefill of the prompt in chunks; one StepFacts (index 0) for the whole prompt. Empty prompt, token out of range,
    // prompt longer than the context: one sentence with the values. Progress in tokens. Cancelled: the chunks that were
    // fed stay (as a step with stop reason "cancelled"); start() with the same prompt goes on from there.
    Status start(std::span<const std::int32_t> prompt, const ProgressFn& progress, std::stop_token stop);
    // Feeds tokens that are already decided (after a switch of strategy, or when the view is played again) as one step
    // of phase Refeed. The random numbers that the generated ones took are skipped, so that the next token is the one
    // that an uninterrupted run would have drawn. Nothing is sampled when new_tokens have been reached.
    Status feed_again(std::span<const std::int32_t> tokens, std::span<const bool> generated, const ProgressFn& progress,
                      std::stop_token stop);
    // For a session that was taken over from another run together with the beginning of its recording: which of the
    // tokens that it holds were generated. Call it before feed_again().
    void mark_generated(std::span<const bool> generated);
    // Feeds the token sampled last and samples the next. An empty stop reason means that it went on. Cancelled: an
    // error of that kind, nothing fed, and the next call goes on.
    Status step(std::stop_token stop);

    // start() and step() in parts, for a caller that computes passes of several conversations in one (Batch). open()
    // checks the prompt and takes a stored prefix as start() does. next_pass() gives the tokens of the next pass, the
    // same ones until take() or abandon(); empty when the run is finished. take() is given what the session's pass over
    // them gave; after the last one of a step the next token has been sampled. abandon() gives up an open step after an
    // error, as start() and step() do: what was fed stays, and a token that was not fed is still the next one.
    Status open(std::span<const std::int32_t> prompt);
    std::span<const std::int32_t> next_pass();
    Status take(const PassResult& pass);
    void abandon(const Error& why);

    bool finished() const;
    std::int64_t generated_count() const;             // tokens sampled so far, the pending one included
    const std::string& stop_reason() const;           // "", "length", "eos", "context_full", "cancelled"
    std::span<const std::int32_t> tokens() const;     // prompt and generated, the pending one included
    std::int32_t pending_token() const;               // sampled, not yet fed; -1 none
    std::span<const float> last_logits() const;
    const StepFacts& last_step() const;
    DecodeSession& session();
    const std::shared_ptr<RunRecording>& recording() const;
    void set_stop_reason(std::string reason);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The facts of a run, without the prompt's length and what depends on the date: the caller knows those better. Without
// a session there are no names of stages.
RunFacts make_run_facts(const DecodeSession& session, const SamplerConfig& sampler);
RunFacts make_run_facts(const LoadedModel& model, const SessionConfig& config, const SamplerConfig& sampler);

}  // namespace decodescope
