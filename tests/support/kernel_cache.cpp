// Caches and steps of the kernel tests, with guards around everything that a backend may write.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/reference/element_access.h"
#include "tests/support/kernel_cases.h"

namespace decodescope::test {
namespace {

constexpr std::int64_t kGuardBytes = 256;
constexpr std::byte kUnwritten{0xFF};  // NaN in every element type
constexpr std::size_t kGuardFloats = 64;
constexpr float kGuard = -12345.678f;

std::int64_t pages_of(const CacheShape& shape) {
    return (shape.capacity + (1 << shape.log2_page) - 1) >> shape.log2_page;
}

// A vector with guards before and after the part that is handed out.
class Guarded {
public:
    explicit Guarded(std::size_t count) : floats_(count + 2 * kGuardFloats, kGuard), count_(count) {}
    float* data() { return floats_.data() + kGuardFloats; }
    std::vector<float> take() const {
        const auto first = floats_.begin() + static_cast<std::ptrdiff_t>(kGuardFloats);
        return {first, first + static_cast<std::ptrdiff_t>(count_)};
    }
    bool intact() const {
        const auto is_guard = [](float value) { return value == kGuard; };
        return std::all_of(floats_.begin(), floats_.begin() + static_cast<std::ptrdiff_t>(kGuardFloats), is_guard) &&
               std::all_of(floats_.end() - static_cast<std::ptrdiff_t>(kGuardFloats), floats_.end(), is_guard);
    }

private:
    std::vector<float> floats_;
    std::size_t count_;
};

}  // namespace

// Elements of a row of K or V of one head; int8 rows have their scale with them.
std::int64_t TestCache::row_elements(bool value) const {
    const ElementType type = value ? shape_.v_type : shape_.k_type;
    return kv_row_bytes(type, shape_.head_dim) / static_cast<std::int64_t>(element_bytes(type));
}

std::int64_t TestCache::side_elements() const {
    const std::int64_t row = std::max(row_elements(false), row_elements(true));
    switch (shape_.layout) {
        case Layout::Contiguous:
        case Layout::TokenMajor: return shape_.kv_heads * shape_.capacity * row;
        case Layout::Slab: return (shape_.kv_heads * shape_.capacity + 1) * (row + 12);
        case Layout::Paged: return pages_of(shape_) * (std::int64_t{1} << shape_.log2_page) * shape_.kv_heads * row;
    }
    return 0;
}

std::int64_t TestCache::staged_elements() const {
    const std::int64_t row =
        std::max(row_elements(false), row_elements(true)) + (shape_.layout == Layout::Slab ? 12 : 0);
    return shape_.kv_heads * shape_.staged_rows * row;
}

std::int64_t TestCache::staged_first() const {
    if (shape_.staged_rows == 0) return kNothingStaged;
    return shape_.layout == Layout::Paged ? pages_of(shape_) : shape_.staged_entry;
}

std::unique_ptr<TestCache> TestCache::make(Backend& backend, const CacheShape& shape) {
    auto cache = std::make_unique<TestCache>();
    cache->shape_ = shape;
    cache->backend_ = &backend;
    cache->side_bytes_ = (cache->side_elements() + cache->staged_elements()) * 4 + 2 * kGuardBytes;
    const std::int64_t bytes = kGuardBytes + 2 * shape.layers * cache->side_bytes_;
    auto buffer = backend.allocate(static_cast<std::size_t>(bytes), MemoryPurpose::KvCache);
    if (!buffer.ok()) return nullptr;
    cache->buffer_ = std::move(buffer.value());
    const std::vector<std::byte> unwritten(static_cast<std::size_t>(bytes), kUnwritten);
    if (!backend.upload(*cache->buffer_, 0, unwritten).ok()) return nullptr;
    if (shape.layout == Layout::Paged) {
        Random random(shape.seed);
        for (std::int32_t page = 0; page < pages_of(shape); ++page) cache->pages_.push_back(page);
        for (std::size_t i = cache->pages_.size(); i > 1; --i)
            std::swap(cache->pages_[i - 1], cache->pages_[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
        for (int i = 0; i < shape.staged_rows; ++i)
            cache->pages_[static_cast<std::size_t>(shape.staged_entry + i)] =
                static_cast<std::int32_t>(pages_of(shape)) + i;
    }
    return cache;
}

KvSide TestCache::side(int layer, bool value) const {
    const std::int64_t d = row_elements(value), page = std::int64_t{1} << shape_.log2_page;
    KvSide side;
    side.data = buffer_->data() + kGuardBytes + (2 * layer + (value ? 1 : 0)) * side_bytes_;
    side.type = value ? shape_.v_type : shape_.k_type;
    switch (shape_.layout) {
        case Layout::Contiguous: side.row_stride = d, side.head_stride = d * shape_.capacity; break;
        case Layout::TokenMajor: side.row_stride = d * shape_.kv_heads, side.head_stride = d; break;
        case Layout::Slab: side.row_stride = d + 12, side.head_stride = (d + 12) * shape_.capacity; break;
        case Layout::Paged:
            side.row_stride = d, side.head_stride = d * page, side.page_stride = d * page * shape_.kv_heads;
            break;
    }
    if (shape_.staged_rows == 0) return side;
    side.staged = side.data + side_elements() * 4 + kGuardBytes;
    side.staged_head_stride = shape_.layout == Layout::TokenMajor ? d : side.row_stride * shape_.staged_rows;
    return side;
}

std::vector<KvView> TestCache::views(std::int32_t count, const std::int32_t* positions,
                                     const std::int32_t* store_entries) const {
    std::vector<KvView> views;
    for (int layer = 0; layer < shape_.layers; ++layer) {
        KvView view;
        view.k = side(layer, false);
        view.v = side(layer, true);
        view.kv_heads = shape_.kv_heads;
        view.head_dim = shape_.head_dim;
        view.table.pages = pages_.empty() ? nullptr : pages_.data();
        if (!pages_.empty()) view.table.log2_page = shape_.log2_page;
        view.table.count = count;
        view.table.positions = positions;
        view.table.store_entries = store_entries;
        view.table.staged_first = staged_first();
        views.push_back(view);
    }
    return views;
}

std::int64_t TestCache::offset(int layer, std::int64_t head, std::int32_t entry, bool value) const {
    const KvView view = views(entry + 1)[static_cast<std::size_t>(layer)];
    const KvSide& one = value ? view.v : view.k;
    return (one.data - buffer_->data()) + side_offset(one, view.table, head, entry_slot(view.table, entry)) *
                                              static_cast<std::int64_t>(element_bytes(one.type));
}

void TestCache::write(int layer, std::int32_t entry, const std::vector<float>& k, const std::vector<float>& v) {
    for (const bool value : {false, true}) {
        const ElementType type = value ? shape_.v_type : shape_.k_type;
        std::vector<std::byte> row(static_cast<std::size_t>(kv_row_bytes(type, shape_.head_dim)));
        for (int head = 0; head < shape_.kv_heads; ++head) {
            store_kv({row.data(), type}, (value ? v : k).data() + head * shape_.head_dim, shape_.head_dim);
            (void)backend_->upload(*buffer_, static_cast<std::size_t>(offset(layer, head, entry, value)), row);
        }
    }
}

std::vector<float> TestCache::read(int layer, std::int32_t entry, bool value) const {
    const ElementType type = value ? shape_.v_type : shape_.k_type;
    std::vector<std::byte> row(static_cast<std::size_t>(kv_row_bytes(type, shape_.head_dim)));
    std::vector<float> out;
    for (int head = 0; head < shape_.kv_heads; ++head) {
        (void)backend_->download(*buffer_, static_cast<std::size_t>(offset(layer, head, entry, value)), row);
        for (int i = 0; i < shape_.head_dim; ++i) out.push_back(load_kv({row.data(), type}, shape_.head_dim, i));
    }
    return out;
}

std::string TestCache::damage(std::int32_t count) const {
    std::vector<std::byte> all(buffer_->bytes());
    if (!backend_->download(*buffer_, 0, all).ok()) return "download failed";
    for (int layer = 0; layer < shape_.layers; ++layer)
        for (const bool value : {false, true}) {
            const auto bytes = static_cast<std::size_t>(
                kv_row_bytes(value ? shape_.v_type : shape_.k_type, shape_.head_dim));
            for (int head = 0; head < shape_.kv_heads; ++head)
                for (std::int32_t entry = 0; entry < count; ++entry)
                    std::memset(all.data() + offset(layer, head, entry, value), 0xFF, bytes);
        }
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] != kUnwritten) return "byte " + std::to_string(i) + " of the cache was written";
    return "";
}

StepCase StepCase::causal(const std::vector<std::int32_t>& tokens, std::int32_t first) {
    StepCase rows;
    rows.tokens = tokens;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(tokens.size()); ++i) {
        rows.positions.push_back(first + i);
        rows.visibility.push_back({first + i, 0, 0});
        rows.logits_rows.push_back(i);
    }
    return rows;
}

