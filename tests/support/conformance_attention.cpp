// The rows of the cache store and of attention.
#include <cmath>

#include "tests/support/conformance.h"
#include "tests/support/conformance_rows.h"

namespace decodescope::conformance {
namespace {

using test::Layout;

constexpr ElementType kTypes[] = {ElementType::F32, ElementType::F16, ElementType::BF16, ElementType::I8};

const char* layout_name(Layout layout) {
    switch (layout) {
        case Layout::Contiguous: return "contiguous";
        case Layout::TokenMajor: return "token major";
        case Layout::Slab: return "slab";
        case Layout::Paged: return "paged";
    }
    return "";
}

struct AttentionCase {
    int rows = 1, entries = 1, heads = 3, kv_heads = 3, head_dim = 16;
    ElementType k_type = ElementType::F32, v_type = ElementType::F32;
    Layout layout = Layout::Contiguous;
    bool ring = false;    // entry e does not hold position e
    int window = 0;       // 0: all
    int sinks = 0;
    bool capture = false;
    int extra_stride = 0;
    float q = 0.0f, cached = 0.0f;  // 0: random
    bool sees_nothing = false;
    int staged = 0;       // last entries that lie in the staging buffer
    int sink_shift = 0;   // of the first row; the others take turns
    double tolerance = 5e-6;

