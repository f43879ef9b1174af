#include "ui/viewmodels/model_card.h"

#include <QCoreApplication>
#include <cmath>

#include "engine/measure/what_if.h"
#include "ui/viewmodels/format.h"

namespace decodescope {
namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(ModelCard)
};

QString count(std::int64_t n) { return format_count(n); }
QString shape(std::int64_t rows, std::int64_t columns) {
    return QStringLiteral("%1 × %2").arg(count(rows), count(columns));
}
// A number of the configuration, short: "1,000,000", "0.0625".
QString number(float value) {
    const double exact = static_cast<double>(value);
    if (exact == std::floor(exact) && std::abs(exact) < 1e15) return count(static_cast<std::int64_t>(exact));
    return QString::number(exact, 'g', 5);
}

// Parameters of one layer, by what they belong to.
struct LayerParameters {
    std::int64_t norm = 0;                       // one of width D
    std::int64_t query = 0, key = 0, value = 0;  // with biases
    std::int64_t head_norms = 0, output = 0, feed_forward = 0;
    std::int64_t norms = 0;                      // all of width D

    explicit LayerParameters(const ModelConfig& c) {
        norm = (c.layer_norms() ? 2 : 1) * c.hidden;
        norms = (c.norms_after() ? 4 : 2) * norm;
        const std::int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
        query = c.hidden * q + (c.attention_biases() ? q : 0);
        key = value = c.hidden * kv + (c.attention_biases() ? kv : 0);
        head_norms = c.head_norms() ? 2 * c.head_dim : 0;
        output = q * c.hidden + (c.linear_biases() ? c.hidden : 0);
        feed_forward = (c.gated() ? 3 : 2) * c.hidden * c.feed_forward + (c.linear_biases() ? c.feed_forward + c.hidden : 0);
    }
    std::int64_t attention() const { return query + key + value + head_norms + output; }
};

class Builder {
public:
    Builder(const ModelConfig& config, const KvFormat& format) : c_(config), format_(format), of_layer_(config) {}

    ModelCard build() {
        card_.name = QString::fromStdString(c_.name);
        card_.parameters = c_.parameters();
        card_.summary = Text::tr("%1 · %2 layers · %3 wide · %4 parameters")
                            .arg(QString::fromUtf8(family_name(c_.family).data()), count(c_.layers), count(c_.hidden),
                                 count(card_.parameters));
        card_.parallel = c_.parallel_blocks;
        card_.query_heads_per_kv = c_.kv_heads > 0 ? c_.heads / c_.kv_heads : 1;
        for (std::int64_t layer = 0; layer < c_.layers; ++layer) card_.local.push_back(layer_window(c_, layer) > 0);
        card_.window = local_kind(c_).window;
        add_embedding();
        add_attention();
        add_feed_forward();
        add_head();
        add_parts();
        add_cache();
        return std::move(card_);
    }

private:
    QString norm_name() const { return c_.layer_norms() ? QStringLiteral("LayerNorm") : QStringLiteral("RMSNorm"); }
    CardBox norm(const QString& when) const {
        return {norm_name(), when, of_layer_.norm, QStringLiteral("norm"), {}};
    }

    void add_embedding() {
        QString detail = Text::tr("%1, a row for each token").arg(shape(c_.vocabulary, c_.hidden));
        if (c_.embedding_scale != 1.0f) detail += Text::tr(", times %1").arg(number(c_.embedding_scale));
        card_.before.push_back(
            {Text::tr("Token embedding"), detail, c_.vocabulary * c_.hidden, QStringLiteral("embedding"), {}});
        if (c_.learned_positions())
            card_.before.push_back({Text::tr("Learned positions"),
                                    Text::tr("%1, added to the token's row").arg(shape(c_.context, c_.hidden)),
                                    c_.context * c_.hidden, QStringLiteral("position"), {}});
    }

    QString sharing() const {
        if (card_.query_heads_per_kv == 1) return Text::tr("each query head has its own K and V");
        return c_.kv_heads == 1
                   ? Text::tr("all %1 query heads share one K and V").arg(count(c_.heads))
                   : Text::tr("%1 query heads share each K and V").arg(count(card_.query_heads_per_kv));
    }

    void add_attention() {
        card_.attention.push_back(norm(Text::tr("before attention")));
        const QString heads = shape(c_.heads, c_.head_dim), kv = shape(c_.kv_heads, c_.head_dim);
        QString how = sharing();
        if (c_.attention_biases()) how += Text::tr(", with biases");
        card_.attention.push_back({Text::tr("Q, K and V"), how, of_layer_.query + of_layer_.key + of_layer_.value,
                                   QStringLiteral("kv-head"),
                                   {{QStringLiteral("Q"), heads, CardTone::Query, card_.query_heads_per_kv > 1 ? 2 : 1},
                                    {QStringLiteral("K"), kv, CardTone::Key, 1},
                                    {QStringLiteral("V"), kv, CardTone::Value, 1}}});
        if (c_.head_norms())
            card_.attention.push_back({Text::tr("QK norm"),
                                       Text::tr("RMSNorm of each head of Q and of K, %1 wide").arg(c_.head_dim),
                                       of_layer_.head_norms, QStringLiteral("qk-norm"), {}});
        add_rotation();
        card_.attention.push_back({Text::tr("Attention"), reach(), 0, QStringLiteral("attention"), {}});
        card_.attention.push_back({Text::tr("Output"),
                                   QStringLiteral("%1 → %2").arg(count(c_.heads * c_.head_dim), count(c_.hidden)) +
                                       (c_.linear_biases() ? Text::tr(", with a bias") : QString()),
                                   of_layer_.output, {}, {}});
        if (c_.norms_after()) card_.attention.push_back(norm(Text::tr("after attention, before it is added")));
    }

