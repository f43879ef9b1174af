// Small step programs, weights and caches made by hand, to run any backend on. Random values come from a seed, never
// from the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace decodescope::test {

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 2654435761u + 88172645463325252u) {}
    std::uint64_t next();
    float uniform(float low, float high);
    int below(int limit);

private:
    std::uint64_t state_;
};

// Grows a step program and its weights together.
class ProgramBuilder {
public:
    explicit ProgramBuilder(std::uint64_t seed) : random_(seed) {}

    int value(std::string name, std::int64_t width, bool selected = false);
    // Random tensor in -scale .. scale around `center`. `transposed`: stored [columns, rows] with swapped strides.
    int tensor(std::int64_t rows, std::int64_t columns, ElementType type, float scale, float center = 0.0f,
               bool transposed = false);
    int tensor_of(std::int64_t rows, std::int64_t columns, ElementType type, const std::vector<float>& values);

    OpDesc& op(OpId id, OpKind kind, int layer, int in0, int out);
    void embed(int table, int out);
    void norm(OpId id, OpKind kind, int layer, int in, int out, int weight, int bias);
    void linear(OpId id, int layer, int in, int out, int weight, int bias = kNone);
    void rope(OpId id, int layer, int value, int heads, int head_dim, float theta = 10000.0f);
    void select(int in, int out);

    StepProgram program;
    WeightTable table;
    Random& random() { return random_; }

private:
    Random random_;
    std::shared_ptr<std::vector<std::vector<std::byte>>> storage_ =
        std::make_shared<std::vector<std::vector<std::byte>>>();
};

struct TinyShape {
    bool llama = true;  // else GPT-2: LayerNorm, learned positions, GELU, biases, transposed matrices
    int layers = 2, hidden = 48, heads = 3, kv_heads = 3, head_dim = 16, feed_forward = 67, vocabulary = 37,
        context = 160;
    ElementType type = ElementType::F32;
    bool tied = false;
};

// A whole decoder with random weights; the operations in the order of OpId.
void build_tiny_model(const TinyShape& shape, ProgramBuilder& builder);

enum class Layout { Contiguous, TokenMajor, Slab, Paged };

struct CacheShape {
    int layers = 1, kv_heads = 1, head_dim = 16, capacity = 64;
    ElementType k_type = ElementType::F32, v_type = ElementType::F32;
    Layout layout = Layout::Contiguous;
    int log2_page = 4;
    std::uint64_t seed = 1;  // of the order of the pages
    // Entries from staged_entry on, as many as these, lie in a staging buffer; with pages only when a page is one slot.
    int staged_rows = 0, staged_entry = 0;
};

// Storage of one sequence on a backend, with guards on both sides of K and V. Everything starts as NaN (all bits set).
class TestCache {
public:
    // Empty when the backend has no memory for it.
    static std::unique_ptr<TestCache> make(Backend& backend, const CacheShape& shape);

    // Views with this many entries; valid until the next call.
    std::vector<KvView> views(std::int32_t count, const std::int32_t* positions = nullptr,
                              const std::int32_t* store_entries = nullptr) const;
    // Writes one entry of one layer. k, v: [kv_heads, head_dim]
    void write(int layer, std::int32_t entry, const std::vector<float>& k, const std::vector<float>& v);
    // What is stored, as f32, [kv_heads, head_dim].
    std::vector<float> read(int layer, std::int32_t entry, bool value) const;
    // "" or what was written outside the entries 0 .. count - 1.
    std::string damage(std::int32_t count) const;
    const CacheShape& shape() const { return shape_; }

private:
    std::int64_t row_elements(bool value) const;
    std::int64_t side_elements() const;
    std::int64_t staged_elements() const;
    std::int64_t staged_first() const;  // slot
    std::int64_t offset(int layer, std::int64_t head, std::int32_t entry,
                        bool value) const;  // in bytes from the buffer's start
    KvSide side(int layer, bool value) const;

    CacheShape shape_;
    Backend* backend_ = nullptr;
    BufferPtr buffer_;
    std::vector<std::int32_t> pages_;
    std::int64_t side_bytes_ = 0;  // of K or V of one layer
};

// The rows of one step as plain vectors, and what came out of it.
struct StepCase {
    std::vector<std::int32_t> tokens, positions, logits_rows;
    std::vector<RowVisibility> visibility;

    // Tokens at positions first .. with full causal visibility; logits of every row.
    static StepCase causal(const std::vector<std::int32_t>& tokens, std::int32_t first);
};

struct StepResult {
    Status status;
    std::vector<float> logits;                  // [logits_rows, vocabulary]
    std::vector<std::vector<float>> attention;  // [layers][rows, heads, stride]
    std::string damage;                         // "" or which guard around an output was overwritten
    StepOutputs outputs;
};

struct StepOptions {
    bool capture = false;
    std::int64_t stride = 0;  // of the captured weights; 0: the entry count
    std::stop_token stop;
};

// Runs one step with guards around the logits and the captured weights. `heads` is needed for the capture.
StepResult run_step(Backend& backend, CompiledStep& step, const StepCase& rows,
                    const std::vector<SequenceRows>& sequences, const StepOptions& options = {});

// Largest |a - b| divided by the largest |b| (at least `floor`); infinity when a NaN or a size differs.
double relative_difference(const std::vector<float>& a, const std::vector<float>& b, double floor = 1e-3);

}  // namespace decodescope::test