    std::string name() const {
        std::string text = std::to_string(rows) + " rows, " + std::to_string(entries) + " entries, heads " +
                           std::to_string(heads) + "/" + std::to_string(kv_heads) + " of " + std::to_string(head_dim) +
                           ", " + std::string(element_name(k_type)) + "/" + std::string(element_name(v_type)) + ", " +
                           layout_name(layout);
        if (ring) text += ", ring";
        if (window > 0) text += ", window " + std::to_string(window) + " sinks " + std::to_string(sinks);
        if (staged > 0) text += ", " + std::to_string(staged) + " staged";
        if (sink_shift > 0) text += ", sinks shifted by " + std::to_string(sink_shift);
        if (capture) text += ", captured";
        return text;
    }
};

// Positions of the new rows are the last ones; with a ring they lie somewhere in the middle of the entries.
void place_rows(Scenario& s, const AttentionCase& c) {
    const int base = c.ring ? 1000 : 0, shift = c.ring ? c.entries / 3 + 1 : 0;
    if (c.ring)
        for (int e = 0; e < c.entries; ++e) s.entry_positions.push_back(base + (e + shift) % c.entries);
    for (int r = 0; r < c.rows; ++r) {
        const int position = base + c.entries - c.rows + r;
        s.rows.positions[static_cast<std::size_t>(r)] = position;
        const int first = c.window > 0 ? position - c.window + 1 : 0;
        s.rows.visibility[static_cast<std::size_t>(r)] = {c.sees_nothing ? -1 : position, first,
                                                          c.sinks > 0 ? base + c.sinks : 0,
                                                          c.sink_shift > 0 && r % 3 != 2 ? c.sink_shift + r : 0};
    }
}

Scenario attention_scenario(const AttentionCase& c) {
    Scenario s(static_cast<std::uint64_t>(1000 * c.entries + c.rows));
    const int width = c.heads * c.head_dim;
    const int q = s.builder.value("q", width), out = s.builder.value("out", width);
    s.builder.embed(c.q == 0.0f
                        ? s.builder.tensor(c.rows, width, ElementType::F32, 1.5f)
                        : s.builder.tensor_of(c.rows, width, ElementType::F32,
                                              std::vector<float>(static_cast<std::size_t>(c.rows * width), c.q)),
                    q);
    s.builder.program.layers = 1;
    OpDesc& op = s.builder.op(OpId::Attention, OpKind::Attention, 0, q, out);
    op.heads = c.heads;
    op.kv_heads = c.kv_heads;
    op.head_dim = c.head_dim;
    op.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    if (c.sink_shift > 0) op.rope = {10000.0f, c.head_dim - (c.rows % 2 == 0 ? 4 : 0)};
    finish_scenario(s, c.rows, out, width);
    s.has_cache = s.written = true;
    s.entries = c.entries;
    s.cached_value = c.cached;
    s.cache = {1, c.kv_heads, c.head_dim, c.entries + 37, c.k_type, c.v_type, c.layout, c.staged > 0 ? 0 : 4, 3};
    s.cache.staged_rows = c.staged;
    s.cache.staged_entry = c.entries - c.staged;
    s.capture = c.capture;
    s.attention_stride = c.extra_stride > 0 ? c.entries + c.extra_stride : 0;
    s.tolerance = c.tolerance;
    place_rows(s, c);
    return s;
}

void add(Group& group, const AttentionCase& c) {
    group.rows.push_back({c.name(), [c] { return attention_scenario(c); }});
}

// Every number of entries, with types, head sizes and sharing of heads taking turns.
Group entries_group() {
    Group group{"attention, one row", {}};
    struct Heads {
        int heads, kv_heads, head_dim;
    };
    constexpr Heads kHeads[] = {{3, 3, 16}, {8, 2, 16}, {6, 3, 20}, {4, 1, 64}, {4, 4, 48}, {3, 1, 7}};
    for (int entries = 1; entries <= 131; ++entries) {
        const Heads& h = kHeads[entries % 6];
        AttentionCase c;
        c.entries = entries, c.heads = h.heads, c.kv_heads = h.kv_heads, c.head_dim = h.head_dim;
        c.k_type = kTypes[entries % 4], c.v_type = kTypes[entries / 4 % 4];
        c.layout = static_cast<Layout>(entries / 5 % 4);
        c.capture = entries % 2 == 0;
        c.extra_stride = entries % 7;
        add(group, c);
    }
    // More entries than one range, so that parts are put together.
    for (const int entries : {511, 512, 513, 1025, 1300})
        for (const bool capture : {false, true})
            for (const int rows : {1, 3}) {
                AttentionCase c;
                c.rows = rows, c.entries = entries, c.heads = 6, c.kv_heads = 2, c.head_dim = 20, c.capture = capture;
                c.k_type = rows == 1 ? ElementType::I8 : ElementType::F16;
                c.v_type = rows == 1 ? ElementType::F16 : ElementType::I8;
                c.extra_stride = 5;
                c.layout = capture ? Layout::Paged : Layout::Contiguous;
                add(group, c);
            }
    return group;
}

Group rows_group() {
    Group group{"attention, many rows", {}};
    for (const int rows : {2, 3, 4, 5, 17, 40, 70})
        for (const int before : {0, 1, 30, 300}) {
            AttentionCase c;
            c.rows = rows, c.entries = before + rows;
            c.heads = rows % 2 == 0 ? 8 : 3, c.kv_heads = rows % 2 == 0 ? 2 : 3, c.head_dim = before == 1 ? 20 : 16;
            c.k_type = kTypes[rows % 4], c.v_type = kTypes[before % 4];
            c.layout = static_cast<Layout>((rows + before) % 4);
            c.capture = before != 1;
            c.extra_stride = before == 30 ? 9 : 0;
            add(group, c);
        }
    return group;
}

Group visibility_group() {
    Group group{"attention, positions and windows", {}};
    for (const int rows : {1, 3, 17, 40})
        for (const int entries : {40, 131, 700})
            for (const bool ring : {false, true})
                for (const int window : {0, 1, 25, 600})
                    for (const int sinks : {0, 4}) {
                        if (window == 0 && (sinks > 0 || !ring)) continue;
                        AttentionCase c;
                        c.rows = rows, c.entries = entries, c.ring = ring, c.window = window, c.sinks = sinks;
                        c.heads = 4, c.kv_heads = 2, c.head_dim = 16;
                        c.k_type = c.v_type = ElementType::F16;
                        c.layout = (entries + window) % 2 == 0 ? Layout::Paged : Layout::Slab;
                        c.capture = true;
                        add(group, c);
                    }
    for (const int rows : {1, 6}) {
        AttentionCase c;
        c.rows = rows, c.entries = 9, c.sees_nothing = true, c.capture = true;
        group.rows.push_back({std::to_string(rows) + " rows that see nothing", [c] { return attention_scenario(c); }});
    }
    return group;
}

// Some of the entries in the staging buffer, whole tables of them, and a boundary inside a run of neighbours.
Group staged_group() {
    Group group{"attention, staged rows", {}};
    for (const int rows : {1, 3, 17, 40})
        for (const int entries : {40, 131, 700})
            for (const int staged : {1, rows, entries / 2, entries})
                for (const bool ring : {false, true}) {
                    AttentionCase c;
                    c.rows = rows, c.entries = entries, c.ring = ring, c.staged = staged;
                    c.window = ring ? 25 : 0, c.sinks = ring ? 4 : 0;
                    c.heads = 6, c.kv_heads = 3, c.head_dim = 20;
                    c.k_type = kTypes[(rows + staged) % 4], c.v_type = kTypes[(entries + staged) % 4];
                    c.layout = static_cast<Layout>((rows + entries + staged + (ring ? 1 : 0)) % 4);
                    c.capture = staged != 1;
                    add(group, c);
                }
    return group;
}

Group sink_shift_group() {
    Group group{"attention, rebased sinks", {}};
    for (const int rows : {1, 2, 3, 17, 40})
        for (const int entries : {40, 131, 700})
            for (const int shift : {1, 7, 5000})
                for (const bool ring : {false, true}) {
                    AttentionCase c;
                    c.rows = rows, c.entries = entries, c.ring = ring, c.window = 25, c.sinks = 5, c.sink_shift = shift;
                    c.heads = 8, c.kv_heads = 2, c.head_dim = 16;
                    c.k_type = kTypes[(rows + shift) % 4], c.v_type = kTypes[entries % 4];
                    c.layout = static_cast<Layout>((entries + shift) % 4);
                    c.staged = ring ? rows : 0;
                    c.capture = shift != 7;
                    add(group, c);
                }
    return group;
}

// Heads that do not fit into the fast memory of a device as a whole.
Group large_heads_group() {
    Group group{"attention, large heads", {}};
    constexpr int kDims[] = {256, 130, 192, 250, 132};
    int turn = 0;
    for (const int rows : {1, 3, 17})
        for (const int entries : {17, 64, 131}) {
            AttentionCase c;
            c.rows = rows, c.entries = entries, c.head_dim = kDims[turn % 5];
            c.heads = turn % 2 == 0 ? 6 : 2, c.kv_heads = 2;
            c.k_type = kTypes[turn % 4], c.v_type = kTypes[turn / 2 % 4];
            c.layout = static_cast<Layout>((turn + rows) % 4);
            c.capture = turn % 3 != 0;
            if (turn % 2 == 0) c.ring = true, c.window = 25, c.sinks = 5;
            if (turn % 2 == 0 && c.head_dim % 2 == 0) c.sink_shift = 7;
            add(group, c);
            ++turn;
        }
    return group;
}

// q . k = 128 * 256 * 256 does not fit into f16; scores and sums must be f32.
Group range_group() {
    Group group{"attention, large scores", {}};
    for (const int rows : {1, 7}) {
        AttentionCase c;
        c.rows = rows, c.entries = 20, c.heads = 2, c.kv_heads = 1, c.head_dim = 128, c.q = 256.0f, c.cached = 256.0f;
        c.k_type = c.v_type = ElementType::F16;
        c.capture = true;
        add(group, c);
    }
    return group;
}

Scenario store_scenario(int rows, int entries, ElementType k_type, ElementType v_type, Layout layout, bool scattered,
                        int staged = 0) {
    Scenario s(static_cast<std::uint64_t>(rows * 7 + entries));
    const int kv_heads = 3, head_dim = 20, width = kv_heads * head_dim;
    const int k = s.builder.value("k", width), v = s.builder.value("v", width);
    s.builder.embed(s.builder.tensor(rows, width, ElementType::F32, 70000.0f), k);  // some overflow f16
    s.builder.embed(s.builder.tensor(rows, width, ElementType::F32, 1e-4f), v);     // some are subnormal in f16
    s.builder.program.layers = 1;
    OpDesc& op = s.builder.op(OpId::CacheStore, OpKind::CacheStore, 0, k, kNone);
    op.in1 = v;
    op.kv_heads = op.heads = kv_heads;
    op.head_dim = head_dim;
    finish_scenario(s, rows, k, width);
    s.has_cache = true;
    s.entries = entries;
    s.cache = {1, kv_heads, head_dim, entries + 21, k_type, v_type, layout, staged > 0 ? 0 : 4, 5};
    s.cache.staged_rows = staged;
    s.cache.staged_entry = entries - staged;
    for (int r = 0; scattered && r < rows; ++r) s.store_entries.push_back((r * 7 + 3) % entries);
    s.tolerance = 0.0;
    return s;
}

Group store_group() {
    Group group{"cache store", {}};
    for (const ElementType k_type : kTypes)
        for (const ElementType v_type : kTypes)
            for (const Layout layout : {Layout::Contiguous, Layout::TokenMajor, Layout::Slab, Layout::Paged})
                for (const bool scattered : {false, true}) {
                    const int rows = layout == Layout::Paged ? 17 : 3;
                    group.rows.push_back({std::string(element_name(k_type)) + "/" + std::string(element_name(v_type)) +
                                              " " + layout_name(layout) + (scattered ? " scattered" : ""),
                                          [=] { return store_scenario(rows, 29, k_type, v_type, layout, scattered); }});
                }
    for (const Layout layout : {Layout::Contiguous, Layout::TokenMajor, Layout::Slab, Layout::Paged})
        for (const int staged : {3, 5, 17})
            group.rows.push_back({std::string(layout_name(layout)) + " " + std::to_string(staged) + " staged", [=] {
                return store_scenario(5, 29, ElementType::F16, ElementType::F32, layout, staged == 17, staged);
            }});
    group.rows.push_back({"one row", [] {
        return store_scenario(1, 17, ElementType::F16, ElementType::F16, Layout::Paged, false);
    }});
    return group;
}

}  // namespace

std::vector<Group> attention_groups() {
    return {store_group(),  entries_group(),    rows_group(), visibility_group(),
            staged_group(), sink_shift_group(), range_group(), large_heads_group()};
}

}  // namespace decodescope::conformance
