// Recordings played without an engine, sweeps, and the lane without the cache beside a run.
#include <QTemporaryDir>
#include <QTest>

#include "tests/session/session_fixture.h"
#include "tests/support/fake_run.h"

using namespace decodescope;
using namespace decodescope::testing;

class SessionReplay : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(folder_.isValid()); }
    void a_saved_run_is_stepped_and_scrubbed_without_an_engine();
    void a_replay_plays_and_pauses();
    void back_to_the_run_before_it();
    void from_a_recording_to_a_live_run();
    void an_invented_recording_tells_its_settings();
    void the_lane_runs_at_every_step_and_is_flagged();
    void a_lane_of_seconds_runs_at_doubling_lengths();
    void without_a_cache_there_is_nothing_to_race();
    void a_sweep_shows_what_it_has_and_can_be_cancelled();

private:
    QString save(SessionFixture& f, const QString& name) {
        const QString path = folder_.filePath(name);
        f->save_recording(path);
        return QTest::qWaitFor([&] { return !f->saving(); }, kPatience) ? path : QString();
    }
    QTemporaryDir folder_;
};

void SessionReplay::a_saved_run_is_stepped_and_scrubbed_without_an_engine() {
    SessionFixture f;
    SessionSettings settings = f.settings(QStringLiteral("replayed"));
    settings.race = true;
    QVERIFY(f.start(settings));
    QVERIFY(f.step(5));
    const auto tokens = f.tokens();
    const QString path = save(f, QStringLiteral("a.dscope"));

    SessionFixture viewer;
    viewer.controls->fail_load = true;  // there is no model here
    viewer->open_recording(path);
    QVERIFY(viewer.wait(SessionState::Replay));
    QVERIFY(viewer->model() == nullptr);
    QVERIFY(viewer->program().ops.empty());
    QCOMPARE(viewer.tokens(), tokens);
    QCOMPARE(viewer->step_count(), 6);
    QCOMPARE(viewer->recording()->race_count(), 5);
    QCOMPARE(viewer->settings().cache.id, std::string("preallocated"));
    QVERIFY(viewer->finished());
    QCOMPARE(viewer->viewed_step(), 0);
    for (int step = 1; step < 6; ++step) {
        viewer->step_forward();
        QCOMPARE(viewer->viewed_step(), step);
    }
    QVERIFY(!viewer->can(SessionAction::StepForward));
    viewer->step_back();
    QCOMPARE(viewer->viewed_step(), 4);
    viewer->view_step(0);
    viewer->run_to_end();
    QCOMPARE(viewer->viewed_step(), 5);
    QVERIFY(viewer.messages.isEmpty());
    QVERIFY(viewer->can(SessionAction::SaveRecording));
    const QString copy = save(viewer, QStringLiteral("copy.dscope"));
    QVERIFY(!copy.isEmpty());
    QCOMPARE(viewer->state(), SessionState::Replay);
    QCOMPARE(viewer.controls->loads.load(), 0);
}

void SessionReplay::a_replay_plays_and_pauses() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(4));
    const QString path = save(f, QStringLiteral("b.dscope"));
    f->open_recording(path);
    QVERIFY(f.wait(SessionState::Replay));
    QSignalSpy views(f.controller.get(), &SessionController::view_changed);
    f->play();
    QCOMPARE(f->state(), SessionState::Replay);
    QVERIFY(f->playing() && f->can(SessionAction::Pause) && !f->can(SessionAction::Play));
    QVERIFY(QTest::qWaitFor([&] { return !f->playing(); }, kPatience));
    QCOMPARE(f->viewed_step(), 4);
    QCOMPARE(views.count(), 4);
    f->view_step(1);
    f->set_tokens_per_second(1e-3);
    f->toggle_play();
    QVERIFY(f->playing());
    f->toggle_play();
    QVERIFY(!f->playing());
    QCOMPARE(f->viewed_step(), 1);
    QVERIFY(f.messages.isEmpty());
}

void SessionReplay::back_to_the_run_before_it() {
    SessionFixture f;
    QVERIFY(f.start(f.settings(QStringLiteral("recorded"))));
    QVERIFY(f.step(2));
    const QString path = save(f, QStringLiteral("c.dscope"));
    QVERIFY(f.start(f.settings(QStringLiteral("live"))));
    QVERIFY(f.wait(SessionState::Ready));
    f->open_recording(path);
    QVERIFY(f.wait(SessionState::Replay));
    QCOMPARE(f->settings().prompt.size(), 8);
    f->reset();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->settings().prompt, QStringLiteral("live"));
    QCOMPARE(f.controls->loads.load(), 1);  // the model was still there
    QVERIFY(f.step(1));
    QVERIFY(f.messages.isEmpty());
}

