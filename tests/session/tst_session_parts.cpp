// Selection, settings and the pacing of the lane without the cache: no engine, no thread but the test's own.
#include <QSignalSpy>
#include <QTest>
#include <thread>

#include "ui/session/race_pacer.h"
#include "ui/session/selection.h"
#include "ui/session/session_settings.h"
#include "ui/session/worker_link.h"

using namespace decodescope;

class SessionParts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void hover_previews_and_click_pins();
    void escape_clears_the_position_and_keeps_the_head();
    void selection_is_clamped_to_another_model();
    void settings_survive_a_map();
    void unusable_saved_values_fall_back();
    void defaults_left_out_are_no_change();
    void every_change_asks_for_its_work();
    void race_runs_at_every_step_while_short();
    void race_thins_out_flat_out_and_when_long();
    void a_waiting_loop_follows_speed_stop_and_questions();
};

void SessionParts::hover_previews_and_click_pins() {
    Selection selection;
    QSignalSpy changed(&selection, &Selection::changed);
    selection.pin({1, 2, 3, -1});
    QCOMPARE(changed.count(), 1);
    selection.hover({4, 5, 6, 7});
    QCOMPARE(selection.effective().layer, 4);
    QCOMPARE(selection.pinned().layer, 1);
    selection.hover({4, 5, 6, 7});
    QCOMPARE(changed.count(), 2);  // the same point again is no change
    selection.end_hover();
    QCOMPARE(selection.effective().position, 3);
    selection.end_hover();
    QCOMPARE(changed.count(), 3);
    selection.hover({4, 5, 6, 7});
    selection.pin({4, 5, 6, 7});
    QVERIFY(selection.position_pinned());
    selection.set_layer_head(0, 1);
    QCOMPARE(selection.pinned().position, 6);
    QCOMPARE(selection.effective().head, 1);
}

void SessionParts::escape_clears_the_position_and_keeps_the_head() {
    Selection selection;
    selection.pin({1, 2, 3, 4});
    selection.hover({0, 0, 9, 9});
    selection.clear();
    QVERIFY(!selection.hovering());
    QVERIFY(!selection.position_pinned());
    QCOMPARE(selection.effective(), (SelectionPoint{1, 2, -1, -1}));
    QSignalSpy changed(&selection, &Selection::changed);
    selection.clear();
    QCOMPARE(changed.count(), 0);
}

void SessionParts::selection_is_clamped_to_another_model() {
    Selection selection;
    selection.pin({11, 7, 3, -1});
    QSignalSpy changed(&selection, &Selection::changed);
    selection.clamp(6, 4);
    QCOMPARE(selection.pinned(), (SelectionPoint{5, 3, 3, -1}));
    QCOMPARE(changed.count(), 1);
    selection.clamp(0, 0);
    QCOMPARE(selection.pinned().layer, 0);
    QCOMPARE(selection.pinned().head, 0);
}

void SessionParts::settings_survive_a_map() {
    SessionSettings settings;
    settings.model = QStringLiteral("synthetic:gpt2-small");
    settings.backend = QStringLiteral("reference");
    settings.threads = 3;
    settings.weights = WeightType::BF16;
    settings.cache = *parse_cache_spec("growing");
    settings.kv = *parse_kv_format("k=f16,v=f32");
    settings.sampler = {0.8, 40, 0.95, 18446744073709551615ull};
    settings.prompt = QString::fromUtf8("Der Schlüssel, 钥匙\nan \"edge\" 😀");
    settings.preset_id = QStringLiteral("keys");
    settings.parse_special = true;
    settings.new_tokens = 77;
    settings.stop_at_eos = settings.capture = settings.race = settings.profile = false;
    const QLocale before;
    QLocale::setDefault(QLocale(QLocale::German));
    const QVariantMap map = to_map(settings);
    for (const QVariant& value : map) QCOMPARE(value.typeId(), static_cast<int>(QMetaType::QString));
    QCOMPARE(map.value(QStringLiteral("temperature")).toString(), QStringLiteral("0.8"));
    QVERIFY(settings_from_map(map) == settings);
    QLocale::setDefault(before);
    QVERIFY(settings_from_map({}) == SessionSettings{});
}

void SessionParts::unusable_saved_values_fall_back() {
    QVariantMap map = to_map({});
    map[QStringLiteral("cache")] = QStringLiteral("nonsense:x=1");
    map[QStringLiteral("kv")] = QStringLiteral("f7");
    map[QStringLiteral("weights")] = QStringLiteral("f99");
    map[QStringLiteral("threads")] = QStringLiteral("-4");
    map[QStringLiteral("new_tokens")] = QStringLiteral("12 apples");
    map[QStringLiteral("temperature")] = QStringLiteral("-1");
    map[QStringLiteral("top_p")] = QStringLiteral("nan");
    map[QStringLiteral("seed")] = QStringLiteral("9");
    map[QStringLiteral("race")] = QStringLiteral("perhaps");
    SessionSettings expected;
    expected.sampler.seed = 9;
    QVERIFY(settings_from_map(map) == expected);
}

