#include "ui/widgets/sweep_chart.h"

#include <QCoreApplication>
#include <QStringList>
#include <cmath>
#include <map>

#include "engine/measure/sweep_commentary.h"
#include "ui/viewmodels/engine_words.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(SweepChart)
};

ChartSeries fitted(const PowerLawFit& fit, const ChartSeries& measured) {
    ChartSeries curve;
    curve.role = measured.role;
    curve.line = true;
    for (std::size_t i = 0; i < measured.x.size(); ++i) {
        curve.x.push_back(measured.x[i]);
        curve.y.push_back(fit.factor * std::pow(measured.x[i], fit.exponent));
    }
    return curve;
}

}  // namespace

ChartSpec sweep_chart(const SweepResult& result, bool log_axes) {
    ChartSpec spec;
    const int repeats = result.rows.empty() ? 0 : result.rows.front().repeats;
    spec.y_title = repeats > 1 ? Text::tr("ms per token, median of %1").arg(repeats) : Text::tr("ms per token");
    spec.log_x = spec.log_y = log_axes;
    std::vector<QString> names;
    std::map<QString, std::string> cache_of;
    for (const SweepRow& row : result.rows) {
        if (row.phase == "prefill") continue;
        const QString name = QString::fromStdString(lane_name(result, row.cache, row.kv_type));
        auto at = std::find(names.begin(), names.end(), name);
        if (at == names.end()) {
            names.push_back(name);
            at = names.end() - 1;
            cache_of[name] = row.cache;
            ChartSeries series;
            const bool recompute = row.phase == "recompute";
            series.role = recompute ? Role::Recompute : Role::Cached;
            series.mark = recompute ? ChartSeries::Mark::Square : ChartSeries::Mark::Round;
            spec.series.push_back(series);
        }
        ChartSeries& series = spec.series[static_cast<std::size_t>(at - names.begin())];
        series.x.push_back(static_cast<double>(row.length));
        series.y.push_back(row.median_ms);
        series.low.push_back(row.min_ms);
        series.high.push_back(row.max_ms);
    }
    int cached = 0;
    const std::size_t measured = spec.series.size();
    for (std::size_t i = 0; i < measured; ++i) {
        ChartSeries& series = spec.series[i];
        series.label = names[i];
        // Caches share the colour of their role; the second one has outlined marks.
        if (series.role == Role::Cached && cached++ % 2 == 1) series.hollow.assign(series.y.size(), true);
        for (const auto& fit : result.fits)
            if (fit.fit.valid && fit.cache == cache_of[names[i]]) {
                spec.series.push_back(fitted(fit.fit, spec.series[i]));
                break;
            }
    }
    spec.x_title = spec.series.size() > measured ? Text::tr("tokens; marks: median, bars: range, lines: fitted")
                                                 : Text::tr("tokens; marks: median, bars: range");
    spec.empty_text =
        Text::tr("Choose lengths and caches, then press Start: each length is measured several times, lanes in turn.");
    return spec;
}

QStringList sweep_fit_lines(const SweepResult& result) {
    QStringList lines;
    for (const auto& fit : result.fits) {
        const QString cache = QString::fromStdString(fit.cache);
        if (fit.fit.valid)
            lines << Text::tr("%1: time grows as length^%2 (residual %3) [derived]")
                         .arg(cache, QString::number(fit.fit.exponent, 'f', 2),
                              QString::number(fit.fit.residual, 'g', 2));
        else if (!fit.fit.reason.empty())
            lines << QStringLiteral("%1: %2").arg(cache, QString::fromStdString(fit.fit.reason));
    }
    return lines;
}

QStringList sweep_verdict_lines(const SweepResult& result) {
    QStringList lines;
    for (const LengthCommentary& at : sweep_commentary(result))
        for (const SweepSentence& said : at.sentences) {
            if (said.sentence.id == "gain") continue;  // the table has its figures
            const QString words = translated(said.sentence);
            lines << (said.lane.empty() ? words : QString::fromStdString(said.lane) + QStringLiteral(": ") + words);
        }
    return lines;
}

}  // namespace decodescope
