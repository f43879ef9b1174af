// What goes wrong ends in one sentence, and what was there before it stays usable.
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

#include "tests/session/session_fixture.h"

using namespace decodescope;
using namespace decodescope::testing;

class SessionFailures : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_failed_first_load_leaves_room_for_another();
    void a_failed_switch_of_model_keeps_the_run();
    void a_cache_that_does_not_fit_keeps_the_run();
    void unusable_prompts_are_refused_data();
    void unusable_prompts_are_refused();
    void a_first_load_without_a_prompt_waits_for_one();
    void an_unusable_first_prompt_keeps_the_model();
    void an_empty_prompt_is_fine_where_a_bos_is_added();
    void an_unusable_sampler_or_cache_is_refused();
    void the_newest_of_two_loads_wins();
    void a_cancelled_load_keeps_the_run();
    void an_exception_stops_the_run_and_nothing_else();
    void a_failed_save_loses_nothing_data();
    void a_failed_save_loses_nothing();
    void a_damaged_recording_is_refused();
    void a_lane_that_fails_is_told_once();

private:
    static void check_usable(SessionFixture& f, const RecordingPtr& shown) {
        QCOMPARE(f->state(), SessionState::Ready);
        QCOMPARE(f->recording(), shown);
        QCOMPARE(f.messages.size(), 1);
        const int steps = f->step_count();
        QVERIFY(f.step(2));
        QCOMPARE(f->step_count(), steps + 2);
        QCOMPARE(f.messages.size(), 1);
    }
};

void SessionFailures::a_failed_first_load_leaves_room_for_another() {
    SessionFixture f;
    f.controls->fail_load = true;
    QSignalSpy progress(f.controller.get(), &SessionController::progress);
    f->apply(f.settings());
    QVERIFY(f.wait(SessionState::Empty));
    QCOMPARE(f.messages, QStringList(QStringLiteral("The model cannot be read.")));
    QVERIFY(f->recording() == nullptr);
    if (!progress.isEmpty()) QCOMPARE(progress.last().at(1), progress.last().at(2));  // no bar is left half-full
    f.controls->fail_load = false;
    QVERIFY(f.start());
}

void SessionFailures::a_failed_switch_of_model_keeps_the_run() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(3));
    const RecordingPtr shown = f->recording();
    f.controls->fail_load = true;
    SessionSettings other = f->settings();
    other.model = QStringLiteral("other");
    QSignalSpy changed(f.controller.get(), &SessionController::settings_changed);
    f->apply(other);
    QCOMPARE(f->state(), SessionState::Loading);
    QCOMPARE(f->recording(), shown);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->settings().model, QStringLiteral("bundled"));
    QCOMPARE(changed.count(), 1);  // whoever shows the settings shows those of the run again
    check_usable(f, shown);
}

void SessionFailures::a_cache_that_does_not_fit_keeps_the_run() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(3));
    const RecordingPtr shown = f->recording();
    f.controls->fail_session = true;
    SessionSettings other = f->settings();
    other.cache = *parse_cache_spec("growing");
    f->apply(other);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f.messages, QStringList(QStringLiteral("The cache does not fit.")));
    QCOMPARE(f->settings().cache.id, std::string("preallocated"));
    check_usable(f, shown);
}

void SessionFailures::unusable_prompts_are_refused_data() {
    QTest::addColumn<QString>("prompt");
    QTest::newRow("empty") << QString();
    QTest::newRow("longer than the context") << QString(65, QLatin1Char('x'));
}

void SessionFailures::unusable_prompts_are_refused() {
    QFETCH(QString, prompt);
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(1));
    const RecordingPtr shown = f->recording();
    SessionSettings other = f->settings();
    other.prompt = prompt;
    f->apply(other);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->settings().prompt, QStringLiteral("hello"));
    check_usable(f, shown);
}

void SessionFailures::a_first_load_without_a_prompt_waits_for_one() {
    for (const bool bos : {false, true}) {
        SessionFixture f;
        f.controls->adds_bos = bos;
        f->apply(f.settings(QString()));
        QVERIFY(f.wait(SessionState::Ready));
        QVERIFY(f->model() != nullptr && f->recording() == nullptr);
        QVERIFY(f.messages.isEmpty());  // prompts to choose from come with the model: nothing went wrong
        f->apply(f.settings(QString()));
        QVERIFY(f.wait(SessionState::Ready));
        QCOMPARE(f.messages.size(), bos ? 0 : 1);
        QCOMPARE(f->step_count(), bos ? 1 : 0);
    }
}

void SessionFailures::an_unusable_first_prompt_keeps_the_model() {
    SessionFixture f;
    f->apply(f.settings(QString(65, QLatin1Char('x'))));
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(f->model() != nullptr && f->recording() == nullptr);
    QCOMPARE(f.messages.size(), 1);
    QVERIFY(!f->can(SessionAction::StepForward) && !f->can(SessionAction::Play) &&
            !f->can(SessionAction::SaveRecording));
    f->play();
    QCOMPARE(f->state(), SessionState::Ready);
    QVERIFY(f.start());
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(f.step(1));
    QCOMPARE(f.controls->loads.load(), 1);
}

