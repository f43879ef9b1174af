// What a run does when it is stepped, looked back at, switched, cut back and reset; over the invented engine.
#include <QTest>

#include "tests/session/session_fixture.h"

using namespace decodescope;
using namespace decodescope::testing;

class SessionFlow : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void first_load_prefills_and_shows_it();
    void a_step_adds_one_row_and_the_view_follows();
    void stepping_replays_before_it_generates();
    void playing_replays_before_it_generates();
    void view_is_kept_within_the_run();
    void a_held_key_builds_no_queue();
    void switching_the_strategy_keeps_the_tokens();
    void switching_while_playing_keeps_the_tokens();
    void a_longer_limit_goes_on_with_the_same_tokens();
    void the_same_seed_gives_the_same_run();
    void continue_from_here_gives_the_same_run_data();
    void continue_from_here_gives_the_same_run();
    void continue_from_the_prefill();
    void running_to_the_end_says_why_it_ended();
    void capture_and_race_follow_without_a_restart();
    void old_runs_and_models_are_released();
    void a_question_is_answered_latest_first();
    void slow_play_pauses_at_once();
};

void SessionFlow::first_load_prefills_and_shows_it() {
    SessionFixture f;
    QCOMPARE(f->state(), SessionState::Empty);
    QVERIFY(f->recording() == nullptr && f->model() == nullptr);
    QSignalSpy replaced(f.controller.get(), &SessionController::recording_replaced);
    f->apply(f.settings(QStringLiteral("abc")));
    QCOMPARE(f->state(), SessionState::Loading);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(replaced.count(), 1);
    QCOMPARE(f->recording()->row_count(), 3);
    QCOMPARE(f->recording()->facts().prompt_tokens, 3);
    QCOMPARE(f->step_count(), 1);
    QCOMPARE(f->viewed_step(), 0);
    QVERIFY(f->following() && !f->finished());
    QCOMPARE(f->settings().prompt, QStringLiteral("abc"));
    QCOMPARE(f->program().ops.size(), std::size_t{1});
    QVERIFY(f.messages.isEmpty());
}

void SessionFlow::a_step_adds_one_row_and_the_view_follows() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(3));
    QCOMPARE(f->recording()->row_count(), 8);
    QCOMPARE(f->step_count(), 4);
    QCOMPARE(f->viewed_step(), 3);
    QCOMPARE(f->recording()->step(3)->row_count, 1);
    QCOMPARE(f->recording()->row(7).token, f->recording()->step(2)->sampled_token);
}

void SessionFlow::stepping_replays_before_it_generates() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(4));
    const int passes = f.controls->passes;
    f->step_back();
    f->step_back();
    QCOMPARE(f->viewed_step(), 2);
    QVERIFY(!f->following());
    f->step_forward();
    f->step_forward();
    QCOMPARE(f->viewed_step(), 4);
    QVERIFY(f->following());
    QCOMPARE(f.controls->passes.load(), passes);  // only the view moved
    QVERIFY(f.step(1));
    QCOMPARE(f->step_count(), 6);
    QCOMPARE(f.controls->passes.load(), passes + 1);
}

void SessionFlow::playing_replays_before_it_generates() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(5));
    f->view_step(1);
    QSignalSpy views(f.controller.get(), &SessionController::view_changed);
    f->play();
    QCOMPARE(f->state(), SessionState::Playing);
    QVERIFY(f->playing());
    QVERIFY(QTest::qWaitFor([&] { return f->viewed_step() > 5; }, kPatience));
    QVERIFY(views.count() >= 5);  // through every step that was there
    if (f->can(SessionAction::Pause)) f->pause();
    QVERIFY(f.wait(SessionState::Ready));
    // Pausing half-way leaves the view where it is.
    f->view_step(0);
    f->set_tokens_per_second(1e-3);
    f->play();
    f->toggle_play();
    QCOMPARE(f->state(), SessionState::Ready);
    QCOMPARE(f->viewed_step(), 0);
}

