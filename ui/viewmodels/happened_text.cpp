#include "ui/viewmodels/happened_text.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "ui/viewmodels/format.h"
#include "ui/viewmodels/timing_model.h"
#include "ui/viewmodels/token_text.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(HappenedText)
};

QString work_saved(const RunFacts& facts, const StepFacts& step) {
    const std::int64_t length = step.first_row + step.row_count;
    const double ratio = step.flops > 0 ? static_cast<double>(pass_flops(facts.config, 0, length)) / static_cast<double>(step.flops) : 0;
    if (ratio < 1.05) return Text::tr("Without the cache: %1 tokens through every layer.").arg(length);
    const QString times = ratio < 10 ? QString::number(ratio, 'f', 1) : QString::number(std::lround(ratio));
    return Text::tr("Without the cache: %1 tokens through every layer, %2 times the products [derived].").arg(length).arg(times);
}

void decode_sentences(const RunFacts& facts, const StepFacts& step, QStringList& lines) {
    const int layers = static_cast<int>(facts.config.layers);
    if (step.kv.tokens_stored == 0) {  // nothing is kept
        const int length = step.first_row + step.row_count;
        lines << Text::tr("Computed Q, K, V for all %1 tokens in %2 layers, %3 of them once more.").arg(length).arg(layers).arg(length - 1);
        lines << Text::tr("Kept nothing: the next step computes all of them again.");
        return;
    }
    lines << (step.row_count == 1 ? Text::tr("Computed Q, K, V for 1 token in %1 layers.").arg(layers)
                                  : Text::tr("Computed Q, K, V for %1 tokens in %2 layers.").arg(step.row_count).arg(layers));
    lines << Text::tr("Read %1 cached rows per layer, wrote %2.").arg(std::max<std::int64_t>(0, step.kv.rows_read - step.kv.rows_written)).arg(step.kv.rows_written);
    lines << work_saved(facts, step);
}

void prefill_sentences(const RunFacts& facts, const StepFacts& step, QStringList& lines) {
    const int layers = static_cast<int>(facts.config.layers);
    if (step.phase == Phase::Refeed) lines << Text::tr("Fed %1 tokens again, because the settings changed.").arg(step.row_count);
    else lines << Text::tr("Computed Q, K, V for all %1 prompt tokens at once, in %2 layers.").arg(step.row_count).arg(layers);
    if (step.kv.tokens_stored == 0) lines << Text::tr("Kept nothing: the next step computes all of them again.");
    else lines << Text::tr("Wrote %1 rows per layer. From here on each step adds one.").arg(step.kv.rows_written);
}

void events(const StepFacts& step, QStringList& lines) {
    if (step.kv.copied_bytes > 0)
        lines << Text::tr("Grew the cache: copied %1 into a new buffer, then freed the old one.").arg(format_bytes(step.kv.copied_bytes));
    if (step.evicted.empty()) return;
    QStringList positions;
    constexpr std::size_t kNamed = 6;
    for (std::size_t i = 0; i < std::min(kNamed, step.evicted.size()); ++i) positions << QString::number(step.evicted[i].position);
    if (step.evicted.size() > kNamed) positions << QStringLiteral("…");
    if (step.evicted.size() == 1) lines << Text::tr("Evicted one row: position %1.").arg(positions.front());
    else lines << Text::tr("Evicted %1 rows: position %2.").arg(step.evicted.size()).arg(positions.join(QStringLiteral(", ")));
}

QString choice(const RunRecording& recording, const StepFacts& step) {
    if (step.sampled_token < 0) return {};
    const QString token = token_label(recording.token_display(step.sampled_token), false).text;
    for (std::size_t i = 0; i < step.top.size(); ++i)
        if (step.top[i].token == step.sampled_token)
            return i == 0 ? Text::tr("Chose “%1”, the most likely token.").arg(token)
                          : Text::tr("Drew “%1”, number %2 by probability.").arg(token).arg(i + 1);
    return Text::tr("Drew “%1”, which is not among the ten most likely.").arg(token);
}

QString stop_words(const std::string& reason) {
    if (reason == "eos") return Text::tr("The text ended: the model chose its end token.");
    if (reason == "length") return Text::tr("Stopped: as many tokens as were asked for.");
    if (reason == "context_full") return Text::tr("Stopped: the model's context is full.");
    if (reason == "cancelled") return Text::tr("Stopped on request.");
    return {};
}

}  // namespace

QString happened_subtitle(const StepFacts& step) {
    switch (step.phase) {
        case Phase::Prefill: return Text::tr("step %1, prefill").arg(step.index);
        case Phase::Decode: return Text::tr("step %1, decode").arg(step.index);
        case Phase::Refeed: return Text::tr("step %1, fed again").arg(step.index);
    }
    return {};
}

QStringList happened_sentences(const RunRecording& recording, const StepFacts& step) {
    QStringList lines;
    if (step.phase == Phase::Decode) decode_sentences(recording.facts(), step, lines);
    else prefill_sentences(recording.facts(), step, lines);
    events(step, lines);
    if (const QString chosen = choice(recording, step); !chosen.isEmpty()) lines << chosen;
    if (const QString stop = stop_words(step.stop_reason); !stop.isEmpty()) lines << stop;
    constexpr int kMost = 5;
    while (lines.size() > kMost) lines.removeAt(lines.size() - 2);
    return lines;
}

}  // namespace decodescope
