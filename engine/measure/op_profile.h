// Where the time of one step goes: what each operation took, what it moved and computed by the formula, and what share
// that is of what the machine can do.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/measure/cost_model.h"
#include "engine/trace/run_recording.h"

namespace decodescope {

// As measured on this machine; 0: not measured.
struct MachineCeiling {
    double read_gb_s = 0;  // plain reading of memory, all threads, 1e9 bytes per second
    double gflop_s = 0;    // f32 multiply-adds, 2 per multiply-add, all threads, 1e9 per second
};

// One stage of the backend, all layers together.
struct OpUse {
    std::string stage;
    double micros = 0;         // measured
    std::optional<Cost> cost;  // derived from the shapes; nothing: not known
    double gb_s() const { return rate(cost ? cost->bytes : 0); }
    double gflop_s() const { return rate(cost ? cost->flops : 0); }

private:
    double rate(std::int64_t amount) const { return micros > 0 ? static_cast<double>(amount) / micros / 1e3 : 0; }
};

struct OpShare {
    double value = 0;         // 1: as fast as the machine can; more where what is read lies in a processor's cache
    bool of_flops = false;    // of the FLOP rate, else of the read bandwidth
};
// Of the limit that is nearer; nothing where cost, time or limits are not known, or nothing is read or computed.
std::optional<OpShare> share_of(const OpUse& use, const MachineCeiling& ceiling);

// Sums over the layers, in the order in which the stages first appear. `costs` by stage; empty: not known.
std::vector<OpUse> sum_by_stage(std::span<const std::string> stages, std::span<const OpRecord> ops,
                                std::span<const Cost> costs);

// Costs by stage of the run, from the program that it ran: a stage is known by its layer and the names of its
// operations. Empty where a name is not among the program's.
std::vector<Cost> stage_costs(const StepProgram& program, const RunFacts& facts, const StepShape& shape);

// The shape of a step that was one pass; nothing for several passes, and for a part of a prompt in a cache that has
// dropped rows.
std::optional<StepShape> recorded_shape(const RunFacts& facts, const StepFacts& step);

}  // namespace decodescope
