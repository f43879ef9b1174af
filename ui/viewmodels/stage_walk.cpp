#include "ui/viewmodels/stage_walk.h"

#include <QCoreApplication>
#include <map>
#include <optional>
#include <utility>

#include "ui/viewmodels/format.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(StageWalk)
};

// The chip under which a stage of the backend is shown. A fused stage has the names of its parts joined; the first one
// counts.
std::optional<WalkStage> stage_of(const std::string& name) {
    // In the order in which a layer runs, longer names before those they contain.
    static constexpr std::pair<const char*, WalkStage> names[] = {
        {"attention norm", WalkStage::Norm},        {"norm after attention", WalkStage::Output},
        {"attention residual", WalkStage::Output},  {"norm after feed-forward", WalkStage::Mlp},
        {"feed-forward", WalkStage::Mlp},           {"final norm", WalkStage::Logits},
        {"select rows", WalkStage::Logits},         {"logits", WalkStage::Logits},
        {"embed", WalkStage::Embed},                {"position", WalkStage::Embed},
        {"cache store", WalkStage::Store},          {"attend", WalkStage::Attend},
        {"output", WalkStage::Output},              {"gate", WalkStage::Mlp},
        {"up", WalkStage::Mlp},                     {"activation", WalkStage::Mlp},
        {"down", WalkStage::Mlp},                   {"rotate", WalkStage::Qkv},
        {"Q", WalkStage::Qkv},                      {"K", WalkStage::Qkv}};
    std::size_t best = std::string::npos;
    std::optional<WalkStage> found;
    for (const auto& [key, stage] : names) {
        const std::size_t at = name.find(key);
        if (at < best) {
            best = at;
            found = stage;
        }
    }
    return found;
}

bool has_cache(const RunFacts& facts) { return facts.cache_spec.rfind("recompute", 0) != 0; }

struct Times {
    std::map<std::pair<int, WalkStage>, double> micros;  // (layer, stage)
};

Times collect(const RunFacts& facts, const StepFacts& step) {
    Times times;
    for (const OpRecord& op : step.ops) {
        if (op.stage < 0 || op.stage >= static_cast<int>(facts.stages.size())) continue;
        const auto index = static_cast<std::size_t>(op.stage);
        const auto stage = stage_of(facts.stages[index]);
        if (!stage) continue;
        const int layer = index < facts.stage_layers.size() ? facts.stage_layers[index] : kNone;
        times.micros[{layer, *stage}] += op.micros;
    }
    return times;
}

QString shape(std::initializer_list<std::int64_t> sizes) {
    QStringList parts;
    for (std::int64_t size : sizes) parts << QString::number(size);
    return QLatin1Char('[') + parts.join(QStringLiteral(", ")) + QLatin1Char(']');
}

QString shapes(const ModelConfig& c, const StepFacts& step, WalkStage stage) {
    // Of more passes than one, the last is shown: how many rows were read is known of that one.
    const std::int64_t rows = step.passes > 1 ? step.last_pass_rows : step.row_count,
                       entries = step.kv.rows_read > 0 ? step.kv.rows_read : step.first_row + step.row_count;
    const QString hidden = shape({rows, c.hidden}), kv = shape({rows, c.kv_heads, c.head_dim});
    switch (stage) {
        case WalkStage::Embed: return Text::tr("token ids %1 → hidden %2").arg(shape({rows}), hidden);
        case WalkStage::Norm: return Text::tr("hidden %1 → normed %1").arg(hidden);
        case WalkStage::Qkv:
            return Text::tr("normed %1 → q %2 · k %3 · v %3").arg(hidden, shape({rows, c.heads, c.head_dim}), kv);
        case WalkStage::Store:
            return Text::tr("k %1 · v %1 → cache rows %2").arg(kv, shape({entries, c.kv_heads, c.head_dim}));
        case WalkStage::Attend:
            return Text::tr("q %1 · K %2 → weights %3 · V %2 → %4")
                .arg(shape({rows, c.heads, c.head_dim}), shape({entries, c.kv_heads, c.head_dim}),
                     shape({c.heads, rows, entries}), shape({rows, c.heads, c.head_dim}));
        case WalkStage::Output:
            return Text::tr("heads %1 → added to hidden %2").arg(shape({rows, c.heads * c.head_dim}), hidden);
        case WalkStage::Mlp:
            return Text::tr("hidden %1 → %2 → added to hidden %1").arg(hidden, shape({rows, c.feed_forward}));
        case WalkStage::Logits:
            return Text::tr("last hidden row %1 → logits %2").arg(shape({1, c.hidden}), shape({1, c.vocabulary}));
        case WalkStage::Sample: return Text::tr("logits %1 → one token").arg(shape({1, c.vocabulary}));
    }
    return {};
}

}  // namespace

QString walk_stage_name(WalkStage stage) {
    switch (stage) {
        case WalkStage::Embed: return Text::tr("embed");
        case WalkStage::Norm: return Text::tr("norm");
        case WalkStage::Qkv: return Text::tr("QKV");
        case WalkStage::Store: return Text::tr("store");
        case WalkStage::Attend: return Text::tr("attend");
        case WalkStage::Output: return Text::tr("output");
        case WalkStage::Mlp: return Text::tr("MLP");
        case WalkStage::Logits: return Text::tr("logits");
        case WalkStage::Sample: return Text::tr("sample");
    }
    return {};
}

std::vector<WalkMoment> stage_walk(const RunFacts& facts, const StepFacts& step) {
    const Times times = collect(facts, step);
    std::vector<WalkMoment> walk;
    const auto add = [&](WalkStage stage, int layer) {
        WalkMoment moment{stage, layer, -1, false};
        if (const auto at = times.micros.find({layer, stage}); at != times.micros.end()) moment.micros = at->second;
        else if (!step.ops.empty() && stage != WalkStage::Sample) moment.shared = true;
        walk.push_back(moment);
    };
    add(WalkStage::Embed, -1);
    for (int layer = 0; layer < facts.config.layers; ++layer)
        for (WalkStage stage :
             {WalkStage::Norm, WalkStage::Qkv, WalkStage::Store, WalkStage::Attend, WalkStage::Output, WalkStage::Mlp})
            if (stage != WalkStage::Store || has_cache(facts)) add(stage, layer);
    add(WalkStage::Logits, -1);
    add(WalkStage::Sample, -1);
    return walk;
}

QString walk_sentence(const RunFacts& facts, const StepFacts& step, const WalkMoment& moment) {
    const QString name = walk_stage_name(moment.stage);
    QString text =
        moment.layer >= 0 ? Text::tr("%1, layer %2: ").arg(name).arg(moment.layer) : Text::tr("%1: ").arg(name);
    text += shapes(facts.config, step, moment.stage);
    if (step.passes > 1) text += QStringLiteral(" · ") + Text::tr("the last of %1 passes").arg(step.passes);
    if (moment.micros >= 0)
        text += QStringLiteral(" · ") + Text::tr("%1 [measured]").arg(format_micros(moment.micros));
    else if (moment.shared) text += QStringLiteral(" · ") + Text::tr("timed together with the stage before or after");
    return text;
}

}  // namespace decodescope