    void add_rotation() {
        if (c_.learned_positions()) return;
        QString detail = Text::tr("base %1").arg(number(c_.rope_theta));
        if (c_.local_rope_theta > 0 && card_.window > 0)
            detail += Text::tr(", in local layers %1").arg(number(c_.local_rope_theta));
        if (c_.rotary_dim > 0 && c_.rotary_dim < c_.head_dim)
            detail += Text::tr(", the first %1 of %2 dimensions").arg(c_.rotary_dim).arg(c_.head_dim);
        if (!c_.rope_divisors.empty()) detail += Text::tr(", frequencies stretched for long texts");
        card_.attention.push_back({Text::tr("Rotation of Q and K"), detail, 0, QStringLiteral("rope"), {}});
    }

    QString reach() const {
        QStringList words;
        for (const LayerKind& kind : layer_kinds(c_))
            words << (!kind.local() && kind.layers == c_.layers ? Text::tr("every layer sees all tokens so far")
                      : !kind.local() ? Text::tr("%1 global layers see all tokens so far").arg(kind.layers)
                      : kind.layers == c_.layers
                          ? Text::tr("every layer sees the last %1 tokens").arg(count(kind.window))
                          : Text::tr("%1 local layers see the last %2").arg(kind.layers).arg(count(kind.window)));
        QString text = words.join(QStringLiteral("; "));
        if (c_.query_scale > 0) text += Text::tr("; scores times %1").arg(number(c_.query_scale));
        else if (c_.family != Family::Gemma3) text += Text::tr("; scores times 1 / √%1").arg(c_.head_dim);
        return text;
    }

    void add_feed_forward() {
        const bool exact = c_.family == Family::GptNeoX;
        const QString activation = c_.family == Family::Gemma3 ? QStringLiteral("GeGLU")
                                   : c_.gated()                ? QStringLiteral("SwiGLU")
                                   : exact                     ? QStringLiteral("GELU")
                                                               : QStringLiteral("GELU (tanh)");
        card_.feed_forward.push_back(norm(Text::tr("before the MLP")));
        const QString up = QStringLiteral("%1 → %2").arg(count(c_.hidden), count(c_.feed_forward)),
                      down = QStringLiteral("%1 → %2").arg(count(c_.feed_forward), count(c_.hidden));
        CardBox box{Text::tr("MLP, %1").arg(activation),
                    c_.linear_biases() ? Text::tr("with biases") : QString(),
                    of_layer_.feed_forward, QStringLiteral("mlp"), {}};
        if (c_.gated()) box.cells.push_back({Text::tr("gate"), up});
        box.cells.push_back({Text::tr("up"), up});
        box.cells.push_back({Text::tr("down"), down});
        card_.feed_forward.push_back(std::move(box));
        if (c_.norms_after()) card_.feed_forward.push_back(norm(Text::tr("after the MLP, before it is added")));
    }

    void add_head() {
        card_.after.push_back({norm_name(), Text::tr("final"), of_layer_.norm, QStringLiteral("norm"), {}});
        card_.after.push_back({Text::tr("Head"),
                               c_.tied_head ? Text::tr("the token embedding again (tied): %1 logits")
                                                  .arg(count(c_.vocabulary))
                                            : Text::tr("%1: a logit for each token").arg(shape(c_.vocabulary, c_.hidden)),
                               c_.tied_head ? 0 : c_.vocabulary * c_.hidden,
                               c_.tied_head ? QStringLiteral("tied-head") : QStringLiteral("logits"), {}});
    }

    void add_parts() {
        const auto add = [&](const QString& name, std::int64_t parameters, CardTone tone = CardTone::Plain) {
            if (parameters > 0) card_.parts.push_back({name, parameters, tone});
        };
        add(c_.tied_head ? Text::tr("token embedding and head, one matrix") : Text::tr("token embedding"),
            c_.vocabulary * c_.hidden);
        add(Text::tr("positions"), c_.learned_positions() ? c_.context * c_.hidden : 0);
        add(Text::tr("Q and output"), c_.layers * (of_layer_.query + of_layer_.output), CardTone::Query);
        add(QStringLiteral("K"), c_.layers * of_layer_.key, CardTone::Key);
        add(QStringLiteral("V"), c_.layers * of_layer_.value, CardTone::Value);
        add(Text::tr("MLP"), c_.layers * of_layer_.feed_forward);
        add(Text::tr("norms"), c_.layers * (of_layer_.norms + of_layer_.head_norms) + of_layer_.norm);
        add(Text::tr("head"), c_.tied_head ? 0 : c_.vocabulary * c_.hidden);
    }

