// What every backend must compute as the reference does. Each row is a small program with one operation, or a few that
// a backend may fuse, on random inputs of odd sizes; outputs, caches and captured weights have guards around them. A
// new backend is right when every row passes: run_group(backend, group) for every group.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/kernel_cases.h"

namespace decodescope::conformance {

// An input row is a row of an embedding table, so that any value can be put in; the output is read as the logits.
struct Scenario {
    explicit Scenario(std::uint64_t seed) : builder(seed) {}

    test::ProgramBuilder builder;
    test::StepCase rows;
    double tolerance = 5e-6;       // largest difference, relative to the largest magnitude of the expected output
    bool elementwise = false;      // the tolerance holds for each element by itself
    WeightType weight_type = WeightType::AsInFile;

    bool has_cache = false;
    test::CacheShape cache;
    std::int32_t entries = 0;      // after the step
    bool written = false;          // all entries are filled before the step (programs without a store)
    float cached_value = 0.0f;     // 0: random; else every element of the filled entries
    std::vector<std::int32_t> entry_positions;  // empty: entry e holds position e
    std::vector<std::int32_t> store_entries;    // empty: the last ones
    bool capture = false;
    std::int64_t attention_stride = 0;
};

struct Row {
    std::string name;
    std::function<Scenario()> make;
};

struct Group {
    std::string name;
    std::vector<Row> rows;
};

const std::vector<Group>& groups();

// What a backend may do that the CPU does not.
struct Allowance {
    // Products with 16-bit weights of more rows than this round their inputs to the weights' type, as tensor cores take
    // them: 2^-11 of an input in f16, 2^-8 in bf16. int8 weights and their inputs become f16.
    std::int64_t exact_product_rows = std::numeric_limits<std::int64_t>::max();
};

// "" or what differs, for one row.
std::string check(Backend& backend, const Row& row, const Allowance& allowance = {});

// One line per row that fails.
std::vector<std::string> run_group(Backend& backend, const Group& group, const Allowance& allowance = {});

}  // namespace decodescope::conformance
