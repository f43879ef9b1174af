#include "tests/support/conformance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/reference/host_weights.h"
#include "kernels/reference/reference_backend.h"

namespace decodescope::conformance {
namespace {

using test::StepResult;
using test::TestCache;

struct Outcome {
    std::string error;
    StepResult result;
    std::vector<float> stored;  // every entry of K and V
};

void fill_cache(TestCache& cache, const Scenario& scenario) {
    test::Random random(99);
    const auto width = static_cast<std::size_t>(cache.shape().kv_heads * cache.shape().head_dim);
    for (std::int32_t entry = 0; entry < scenario.entries; ++entry) {
        std::vector<float> k(width, scenario.cached_value), v(width, scenario.cached_value);
        for (std::size_t i = 0; scenario.cached_value == 0.0f && i < width; ++i) {
            k[i] = random.uniform(-2.0f, 2.0f);
            v[i] = random.uniform(-2.0f, 2.0f);
        }
        cache.write(0, entry, k, v);
    }
}

// "" or the error of loading and compiling.
std::string compile(Backend& backend, const Scenario& scenario, std::unique_ptr<CompiledStep>& step) {
    const auto& builder = scenario.builder;
    auto weights = backend.load_weights(builder.table, builder.program, scenario.weight_type, {}, {});
    if (!weights.ok()) return weights.error().text();
    CompileOptions options;
    options.max_rows = static_cast<std::int64_t>(scenario.rows.tokens.size());
    options.max_logits_rows = static_cast<std::int64_t>(scenario.rows.logits_rows.size());
    auto compiled = backend.compile(builder.program, weights.value(), options);
    if (!compiled.ok()) return compiled.error().text();
    step = std::move(compiled.value());
    return {};
}

Outcome run(Backend& backend, const Scenario& scenario) {
    Outcome outcome;
    std::unique_ptr<CompiledStep> step;
    outcome.error = compile(backend, scenario, step);
    if (!outcome.error.empty()) return outcome;
    std::unique_ptr<TestCache> cache;
    std::vector<KvView> views;
    std::vector<SequenceRows> sequences;
    if (scenario.has_cache) {
        cache = TestCache::make(backend, scenario.cache);
        if (cache == nullptr) return {"no memory for the cache", {}, {}};
        if (scenario.written) fill_cache(*cache, scenario);
        views =
            cache->views(scenario.entries, scenario.entry_positions.empty() ? nullptr : scenario.entry_positions.data(),
                         scenario.store_entries.empty() ? nullptr : scenario.store_entries.data());
        sequences.push_back({0, static_cast<std::int32_t>(scenario.rows.tokens.size()), views});
    }
    test::StepOptions options;
    options.capture = scenario.capture;
    options.stride = scenario.attention_stride;
    outcome.result = test::run_step(backend, *step, scenario.rows, sequences, options);
    if (!outcome.result.status.ok()) outcome.error = outcome.result.status.error().text();
    else outcome.error = outcome.result.damage;
    if (cache == nullptr || !outcome.error.empty()) return outcome;
    outcome.error = cache->damage(scenario.entries);
    for (std::int32_t entry = 0; entry < scenario.entries; ++entry)
        for (const bool value : {false, true}) {
            const std::vector<float> row = cache->read(0, entry, value);
            outcome.stored.insert(outcome.stored.end(), row.begin(), row.end());
        }
    return outcome;
}

std::string difference(const char* what, const std::vector<float>& actual, const std::vector<float>& expected,
                       double tolerance, bool elementwise) {
    if (actual.size() != expected.size()) return std::string(what) + " has another size";
    double largest = 1e-3;
    for (float value : expected) largest = std::max(largest, std::abs(static_cast<double>(value)));
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double a = actual[i], e = expected[i];
        // The smallest normal f32 is the floor: below it an element has no relative precision.
        const double allowed = tolerance * (elementwise ? std::abs(e) : largest) + 1.2e-38;
        if (std::abs(a - e) <= allowed) continue;  // false for NaN as well
        return std::string(what) + " [" + std::to_string(i) + "] is " + std::to_string(a) + ", expected " +
               std::to_string(e) + ", off by " + std::to_string(std::abs(a - e) / allowed) + " times the tolerance";
    }
    return {};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

double tolerance_of(const Scenario& scenario, const Allowance& allowance) {
    double tolerance = scenario.tolerance;
    if (static_cast<std::int64_t>(scenario.rows.tokens.size()) <= allowance.exact_product_rows) return tolerance;
    for (const OpDesc& op : scenario.builder.program.ops) {
        if (op.kind != OpKind::Linear) continue;
        const ElementType type = kept_type(scenario.builder.table.tensors[static_cast<std::size_t>(op.weight)],
                                           scenario.weight_type);
        if (type == ElementType::F16 || type == ElementType::I8) tolerance = std::max(tolerance, 1e-3);
        if (type == ElementType::BF16) tolerance = std::max(tolerance, 8e-3);
    }
    return tolerance;
}

}  // namespace

std::string check(Backend& backend, const Row& row, const Allowance& allowance) {
    const auto reference = make_reference_backend();
    const Scenario scenario = row.make();
    const Outcome expected = run(*reference, scenario);
    if (!expected.error.empty()) return "reference: " + expected.error;
    const Outcome actual = run(backend, scenario);
    if (!actual.error.empty()) return actual.error;
    std::string text =
        difference("output", actual.result.logits, expected.result.logits, tolerance_of(scenario, allowance),
                   scenario.elementwise);
    if (!text.empty()) return text;
    if (!same_bits(actual.stored, expected.stored)) return "the cache holds other bits";
    for (std::size_t layer = 0; layer < expected.result.attention.size(); ++layer) {
        text = difference("attention", actual.result.attention[layer], expected.result.attention[layer], 2e-6, false);
        if (!text.empty()) return text;
    }
    return {};
}

std::vector<std::string> run_group(Backend& backend, const Group& group, const Allowance& allowance) {
    std::vector<std::string> failures;
    for (const Row& row : group.rows) {
        const std::string text = check(backend, row, allowance);
        if (!text.empty()) failures.push_back(group.name + ": " + row.name + ": " + text);
    }
    return failures;
}

}  // namespace decodescope::conformance
