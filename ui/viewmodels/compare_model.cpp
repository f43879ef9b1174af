#include "ui/viewmodels/compare_model.h"

#include <QCoreApplication>

#include "engine/measure/compare_commentary.h"
#include "engine/model/weight_type.h"
#include "ui/viewmodels/engine_words.h"
#include "ui/viewmodels/format.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(CompareModel)
};

const QString kDash = QStringLiteral("—");

QString milliseconds(const Spread& spread, int count) {
    if (count == 0) return Text::tr("n/a");
    const auto number = [](double micros) { return QString::number(micros / 1000, 'f', 3); };
    if (count == 1) return number(spread.median);
    return Text::tr("%1 (%2 to %3)").arg(number(spread.median), number(spread.lowest), number(spread.highest));
}

QString ratio_text(const PairedTimes& pair) {
    const auto number = [](double ratio) { return QString::number(ratio, 'f', kSpeedUpDigits); };
    return Text::tr("%1 (%2 to %3)").arg(number(pair.ratio), number(pair.low), number(pair.high));
}

QString small_number(double value) { return value == 0 ? QStringLiteral("0") : QString::number(value, 'g', 3); }

QString stop_text(const CompareLane& lane) {
    if (!lane.error.empty()) return QString::fromStdString(lane.error);
    if (lane.stop_reason == "length") return Text::tr("length");
    if (lane.stop_reason == "eos") return Text::tr("end token");
    if (lane.stop_reason == "context_full") return Text::tr("context full");
    return Text::tr("cancelled");
}

QString first_different(const CompareLane& lane, bool reference) {
    if (reference) return kDash;
    return lane.first_different < 0 ? Text::tr("none") : format_count(lane.first_different + 1);
}

QString logit_text(const CompareLane& lane, bool reference) {
    if (reference) return kDash;
    if (lane.max_abs_logit_diff == 0) return Text::tr("0, bit for bit");
    return Text::tr("%1 at %2").arg(small_number(lane.max_abs_logit_diff), format_count(lane.max_diff_length));
}

QString kl_text(const CompareLane& lane, bool reference) {
    if (reference) return kDash;
    if (lane.max_kl == 0) return QStringLiteral("0");
    return Text::tr("%1, mean %2").arg(small_number(lane.max_kl), small_number(lane.mean_kl));
}

// "0.31 · 0.42 · 0.40 %", one for each layer.
QString rows_text(const CompareLane& lane, double LayerFormatError::*part) {
    if (lane.layers.empty()) return kDash;
    QStringList layers;
    for (const LayerFormatError& layer : lane.layers) layers << QString::number(100 * layer.*part, 'g', 2);
    return Text::tr("%1 %").arg(layers.join(QStringLiteral(" · ")));
}

using Lane = const CompareLane&;

// One row after the other, each with a value of every configuration.
class RowMaker {
public:
    explicit RowMaker(const CompareResult& result) : result_(result) {}
    std::vector<CompareTableRow> rows() { return std::move(rows_); }

    void add_times() {
        add(Text::tr("ms per step"), Text::tr("Median of the decode steps, lowest to highest; first uses left out"),
            [](Lane lane, bool) { return milliseconds(lane.decode_micros, lane.decode_steps); });
        add(Text::tr("times the step of 1"),
            Text::tr("Each step against the same step of configuration 1: median, and the middle half"),
            [this](Lane lane, bool reference) {
                const PairedTimes pair = paired_times(lane, result_.lanes.front());
                return reference || pair.steps == 0 ? kDash : ratio_text(pair);
            });
        add(Text::tr("prefill, ms"), Text::tr("Median of the prefills after one that warms up, lowest to highest"),
            [](Lane lane, bool) { return milliseconds(lane.prefill_micros, lane.prefill_repeats); });
    }

    void add_bytes() {
        add(Text::tr("KV used"), Text::tr("Bytes of the tokens that are stored at the end, all layers"),
            [](Lane lane, bool) { return format_bytes(lane.kv_bytes_used); });
        add(Text::tr("KV reserved"), Text::tr("Bytes that were allocated for the cache at the end"),
            [](Lane lane, bool) { return format_bytes(lane.kv_bytes_reserved); });
        add(Text::tr("KV peak"), Text::tr("Highest bytes of the cache at any moment: old and new while it grows"),
            [](Lane lane, bool) { return format_bytes(lane.kv_bytes_peak); });
        add(Text::tr("copied"), Text::tr("Bytes that were moved because the cache grew, over the whole run"),
            [](Lane lane, bool) { return format_bytes(lane.kv_bytes_copied); });
        add(Text::tr("weights"), Text::tr("Bytes of the weights as they are stored"), [](Lane lane, bool) {
            return QStringLiteral("%1, %2").arg(QString::fromStdString(lane.weights), format_bytes(lane.weight_bytes));
        });
    }