void SessionFlow::view_is_kept_within_the_run() {
    SessionFixture f;
    f->view_step(3);
    QCOMPARE(f->viewed_step(), -1);
    QVERIFY(f.start());
    QVERIFY(f.step(2));
    f->view_step(-7);
    QCOMPARE(f->viewed_step(), 0);
    QVERIFY(!f->can(SessionAction::StepBack));
    f->view_step(1'000'000);
    QCOMPARE(f->viewed_step(), 2);
    QVERIFY(f->following());
}

void SessionFlow::a_held_key_builds_no_queue() {
    SessionFixture f;
    QVERIFY(f.start());
    f.controls->pass.close();
    for (int i = 0; i < 100; ++i) f->step_forward();
    QCOMPARE(f->state(), SessionState::Stepping);
    f.controls->pass.open();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->step_count(), 3);  // the prefill, the one under way and the one that waited
    QVERIFY(f.messages.isEmpty());
}

void SessionFlow::switching_the_strategy_keeps_the_tokens() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(6));
    const auto before = f.tokens();
    SessionSettings other = f->settings();
    other.cache = *parse_cache_spec("growing");
    QSignalSpy replaced(f.controller.get(), &SessionController::recording_replaced);
    f->apply(other);
    QCOMPARE(f->state(), SessionState::Stepping);  // no model is opened
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(replaced.count(), 1);
    QCOMPARE(f.tokens(), before);
    QCOMPARE(f->recording()->step(0)->phase, Phase::Refeed);
    QVERIFY(f->recording()->row(static_cast<int>(before.size()) - 1).generated);
    QVERIFY(!f->recording()->row(4).generated);
    QCOMPARE(f->recording()->facts().prompt_tokens, 5);
    QCOMPARE(f.controls->loads.load(), 1);
    QCOMPARE(f->settings().cache.id, std::string("growing"));
    QVERIFY(f.step(4));
    const auto switched = f.tokens();
    SessionFixture straight;
    QVERIFY(straight.start());
    QVERIFY(straight.step(10));
    QCOMPARE(switched, straight.tokens());
}

void SessionFlow::switching_while_playing_keeps_the_tokens() {
    SessionFixture f;
    f.controls->context = 100'000;
    QVERIFY(f.start());
    f->play();
    for (const char* cache : {"growing", "preallocated", "growing"}) {
        QVERIFY(
            QTest::qWaitFor([&] { return f->state() == SessionState::Playing && f->step_count() > 10; }, kPatience));
        SessionSettings other = f->settings();
        other.cache = *parse_cache_spec(cache);
        other.new_tokens = other.new_tokens + 90'000;
        const auto before = f.tokens();
        f->apply(other);
        QVERIFY(f.wait(SessionState::Ready));
        const auto after = f.tokens();
        QVERIFY(after.size() >= before.size());
        QVERIFY(std::equal(before.begin(), before.end(), after.begin()));
        f->play();
        QVERIFY(QTest::qWaitFor([&] { return f->step_count() > 10; }, kPatience));
    }
    // Another model and a reset while playing: from the prompt.
    SessionSettings other = f->settings();
    other.model = QStringLiteral("other");
    f->apply(other);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->model()->source, std::string("other"));
    QCOMPARE(f->step_count(), 1);
    f->play();
    QVERIFY(QTest::qWaitFor([&] { return f->step_count() > 10; }, kPatience));
    f->reset();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->step_count(), 1);
    QVERIFY2(f.messages.isEmpty(), qPrintable(f.messages.join(QLatin1Char('\n'))));
}

void SessionFlow::a_longer_limit_goes_on_with_the_same_tokens() {
    SessionFixture f;
    SessionSettings settings = f.settings();
    settings.new_tokens = 4;
    QVERIFY(f.start(settings));
    f->run_to_end();
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(f->finished());
    QCOMPARE(f->stop_reason(), QStringLiteral("length"));
    const auto before = f.tokens();
    settings.new_tokens = 9;
    f->apply(settings);
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(!f->finished());
    QCOMPARE(f.tokens(), before);
    f->run_to_end();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->recording()->row_count(), 5 + 9 - 1);
}

