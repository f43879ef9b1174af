// An engine without arithmetic: deterministic tokens, any length, as fast or as slow as a test wants. Every place where
// the real engine can take long or fail has a gate or a switch.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>

#include "engine/trace/recording_file.h"
#include "ui/session/engine_driver.h"

namespace decodescope::testing {

// Open by default. Closed, it holds whoever comes until it is opened or a stop is asked for.
class Gate {
public:
    void close() { set(false); }
    void open() { set(true); }
    // False when a stop ended the wait.
    bool pass(std::stop_token stop) {
        std::unique_lock lock(mutex_);
        ++arrived_;
        return changed_.wait(lock, stop, [this] { return open_; });
    }
    int arrived() const {
        const std::lock_guard lock(mutex_);
        return arrived_;
    }

private:
    void set(bool open) {
        {
            const std::lock_guard lock(mutex_);
            open_ = open;
        }
        changed_.notify_all();
    }
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    bool open_ = true;
    int arrived_ = 0;
};

struct FakeControls {
    Gate load, pass, save, sweep;
    std::atomic<std::int64_t> context{64};
    std::atomic<bool> fail_load{false}, fail_session{false}, throw_in_pass{false}, lane_fails{false}, adds_bos{false};
    std::atomic<bool> keeps_rows{true};           // false: truncate() refuses
    std::atomic<std::int64_t> lane_micros{1000};  // that the lane reports
    std::atomic<int> loads{0}, sessions{0}, passes{0}, rows_fed{0}, lane_passes{0}, live_models{0};
    std::atomic<bool> capture{false};             // as the session was told last
};

inline Error stopped() { return make_error(ErrorKind::Cancelled, "The work was cancelled."); }

// One token per byte; 0 is the beginning, 1 the end.
class FakeTokenizer final : public Tokenizer {
public:
    explicit FakeTokenizer(bool bos) : bos_(bos) {
        for (int i = 0; i < size(); ++i) bytes_ += static_cast<char>(i < 2 ? '^' : 'a' + (i - 2) % 26);
    }
    Result<std::vector<std::int32_t>> encode(std::string_view text, const EncodeOptions&,
                                             std::stop_token) const override {
        std::vector<std::int32_t> ids;
        if (bos_) ids.push_back(0);
        for (const char c : text) ids.push_back(2 + static_cast<unsigned char>(c) % 26);
        return ids;
    }
    std::string_view token_bytes(std::int32_t id) const override { return std::string_view(bytes_).substr(id, 1); }
    bool is_special(std::int32_t id) const override { return id < 2; }
    std::int32_t size() const override { return 28; }
    std::optional<std::int32_t> bos() const override { return 0; }
    std::optional<std::int32_t> eos() const override { return 1; }
    bool adds_bos() const override { return bos_; }
    std::string fingerprint() const override { return "fake"; }

private:
    bool bos_;
    std::string bytes_;
};

class FakeWeights final : public WeightSet {
public:
    ElementType matrix_type() const override { return ElementType::F32; }
    std::int64_t bytes() const override { return 1000; }
};

class FakeBackend final : public Backend {
public:
    explicit FakeBackend(std::shared_ptr<FakeControls> controls) : controls_(std::move(controls)) {
        ++controls_->live_models;
    }
    ~FakeBackend() override { --controls_->live_models; }
    const BackendInfo& info() const override { return info_; }
    Result<BufferPtr> allocate(std::size_t, MemoryPurpose) override { return none(); }
    Status upload(Buffer&, std::size_t, std::span<const std::byte>) override { return none(); }
    Status download(const Buffer&, std::size_t, std::span<std::byte>) override { return none(); }
    Status copy(const Buffer&, std::size_t, std::size_t, Buffer&, std::size_t, std::size_t, std::size_t,
                std::size_t) override {
        return none();
    }
    Result<WeightSetPtr> load_weights(const WeightTable&, const StepProgram&, WeightType, const ProgressFn&,
                                      std::stop_token) override {
        return none();
    }
    Result<std::unique_ptr<CompiledStep>> compile(const StepProgram&, WeightSetPtr, const CompileOptions&) override {
        return none();
    }
    Status run(CompiledStep&, const StepInputs&, StepOutputs&, std::stop_token) override { return none(); }
    MemoryCounts memory() const override { return {}; }
    void reset_peaks() override {}

private:
    static Error none() { return make_error(ErrorKind::Unsupported, "This backend computes nothing."); }
    std::shared_ptr<FakeControls> controls_;
    BackendInfo info_{.id = "cpu",
                      .title = "Invented",
                      .device = "none",
                      .instruction_set = "",
                      .threads = 1,
                      .host_memory = true,
                      .memory_bytes = 0};
};

class FakeSession final : public DecodeSession {
public:
    FakeSession(LoadedModelPtr model, const SessionConfig& config, std::shared_ptr<FakeControls> controls)
        : model_(std::move(model)), config_(config), controls_(std::move(controls)), logits_(28) {
        controls_->capture = config.capture_attention;
    }
    Result<PassResult> feed(std::span<const std::int32_t> tokens, std::stop_token stop) override {
        if (!controls_->pass.pass(stop) || stop.stop_requested()) return stopped();
        if (controls_->throw_in_pass.exchange(false)) throw std::runtime_error("planted");
        ++controls_->passes;
        controls_->rows_fed += static_cast<int>(tokens.size());
        PassResult pass;
        pass.first_position = static_cast<std::int32_t>(tokens_.size());
        pass.rows = static_cast<std::int32_t>(tokens.size());
        tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
        // Some next token that depends on the last one and on the length only.
        const auto next = 2 + (static_cast<std::size_t>(tokens_.back()) * 7 + tokens_.size() * 3) % 26;
        for (std::size_t i = 0; i < logits_.size(); ++i)
            logits_[i] = i < 2 ? -50.0f : static_cast<float>((i * 5 + next) % 4) / 2;
        logits_[next] = 3;
        pass.logits = logits_;
        for (int r = 0; r < pass.rows; ++r) pass.row_entries.push_back(pass.first_position + r + 1);
        pass.k_rms.assign(static_cast<std::size_t>(pass.rows), 1.0f);
        pass.v_rms = pass.k_rms;
        pass.micros = 10;
        pass.flops = pass.bytes = 2'000'000 * pass.rows;
        return pass;
    }
    std::int64_t max_pass_rows() const override { return 64; }
    Status truncate(std::int64_t tokens) override {
        if (!controls_->keeps_rows) return make_error(ErrorKind::Unsupported, "The rows are gone.");
        tokens_.resize(static_cast<std::size_t>(tokens));
        return {};
    }
    Result<std::unique_ptr<DecodeSession>> fork() const override { return make_error(ErrorKind::Unsupported, "No."); }
    Status reset() override { return truncate(0); }
    std::span<const std::int32_t> tokens() const override { return tokens_; }
    std::int64_t context() const override { return model_->model->config.context; }
    KvFacts kv_facts() const override { return {}; }
    const LoadedModel& model() const override { return *model_; }
    const SessionConfig& config() const override { return config_; }
    void set_capture(bool capture) override { controls_->capture = capture; }
    std::vector<std::string> stage_names() const override { return {}; }
    std::vector<int> stage_layers() const override { return {}; }
    Result<CellValues> cell(std::int32_t layer, std::int32_t position) const override {
        if (position < 0 || position >= static_cast<std::int32_t>(tokens_.size()))
            return make_error(ErrorKind::Argument, "No such row.");
        CellValues values;
        values.k = {static_cast<float>(layer)};
        values.v = {static_cast<float>(position)};
        values.kv_heads = values.head_dim = 1;
        return values;
    }

private:
    LoadedModelPtr model_;
    SessionConfig config_;
    std::shared_ptr<FakeControls> controls_;
    std::vector<std::int32_t> tokens_;
    std::vector<float> logits_;
};

class FakeLane final : public RecomputeLane {
public:
    explicit FakeLane(std::shared_ptr<FakeControls> controls) : controls_(std::move(controls)) {}
    Result<RacePoint> compare(std::span<const std::int32_t> tokens, std::span<const float>, double cached_micros,
                              std::stop_token) override {
        if (controls_->lane_fails) return make_error(ErrorKind::Memory, "No room for a second pass.");
        ++controls_->lane_passes;
        RacePoint point;
        point.length = static_cast<std::int32_t>(tokens.size());
        point.cached_micros = cached_micros;
        point.recompute_micros = static_cast<double>(controls_->lane_micros);
        return point;
    }

private:
    std::shared_ptr<FakeControls> controls_;
};

class FakeDriver final : public EngineDriver {
public:
    explicit FakeDriver(std::shared_ptr<FakeControls> controls)
        : EngineDriver(BackendRegistry{}, {}), controls_(std::move(controls)) {}

