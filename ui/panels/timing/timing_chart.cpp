#include "ui/panels/timing/timing_chart.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/viewmodels/timing_text.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(TimingChart)
};

std::vector<double> scaled(std::vector<double> values, double factor) {
    for (double& value : values) value *= factor;
    return values;
}

class Builder {
public:
    explicit Builder(bool cumulated) : cumulated_(cumulated) {}

    void add(const TimingLane& lane, const std::vector<double>& expected, Role role, ChartSeries::Mark mark,
             const QString& label) {
        if (!expected.empty()) {
            TimingLane curve = lane;
            curve.micros = expected;
            spec_.series.push_back({.role = role, .line = true, .x = lane.length, .y = values(curve)});
        }
        if (lane.size() > 0) spec_.series.push_back(points(lane, role, mark, label));
    }
    // A run on another device: a dashed line, so that it is not taken for one of this run.
    void add_other(const TimingLane& lane, Role role, const QString& label) {
        if (lane.size() == 0) return;
        const int before = left_out_;
        ChartSeries series = points(lane, role, ChartSeries::Mark::None, label);
        left_out_ = before;
        series.line = series.dashed = true;
        spec_.series.push_back(std::move(series));
    }
    int left_out() const { return left_out_; }
    ChartSpec take() { return std::move(spec_); }

private:
    std::vector<double> values(const TimingLane& lane) const {
        return cumulated_ ? scaled(TimingModel::cumulated(lane), 1e-6) : scaled(lane.micros, 1e-3);
    }

    ChartSeries points(const TimingLane& lane, Role role, ChartSeries::Mark mark, const QString& label) {
        ChartSeries all{.label = label, .role = role, .mark = mark, .x = lane.length, .y = values(lane)};
        all.hollow = lane.captured;
        if (cumulated_) return all;
        ChartSeries kept{.label = label, .role = role, .mark = mark};
        for (std::size_t i = 0; i < lane.size(); ++i) {
            if (lane.hiccup[i]) {
                ++left_out_;
                continue;
            }
            kept.x.push_back(all.x[i]);
            kept.y.push_back(all.y[i]);
            kept.hollow.push_back(all.hollow[i]);
        }
        return kept;
    }

    bool cumulated_;
    int left_out_ = 0;
    ChartSpec spec_;
};

// With the device, where there are several.
QString lane_name(const TimingModel& model, const QString& name) {
    if (model.other_devices().empty()) return name;
    return name + QStringLiteral(", ") + QString::fromStdString(model.device());
}

double newest(const TimingLane& lane, bool cumulated) {
    if (lane.size() == 0) return 0;
    return cumulated ? TimingModel::cumulated(lane).back() : lane.micros.back();
}

}  // namespace

QString main_lane_name(const TimingModel& model) {
    return model.main_lane_recomputes() ? Text::tr("this run") : Text::tr("cached");
}

ChartSpec timing_chart(const TimingModel& model, const TimingSummary& now, bool cumulated, bool log) {
    Builder builder(cumulated);
    const auto figure = [&](const QString& name, double micros, double total) {
        const double value = cumulated ? total : micros;
        if (!(value > 0)) return name;  // not measured up to the step that is viewed
        return name + QLatin1Char(' ') + (cumulated ? seconds(value) : milliseconds(value));
    };
    for (const DeviceLanes* other : model.other_devices()) {
        const auto add = [&](const TimingLane& lane, Role role, const QString& name) {
            const double value = newest(lane, cumulated);
            builder.add_other(lane, role, figure(name + QStringLiteral(", ") + QString::fromStdString(other->device),
                                                 value, value));
        };
        add(other->recompute, Role::Recompute, Text::tr("recompute"));
        add(other->cached, other->recomputes ? Role::Recompute : Role::Cached,
            other->recomputes ? Text::tr("recompute") : Text::tr("cached"));
    }
    const bool recomputes = model.main_lane_recomputes();
    builder.add(model.recompute(), model.recompute_expected(), Role::Recompute, ChartSeries::Mark::Square,
                figure(lane_name(model, Text::tr("recompute")), now.recompute_micros, now.recompute_total_micros));
    builder.add(model.cached(), model.cached_expected(), recomputes ? Role::Recompute : Role::Cached,
                recomputes ? ChartSeries::Mark::Square : ChartSeries::Mark::Round,
                figure(lane_name(model, main_lane_name(model)), now.cached_micros, now.cached_total_micros));
    ChartSpec spec = builder.take();
    spec.log_x = spec.log_y = log;
    const auto& captured = model.cached().captured;
    const bool marked = std::find(captured.begin(), captured.end(), true) != captured.end();
    spec.x_title =
        marked ? Text::tr(
                     "tokens in the sequence; points measured (outlined: attention captured too), thin lines expected")
               : Text::tr("tokens in the sequence; points measured, thin lines expected");
    spec.x_title_short = Text::tr("tokens; points measured, thin lines expected");
    spec.y_title = cumulated ? Text::tr("seconds") : Text::tr("ms per token");
    if (builder.left_out() > 0) spec.y_title += Text::tr(" (%1 slower points lie above)").arg(builder.left_out());
    spec.empty_text = Text::tr("Step or play: each step adds a point for either lane.");
    return spec;
}

}  // namespace decodescope
