// Lanes, totals and the sentence of the timing panel.
#include <QTest>
#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/model/layer_kinds.h"
#include "tests/support/fake_run.h"
#include "ui/viewmodels/timing_model.h"
#include "ui/viewmodels/timing_text.h"

using namespace decodescope;

namespace {

// A run whose times follow from the arguments: prompt of 10 tokens, then `steps` steps.
// `race_every`: lengths at which the pass without a cache is measured; `cached_at`: cached time by length.
std::shared_ptr<RunRecording> run(int steps, double cached, double recompute_per_token, double diff = 1e-6,
                                  int different = 0, int race_every = 1,
                                  const std::function<double(int)>& cached_at = {},
                                  const std::function<void(RunFacts&)>& change = {}) {
    FakeRunOptions options;
    options.steps = 1;
    RunFacts facts = fake_run_facts(options);
    if (change) change(facts);
    const bool device = facts.backend != "cpu";
    auto recording = std::make_shared<RunRecording>(facts, RecordingLimits{});
    std::vector<float> rms(static_cast<std::size_t>(facts.config.layers), 1.0F);
    std::vector<const float*> none(rms.size(), nullptr);
    int row = 0;
    const auto add_row = [&](int step, Phase phase) {
        RunRecording::NewRow next;
        next.row.position = row;
        next.row.step = step;
        next.row.phase = phase;
        next.display = next.text = "x";
        ++row;
        recording->append_row(next, rms, rms, none, row, {});
    };
    for (int step = 0; step <= steps; ++step) {
        StepFacts s;
        s.index = step;
        s.phase = step == 0 ? Phase::Prefill : Phase::Decode;
        s.first_row = row;
        s.row_count = step == 0 ? 10 : 1;
        for (int i = 0; i < s.row_count; ++i) add_row(step, s.phase);
        s.micros = step == 0 ? 1e5 : cached_at ? cached_at(row) : cached;
        s.flops = device ? pass_flops(facts.config, row - 1, 1) : 1000;
        s.bytes = device ? facts.weight_bytes + 512 * row : 0;
        s.host_micros = device ? s.micros + 7 : 0;
        s.graph_captures = device && step % 8 == 1 ? 1 : 0;
        s.warm_up = step == 1;
        recording->append_step(s);
        if (step == 0 || row % race_every != 0) continue;
        RacePoint point;
        point.step = step;
        point.length = row;
        point.cached_micros = s.micros;
        point.recompute_micros = device ? 90 + 1.1e-5 * static_cast<double>(pass_flops(facts.config, 0, row))
                                        : recompute_per_token * row;
        point.max_abs_logit_diff = diff * step;
        point.same_token = step > different;
        recording->append_race_point(point);
    }
    return recording;
}

}  // namespace

class TimingModelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void lanes_leave_out_prefill_and_warm_up() {
        const auto recording = run(8, 500, 100);
        TimingModel model;
        model.update(recording.get(), false);
        QCOMPARE(model.cached().size(), std::size_t{7});  // 8 steps, the first one is warm-up
        QCOMPARE(model.cached().length.front(), 12.0);
        QCOMPARE(model.recompute().size(), std::size_t{8});
        QCOMPARE(model.recompute().length.back(), 18.0);
    }

    void summary_of_the_viewed_step() {
        const auto recording = run(20, 500, 100);
        TimingModel model;
        model.update(recording.get(), false);
        const TimingSummary end = model.summary(20);
        QCOMPARE(end.length, 30);
        QCOMPARE(end.cached_micros, 500.0);
        QCOMPARE(end.recompute_micros, 2800.0);  // median of lengths 26 .. 30
        QCOMPARE(end.speedup, 5.6);
        QCOMPARE(end.cached_total_micros, 20 * 500.0);
        QCOMPARE(end.recompute_total_micros, 100.0 * (11 + 30) * 20 / 2);
        QCOMPARE(end.same, SameAnswer::Yes);
        QVERIFY(std::abs(end.max_logit_diff - 20e-6) < 1e-12);
        const TimingSummary early = model.summary(4);
        QCOMPARE(early.compared, 4);
        QCOMPARE(early.recompute_total_micros, 100.0 * (11 + 12 + 13 + 14));
    }

    void steps_that_arrive_later_are_taken_over() {
        FakeRunOptions options;
        options.steps = 5;
        const auto recording = make_fake_run(options);
        TimingModel model;
        model.update(recording.get(), false);
        const std::size_t before = model.cached().size();
        for (int i = 0; i < 3; ++i) append_fake_step(*recording, options);
        model.update(recording.get(), false);
        QCOMPARE(model.cached().size(), before + 3);
    }

    void different_answers_are_said() {
        TimingModel model;
        const auto recording = run(10, 500, 100, 0.5, 3);
        model.update(recording.get(), false);
        const TimingSummary summary = model.summary(10);
        QCOMPARE(summary.same, SameAnswer::No);
        QCOMPARE(summary.same_tokens, 7);
        QVERIFY(timing_sentence(summary, true).contains(QStringLiteral("no, 3 of 10 tokens differ")));
        TimingModel lossy;
        lossy.update(recording.get(), true);
        QCOMPARE(lossy.summary(10).same, SameAnswer::ByDesign);
        QVERIFY(timing_sentence(lossy.summary(10), true).contains(QStringLiteral("differs by design")));
    }

    void no_gain_has_a_reason() {
        TimingModel model;
        const auto recording = run(10, 3000, 100);
        model.update(recording.get(), false);
        const TimingSummary summary = model.summary(10);
        QVERIFY(summary.speedup < 1);
        QVERIFY(summary.no_gain != NoGain::None);
        QVERIFY(timing_sentence(summary, true).startsWith(QStringLiteral("No gain")));
    }

    void sentence_has_the_figures() {
        TimingSummary s;
        s.length = s.compared_length = 460;
        s.cached_micros = 640;
        s.recompute_micros = 34800;
        s.speedup = s.recompute_micros / s.cached_micros;
        s.cached_total_micros = 0.25e6;
        s.recompute_total_micros = 9.1e6;
        s.same = SameAnswer::Yes;
        s.compared = s.same_tokens = 7;
        s.max_logit_diff = 4e-6;
        QCOMPARE(
            timing_sentence(s, true),
            QStringLiteral("54x now · total 9.1 s against 0.25 s · same answer: yes (largest logit difference 4e-6)"));
        s.length = 500;  // the lanes were last measured together 40 tokens ago
        QVERIFY(timing_sentence(s, true).startsWith(QStringLiteral("at 460 tokens: 54x · total")));
    }

    // Recompute measured at a few lengths only: both lanes are compared where both were measured, and what was measured
    // is what is added up.
    void lanes_are_compared_at_the_same_length() {
        const auto recording = run(200, 500, 100, 1e-6, 0, 32, [](int length) { return 10.0 * length; });
        TimingModel model;
        model.update(recording.get(), false);
        const TimingSummary s = model.summary(195);  // length 205; the newest pass without a cache is at 192
        QCOMPARE(s.length, 205);
        QCOMPARE(s.compared_length, 192);
        QCOMPARE(s.recompute_micros, 100.0 * 192);  // 160 is not nearly as long
        QCOMPARE(s.speedup, 100.0 * 192 / (10.0 * 190));
        double cached = 0;
        for (int length = 32; length <= 192; ++length) cached += 10.0 * length;
        QCOMPARE(s.cached_total_micros, cached);
        QVERIFY(s.total_has_derived);
    }

    // One hiccup of the machine does not squeeze a run of even steps into a line at the bottom; what grows with the
    // length is no hiccup, however few and far apart its last points are.
    void hiccups_do_not_stretch_the_axis() {
        const auto count = [](const std::vector<double>& micros) {
            const auto found = hiccups(micros);
            return std::count(found.begin(), found.end(), true);
        };
        std::vector<double> even(100, 500.0), rising;
        for (int i = 0; i < 100; ++i) rising.push_back(i);
        rising.insert(rising.end(), {663, 2096});  // at 1024 and 2048 tokens, when the lane is measured there alone
        QCOMPARE(count(even), 0);
        QCOMPARE(count(rising), 0);
        even[40] = 90000;
        QCOMPARE(count(even), 1);
        QVERIFY(hiccups(even)[40]);
        QCOMPARE(count({90000, 2, 3}), 0);  // too few to tell
        for (int i = 0; i < 10; ++i) even[static_cast<std::size_t>(i)] = 90000;
        QCOMPARE(count(even), 0);  // a tenth of the points is no hiccup
    }

    void cumulated_fills_what_was_not_measured() {
        TimingLane lane;
        lane.length = {10, 11, 15};
        lane.micros = {100, 100, 300};
        const auto sums = TimingModel::cumulated(lane);
        QCOMPARE(sums, (std::vector<double>{100, 200, 200 + 300 + 3 * 200}));
    }

    void flops_are_those_of_the_contract() {
        ModelConfig c;
        c.layers = 2;
        c.hidden = 8;
        c.heads = 4;
        c.kv_heads = 2;
        c.head_dim = 3;
        c.feed_forward = 16;
        c.vocabulary = 11;
        const std::int64_t n = c.layer_matrix_parameters();
        QCOMPARE(pass_flops(c, 20, 1), 2 * n + 4 * 2 * 4 * 3 * 21 + 2 * 11 * 8);
        QCOMPARE(pass_flops(c, 0, 3), 3 * 2 * n + 4 * 2 * 4 * 3 * (1 + 2 + 3) + 2 * 11 * 8);
    }

    // CPU and GPU runs of one model on one chart.
    void another_device_stays_as_a_comparison() {
        const auto on_gpu = [](RunFacts& facts) { facts.backend = "cuda:0", facts.device = "Invented device"; };
        const auto cpu = run(10, 500, 100), gpu = run(20, 100, 1, 1e-6, 0, 1, {}, on_gpu), again = run(4, 450, 90);
        TimingModel model;
        model.update(cpu.get(), false);
        QVERIFY(model.other_devices().empty());
        model.update(nullptr, false);
        QVERIFY(model.other_devices().empty());
        model.update(gpu.get(), false);
        QCOMPARE(model.device(), std::string("Invented device"));
        QCOMPARE(model.other_devices().size(), std::size_t{1});
        QCOMPARE(model.other_devices()[0]->device, std::string("CPU"));
        QCOMPARE(model.other_devices()[0]->cached.size(), std::size_t{9});
        QCOMPARE(model.other_devices()[0]->recompute.size(), std::size_t{10});
        QVERIFY(to_csv(model.table(), gpu->facts()).find("\"cached, CPU\"") != std::string::npos);
        // A second run on the same device is no comparison of its own; the first device's newest run is the one kept.
        model.update(again.get(), false);
        QCOMPARE(model.other_devices().size(), std::size_t{1});
        QCOMPARE(model.other_devices()[0]->device, std::string("Invented device"));
        model.update(gpu.get(), false);
        QCOMPARE(model.other_devices()[0]->cached.size(), std::size_t{3});
        const auto other = run(4, 450, 90, 1e-6, 0, 1, {}, [](RunFacts& facts) { facts.model_identity = "another"; });
        model.update(other.get(), false);
        QVERIFY(model.other_devices().empty());
    }

    // A small model on a fast device: some gain, but the steps are launches. The sentence says where the gain is.
    void launches_are_named_where_they_hide_the_gain() {
        const auto on_gpu = [](RunFacts& facts) { facts.backend = "cuda:0", facts.device = "Invented device"; };
        const auto gpu = run(40, 100, 3, 1e-6, 0, 1, [](int row) { return 100 + 0.01 * row; }, on_gpu);
        TimingModel model;
        model.update(gpu.get(), false);
        const TimingSummary now = model.summary(40);
        QCOMPARE(now.gap_micros, 7.0);
        QCOMPARE(now.graphs, 4);  // the first was recorded in the warm-up step, which is no point of the lane
        QCOMPARE(now.no_gain, NoGain::Launches);
        QVERIFY(now.speedup > 1.5 && now.speedup < 3);
        // By the law of the invented times, which the model knows only from 40 points.
        int expected = 64;
        while (90 + 1.1e-5 * static_cast<double>(pass_flops(gpu->facts().config, 0, expected)) <
               5 * (100 + 0.01 * expected))
            expected *= 2;
        QVERIFY(expected > 64 && expected <= 1024);
        QCOMPARE(now.gain_length, expected);
        const QString text = timing_sentence(now, true);
        QVERIFY2(text.contains("launches, not bytes"), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("about %1 tokens").arg(expected)), qPrintable(text));
        QVERIFY2(text.contains("launches and gaps 0.007 ms"), qPrintable(text));
        QVERIFY2(text.contains("graphs recorded: 4"), qPrintable(text));
        // On the host there is neither.
        const auto cpu = run(40, 100, 3);
        model.update(cpu.get(), false);
        QVERIFY(!timing_sentence(model.summary(40), true).contains("graphs"));
    }

    void table_has_a_row_for_every_point() {
        const auto recording = run(10, 500, 100);
        TimingModel model;
        model.update(recording.get(), false);
        const ExportTable table = model.table();
        QCOMPARE(table.rows.size(), model.cached().size() + model.recompute().size() + model.cached_expected().size() +
                                        model.recompute_expected().size());
        const std::string csv = to_csv(table, recording->facts());
        QVERIFY(csv.find("# model: ") != std::string::npos);
        QVERIFY(csv.find(",,") == std::string::npos || csv.find("derived") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TimingModelTest)
#include "tst_timing_model.moc"