void SessionFlow::the_same_seed_gives_the_same_run() {
    SessionFixture f;
    SessionSettings settings = f.settings();
    settings.sampler = {1.0, 0, 1.0, 11};
    QVERIFY(f.start(settings));
    QVERIFY(f.step(20));
    const auto first = f.tokens();
    f->reset();
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(f.step(20));
    QCOMPARE(f.tokens(), first);
    settings.sampler.seed = 12;
    f->apply(settings);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->step_count(), 1);
    QVERIFY(f.step(20));
    QVERIFY(f.tokens() != first);
}

void SessionFlow::continue_from_here_gives_the_same_run_data() {
    QTest::addColumn<bool>("keeps_rows");
    QTest::newRow("cut back") << true;
    QTest::newRow("fed again") << false;
}

void SessionFlow::continue_from_here_gives_the_same_run() {
    QFETCH(bool, keeps_rows);
    SessionFixture f;
    SessionSettings settings = f.settings();
    settings.sampler = {1.0, 0, 1.0, 5};
    settings.race = true;
    QVERIFY(f.start(settings));
    QVERIFY(f.step(12));
    const auto whole = f.tokens();
    QCOMPARE(f->recording()->race_count(), 12);
    f->view_step(5);
    f.controls->keeps_rows = keeps_rows;
    const int fed = f.controls->rows_fed;
    QSignalSpy replaced(f.controller.get(), &SessionController::recording_replaced);
    f->continue_from_here();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(replaced.count(), 1);
    QCOMPARE(f->recording()->row_count(), 10);  // 5 of the prompt, 5 steps
    QCOMPARE(f->viewed_step(), f->step_count() - 1);
    if (keeps_rows) {
        QCOMPARE(f.controls->rows_fed - fed, 1);  // the viewed step itself, for its logits
        QCOMPARE(f->step_count(), 6);
        QCOMPARE(f->recording()->step(4)->phase, Phase::Decode);
        QCOMPARE(f->recording()->race_count(), 4);
        QCOMPARE(f->recording()->row(8).step, 4);
    } else {
        QCOMPARE(f.controls->rows_fed - fed, 10);
        QCOMPARE(f->step_count(), 1);
    }
    QVERIFY(f.step(7));
    QCOMPARE(f.tokens(), whole);
    for (int i = 0; i < 17; ++i) QCOMPARE(f->recording()->row(i).generated, i >= 5);
    QVERIFY2(f.messages.isEmpty(), qPrintable(f.messages.join(QLatin1Char('\n'))));
}

void SessionFlow::continue_from_the_prefill() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(4));
    const auto whole = f.tokens();
    f->view_step(0);
    f->continue_from_here();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->step_count(), 1);
    QCOMPARE(f->recording()->step(0)->phase, Phase::Prefill);
    QVERIFY(f.step(4));
    QCOMPARE(f.tokens(), whole);
}

void SessionFlow::running_to_the_end_says_why_it_ended() {
    SessionFixture f;
    f.controls->context = 20;
    QVERIFY(f.start());
    f->set_tokens_per_second(1e-3);
    f->play();
    QVERIFY(QTest::qWaitFor([&] { return f->step_count() == 2; }, kPatience));
    f->run_to_end();  // overtakes the slow run
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(f->finished());
    QCOMPARE(f->stop_reason(), QStringLiteral("context_full"));
    QCOMPARE(f->recording()->row_count(), 20);
    QVERIFY(!f->can(SessionAction::StepForward) && !f->can(SessionAction::Play) && !f->can(SessionAction::RunToEnd));
    f->step_forward();
    QCOMPARE(f.messages.size(), 1);
    f->view_step(2);
    QVERIFY(f->can(SessionAction::StepForward) && f->can(SessionAction::Play));
    f->continue_from_here();
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(!f->finished());
    QVERIFY(f->stop_reason().isEmpty());
}

