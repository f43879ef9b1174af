#include "ui/viewmodels/timing_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <cmath>

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(TimingText)
};

// Three digits that matter, without an exponent between 0.001 and 100,000.
QString three_digits(double value) {
    const double size = std::abs(value);
    if (size >= 100 && size < 1e5) return QString::number(value, 'f', 0);
    return QString::number(value, 'g', 3);
}

QString short_exponent(double value) {
    QString text = QString::number(value, 'g', 2);
    return text.replace(QStringLiteral("e-0"), QStringLiteral("e-"))
        .replace(QStringLiteral("e+0"), QStringLiteral("e"));
}

QString same_answer(const TimingSummary& s) {
    switch (s.same) {
        case SameAnswer::Unknown: return {};
        case SameAnswer::Yes:
            return Text::tr("same answer: yes (largest logit difference %1)").arg(short_exponent(s.max_logit_diff));
        case SameAnswer::Tie:
            return Text::tr("same answer: yes up to rounding (%1); %2 times two tokens were equally likely")
                .arg(short_exponent(s.max_logit_diff))
                .arg(s.compared - s.same_tokens);
        case SameAnswer::No:
            return Text::tr("same answer: no, %1 of %2 tokens differ (largest logit difference %3)")
                .arg(s.compared - s.same_tokens)
                .arg(s.compared)
                .arg(short_exponent(s.max_logit_diff));
        case SameAnswer::ByDesign:
            return Text::tr("same answer: differs by design, %1 of %2 tokens agree (largest logit difference %3)")
                .arg(s.same_tokens)
                .arg(s.compared)
                .arg(short_exponent(s.max_logit_diff));
    }
    return {};
}

QString no_gain(const TimingSummary& s) {
    const QString ratio = three_digits(s.speedup);
    switch (s.no_gain) {
        case NoGain::None: return {};
        case NoGain::RecomputeChosen:
            return Text::tr("No gain: this run recomputes every step. Choose a cache to see the difference.");
        case NoGain::ShortContext:
            return Text::
                tr("No gain yet (%1x): with %2 tokens a pass over all of them costs hardly more than a pass over one.")
                    .arg(ratio)
                    .arg(s.length);
        case NoGain::FixedCost:
            return Text::tr("No gain yet (%1x): what a pass costs whatever its size is most of the time at %2 tokens.")
                .arg(ratio)
                .arg(s.length);
        case NoGain::MemoryBound:
            return Text::tr("No gain yet (%1x): both lanes wait for the weights, which each reads once per pass.")
                .arg(ratio);
        case NoGain::Launches: {
            const QString why =
                Text::tr("Only %1x: on this device a step of a model this small is launches, not bytes; %2 of its %3 are "
                         "the same at any length.")
                    .arg(ratio, milliseconds(s.fixed_micros), milliseconds(s.cached_micros));
            const QString where =
                s.gain_length > 0
                    ? Text::tr("The gain shows from about %1 tokens on, and with a larger model, such as "
                               "synthetic:tinyllama-1.1b.")
                          .arg(s.gain_length)
                    : Text::tr("The gain shows with a larger model, such as synthetic:tinyllama-1.1b, and texts of "
                               "thousands of tokens.");
            return why + QLatin1Char(' ') + where;
        }
    }
    return {};
}

// What a device apart adds to its own time, and its graphs.
void add_device(QStringList& parts, const TimingSummary& s) {
    if (s.gap_micros > 0)
        parts << Text::tr("device %1 + launches and gaps %2 per step")
                     .arg(milliseconds(s.cached_micros), milliseconds(s.gap_micros));
    if (s.graphs > 0) parts << Text::tr("graphs recorded: %1").arg(s.graphs);
}

}  // namespace

QString milliseconds(double micros) { return three_digits(micros / 1e3) + QStringLiteral(" ms"); }
QString seconds(double micros) { return three_digits(micros / 1e6) + QStringLiteral(" s"); }

QString timing_sentence(const TimingSummary& s, bool race_enabled) {
    const QString dot = QStringLiteral(" · ");
    QStringList parts;
    if (s.no_gain != NoGain::None) parts << no_gain(s);
    else if (s.speedup > 0) {
        const QString times =
            s.speedup >= 10 ? QString::number(std::lround(s.speedup)) : QString::number(s.speedup, 'f', 1);
        // The lanes were last measured together some tokens ago: then the sentence says at which length.
        parts << (s.compared_length < s.length ? Text::tr("at %1 tokens: %2x").arg(s.compared_length).arg(times)
                                               : Text::tr("%1x now").arg(times));
    }
    else if (s.cached_micros > 0 && race_enabled)
        parts << Text::tr("%1 per token; the recompute lane has not been measured yet")
                     .arg(milliseconds(s.cached_micros));
    else if (s.cached_micros > 0)
        parts
            << Text::tr("%1 per token. Turn on Race to see what recomputing costs.").arg(milliseconds(s.cached_micros));
    if (s.recompute_total_micros > 0) {
        const QString total =
            s.total_has_derived ? Text::tr("total %1 against %2 [partly derived]") : Text::tr("total %1 against %2");
        parts << total.arg(seconds(s.recompute_total_micros), seconds(s.cached_total_micros));
    }
    add_device(parts, s);
    if (const QString same = same_answer(s); !same.isEmpty()) parts << same;
    return parts.join(dot);
}

}  // namespace decodescope
