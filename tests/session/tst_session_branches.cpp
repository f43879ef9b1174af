// Branches of a session: what a fork left can be shown again, goes on from where it was, and keeps its own text.
#include <QTest>

#include "tests/session/engine_fixture.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

std::vector<int> numbers(const SessionController& session) {
    std::vector<int> all;
    for (const SessionBranch& branch : session.branches()) all.push_back(branch.shown ? -branch.number : branch.number);
    return all;
}

SessionSettings sampled(std::uint64_t seed = 5) {
    SessionSettings settings = tiny_settings("paged:page=4");
    settings.sampler = {1.2, 0, 1.0, seed};
    settings.stop_at_eos = false;
    return settings;
}

}  // namespace

class SessionBranches : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_branch_that_was_left_goes_on_where_it_was();
    void branches_end_with_another_run();
    void only_so_many_are_kept();
};

void SessionBranches::a_branch_that_was_left_goes_on_where_it_was() {
    EngineFixture straight;
    QVERIFY(straight.apply(sampled()));
    QVERIFY(straight.run(18));
    EngineFixture f;
    QVERIFY(f.apply(sampled()));
    QCOMPARE(numbers(*f.controller), std::vector<int>{-1});
    QVERIFY(!f->can(SessionAction::SwitchBranch));
    QVERIFY(f.run(12));
    const auto first = f.tokens();
    const QString ending = f.text().right(4).simplified();
    f->view_step(5);
    f->fork_here();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(numbers(*f.controller), (std::vector<int>{1, -2}));
    QCOMPARE(f->branches()[0].tokens, static_cast<int>(first.size()));
    QVERIFY(f->branches()[0].ending.endsWith(ending));
    QVERIFY(f.run(3));
    const auto second = f.tokens();
    // Back: the same recording as it was left, and it goes on as if nothing had happened.
    QVERIFY(f->can(SessionAction::SwitchBranch));
    f->switch_branch(1);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(numbers(*f.controller), (std::vector<int>{-1, 2}));
    QCOMPARE(f.tokens(), first);
    QCOMPARE(f->viewed_step(), 12);
    QVERIFY(f->recording()->step(12)->kv.pages_shared == 0);
    QVERIFY(f.inspect(1, static_cast<int>(first.size()) - 1).available);
    QVERIFY(f.run(6));
    QCOMPARE(f.tokens(), straight.tokens());
    QVERIFY(f->recording()->step(18)->kv.pages_shared > 0);  // the other branch is still there
    f->switch_branch(2);
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f.tokens(), second);
    // A branch of a branch has a number of its own.
    f->view_step(2);
    f->fork_here();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(numbers(*f.controller), (std::vector<int>{1, 2, -3}));
    f->switch_branch(9);
    QVERIFY(QTest::qWaitFor([&] { return !f.messages.isEmpty(); }, kPatience));
    QVERIFY(f.messages.first().contains(QStringLiteral("no branch 9")));
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(numbers(*f.controller), (std::vector<int>{1, 2, -3}));
}

void SessionBranches::branches_end_with_another_run() {
    EngineFixture f;
    QVERIFY(f.apply(sampled()));
    QVERIFY(f.run(5));
    f->fork_here();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->branches().size(), std::size_t{2});
    QVERIFY(f.run(2));
    f->view_step(3);
    f->continue_from_here();  // in the branch: the other one stays
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(numbers(*f.controller), (std::vector<int>{1, -2}));
    f->reset();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(numbers(*f.controller), std::vector<int>{-1});
    QCOMPARE(f->recording()->step(0)->kv.pages_shared, std::int64_t{0});
    f->switch_branch(1);
    QCOMPARE(f.messages.size(), 1);
    QVERIFY(f.messages.first().contains(QStringLiteral("only this run")));
}

void SessionBranches::only_so_many_are_kept() {
    EngineFixture f;
    QVERIFY(f.apply(sampled()));
    QVERIFY(f.run(4));
    for (int i = 0; i < 9; ++i) {
        f->fork_here();
        QVERIFY(f.wait(SessionState::Ready));
    }
    QCOMPARE(numbers(*f.controller), (std::vector<int>{3, 4, 5, 6, 7, 8, 9, -10}));
    QCOMPARE(f.messages.size(), 2);
    QVERIFY(f.messages.last().contains(QStringLiteral("Branch 2 was given up: 8 branches are kept.")));
}

QTEST_GUILESS_MAIN(SessionBranches)
#include "tst_session_branches.moc"
