// Bytes by purpose over the run, for the stacked chart of the memory panel.
#pragma once

#include <vector>

#include "engine/trace/run_recording.h"
#include "ui/viewmodels/export_table.h"

namespace decodescope {

class MemoryModel {
public:
    // Takes over what was appended since the last call; another recording starts anew.
    void update(const RunRecording* recording);

    // One entry per step: tokens in the sequence after it, and bytes as the allocator counted them.
    const std::vector<double>& length() const { return length_; }
    const std::vector<double>& weights() const { return weights_; }
    const std::vector<double>& activations() const { return activations_; }  // staging included
    const std::vector<double>& kv_used() const { return kv_used_; }
    const std::vector<double>& kv_empty() const { return kv_empty_; }  // reserved and not used
    const std::vector<double>& kv_peak() const { return kv_peak_; }    // old + new while growing
    std::size_t size() const { return length_.size(); }

    // The cache as a share of everything at the last step, 0..1.
    double cache_share() const;
    ExportTable table() const;

private:
    const RunRecording* source_ = nullptr;
    int steps_ = 0;
    std::vector<double> length_, weights_, activations_, kv_used_, kv_empty_, kv_peak_;
};

}  // namespace decodescope