    Result<LoadedModelPtr> load(const LoadRequest& request, const LoadedModelPtr&, const ProgressFn& progress,
                                std::stop_token stop) override {
        ++controls_->loads;
        progress(1, 4);
        if (!controls_->load.pass(stop)) return stopped();
        if (controls_->fail_load) return make_error(ErrorKind::File, "The model cannot be read.", "Choose another.");
        auto model = std::make_shared<Model>();
        model->source = request.model;
        model->config.name = request.model;
        model->config.layers = 1;
        model->config.heads = model->config.kv_heads = model->config.head_dim = 1;
        model->config.vocabulary = 28;
        model->config.context = controls_->context;
        model->tokenizer = std::make_shared<FakeTokenizer>(controls_->adds_bos.load());
        auto loaded = std::make_shared<LoadedModel>();
        loaded->model = model;
        loaded->backend = std::make_shared<FakeBackend>(controls_);
        loaded->weights = std::make_shared<FakeWeights>();
        loaded->program.vocabulary = 28;
        loaded->program.ops.resize(1);
        loaded->program.ops[0].kind = OpKind::Linear;  // a pass costs something, so that its time can be foreseen
        loaded->program.ops[0].in_width = loaded->program.ops[0].out_width = 1000;
        return LoadedModelPtr(loaded);
    }
    Result<std::unique_ptr<DecodeSession>> create_session(LoadedModelPtr model, const SessionConfig& config) override {
        ++controls_->sessions;
        if (controls_->fail_session)
            return make_error(ErrorKind::Memory, "The cache does not fit.", "Take a smaller one.");
        return std::unique_ptr<DecodeSession>(std::make_unique<FakeSession>(std::move(model), config, controls_));
    }
    Result<std::unique_ptr<RecomputeLane>> create_lane(LoadedModelPtr) override {
        return std::unique_ptr<RecomputeLane>(std::make_unique<FakeLane>(controls_));
    }
    Result<SweepResult> sweep(LoadedModelPtr, const SweepRequest& request,
                              const std::function<void(const SweepProgress&)>& progress,
                              std::stop_token stop) override {
        SweepResult result;
        for (const std::int64_t length : request.lengths) {
            SweepRow row;
            row.length = length;
            result.rows.push_back(row);
            progress({static_cast<std::int64_t>(result.rows.size()), static_cast<std::int64_t>(request.lengths.size()),
                      "one", &result});
            result.cancelled = !controls_->sweep.pass(stop);
            if (result.cancelled) break;
        }
        return result;
    }
    // Invented passes, one step of each configuration at a time; the second one writes another token at its third.
    Result<CompareResult> compare(const LoadedModelPtr&, int, const CompareRequest& request,
                                  const std::function<void(const CompareProgress&)>& progress,
                                  std::stop_token stop) override {
        CompareResult result;
        result.prompt = request.prompt;
        const auto names = config_names(request.configs);
        for (std::size_t i = 0; i < names.size(); ++i) {
            CompareLane& lane = result.lanes.emplace_back();
            lane.config = request.configs[i];
            lane.name = names[i];
            lane.kv_type = lane.weights = "f32";
            lane.backend = lane.config.backend;
            lane.first_different = i == 1 ? 2 : -1;
        }
        for (std::int64_t step = 0; step < request.new_tokens; ++step) {
            progress({step, request.new_tokens, "invented"});
            result.cancelled = !controls_->sweep.pass(stop);
            if (result.cancelled) break;
            for (CompareLane& lane : result.lanes) {
                ComparePass& pass = lane.passes.emplace_back();
                pass.length = std::ssize(request.prompt) + step;
                pass.micros = lane.config.cache.id == "growing" ? 200 : 100;
                lane.tokens.push_back(2);
                lane.pieces.push_back("a");
                lane.text += 'a';
                if (step == 0) continue;
                lane.decode_steps = static_cast<int>(step);
                lane.decode_micros = {pass.micros, pass.micros, pass.micros};
            }
        }
        return result;
    }
    Status save(const RunRecording& recording, const std::string& path, const ProgressFn& progress,
                std::stop_token stop) override {
        progress(0, 1);
        if (!controls_->save.pass(stop)) return stopped();
        return EngineDriver::save(recording, path, progress, stop);
    }

private:
    std::shared_ptr<FakeControls> controls_;
};

}  // namespace decodescope::testing