void SessionFlow::capture_and_race_follow_without_a_restart() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.controls->capture);
    const RecordingPtr shown = f->recording();
    QSignalSpy changed(f.controller.get(), &SessionController::settings_changed);
    f->set_capture(false);
    QCOMPARE(changed.count(), 1);
    QVERIFY(f.step(1));
    QVERIFY(!f.controls->capture);
    SessionSettings other = f->settings();
    QVERIFY(!other.capture);
    other.capture = true;
    other.race = true;
    f->apply(other);
    QCOMPARE(f->state(), SessionState::Ready);
    QVERIFY(f->race_enabled());
    QVERIFY(f.step(1));
    QVERIFY(f.controls->capture);
    QCOMPARE(f->recording(), shown);
    QCOMPARE(shown->race_count(), 1);
    f->apply(f->settings());  // nothing differs, nothing happens
    QCOMPARE(f->state(), SessionState::Ready);
    QCOMPARE(f.controls->sessions.load(), 1);
}

void SessionFlow::old_runs_and_models_are_released() {
    SessionFixture f;
    QVERIFY(f.start());
    QVERIFY(f.step(2));
    std::weak_ptr<const RunRecording> old = f->recording();
    std::weak_ptr<const Model> model = f->model();
    f->reset();
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(QTest::qWaitFor([&] { return old.expired(); }, kPatience));
    QVERIFY(!model.expired());
    SessionSettings other = f->settings();
    other.model = QStringLiteral("other");
    QVERIFY(f.start(other));
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(QTest::qWaitFor([&] { return model.expired(); }, kPatience));
    QCOMPARE(f.controls->live_models.load(), 1);
    f.controller.reset();
    QCOMPARE(f.controls->live_models.load(), 0);
}

void SessionFlow::a_question_is_answered_latest_first() {
    SessionFixture f;
    QVERIFY(f.start());
    QSignalSpy answers(f.controller.get(), &SessionController::cell_inspected);
    f.controls->pass.close();
    f->step_forward();
    QVERIFY(QTest::qWaitFor([&] { return f.controls->pass.arrived() >= 2; }, kPatience));
    for (int position = 0; position < 5; ++position) f->inspect(7, position);
    f.controls->pass.open();
    QVERIFY(QTest::qWaitFor([&] { return answers.count() > 0; }, kPatience));
    const auto cell = answers.last().first().value<InspectedCell>();
    QVERIFY(cell.available);
    QCOMPARE(cell.position, 4);
    QCOMPARE(cell.values.k.front(), 7.0f);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(answers.count(), 1);  // the hovering that came before it built no backlog
    // Also in the middle of a slow run, and for a row that is not there.
    f->set_tokens_per_second(1e-3);
    f->play();
    f->inspect(1, 999);
    QVERIFY(QTest::qWaitFor([&] { return answers.count() == 2; }, kPatience));
    QVERIFY(!answers.last().first().value<InspectedCell>().available);
    QCOMPARE(answers.last().first().value<InspectedCell>().reason, QStringLiteral("No such row."));
    QCOMPARE(f->state(), SessionState::Playing);
}

void SessionFlow::slow_play_pauses_at_once() {
    SessionFixture f;
    QVERIFY(f.start());
    f->set_tokens_per_second(1e-6);  // a token in eleven days
    for (int round = 0; round < 5; ++round) {
        const int steps = f->step_count();
        f->play();
        QCOMPARE(f->state(), SessionState::Playing);
        QVERIFY(QTest::qWaitFor([&] { return f->step_count() == steps + 1; }, kPatience));
        f->toggle_play();
        QVERIFY(!f->playing());
        f->toggle_play();  // before the pause has arrived
        QVERIFY(f->playing());
        QVERIFY(QTest::qWaitFor([&] { return f->step_count() == steps + 2; }, kPatience));
        f->pause();
        QVERIFY(f.wait(SessionState::Ready));
    }
    QVERIFY(f.messages.isEmpty());
}

QTEST_GUILESS_MAIN(SessionFlow)
#include "tst_session_flow.moc"
