// UI-03: every action in every state is possible or not as written here, and a call in a wrong state is refused with a
// sentence and changes nothing.
#include <QTest>

#include "tests/session/session_fixture.h"
#include "ui/session/state_table.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

// Per action: Empty Loading Ready Stepping Playing Measuring Replay.
// - never, + always, r a run is shown, < view can go back, > view is back, n view is back or more can be generated,
// p view moves by itself, q view is back and stands, s a file is written.
struct Row {
    SessionAction action;
    const char* name;
    const char* cells;
};
constexpr Row kRows[] = {
    {SessionAction::Open, "Open", "+++++-+"},
    {SessionAction::Configure, "Configure", "+++++-+"},
    {SessionAction::Reset, "Reset", "--+++-+"},
    {SessionAction::StepForward, "StepForward", "->nn>>>"},
    {SessionAction::StepBack, "StepBack", "-<<<<<<"},
    {SessionAction::Play, "Play", "--nn--q"},
    {SessionAction::Pause, "Pause", "----+-p"},
    {SessionAction::RunToEnd, "RunToEnd", "--nnn->"},
    {SessionAction::ContinueFromHere, "ContinueFromHere", "-->->--"},
    {SessionAction::ForkHere, "ForkHere", "--<----"},
    {SessionAction::Sweep, "Sweep", "--+----"},
    {SessionAction::CancelWork, "CancelWork", "-+s+++s"},
    {SessionAction::SaveRecording, "SaveRecording", "--r---r"},
    {SessionAction::OpenRecording, "OpenRecording", "+++++-+"},
    {SessionAction::SwitchBranch, "SwitchBranch", "--r----"},
    {SessionAction::Inspect, "Inspect", "--rrr--"},
};
constexpr const char* kStateNames[] = {"Empty", "Loading", "Ready", "Stepping", "Playing", "Measuring", "Replay"};

bool expected(char cell, const ActionContext& c) {
    switch (cell) {
        case '+': return true;
        case 'r': return c.has_steps;
        case '<': return c.has_steps && !c.view_at_start;
        case '>': return c.has_steps && !c.view_at_end;
        case 'n': return c.has_steps && (!c.view_at_end || !c.finished);
        case 'p': return c.replaying;
        case 'q': return c.has_steps && !c.view_at_end && !c.replaying;
        case 's': return c.saving;
        default: return false;
    }
}

ActionContext context_of(unsigned bits) {
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0, false};
}

}  // namespace

class StateTableTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void every_cell_data();
    void every_cell();
    void saving_leaves_the_view_and_cancel();
    void calls_in_a_wrong_state_are_refused_data();
    void calls_in_a_wrong_state_are_refused();
};

void StateTableTest::every_cell_data() {
    QTest::addColumn<int>("row");
    QTest::addColumn<int>("state");
    for (int row = 0; row < static_cast<int>(std::size(kRows)); ++row)
        for (int state = 0; state < 7; ++state)
            QTest::addRow("%s in %s", kRows[row].name, kStateNames[state]) << row << state;
}

void StateTableTest::every_cell() {
    QFETCH(int, row);
    QFETCH(int, state);
    for (unsigned bits = 0; bits < 32; ++bits) {
        const ActionContext context = context_of(bits);
        const bool allowed = action_allowed(static_cast<SessionState>(state), kRows[row].action, context);
        QCOMPARE(allowed, expected(kRows[row].cells[state], context));
        QCOMPARE(action_refusal(static_cast<SessionState>(state), kRows[row].action, context).isEmpty(), allowed);
    }
}

void StateTableTest::saving_leaves_the_view_and_cancel() {
    for (unsigned bits = 0; bits < 32; ++bits) {
        ActionContext context = context_of(bits);
        context.saving = true;
        for (const SessionState state : {SessionState::Ready, SessionState::Replay}) {
            for (const Row& row : kRows) {
                const bool allowed = action_allowed(state, row.action, context);
                switch (row.action) {
                    case SessionAction::CancelWork: QVERIFY(allowed); break;
                    case SessionAction::StepForward:
                        QCOMPARE(allowed, context.has_steps && !context.view_at_end);
                        break;
                    case SessionAction::StepBack: QCOMPARE(allowed, context.has_steps && !context.view_at_start); break;
                    case SessionAction::Pause:
                        QCOMPARE(allowed, state == SessionState::Replay && context.replaying);
                        break;
                    case SessionAction::Inspect:
                        QCOMPARE(allowed, state == SessionState::Ready && context.has_steps);
                        break;
                    default: QVERIFY2(!allowed, row.name);
                }
                QCOMPARE(action_refusal(state, row.action, context).isEmpty(), allowed);
            }
        }
    }
}

