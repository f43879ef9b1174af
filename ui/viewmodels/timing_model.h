// Both lanes of the timing panel: measured points, the expected curve, totals and the sentence's ingredients.
#pragma once

#include <string>
#include <vector>

#include "engine/measure/cost_model.h"
#include "engine/trace/run_recording.h"
#include "ui/viewmodels/export_table.h"

namespace decodescope {

// Measured passes of one lane, in order of length.
struct TimingLane {
    std::vector<int> step;
    std::vector<double> length;  // tokens in the sequence after the pass
    std::vector<double> micros;
    std::vector<bool> captured;  // attention was captured in the same pass, which costs time
    std::vector<Cost> cost;      // by the formula
    std::vector<double> gap;     // micros beyond those of the device: launches and waiting; 0 where it is the host
    std::vector<int> graphs;     // that were recorded for the pass
    std::vector<bool> hiccup;    // see hiccups()
    std::size_t size() const { return length.size(); }
};

enum class SameAnswer {
    Unknown,
    Yes,
    Tie,  // the same up to rounding, but two tokens were equally likely and the lanes chose differently
    No,
    ByDesign,  // a lossy strategy
};

enum class NoGain {
    None,             // there is a gain, or nothing to compare yet
    RecomputeChosen,  // the run itself recomputes
    ShortContext,     // few tokens: a pass over all of them is hardly more than a pass over one
    FixedCost,        // what a pass costs whatever its size dominates
    MemoryBound,      // both lanes wait for the weights, which they read once per pass
    Launches,         // a device apart, and a step that is too small to fill it: a gain, but not the one it could be
};

struct TimingSummary {
    int length = 0;           // of the newest cached pass
    int compared_length = 0;  // of the newest pass without a cache: what follows holds up to there; 0 = none
    double cached_micros = 0, recompute_micros = 0;              // medians of the newest passes; 0 = not measured
    double speedup = 0;                                          // both lanes at compared_length; 0 = not known
    double cached_total_micros = 0, recompute_total_micros = 0;  // over the same steps, up to compared_length
    bool total_has_derived = false;                              // recompute was not measured at every step
    SameAnswer same = SameAnswer::Unknown;
    double max_logit_diff = 0;
    int compared = 0, same_tokens = 0;
    NoGain no_gain = NoGain::None;
    double gap_micros = 0;    // median of the newest cached passes, see TimingLane::gap
    int graphs = 0;           // recorded for the cached passes up to the viewed step
    double fixed_micros = 0;  // Launches: of a cached pass, the same whatever its length
    int gain_length = 0;      // Launches: from here on the gain is large; 0: not within the context
};

// What a device needed in its last run of the model that is shown.
struct DeviceLanes {
    std::string device;  // as it is shown
    std::string backend, model;
    bool recomputes = false;
    TimingLane cached, recompute;
};

// "CPU", "NVIDIA H200"
std::string device_label(const RunFacts& facts);

class TimingModel {
public:
    // Takes over what was appended since the last call; another recording starts anew. What it replaces is kept as a
    // comparison while the same model runs on another device.
    void update(const RunRecording* recording, bool lossy_strategy);

    bool main_lane_recomputes() const { return recomputes_; }
    const TimingLane& cached() const { return cached_; }
    const TimingLane& recompute() const { return recompute_; }
    const std::string& device() const { return device_.device; }
    std::vector<const DeviceLanes*> other_devices() const;
    // Expected micros at the lane's lengths, from a fit of the cost model to the measured points; empty without a fit.
    const std::vector<double>& cached_expected() const { return cached_expected_; }
    const std::vector<double>& recompute_expected() const { return recompute_expected_; }
    // Time from the first step on, per lane, at the lane's lengths. Steps that were not measured count at the mean of
    // their neighbours.
    static std::vector<double> cumulated(const TimingLane& lane);

    TimingSummary summary(int up_to_step) const;
    // One row per measured point of both lanes and per point of the expected curves.
    ExportTable table() const;

private:
    void take_steps(const RunRecording& recording);
    void take_race(const RunRecording& recording);
    void fit();
    void total(TimingSummary& summary, int up_to_step) const;
    void compare_now(TimingSummary& summary, int up_to_step) const;
    NoGain reason(const TimingSummary& summary) const;
    void explain_launches(TimingSummary& summary) const;
    void start_anew(const RunRecording* recording);

    const RunRecording* source_ = nullptr;
    DeviceLanes device_;                // who runs; the lanes are filled when the run is replaced
    std::vector<DeviceLanes> devices_;  // the last run of each
    ModelConfig config_;
    std::int64_t weight_bytes_ = 0;
    bool recomputes_ = false, lossy_ = false;
    int steps_ = 0, race_ = 0;
    TimingLane cached_, recompute_;
    std::vector<RacePoint> points_;
    std::vector<double> cached_expected_, recompute_expected_;
    CostFit cached_fit_, recompute_fit_;
};

// Which of a lane's times, in order of length, are hiccups of the machine and need not be on the time axis: more than
// three times the median of all passes that are longer, of which there are at least five. A longer pass is never
// cheaper, so what grows with the length is none. None at all when they are more than 3 % of the lane.
std::vector<bool> hiccups(const std::vector<double>& micros);

}  // namespace decodescope
