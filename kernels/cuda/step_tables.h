// The tables of one step in one piece of memory: rows, positions, what each row sees, and a DeviceView per layer and
// sequence. What comes first lies where it lay in every step with as many rows and sequences, so that a graph made for
// one serves the others; the tables of pages and positions, which grow, come last and are reached through the views.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cuda/device_view.h"

namespace decodescope::cuda {

// How many of everything a step has. Equal shapes have equal layouts.
struct StepCounts {
    int rows = 0, logits_rows = 0, sequences = 0, layers = 0;
    int few_rows = 0, tiles = 0;
    int visibility_layers = 1;  // 1: all layers share it
    int splits = 1;             // ranges of the longest sequence with few rows, rounded up to a power of two

    bool operator==(const StepCounts&) const = default;
};

class TableBuilder {
public:
    TableBuilder(const StepProgram& program, const StepInputs& inputs);

    const StepCounts& counts() const { return counts_; }
    std::size_t bytes() const { return bytes_; }
    // Writes the tables to `host`; addresses inside them are those of a copy that starts at `device`.
    void write(std::byte* host, const std::byte* device);
    StepTables tables(const std::byte* device) const;

private:
    struct Offsets {
        std::size_t tokens, positions, logits_rows, sequence_of, few_rows, tiles, visibility, views, rest;
    };
    struct Copied {
        const std::int32_t* from;
        std::int64_t count;
        std::size_t offset;
    };
    void count_rows(const StepProgram& program);
    void place();
    void add_copied(const std::int32_t* from, std::int64_t count);
    const std::int32_t* moved(const std::int32_t* from, std::int64_t count, const std::byte* device) const;
    void write_rows(std::byte* host) const;
    void write_visibility(DeviceVisibility* out) const;

    const StepInputs& inputs_;
    StepCounts counts_;
    Offsets offsets_{};
    std::vector<Copied> copied_;
    std::size_t bytes_ = 0;
};

}  // namespace decodescope::cuda