void SessionFailures::an_empty_prompt_is_fine_where_a_bos_is_added() {
    SessionFixture f;
    f.controls->adds_bos = true;
    QVERIFY(f.start());
    QVERIFY(f.start(f.settings(QString())));
    QCOMPARE(f->recording()->row_count(), 1);
    QVERIFY(f->recording()->row(0).special);
    QVERIFY(f.messages.isEmpty());
}

void SessionFailures::an_unusable_sampler_or_cache_is_refused() {
    SessionFixture f;
    QVERIFY(f.start());
    const RecordingPtr shown = f->recording();
    SessionSettings other = f->settings();
    other.sampler.temperature = -1;
    f->apply(other);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f.messages.size(), 1);
    f.messages.clear();
    other = f->settings();
    other.cache.id = "nonsense";
    f->apply(other);
    QVERIFY(f.wait(SessionState::Ready));
    check_usable(f, shown);
}

void SessionFailures::the_newest_of_two_loads_wins() {
    SessionFixture f;
    f.controls->load.close();
    SessionSettings settings = f.settings();
    for (const char* model : {"one", "two", "three"}) {
        settings.model = QString::fromLatin1(model);
        f->apply(settings);
        QCOMPARE(f->state(), SessionState::Loading);
    }
    f.controls->load.open();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->model()->source, std::string("three"));
    QCOMPARE(f->settings().model, QStringLiteral("three"));
    QVERIFY(f.messages.isEmpty());  // what was overtaken is not worth a message
    QCOMPARE(f.controls->live_models.load(), 1);
}

void SessionFailures::a_cancelled_load_keeps_the_run() {
    SessionFixture f;
    QVERIFY(f.start());
    const RecordingPtr shown = f->recording();
    f.controls->load.close();
    SessionSettings other = f->settings();
    other.model = QStringLiteral("other");
    f->apply(other);
    f->cancel();
    QVERIFY(f.wait(SessionState::Ready));
    check_usable(f, shown);
}

void SessionFailures::an_exception_stops_the_run_and_nothing_else() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(2));
    f.controls->throw_in_pass = true;
    f->play();
    QVERIFY(QTest::qWaitFor([&] { return !f.messages.isEmpty(); }, kPatience));
    QVERIFY(f.messages.first().contains(QStringLiteral("planted")));
    QCOMPARE(f->state(), SessionState::Ready);
    QVERIFY(f->finished());
    QVERIFY(!f->can(SessionAction::StepForward));
    QCOMPARE(f->recording()->row_count(), 7);  // what was there is there
    f->reset();
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(!f->finished());
    QVERIFY(f.step(2));
    QCOMPARE(f.messages.size(), 1);
}

void SessionFailures::a_failed_save_loses_nothing_data() {
    QTest::addColumn<QString>("path");
    QTest::newRow("full disk") << QStringLiteral("/dev/full");
    QTest::newRow("folder that cannot be written") << QStringLiteral("/proc/decodescope.dscope");
    QTest::newRow("folder that is not there") << QStringLiteral("/tmp/no-such-folder-here/run.dscope");
}

void SessionFailures::a_failed_save_loses_nothing() {
    QFETCH(QString, path);
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(2));
    const RecordingPtr shown = f->recording();
    QSignalSpy saved(f.controller.get(), &SessionController::recording_saved);
    f->save_recording(path);
    QVERIFY(f->saving());
    QVERIFY(QTest::qWaitFor([&] { return !f->saving(); }, kPatience));
    QCOMPARE(saved.count(), 0);
    QVERIFY(!QFileInfo(path).isFile());
    check_usable(f, shown);
    QTemporaryDir folder;
    const QString good = folder.filePath(QString::fromUtf8("运行 1.dscope"));
    f->save_recording(good);
    QVERIFY(QTest::qWaitFor([&] { return !f->saving(); }, kPatience));
    QCOMPARE(saved.count(), 1);
    QCOMPARE(saved.first().first().toString(), good);
    QVERIFY(QFileInfo(good).size() > 0);
}

void SessionFailures::a_damaged_recording_is_refused() {
    SessionFixture f;
    QVERIFY(f.start());
    const RecordingPtr shown = f->recording();
    QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("damaged.dscope")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("DSCOPE or not");
    file.close();
    f->open_recording(file.fileName());
    QCOMPARE(f->state(), SessionState::Loading);
    QVERIFY(f.wait(SessionState::Ready));
    check_usable(f, shown);
}

void SessionFailures::a_lane_that_fails_is_told_once() {
    SessionFixture f;
    f.controls->lane_fails = true;
    SessionSettings settings = f.settings();
    settings.race = true;
    QVERIFY(f.start(settings));
    QVERIFY(f.step(4));
    QCOMPARE(f->step_count(), 5);
    QCOMPARE(f->recording()->race_count(), 0);
    QCOMPARE(f.messages.size(), 1);
    QVERIFY(f.messages.first().contains(QStringLiteral("No room for a second pass.")));
}

QTEST_GUILESS_MAIN(SessionFailures)
#include "tst_session_failures.moc"
