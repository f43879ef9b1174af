// What all sessions share: checks, plan -> pass -> commit, the facts of a step. How the pass reads K and V differs.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/cache/layer_groups.h"
#include "engine/decode/decode_session.h"
#include "engine/decode/pass_runner.h"

namespace decodescope {

class SessionBase : public DecodeSession {
public:
    Result<PassResult> feed(std::span<const std::int32_t> tokens, std::stop_token stop) final;
    std::int64_t max_pass_rows() const final;
    Status check_room(std::int64_t new_tokens) const final;
    std::int64_t take_prefix(std::span<const std::int32_t> tokens) final;
    Status truncate(std::int64_t tokens) final;
    Status reset() final;
    std::span<const std::int32_t> tokens() const final { return tokens_; }
    std::int64_t context() const final;
    const LoadedModel& model() const final { return *model_; }
    const SessionConfig& config() const final { return config_; }
    void set_capture(bool capture) final { config_.capture_attention = capture; }
    std::vector<std::string> stage_names() const final { return runner_.stage_names(); }
    std::vector<int> stage_layers() const final { return runner_.stage_layers(); }
    // Compiles for single rows, so that the stages have names before the first token.
    Status prepare_first() { return runner_.prepare(1, 1, 1); }

    // feed() in parts, for a pass that several sessions share. Every one of them begins; then each says what it reads
    // (valid until its pass ends); after the joint run each ends its pass, or drops it and is as before.
    Status begin_pass(std::span<const std::int32_t> tokens, std::stop_token stop);
    PassRequest request_pass() { return request(pass_tokens_); }
    // `first_logits_row`: which of the joint logits rows is the first of those asked for here.
    Result<PassResult> end_pass(const PassRunner& joint, std::int64_t first_logits_row);
    void drop_pass() { cache_.release(); }

protected:
    SessionBase(LoadedModelPtr model, const SessionConfig& config, LayerGroups cache);

    // Makes room for the pass of plans_ over `tokens`. What it leaves behind after an error is scratch.
    virtual Status make_room(std::span<const std::int32_t> tokens) = 0;
    // What that pass reads, logits_rows and capture included.
    virtual PassRequest request(std::span<const std::int32_t> tokens) = 0;
    // Fills k_rms and v_rms.
    virtual Status read_back(PassResult& result) = 0;
    // The three together with the run between them.
    virtual Status compute(std::span<const std::int32_t> tokens, std::stop_token stop, PassResult& result);
    // The pass is good: its rows take their places. From here on nothing can be refused.
    virtual Status settle() { return {}; }
    virtual std::int64_t default_pass_rows() const = 0;
    // Rows that the next pass may have at most, whatever is asked for.
    virtual std::int64_t most_pass_rows() const { return std::numeric_limits<std::int64_t>::max(); }
    // Whether what is stored of the first `tokens` tokens is what it would be with no more than these.
    virtual Status check_kept(std::int64_t) const { return {}; }
    // Of plans_, for FLOPs and bytes: what the operations of one layer process.
    virtual StepShape step_shape(std::int64_t new_tokens, int layer) const = 0;
    virtual bool keeps_rows() const { return false; }  // k_rms and v_rms say what the rows of the pass hold
    virtual void begin_step() {}
    virtual void rows_given_up(std::int64_t kept, std::int64_t before) {}
    virtual Status reset_storage() = 0;

    std::int64_t logits_rows(std::int64_t rows) const { return config_.all_logits ? rows : 1; }

    LoadedModelPtr model_;
    SessionConfig config_;
    LayerGroups cache_;
    std::vector<std::int32_t> tokens_;
    PassRunner runner_;
    std::vector<CachePlan> plans_;  // [groups], of the last pass; their position tables outlive the call

private:
    Status plan_pass(std::span<const std::int32_t> tokens, std::stop_token stop);
    PassResult new_result() const;
    Result<PassResult> take_pass(std::span<const std::int32_t> tokens, PassResult result);
    Status check_tokens(std::span<const std::int32_t> tokens) const;
    Status check_context(std::int64_t new_tokens) const;  // that so many more find positions
    Status check_finite(const PassResult& result) const;
    void observe();
    void list_evicted(PassResult& result) const;
    void fill_result(std::int64_t rows, PassResult& result) const;
    void count_cost(std::int64_t rows, PassResult& result) const;

    std::vector<std::int32_t> pass_tokens_;  // of a pass that was begun
};

std::vector<std::int32_t> consecutive_positions(std::int64_t first, std::int64_t count);

}  // namespace decodescope