StepResult run_step(Backend& backend, CompiledStep& step, const StepCase& rows,
                    const std::vector<SequenceRows>& sequences, const StepOptions& options) {
    const StepProgram& program = step.program();
    int heads = 0;
    for (const OpDesc& op : program.ops) heads = op.kind == OpKind::Attention ? op.heads : heads;
    std::int64_t stride = options.stride;
    for (const SequenceRows& sequence : sequences)
        for (const KvView& view : sequence.views) stride = std::max<std::int64_t>(stride, view.table.count);
    Guarded logits(rows.logits_rows.size() * static_cast<std::size_t>(program.vocabulary));
    std::vector<Guarded> captured;
    if (options.capture)
        captured.assign(static_cast<std::size_t>(program.layers),
                        Guarded(rows.tokens.size() * static_cast<std::size_t>(heads * stride)));
    std::vector<float*> pointers;
    for (Guarded& layer : captured) pointers.push_back(layer.data());
    StepInputs inputs;
    inputs.tokens = rows.tokens;
    inputs.positions = rows.positions;
    inputs.visibility = rows.visibility;
    inputs.logits_rows = rows.logits_rows;
    inputs.sequences = sequences;
    inputs.attention_out = pointers;
    inputs.attention_stride = stride;
    StepResult result;
    result.outputs.logits = {logits.data(), rows.logits_rows.size() * static_cast<std::size_t>(program.vocabulary)};
    result.status = backend.run(step, inputs, result.outputs, options.stop);
    result.logits = logits.take();
    if (!logits.intact()) result.damage = "the guards of the logits";
    for (const Guarded& layer : captured) {
        result.attention.push_back(layer.take());
        if (!layer.intact()) result.damage = "the guards of the captured attention";
    }
    result.outputs.logits = {};
    return result;
}

}  // namespace decodescope::test
