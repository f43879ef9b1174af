// The rows of operations on single values and single rows, and of products.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/conformance.h"
#include "tests/support/conformance_rows.h"

namespace decodescope::conformance {
namespace {

constexpr ElementType kTypes[] = {ElementType::F32, ElementType::F16, ElementType::BF16};
constexpr int kRowCounts[] = {1, 2, 3, 5, 17};

std::string type_name(ElementType type) { return std::string(element_name(type)); }

// An operation from `width_in` to the output, on `rows` rows. `add` appends the operations between input and output.
template <class Add>
Scenario one_input(std::uint64_t seed, int rows, int width_in, int width_out, Add add, float spread = 3.0f) {
    Scenario s(seed);
    const int in = s.builder.value("in", width_in), out = s.builder.value("out", width_out);
    s.builder.embed(s.builder.tensor(rows, width_in, ElementType::F32, spread), in);
    add(s, in, out);
    finish_scenario(s, rows, out, width_out);
    return s;
}

template <class Add>
Scenario two_inputs(std::uint64_t seed, int rows, int width, Add add) {
    Scenario s(seed);
    const int a = s.builder.value("a", width), b = s.builder.value("b", width), out = s.builder.value("out", width);
    s.builder.embed(s.builder.tensor(rows, width, ElementType::F32, 4.0f), a);
    s.builder.embed(s.builder.tensor(rows, width, ElementType::F32, 4.0f), b);
    add(s, a, b, out);
    finish_scenario(s, rows, out, width);
    return s;
}

Group embed_group() {
    Group group{"embed", {}};
    for (const ElementType type : kTypes)
        for (const int width : {1, 3, 16, 48, 67}) {
            group.rows.push_back({type_name(type) + " width " + std::to_string(width), [=] {
                Scenario s(1);
                const int out = s.builder.value("out", width);
                s.builder.embed(s.builder.tensor(17, width, type, 100.0f), out);
                finish_scenario(s, 17, out, width);
                s.tolerance = 0.0;
                return s;
            }});
            group.rows.push_back({"scaled " + type_name(type) + " width " + std::to_string(width), [=] {
                Scenario s(1);
                const int out = s.builder.value("out", width);
                s.builder.embed(s.builder.tensor(17, width, type, 100.0f), out);
                s.builder.program.ops.back().scale = 6.3f;
                finish_scenario(s, 17, out, width);
                s.tolerance = 1e-7;
                return s;
            }});
            for (const bool in_place : {false, true})
                group.rows.push_back({"position " + type_name(type) + " width " + std::to_string(width) +
                                          (in_place ? " in place" : ""), [=] {
                    Scenario s = one_input(2, 5, width, width, [&](Scenario& sc, int in, int out) {
                        const int table = sc.builder.tensor(50, width, type, 1.0f);
                        OpDesc& op =
                            sc.builder.op(OpId::PositionEmbed, OpKind::AddPosition, kNone, in, in_place ? in : out);
                        op.weight = table;
                    });
                    if (in_place) retarget_output(s, 0);
                    s.rows.positions = {0, 49, 7, 7, 31};
                    s.tolerance = 1e-7;
                    return s;
                }});
        }
    for (const int width : {1, 31, 32, 67, 300})
        for (const bool in_place : {false, true})
            group.rows.push_back({"position int8 width " + std::to_string(width) + (in_place ? " in place" : ""), [=] {
                Scenario s = one_input(4, 3, width, width, [&](Scenario& sc, int in, int out) {
                    const int table = sc.builder.tensor(50, width, ElementType::F32, 1.0f);
                    sc.builder.op(OpId::PositionEmbed, OpKind::AddPosition, kNone, in, in_place ? in : out).weight =
                        table;
                });
                if (in_place) retarget_output(s, 0);
                s.weight_type = WeightType::Int8;
                s.tolerance = 1e-7;
                return s;
            }});
    // 300 columns: more than the piece that an in-place addition converts at a time.
    group.rows.push_back({"position width 300 in place", [] {
        Scenario s = one_input(3, 3, 300, 300, [&](Scenario& sc, int in, int) {
            const int table = sc.builder.tensor(50, 300, ElementType::F16, 1.0f);
            sc.builder.op(OpId::PositionEmbed, OpKind::AddPosition, kNone, in, in).weight = table;
        });
        retarget_output(s, 0);
        s.tolerance = 1e-7;
        return s;
    }});
    return group;
}

Group norm_group() {
    Group group{"norm", {}};
    for (const OpKind kind : {OpKind::RmsNorm, OpKind::LayerNorm})
        for (const int width : {1, 3, 15, 16, 17, 48, 67, 768})
            for (const int rows : {1, 5, 17}) {
                const std::string name = kind == OpKind::RmsNorm ? "rms" : "layer";
                group.rows.push_back({name + " width " + std::to_string(width) + " rows " + std::to_string(rows), [=] {
                    Scenario s = one_input(4, rows, width, width, [&](Scenario& sc, int in, int out) {
                        const int weight = sc.builder.tensor(width, 1, ElementType::F16, 0.5f, 1.0f);
                        const int bias =
                            kind == OpKind::LayerNorm ? sc.builder.tensor(width, 1, ElementType::F32, 0.5f) : kNone;
                        sc.builder.norm(OpId::AttentionNorm, kind, kNone, in, out, weight, bias);
                    });
                    s.tolerance = 2e-6;
                    return s;
                }});
            }
    for (const int heads : {1, 3})
        for (const int rows : {1, 5, 17})
            group.rows.push_back({"of heads " + std::to_string(heads) + " rows " + std::to_string(rows), [=] {
                constexpr int kHead = 12;
                Scenario s = one_input(14, rows, heads * kHead, heads * kHead, [&](Scenario& sc, int in, int out) {
                    const int weight = sc.builder.tensor(kHead, 1, ElementType::F32, 0.5f, 1.0f);
                    sc.builder.norm(OpId::QueryNorm, OpKind::RmsNorm, kNone, in, out, weight, kNone);
                    sc.builder.program.ops.back().head_dim = kHead;
                });
                s.tolerance = 2e-6;
                return s;
            }});
    return group;
}

// One product, or several of one input, of which output `shown` is read.
Scenario linear_scenario(int rows, int columns, const std::vector<int>& widths, std::size_t shown, ElementType type,
                         bool bias, bool transposed, WeightType keep) {
    Scenario s(static_cast<std::uint64_t>(100 + columns));
    const int in = s.builder.value("in", columns);
    s.builder.embed(s.builder.tensor(rows, columns, ElementType::F32, 1.0f), in);
    std::vector<int> outs;
    for (const int width : widths) {
        const int out = s.builder.value("out", width);
        const int weight = s.builder.tensor(width, columns, type, 1.0f, 0.0f, transposed);
        const int bias_index = bias ? s.builder.tensor(width, 1, type, 1.0f) : kNone;
        s.builder.linear(OpId::QueryProjection, kNone, in, out, weight, bias_index);
        outs.push_back(out);
    }
    finish_scenario(s, rows, outs[shown], widths[shown]);
    s.weight_type = keep;
    return s;
}

Group linear_group() {
    Group group{"linear", {}};
    for (int columns = 1; columns <= 67; ++columns) {
        const int rows = kRowCounts[columns % 5];
        const ElementType type = kTypes[columns % 3];
        const int width = columns % 2 == 0 ? 3 : 48;
        group.rows.push_back({"columns " + std::to_string(columns) + " rows " + std::to_string(rows), [=] {
            return linear_scenario(rows, columns, {width}, 0, type, columns % 4 < 2, false, WeightType::AsInFile);
        }});
    }
    for (const ElementType type : kTypes)
        for (const int rows : {1, 2, 3, 4, 5, 7, 8, 9, 17}) {
            const std::string name = type_name(type) + " rows " + std::to_string(rows);
            group.rows.push_back({name + " bias", [=] {
                return linear_scenario(rows, 96, {131}, 0, type, true, false, WeightType::AsInFile);
            }});
            group.rows.push_back({name + " transposed", [=] {
                return linear_scenario(rows, 33, {37}, 0, type, true, true, WeightType::AsInFile);
            }});
        }
    for (const WeightType keep : {WeightType::F32, WeightType::F16, WeightType::BF16})
        for (const ElementType type : kTypes)
            group.rows.push_back({type_name(type) + " kept as " + std::to_string(static_cast<int>(keep)), [=] {
                return linear_scenario(2, 40, {21}, 0, type, true, false, keep);
            }});
    for (const int rows : {1, 3, 17})
        for (std::size_t shown = 0; shown < 3; ++shown)
            group.rows.push_back(
                {"three of one input, rows " + std::to_string(rows) + ", output " + std::to_string(shown), [=] {
                     return linear_scenario(rows, 48, {60, 20, 20}, shown, ElementType::F16, true, false,
                                            WeightType::AsInFile);
                 }});
    // int8: blocks of 32 columns, the last one short; 600 columns have more blocks than scales are read at once.
    for (const int columns : {1, 7, 16, 31, 32, 33, 48, 63, 64, 95, 96, 600})
        for (const int rows : {1, 2, 3, 5, 8, 9, 17}) {
            const ElementType type = kTypes[columns % 3];
            const int width = rows % 2 == 0 ? 35 : 131;
            group.rows.push_back({"int8 columns " + std::to_string(columns) + " rows " + std::to_string(rows), [=] {
                return linear_scenario(rows, columns, {width}, 0, type, rows % 3 != 0, columns % 2 == 1,
                                       WeightType::Int8);
            }});
        }
    // More rows than one tile, more outputs than one block, more inputs than one piece of a tile.
    group.rows.push_back({"rows 300", [] {
        return linear_scenario(300, 67, {150}, 0, ElementType::F16, true, false, WeightType::AsInFile);
    }});
    group.rows.push_back({"columns 1400", [] {
        Scenario s = linear_scenario(11, 1400, {130}, 0, ElementType::F32, true, false, WeightType::AsInFile);
        s.tolerance = 1e-5;
        return s;
    }});
    return group;
}

std::vector<float> activation_inputs() {
    std::vector<float> values = {0.0f,   -0.0f, 1e-30f, -1e-30f, 1e-6f,   -1e-6f,  20.0f,    -20.0f, 60.0f,
                                 -60.0f, 88.0f, -88.0f, 100.0f,  -100.0f, 1000.0f, -1000.0f, 0.5f,   -0.5f};
    for (int i = 0; i < 120; ++i) values.push_back(-12.0f + 0.2f * static_cast<float>(i));
    return values;  // 138
}

Group activation_group() {
    Group group{"activation", {}};
    group.rows.push_back({"silu over its range", [] {
        Scenario s(5);
        const std::vector<float> x = activation_inputs();
        const int width = static_cast<int>(x.size());
        const int gate = s.builder.value("gate", width), up = s.builder.value("up", width),
                  out = s.builder.value("out", width);
        s.builder.embed(s.builder.tensor_of(1, width, ElementType::F32, x), gate);
        s.builder.embed(s.builder.tensor(1, width, ElementType::F32, 0.3f, 1.0f), up);
        s.builder.op(OpId::Activation, OpKind::SwiGlu, kNone, gate, out).in1 = up;
        finish_scenario(s, 1, out, width);
        s.elementwise = true;
        s.tolerance = 1e-6;
        return s;
    }});
    for (const OpKind kind : {OpKind::GeluTanh, OpKind::GeluErf})
        group.rows.push_back({kind == OpKind::GeluTanh ? "gelu over its range" : "exact gelu over its range", [kind] {
            Scenario s(5);
            const std::vector<float> x = activation_inputs();
            const int width = static_cast<int>(x.size());
            const int in = s.builder.value("in", width), out = s.builder.value("out", width);
            s.builder.embed(s.builder.tensor_of(1, width, ElementType::F32, x), in);
            s.builder.op(OpId::Activation, kind, kNone, in, out);
            finish_scenario(s, 1, out, width);
            s.elementwise = true;
            s.tolerance = 1e-6;
            return s;
        }});
    for (const int width : {1, 3, 17, 48, 67})
        for (const int rows : {1, 17}) {
            const std::string name = " width " + std::to_string(width) + " rows " + std::to_string(rows);
            group.rows.push_back({"swiglu" + name, [=] {
                return two_inputs(6, rows, width, [](Scenario& s, int a, int b, int out) {
                    s.builder.op(OpId::Activation, OpKind::SwiGlu, kNone, a, out).in1 = b;
                });
            }});
            group.rows.push_back({"geglu" + name, [=] {
                return two_inputs(6, rows, width, [](Scenario& s, int a, int b, int out) {
                    s.builder.op(OpId::Activation, OpKind::GeGlu, kNone, a, out).in1 = b;
                });
            }});
            group.rows.push_back({"exact gelu" + name, [=] {
                return one_input(8, rows, width, width, [](Scenario& s, int in, int out) {
                    s.builder.op(OpId::Activation, OpKind::GeluErf, kNone, in, out);
                });
            }});
            group.rows.push_back({"residual" + name, [=] {
                Scenario s = two_inputs(7, rows, width, [](Scenario& sc, int a, int b, int out) {
                    sc.builder.op(OpId::AttentionResidual, OpKind::Residual, kNone, a, out).in1 = b;
                });
                s.tolerance = 0.0;
                return s;
            }});
            group.rows.push_back({"gelu" + name, [=] {
                return one_input(8, rows, width, width, [](Scenario& s, int in, int out) {
                    s.builder.op(OpId::Activation, OpKind::GeluTanh, kNone, in, out);
                });
            }});
        }
    return group;
}

// Products followed by what a backend may fuse with them.
Scenario fused_scenario(OpKind kind, int rows, bool swapped) {
    Scenario s(9);
    const int in = s.builder.value("in", 48), a = s.builder.value("a", 67), b = s.builder.value("b", 67);
    const int out = s.builder.value("out", 67);
    s.builder.embed(s.builder.tensor(rows, 48, ElementType::F32, 1.0f), in);
    const auto product = [&](int to) {
        const int weight = s.builder.tensor(67, 48, ElementType::F16, 0.3f);
        s.builder.linear(OpId::UpProjection, kNone, in, to, weight, s.builder.tensor(67, 1, ElementType::F32, 0.3f));
    };
    if (kind == OpKind::Residual) s.builder.embed(s.builder.tensor(rows, 67, ElementType::F32, 1.0f), b);
    product(a);
    if (kind == OpKind::SwiGlu || kind == OpKind::GeGlu) product(b);
    if (kind == OpKind::GeluTanh || kind == OpKind::GeluErf) {
        s.builder.op(OpId::Activation, kind, kNone, a, out);
    } else {
        s.builder.op(OpId::Activation, kind, kNone, swapped ? b : a, kind == OpKind::Residual ? b : out).in1 =
            swapped ? a : b;
    }
    finish_scenario(s, rows, kind == OpKind::Residual ? b : out, 67);
    return s;
}

Group fused_group() {
    Group group{"fused", {}};
    for (const int rows : {1, 2, 5, 8, 9, 17}) {
        const std::string name = " rows " + std::to_string(rows);
        group.rows.push_back(
            {"products and gelu" + name, [=] { return fused_scenario(OpKind::GeluTanh, rows, false); }});
        group.rows.push_back(
            {"products and exact gelu" + name, [=] { return fused_scenario(OpKind::GeluErf, rows, false); }});
        group.rows.push_back({"gate, up, geglu" + name, [=] { return fused_scenario(OpKind::GeGlu, rows, false); }});
        for (const bool swapped : {false, true}) {
            const std::string order = swapped ? " swapped" : "";
            group.rows.push_back(
                {"gate, up, swiglu" + name + order, [=] { return fused_scenario(OpKind::SwiGlu, rows, swapped); }});
            group.rows.push_back({"product and residual" + name + order, [=] {
                return fused_scenario(OpKind::Residual, rows, swapped);
            }});
        }
    }
    return group;
}

Scenario rope_scenario(int rows, int heads, int head_dim, int rotary_dim, float theta, bool in_place,
                       std::int32_t position) {
    Scenario s = one_input(10, rows, heads * head_dim, heads * head_dim, [&](Scenario& sc, int in, int out) {
        OpDesc& op = sc.builder.op(OpId::RotateQuery, OpKind::Rope, kNone, in, in_place ? in : out);
        op.heads = op.kv_heads = heads;
        op.head_dim = head_dim;
        op.rope = {theta, rotary_dim};
    });
    if (in_place) retarget_output(s, 0);
    for (int r = 0; r < rows; ++r) s.rows.positions[static_cast<std::size_t>(r)] = position + 37 * r;
    s.tolerance = 1e-6;
    return s;
}

Group rope_group() {
    Group group{"rope", {}};
    for (const int head_dim : {2, 16, 20, 64})
        for (const bool in_place : {true, false})
            for (const int rows : {1, 5})
                group.rows.push_back({"head " + std::to_string(head_dim) + " rows " + std::to_string(rows) +
                                          (in_place ? " in place" : ""), [=] {
                    return rope_scenario(rows, 3, head_dim, head_dim, 10000.0f, in_place, 5);
                }});
    group.rows.push_back({"first 8 of 20", [] { return rope_scenario(3, 2, 20, 8, 10000.0f, false, 300); }});
    group.rows.push_back(
        {"theta 500000 at 100000", [] { return rope_scenario(3, 2, 16, 16, 500000.0f, true, 100000); }});
    group.rows.push_back({"divided frequencies", [] {
        Scenario s = rope_scenario(3, 2, 20, 8, 10000.0f, false, 300);
        for (OpDesc& op : s.builder.program.ops)
            if (op.kind == OpKind::Rope) op.rope.divisors = {1.0f, 1.5f, 4.0f, 8.0f};
        return s;
    }});
    return group;
}

Group select_group() {
    Group group{"select", {}};
    const std::vector<std::vector<std::int32_t>> picks = {{0}, {4}, {0, 4}, {1, 2, 3}, {0, 1, 2, 3, 4}};
    for (const auto& picked : picks)
        group.rows.push_back({std::to_string(picked.size()) + " from " + std::to_string(picked.front()), [=] {
            Scenario s(11);
            const int out = s.builder.value("out", 48);
            s.builder.embed(s.builder.tensor(5, 48, ElementType::F32, 1.0f), out);
            finish_scenario(s, 5, out, 48);
            s.rows.logits_rows = picked;
            s.tolerance = 0.0;
            return s;
        }});
    return group;
}

}  // namespace

void finish_scenario(Scenario& s, int rows, int shown, int width) {
    s.builder.program.vocabulary = width;
    s.builder.program.logits_value = s.builder.value("logits", width, true);
    s.builder.select(shown, s.builder.program.logits_value);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows));
    std::iota(tokens.begin(), tokens.end(), 0);
    s.rows = test::StepCase::causal(tokens, 0);
}

void retarget_output(Scenario& s, int value) { s.builder.program.ops.back().in0 = value; }

const std::vector<Group>& groups() {
    static const std::vector<Group> all = [] {
        std::vector<Group> made = {embed_group(), norm_group(), linear_group(), activation_group(),
                                   fused_group(), rope_group(), select_group()};
        for (Group& group : attention_groups()) made.push_back(std::move(group));
        return made;
    }();
    return all;
}

}  // namespace decodescope::conformance