void SessionParts::defaults_left_out_are_no_change() {
    SessionSettings bare, parsed;
    parsed.cache = *parse_cache_spec("preallocated");
    QVERIFY(bare == parsed);
    QCOMPARE(settings_change(bare, parsed), SettingsChange::Nothing);
    parsed.cache = *parse_cache_spec("preallocated:slab=true");
    QVERIFY(!(bare == parsed));
}

void SessionParts::every_change_asks_for_its_work() {
    const SessionSettings base;
    const auto change = [&](auto edit) {
        SessionSettings other = base;
        edit(other);
        return settings_change(base, other);
    };
    QCOMPARE(change([](auto& s) {
                 s.capture = s.race = false;
                 s.preset_id = QStringLiteral("x");
             }),
             SettingsChange::Nothing);
    QCOMPARE(change([](auto& s) { s.cache = *parse_cache_spec("growing"); }), SettingsChange::Refeed);
    QCOMPARE(change([](auto& s) { s.kv.v = ElementType::F16; }), SettingsChange::Refeed);
    QCOMPARE(change([](auto& s) { s.new_tokens = 5; }), SettingsChange::Refeed);
    QCOMPARE(change([](auto& s) { s.profile = false; }), SettingsChange::Refeed);
    QCOMPARE(change([](auto& s) { s.prompt = QStringLiteral("x"); }), SettingsChange::Restart);
    QCOMPARE(change([](auto& s) { s.sampler.seed = 2; }), SettingsChange::Restart);
    QCOMPARE(change([](auto& s) { s.sampler.temperature = 1; }), SettingsChange::Restart);
    QCOMPARE(change([](auto& s) { s.parse_special = true; }), SettingsChange::Restart);
    QCOMPARE(change([](auto& s) { s.threads = 1; }), SettingsChange::Load);
    QCOMPARE(change([](auto& s) { s.weights = WeightType::F32; }), SettingsChange::Load);
    QCOMPARE(change([](auto& s) { s.backend = QStringLiteral("reference"); }), SettingsChange::Load);
    QCOMPARE(change([](auto& s) { s.threads = 1; s.prompt = QStringLiteral("x"); }), SettingsChange::LoadOther);
    QCOMPARE(change([](auto& s) { s.model = QStringLiteral("x"); }), SettingsChange::LoadOther);
}

void SessionParts::race_runs_at_every_step_while_short() {
    RacePacer pacer;
    QVERIFY(pacer.due(13, 1'000'000'000, true));  // nothing known: measure and learn
    pacer.learn(10'000, 1'000'000);               // 10 ms for a million operations
    for (int length = 1; length < 40; ++length) {
        QVERIFY(pacer.due(length, 1'000'000, false));
        QVERIFY(pacer.due(length, 1'000'000, true));
        QVERIFY(pacer.due(length, 49'000'000, false));  // 490 ms
    }
}

void SessionParts::race_thins_out_flat_out_and_when_long() {
    RacePacer pacer;
    pacer.guess(200'000, 1'000'000);  // a prefill that warmed up: one pass will tell
    QVERIFY(pacer.due(13, 1'000'000, true));
    QVERIFY(!pacer.due(13, 10'000'000, true));  // two seconds are too long to find out
    pacer.learn(10'000, 1'000'000);
    const auto measured = [&](std::int64_t flops, bool flat_out) {
        int count = 0;
        for (int length = 1; length <= 256; ++length) count += pacer.due(length, flops, flat_out);
        return count;
    };
    QCOMPARE(measured(5'000'000, true), 32);    // 50 ms: every 8th
    QCOMPARE(measured(20'000'000, true), 8);    // 200 ms: every 32nd
    QCOMPARE(measured(60'000'000, true), 9);    // 600 ms: 1, 2, 4, ... 256
    QCOMPARE(measured(60'000'000, false), 9);
    QVERIFY(!pacer.tell(1));
    QVERIFY(pacer.tell(8));
    QVERIFY(!pacer.tell(8));
    QVERIFY(pacer.tell(32));
    QVERIFY(pacer.tell(0));
    QVERIFY(!pacer.tell(0));
}

void SessionParts::a_waiting_loop_follows_speed_stop_and_questions() {
    WorkerLink link;
    const auto start = WorkerLink::Clock::now();
    QVERIFY(link.wait_for_pace(start, {}));  // as fast as it goes
    link.set_tokens_per_second(1e-6);        // weeks: whoever returns was woken
    std::stop_source stop;
    {
        std::jthread other([&] { stop.request_stop(); });
        QVERIFY(!link.wait_for_pace(start, stop.get_token()));
    }
    {
        std::jthread other([&] { link.ask({1, 0, 0}); });
        QVERIFY(!link.wait_for_pace(start, {}));
    }
    QVERIFY(!link.ask({2, 5, 6}));  // one is waiting: the newer one takes its place
    QCOMPARE(link.take_question()->number, std::uint64_t{2});
    QVERIFY(!link.take_question().has_value());
    {
        std::jthread other([&] { link.set_tokens_per_second(0); });
        QVERIFY(link.wait_for_pace(start, {}));
    }
}

QTEST_APPLESS_MAIN(SessionParts)
#include "tst_session_parts.moc"