    void add_cache() {
        const KvShape all = KvShape::of(c_, format_);
        card_.bytes_per_token = format_.has_residual() ? -1 : all.layers * all.entry_bytes();
        card_.bytes_at_context = kept_bytes(c_, format_, c_.context);
        for (const LayerKind& kind : layer_kinds(c_)) {
            KvShape shape_of_kind = all;
            shape_of_kind.layers = static_cast<int>(kind.layers);
            const std::int64_t rows = kind.rows(c_.context);
            card_.kinds.push_back({kind, rows, shape_of_kind.stored_bytes(rows)});
        }
        add_cache_lines(all);
    }

    // "2 (K and V) · layers 18 · KV heads 1 · width 256 · bytes 2", or with the rows of K and V apart.
    QString row_formula(const KvShape& s) const {
        if (s.format.k == s.format.v && s.format.k != ElementType::I8)
            return Text::tr("2 (K and V) · layers %1 · KV heads %2 · width %3 · bytes %4")
                .arg(s.layers)
                .arg(s.kv_heads)
                .arg(s.head_dim)
                .arg(element_bytes(s.format.k));
        return Text::tr("layers %1 · KV heads %2 · (bytes of a K row %3 + of a V row %4)")
            .arg(s.layers)
            .arg(s.kv_heads)
            .arg(s.head_bytes(KvPart::K, 1))
            .arg(s.head_bytes(KvPart::V, 1));
    }

    void add_cache_lines(const KvShape& all) {
        QStringList& lines = card_.cache_lines;
        if (card_.bytes_per_token >= 0) {
            lines << Text::tr("%1 = %2 per token").arg(row_formula(all), format_bytes_exact(card_.bytes_per_token));
            QStringList rows;
            for (const CardKind& kind : card_.kinds)
                rows << (card_.kinds.size() == 1 && !kind.kind.local()
                             ? Text::tr("%1 layers × %2 rows")
                         : kind.kind.local() ? Text::tr("%1 local layers × %2 rows")
                                             : Text::tr("%1 global layers × %2 rows"))
                            .arg(kind.kind.layers)
                            .arg(count(kind.rows_at_context));
            lines << Text::tr("at full context, %1 tokens: (%2) × %3 = %4")
                         .arg(count(c_.context), rows.join(QStringLiteral(" + ")),
                              format_bytes_exact(all.entry_bytes()), format_bytes(card_.bytes_at_context));
        } else {
            lines << Text::tr("at full context, %1 tokens, as %2: %3")
                         .arg(count(c_.context), QString::fromStdString(to_string(format_)),
                              format_bytes(card_.bytes_at_context));
        }
        if (card_.window > 0 && card_.bytes_per_token > 0)
            lines << Text::tr("%1 if no layer had a window")
                         .arg(format_bytes(card_.bytes_per_token * c_.context));
        if (card_.query_heads_per_kv > 1)
            lines << Text::tr("%1 times as much if every query head had its own K and V").arg(card_.query_heads_per_kv);
    }

    const ModelConfig& c_;
    KvFormat format_;
    LayerParameters of_layer_;
    ModelCard card_;
};

}  // namespace

ModelCard model_card(const ModelConfig& config, const KvFormat& format) { return Builder(config, format).build(); }

ExportTable model_card_table(const ModelCard& card) {
    ExportTable table;
    table.title = "model card";
    table.columns = {"part", "layers", "window", "parameters", "rows_at_context", "kv_bytes_at_context"};
    for (const CardPart& part : card.parts)
        table.rows.push_back({part.name.toStdString(), std::monostate{}, std::monostate{}, part.parameters,
                              std::monostate{}, std::monostate{}});
    for (const CardKind& kind : card.kinds)
        table.rows.push_back({std::string(kind.kind.local() ? "cache of local layers" : "cache of global layers"),
                              kind.kind.layers, kind.kind.window, std::monostate{}, kind.rows_at_context,
                              kind.bytes_at_context});
    return table;
}

QString model_card_words(const ModelCard& card) {
    QStringList words{card.name, card.summary};
    const auto add = [&](const std::vector<CardBox>& boxes) {
        for (const CardBox& box : boxes) {
            QString text = box.detail.isEmpty() ? box.title : QStringLiteral("%1: %2").arg(box.title, box.detail);
            for (const CardCell& cell : box.cells) text += QStringLiteral(", %1 %2").arg(cell.title, cell.detail);
            words << text;
        }
    };
    add(card.before);
    words << Text::tr("%1 times:").arg(card.local.size());
    add(card.attention);
    add(card.feed_forward);
    add(card.after);
    words << card.cache_lines;
    return words.join(QStringLiteral(". "));
}

}  // namespace decodescope