void StateTableTest::calls_in_a_wrong_state_are_refused_data() {
    QTest::addColumn<int>("state");
    for (int state = 0; state < 7; ++state) QTest::newRow(kStateNames[state]) << state;
}

// Brings a controller into each state and calls everything that is not possible there.
void StateTableTest::calls_in_a_wrong_state_are_refused() {
    QFETCH(int, state);
    const auto wanted = static_cast<SessionState>(state);
    SessionFixture f;
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("run.dscope"));
    if (wanted != SessionState::Empty && wanted != SessionState::Loading) QVERIFY(f.start());
    f->set_tokens_per_second(1e-6);
    if (wanted == SessionState::Loading) {
        f.controls->load.close();
        f->apply(f.settings());
    } else if (wanted == SessionState::Stepping) {
        f.controls->pass.close();
        f->step_forward();
    } else if (wanted == SessionState::Playing) {
        f->play();
    } else if (wanted == SessionState::Measuring) {
        f.controls->sweep.close();
        SweepRequest request;
        request.lengths = {8, 16};
        f->start_sweep(request);
    } else if (wanted == SessionState::Replay) {
        QVERIFY(f.step(2));
        f->save_recording(file);
        QVERIFY(QTest::qWaitFor([&] { return !f->saving(); }, kPatience));
        f->open_recording(file);
        QVERIFY(f.wait(SessionState::Replay));
        f->view_step(2);
    }
    QVERIFY(f.wait(wanted));
    const std::pair<SessionAction, std::function<void()>> calls[] = {
        {SessionAction::Configure,
         [&] {
             SessionSettings other = f->settings();
             other.sampler.seed = 99;
             f->apply(other);
         }},
        {SessionAction::Reset, [&] { f->reset(); }},
        {SessionAction::StepForward, [&] { f->step_forward(); }},
        {SessionAction::StepBack, [&] { f->step_back(); }},
        {SessionAction::Play, [&] { f->play(); }},
        {SessionAction::Pause, [&] { f->pause(); }},
        {SessionAction::RunToEnd, [&] { f->run_to_end(); }},
        {SessionAction::ContinueFromHere, [&] { f->continue_from_here(); }},
        {SessionAction::ForkHere, [&] { f->fork_here(); }},
        {SessionAction::SwitchBranch, [&] { f->switch_branch(2); }},
        {SessionAction::Sweep, [&] { f->start_sweep({}); }},
        {SessionAction::CancelWork, [&] { f->cancel(); }},
        {SessionAction::SaveRecording, [&] { f->save_recording(file); }},
        {SessionAction::OpenRecording, [&] { f->open_recording(file); }},
    };
    for (const auto& [action, call] : calls) {
        if (f->can(action)) continue;
        f.messages.clear();
        const RecordingPtr shown = f->recording();
        const int view = f->viewed_step();
        call();
        QCOMPARE(f.messages.size(), 1);
        QVERIFY(f.messages.first().endsWith(QLatin1Char('.')));
        QCOMPARE(f->state(), wanted);
        QCOMPARE(f->recording(), shown);
        QCOMPARE(f->viewed_step(), view);
    }
    if (!f->can(SessionAction::Inspect)) {
        QSignalSpy answers(f.controller.get(), &SessionController::cell_inspected);
        f->inspect(0, 0);
        QCOMPARE(answers.count(), 1);
        const auto cell = answers.first().first().value<InspectedCell>();
        QVERIFY(!cell.available && !cell.reason.isEmpty());
    }
}

QTEST_GUILESS_MAIN(StateTableTest)
#include "tst_state_table.moc"
