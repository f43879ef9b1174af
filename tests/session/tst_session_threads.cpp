// UI-01, UI-02, UI-04: the window never waits for the engine, a flood of tokens stays a trickle of updates, and closing
// works at any moment.
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>

#include "tests/session/session_fixture.h"
#include "ui/session/session_controller_private.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

QStringList qt_messages;
void keep_message(QtMsgType, const QMessageLogContext&, const QString& text) { qt_messages.append(text); }

}  // namespace

class SessionThreads : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void closing_at_any_moment_data();
    void closing_at_any_moment();
    void the_event_loop_runs_while_the_engine_is_stuck_data();
    void the_event_loop_runs_while_the_engine_is_stuck();
    void a_flood_of_tokens_is_a_trickle_of_updates();
    void a_flood_can_be_stopped();
    void idle_sends_nothing();
};

void SessionThreads::closing_at_any_moment_data() {
    QTest::addColumn<int>("what");
    const char* names[] = {"load", "play", "save", "sweep", "slow play", "step", "switch", "nothing", "everything"};
    for (int i = 0; i < 20; ++i) QTest::addRow("%d %s", i, names[i % 9]) << i;
}

void SessionThreads::closing_at_any_moment() {
    QFETCH(int, what);
    qt_messages.clear();
    const auto previous = qInstallMessageHandler(keep_message);
    QTemporaryDir folder;
    std::shared_ptr<FakeControls> controls;
    {
        SessionFixture f;
        controls = f.controls;
        controls->context = 1'000'000;
        const int kind = what % 9;
        if (kind == 0) controls->load.close();
        f->apply(f.settings());
        const bool ready = kind == 0 || f.wait(SessionState::Ready);
        if (!ready) qFatal("not ready");
        if (kind == 1 || kind == 6) f->play();
        if (kind == 2) {
            controls->save.close();
            f->save_recording(folder.filePath(QStringLiteral("a.dscope")));
        }
        if (kind == 3) {
            controls->sweep.close();
            SweepRequest request;
            request.lengths = {1, 2, 3};
            f->start_sweep(request);
        }
        if (kind == 4) {
            f->set_tokens_per_second(1e-6);
            f->play();
        }
        if (kind == 5) {
            controls->pass.close();
            f->step_forward();
        }
        if (kind == 6) {
            SessionSettings other = f->settings();
            other.model = QStringLiteral("other");
            controls->load.close();
            f->apply(other);
        }
        if (kind == 8) {
            f->step_forward();
            f->play();
            f->inspect(0, 0);
            f->reset();
            f->play();
            f->run_to_end();
        }
        for (int i = 0; i < what * 3; ++i) {
            QCoreApplication::processEvents();
            QThread::yieldCurrentThread();
        }
        f.controller.reset();
    }
    QCoreApplication::processEvents();
    qInstallMessageHandler(previous);
    QCOMPARE(qt_messages, QStringList());
    QCOMPARE(controls->live_models.load(), 0);
}

void SessionThreads::the_event_loop_runs_while_the_engine_is_stuck_data() {
    QTest::addColumn<int>("gate");
    QTest::newRow("load") << 0;
    QTest::newRow("switch of model") << 1;
    QTest::newRow("reset") << 2;
    QTest::newRow("sweep") << 3;
    QTest::newRow("save") << 4;
}