    void add_answers() {
        add(Text::tr("largest logit difference"), Text::tr("To configuration 1 on the same tokens, and at which length"),
            logit_text);
        add(Text::tr("KL divergence, nats"),
            Text::tr("Of the next-token probabilities from those of configuration 1: largest, and mean"), kl_text);
        const QString rows_help =
            Text::tr("Relative L2 of the stored rows against those of configuration 1, layer by layer, where the "
                     "formats are what differs");
        add(Text::tr("K rows off"), rows_help, [](Lane lane, bool) { return rows_text(lane, &LayerFormatError::k); });
        add(Text::tr("V rows off"), rows_help, [](Lane lane, bool) { return rows_text(lane, &LayerFormatError::v); });
        add(Text::tr("first different token"),
            Text::tr("Of the new tokens, counted from 1, when each writes on its own"), first_different);
        add(Text::tr("ended by"), Text::tr("Why the text of each ends"),
            [](Lane lane, bool) { return stop_text(lane); });
    }

private:
    template <class Value>
    void add(const QString& title, const QString& help, Value value) {
        CompareTableRow& row = rows_.emplace_back(CompareTableRow{title, help, {}});
        for (const CompareLane& lane : result_.lanes) row.values << value(lane, &lane == &result_.lanes.front());
    }

    const CompareResult& result_;
    std::vector<CompareTableRow> rows_;
};

}  // namespace

QStringList kv_type_choices() {
    // In the order of precision. Whatever the parser knows is offered.
    QStringList known;
    for (const char* name : {"f32", "f16", "bf16", "int8", "int8-kivi"})
        if (parse_kv_format(name).ok()) known << QString::fromLatin1(name);
    return known;
}

CompareChoice choice_of(const CompareConfig& config) {
    CompareChoice choice;
    choice.cache = config.cache;
    const QString kv = QString::fromStdString(to_string(config.kv));
    const auto v_at = kv.indexOf(QLatin1String(",v="));
    const bool apart = kv.startsWith(QLatin1String("k=")) && v_at > 0;
    choice.k = apart ? kv.mid(2, v_at - 2) : kv;
    choice.v = apart ? kv.mid(v_at + 3) : kv;
    choice.weights = QString::fromStdString(to_string(config.weights));
    choice.backend = QString::fromStdString(config.backend);
    return choice;
}

Result<std::vector<CompareConfig>> configs_of(const std::vector<CompareChoice>& choices) {
    std::vector<std::string> texts;
    for (const CompareChoice& choice : choices) {
        QString text = QStringLiteral("cache=%1;kv=%2;backend=%3")
                           .arg(QString::fromStdString(to_string(choice.cache)),
                                choice.k == choice.v ? choice.k : QStringLiteral("k=%1,v=%2").arg(choice.k, choice.v),
                                choice.backend);
        if (!choice.weights.isEmpty()) text += QStringLiteral(";weights=") + choice.weights;
        texts.push_back(text.toStdString());
    }
    return parse_compare_configs(texts);
}

std::vector<CompareTableRow> compare_rows(const CompareResult& result) {
    RowMaker maker(result);
    maker.add_times();
    maker.add_bytes();
    maker.add_answers();
    return maker.rows();
}

QStringList compare_sentences(const CompareResult& result) {
    QStringList lines;
    for (const Sentence& sentence : compare_commentary(result)) lines << translated(sentence);
    return lines;
}

QString marked_text(const CompareLane& lane, const QColor& mark) {
    const auto html = [](const std::string& text) {
        return QString::fromStdString(text).toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>"));
    };
    QString same, first, rest;
    const std::int64_t at = lane.first_different;
    for (std::size_t i = 0; i < lane.pieces.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        (at < 0 || index < at ? same : index == at ? first : rest) += html(lane.pieces[i]);
    }
    if (at < 0) return same;
    // A token whose bytes come with the next one still shows where it stands.
    if (first.isEmpty()) first = QStringLiteral("·");
    return QStringLiteral("%1<span style=\"color:%2\"><b><u>%3</u></b>%4</span>").arg(same, mark.name(), first, rest);
}

}  // namespace decodescope