void SessionReplay::from_a_recording_to_a_live_run() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(2));
    const QString path = save(f, QStringLiteral("d.dscope"));
    SessionFixture viewer;
    viewer->open_recording(path);
    QVERIFY(viewer.wait(SessionState::Replay));
    // A model that is not here: the recording stays.
    viewer.controls->fail_load = true;
    const RecordingPtr shown = viewer->recording();
    viewer->reset();
    QVERIFY(viewer.wait(SessionState::Replay));
    QCOMPARE(viewer->recording(), shown);
    QCOMPARE(viewer.messages.size(), 1);
    viewer.controls->fail_load = false;
    SessionSettings settings = viewer->settings();
    settings.cache = *parse_cache_spec("growing");
    viewer->apply(settings);
    QVERIFY(viewer.wait(SessionState::Ready));
    QCOMPARE(viewer->recording()->row_count(), 5);
    QVERIFY(viewer.step(1));
}

void SessionReplay::an_invented_recording_tells_its_settings() {
    FakeRunOptions options;
    options.language = "zh_CN";
    options.cache = "growing";
    const auto run = make_fake_run(options);
    const QString path = folder_.filePath(QStringLiteral("e.dscope"));
    QVERIFY(save_recording(*run, path.toStdString(), {}, {}).ok());
    SessionFixture f;
    f->open_recording(path);
    QVERIFY(f.wait(SessionState::Replay));
    QCOMPARE(f->settings().cache.id, std::string("growing"));
    QVERIFY(!f->settings().prompt.isEmpty());
    QCOMPARE(f->recording()->row_count(), run->row_count());
    QCOMPARE(f->step_count(), run->step_count());
}

void SessionReplay::the_lane_runs_at_every_step_and_is_flagged() {
    SessionFixture f;
    SessionSettings settings = f.settings();
    settings.race = true;
    QVERIFY(f.start(settings));
    QVERIFY(f.step(6));
    QCOMPARE(f->recording()->race_count(), 6);
    for (int i = 0; i < 6; ++i) {
        const RacePoint point = f->recording()->race_point(i);
        QCOMPARE(point.step, i + 1);
        QCOMPARE(point.length, 6 + i);
        QCOMPARE(point.captured, f->recording()->step(i + 1)->captured);
    }
    f->set_race(false);
    QVERIFY(f.step(2));
    QCOMPARE(f.controls->lane_passes.load(), 6);
}

void SessionReplay::a_lane_of_seconds_runs_at_doubling_lengths() {
    SessionFixture f;
    f.controls->context = 1000;
    f.controls->lane_micros = 3'000'000;
    SessionSettings settings = f.settings();
    settings.race = true;
    settings.new_tokens = 300;
    QVERIFY(f.start(settings));
    f->run_to_end();
    QVERIFY(f.wait(SessionState::Ready));
    std::vector<int> lengths;
    for (int i = 0; i < f->recording()->race_count(); ++i) lengths.push_back(f->recording()->race_point(i).length);
    QCOMPARE(lengths, (std::vector<int>{6, 8, 16, 32, 64, 128, 256}));  // the first is how the price is learned
    QCOMPARE(f.messages.size(), 1);
    QVERIFY(f.messages.first().contains(QStringLiteral("64, 128, 256")));
}

void SessionReplay::without_a_cache_there_is_nothing_to_race() {
    SessionFixture f;
    SessionSettings settings = f.settings();
    settings.race = true;
    settings.cache = *parse_cache_spec("recompute");
    QVERIFY(f.start(settings));
    QVERIFY(f.step(3));
    QCOMPARE(f.controls->lane_passes.load(), 0);
}

void SessionReplay::a_sweep_shows_what_it_has_and_can_be_cancelled() {
    SessionFixture f;
    QVERIFY(f.start());
    SweepRequest request;
    request.lengths = {4, 8, 16};
    QSignalSpy changed(f.controller.get(), &SessionController::sweep_changed);
    QSignalSpy progress(f.controller.get(), &SessionController::progress);
    f->start_sweep(request);
    QCOMPARE(f->state(), SessionState::Measuring);
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(changed.count() >= 1);
    QCOMPARE(f->sweep()->rows.size(), std::size_t{3});
    QVERIFY(!f->sweep()->cancelled);
    f.controls->sweep.close();
    f->start_sweep(request);
    QVERIFY(QTest::qWaitFor([&] { return f->sweep()->rows.size() == 1; }, kPatience));  // a partial result is shown
    QCOMPARE(f->state(), SessionState::Measuring);
    f->cancel();
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(f->sweep()->cancelled);
    QCOMPARE(f->sweep()->rows.size(), std::size_t{1});
    QVERIFY(!progress.isEmpty());
    QCOMPARE(progress.last().at(1), progress.last().at(2));
    QVERIFY(f.step(1));
}

QTEST_GUILESS_MAIN(SessionReplay)
#include "tst_session_replay.moc"