// Counts events, not time: with the engine's thread held by a gate, the GUI thread's timer goes on, actions return, and
// a cancel ends it.
void SessionThreads::the_event_loop_runs_while_the_engine_is_stuck() {
    QFETCH(int, gate);
    SessionFixture f;
    QTemporaryDir folder;
    if (gate > 0) QVERIFY(f.start());
    QTimer heart;
    int beats = 0;
    QObject::connect(&heart, &QTimer::timeout, &heart, [&] { ++beats; });
    SessionSettings other = f.settings();
    other.model = QStringLiteral("other");
    SweepRequest request;
    request.lengths = {4, 8};
    switch (gate) {
        case 0: f.controls->load.close(); f->apply(f.settings()); break;
        case 1: f.controls->load.close(); f->apply(other); break;
        case 2: f.controls->pass.close(); f->reset(); break;
        case 3: f.controls->sweep.close(); f->start_sweep(request); break;
        case 4: f.controls->save.close(); f->save_recording(folder.filePath(QStringLiteral("a.dscope"))); break;
    }
    heart.start(0);
    QVERIFY(QTest::qWaitFor([&] { return beats > 20; }, kPatience));
    QVERIFY(f->state() != SessionState::Ready || f->saving());
    const RecordingPtr shown = f->recording();
    f->view_step(0);
    QVERIFY(f->can(SessionAction::CancelWork));
    f->cancel();
    QVERIFY(QTest::qWaitFor([&] { return !f->can(SessionAction::CancelWork); }, kPatience));
    QCOMPARE(f->recording(), shown);  // the old run is still there
    QCOMPARE(f->state(), gate == 0 ? SessionState::Empty : SessionState::Ready);
    QCOMPARE(f.messages.size(), 1);
    if (gate == 3) QVERIFY(f->sweep() != nullptr && f->sweep()->cancelled && f->sweep()->rows.size() == 1);
    if (gate == 1) QCOMPARE(f->settings().model, QStringLiteral("bundled"));
    for (Gate* held : {&f.controls->load, &f.controls->pass, &f.controls->sweep, &f.controls->save}) held->open();
    if (gate == 0) QVERIFY(f.start());
    QVERIFY(f.step(2));  // and can go on
}

void SessionThreads::a_flood_of_tokens_is_a_trickle_of_updates() {
    SessionFixture f;
    constexpr int kTokens = 20'000;
    f.controls->context = kTokens;
    QVERIFY(f.start());
    QSignalSpy arrived(f.controller.get(), &SessionController::steps_arrived);
    QSignalSpy states(f.controller.get(), &SessionController::state_changed);
    int seen = 0;
    QObject::connect(f.controller.get(), &SessionController::steps_arrived, f.controller.get(), [&] {
        QVERIFY(f->step_count() >= seen);
        seen = f->step_count();
    });
    QElapsedTimer clock;
    clock.start();
    // A real event loop, which takes every event as soon as it is there.
    QEventLoop loop;
    QObject::connect(f.controller.get(), &SessionController::state_changed, &loop, [&] {
        if (f->state() == SessionState::Ready) loop.quit();
    });
    QTimer::singleShot(kPatience, &loop, &QEventLoop::quit);
    f->play();
    loop.exec();
    QCOMPARE(f->state(), SessionState::Ready);
    // One update per period of the timer that collects them, however fast the tokens come: the slower the machine, the
    // longer the run and the looser the bound.
    QVERIFY2(arrived.count() <= clock.elapsed() / (kUpdateMillis - 2) + 3,
             qPrintable(QString::number(arrived.count())));
    QVERIFY(states.count() <= 4);
    QCOMPARE(f->recording()->row_count(), kTokens);
    QCOMPARE(f->step_count(), kTokens - 5 + 1);
    QCOMPARE(seen, f->step_count());
    QCOMPARE(f->viewed_step(), f->step_count() - 1);
    QVERIFY(f->finished());
    QVERIFY(f.messages.isEmpty());
}

void SessionThreads::a_flood_can_be_stopped() {
    SessionFixture f;
    f.controls->context = 10'000'000;
    QVERIFY(f.start());
    f->play();
    QVERIFY(QTest::qWaitFor([&] { return f->step_count() > 100; }, kPatience));
    f->cancel();
    QVERIFY(f.wait(SessionState::Ready));
    const int passes = f.controls->passes;
    QCOMPARE(f->step_count(), f->recording()->step_count());
    QVERIFY(f.step(1));
    QCOMPARE(f.controls->passes.load(), passes + 1);  // nothing ran on behind our back
}

void SessionThreads::idle_sends_nothing() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(1));
    QSignalSpy arrived(f.controller.get(), &SessionController::steps_arrived);
    QSignalSpy states(f.controller.get(), &SessionController::state_changed);
    QSignalSpy views(f.controller.get(), &SessionController::view_changed);
    QTest::qWait(4 * kUpdateMillis);
    QCOMPARE(arrived.count() + states.count() + views.count(), 0);
}

QTEST_GUILESS_MAIN(SessionThreads)
#include "tst_session_threads.moc"
