// A session that computes nothing and whose passes take the time that a test says.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/decode/decode_session.h"

namespace decodescope {

struct FakePass {
    const SessionConfig& config;
    std::int64_t past = 0, rows = 0;
};
struct FakeClock {
    std::function<double(const FakePass&)> micros;  // of one pass
    std::vector<std::string> log;                   // "preallocated 15+1"
    std::stop_source* stop_after = nullptr;         // asked to stop when `passes_left` reaches 0
    int passes_left = -1;
};

class FakeSession final : public DecodeSession {
public:
    FakeSession(std::shared_ptr<FakeClock> clock, SessionConfig config, std::int64_t context)
        : clock_(std::move(clock)), config_(std::move(config)), context_(context), logits_(5, 0.0f) {}

    Result<PassResult> feed(std::span<const std::int32_t> tokens, std::stop_token stop) override {
        if (clock_->passes_left == 0 && clock_->stop_after != nullptr) clock_->stop_after->request_stop();
        if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "stopped.");
        if (clock_->passes_left > 0) --clock_->passes_left;
        const auto past = static_cast<std::int64_t>(tokens_.size()), rows = static_cast<std::int64_t>(tokens.size());
        clock_->log.push_back(config_.cache.id + " " + std::to_string(past) + "+" + std::to_string(rows));
        tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
        PassResult result;
        result.rows = static_cast<std::int32_t>(rows);
        result.logits = logits_;
        result.micros = clock_->micros({config_, past, rows});
        result.kv = kv_facts();
        result.shape.rows = rows;
        result.flops = 1000 * rows;
        result.bytes = 10 * rows;
        result.warm_up = std::exchange(fresh_, false);
        if (config_.profile) result.ops = {{0, 10.0f}, {1, 5.0f}, {2, 7.0f}};
        return result;
    }
    std::int64_t max_pass_rows() const override { return config_.cache.id == "recompute" ? context_ : 8; }
    Status truncate(std::int64_t tokens) override {
        tokens_.resize(static_cast<std::size_t>(tokens));
        return {};
    }
    Result<std::unique_ptr<DecodeSession>> fork() const override { return make_error(ErrorKind::Unsupported, "no."); }
    Status reset() override {
        tokens_.clear();
        return {};
    }
    std::span<const std::int32_t> tokens() const override { return tokens_; }
    std::int64_t context() const override { return context_; }
    KvFacts kv_facts() const override {
        KvFacts kv;
        kv.tokens_seen = static_cast<std::int64_t>(tokens_.size());
        kv.used_bytes = config_.cache.id == "recompute" ? 0 : 100 * kv.tokens_seen;
        kv.reserved_bytes = config_.cache.id == "preallocated" ? 100 * config_.expected_tokens : kv.used_bytes;
        return kv;
    }
    const LoadedModel& model() const override { return model_; }
    const SessionConfig& config() const override { return config_; }
    void set_capture(bool capture) override { config_.capture_attention = capture; }
    std::vector<std::string> stage_names() const override { return {"Q", "attend", "Q"}; }
    std::vector<int> stage_layers() const override { return {0, 0, 1}; }
    Result<CellValues> cell(std::int32_t, std::int32_t) const override {
        return make_error(ErrorKind::Unsupported, "no.");
    }

    std::vector<float>& logits() { return logits_; }

private:
    std::shared_ptr<FakeClock> clock_;
    SessionConfig config_;
    std::int64_t context_;
    std::vector<float> logits_;
    std::vector<std::int32_t> tokens_;
    LoadedModel model_;
    bool fresh_ = true;
};

}  // namespace decodescope
