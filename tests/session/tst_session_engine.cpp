// The session over the real engine: a small random LLaMA (grouped-query, untied head) on the processor.
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <cstring>

#include "tests/session/engine_fixture.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

// Attention of a row as stored bits, all layers.
std::vector<std::uint16_t> attention_bits(const RunRecording& recording, int row) {
    std::vector<std::uint16_t> bits;
    for (int layer = 0; layer < recording.facts().config.layers; ++layer) {
        const AttentionRow attention = recording.attention(row, layer);
        bits.insert(bits.end(), attention.weights.begin(), attention.weights.end());
    }
    return bits;
}

}  // namespace

class SessionEngine : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void strategies_and_formats_write_the_same_tokens();
    void both_lanes_agree();
    void continue_from_here_keeps_what_was_recorded();
    void forks_share_the_pages_of_the_text_so_far();
    void beyond_the_context_the_cached_lane_goes_on_alone();
    void sampled_runs_repeat_across_switches();
    void device_weights_and_model_are_switched();
    void cells_are_inspected();
    void the_context_is_used_to_its_end();
    void a_recording_is_the_run();
    void a_sweep_runs_on_the_loaded_model();
    void closing_while_passes_run();
};

void SessionEngine::strategies_and_formats_write_the_same_tokens() {
    EngineFixture straight;
    QVERIFY(straight.apply(tiny_settings()));
    QVERIFY(straight.run(24));
    EngineFixture f;
    QVERIFY(f.apply(tiny_settings()));
    for (const char* cache : {"growing", "recompute", "preallocated:slab=true", "growing", "preallocated"}) {
        QVERIFY(f.run(4));
        SessionSettings other = f->settings();
        other.cache = *parse_cache_spec(cache);
        QVERIFY(f.apply(other));
        QCOMPARE(f->recording()->step(0)->phase, Phase::Refeed);
        QCOMPARE(QString::fromStdString(f->recording()->facts().cache_spec), QString::fromLatin1(cache));
    }
    QVERIFY(f.run(4));
    QCOMPARE(f.tokens(), straight.tokens());
    QCOMPARE(f.text(), straight.text());
    QVERIFY2(f.messages.isEmpty(), qPrintable(f.messages.join(QLatin1Char('\n'))));
    SessionSettings half = f->settings();
    half.kv = *parse_kv_format("f16");
    QVERIFY(f.apply(half));
    QCOMPARE(f.tokens(), straight.tokens());  // those that were there are kept whatever the format
    QVERIFY(f->recording()->step(0)->kv.used_bytes * 2 == straight->recording()->step(24)->kv.used_bytes);
}

void SessionEngine::both_lanes_agree() {
    EngineFixture f;
    QVERIFY(f.apply(tiny_settings("growing")));
    QVERIFY(f.run(12));
    QVERIFY(f->recording()->race_count() >= 1);
    for (int i = 0; i < f->recording()->race_count(); ++i) {
        const RacePoint point = f->recording()->race_point(i);
        QVERIFY(point.same_token);
        QVERIFY(point.max_abs_logit_diff <= 1e-3);
        QVERIFY(point.recompute_micros > 0 && point.cached_micros > 0);
        QVERIFY(point.captured);
        const auto step = f->recording()->step(point.step);
        QCOMPARE(point.length, step->first_row + 1);
    }
}

void SessionEngine::continue_from_here_keeps_what_was_recorded() {
    for (const char* cache : {"preallocated", "growing", "recompute"}) {
        EngineFixture f;
        SessionSettings settings = tiny_settings(cache);
        settings.sampler = {1.2, 0, 1.0, 3};
        QVERIFY(f.apply(settings));
        QVERIFY(f.run(14));
        const RecordingPtr whole = f->recording();
        const auto tokens = f.tokens();
        const QString text = f.text();
        f->view_step(6);
        f->continue_from_here();
        QVERIFY(f.wait(SessionState::Ready));
        QCOMPARE(f->step_count(), 7);
        const int rows = f->recording()->row_count();
        QCOMPARE(rows, whole->row_count() - 8);
        for (int row = 0; row < rows - 1; ++row) {
            QCOMPARE(attention_bits(*f->recording(), row), attention_bits(*whole, row));
            for (int layer = 0; layer < 3; ++layer) {
                const float before = whole->k_rms(row, layer), after = f->recording()->k_rms(row, layer);
                QVERIFY(std::memcmp(&before, &after, sizeof before) == 0);  // NaN without a cache
            }
            QCOMPARE(f->recording()->row_display(row), whole->row_display(row));
        }
        QVERIFY(!attention_bits(*f->recording(), rows - 1).empty());
        QCOMPARE(f->recording()->step(6)->sampled_token, whole->step(6)->sampled_token);
        QVERIFY(f.run(8));
        QCOMPARE(f.tokens(), tokens);
        QCOMPARE(f.text(), text);
        QVERIFY2(f.messages.isEmpty(), qPrintable(f.messages.join(QLatin1Char('\n'))));
    }
}

// PG-03 in the window: a branch owns the pages of the common text together with the run that it left, and the page that
// it writes into first is copied.
void SessionEngine::forks_share_the_pages_of_the_text_so_far() {
    EngineFixture f;
    QVERIFY(f.apply(tiny_settings("preallocated")));
    QVERIFY(f.run(3));
    QVERIFY(!f->can(SessionAction::ForkHere));
    f->fork_here();
    QCOMPARE(f.messages.size(), 1);
    f.messages.clear();
    SessionSettings settings = tiny_settings("paged:page=4");
    QVERIFY(f.apply(settings));
    f->reset();
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(!f->can(SessionAction::ForkHere));  // the prefill
    QVERIFY(f.run(14));
    const auto tokens = f.tokens();
    f->view_step(6);
    const int rows = f->recording()->step(6)->first_row;  // the row of the step itself is computed again
    f->fork_here();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->step_count(), 7);
    const auto step = f->recording()->step(6);
    QCOMPARE(step->placement.sequence, 1);
    QVERIFY(step->placement.whole);
    QCOMPARE(step->kv.pages_copied, std::int64_t{rows % 4 == 0 ? 0 : 1});
    QCOMPARE(step->kv.pages_shared, std::int64_t{rows / 4});
    const std::vector<std::int32_t> both{0, 1};
    QVERIFY(step->placement.pages.front().owners == both);
    QVERIFY(f.run(8));
    QCOMPARE(f.tokens(), tokens);  // greedy: the branch writes what the run wrote
    QCOMPARE(f->recording()->step(8)->kv.pages_shared, std::int64_t{rows / 4});
    f->view_step(3);
    f->continue_from_here();  // the other branch keeps its pages
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(f->recording()->step(3)->kv.pages_shared > 0);
    QVERIFY2(f.messages.isEmpty(), qPrintable(f.messages.join(QLatin1Char('\n'))));
}

// Positions that are counted inside the cache: no full pass can follow it beyond the context of 128 tokens.
void SessionEngine::beyond_the_context_the_cached_lane_goes_on_alone() {
    EngineFixture f;
    SessionSettings settings = tiny_settings("sinks:sinks=2,window=9,positions=rebased");
    settings.new_tokens = 130;
    settings.stop_at_eos = false;
    QVERIFY(f.apply(settings));
    f->set_tokens_per_second(0);
    f->run_to_end();
    QVERIFY(QTest::qWaitFor([&] { return f->finished(); }, kPatience));
    QCOMPARE(f->stop_reason(), QStringLiteral("length"));
    QVERIFY(f.tokens().size() > 128);
    QVERIFY(f->recording()->race_count() > 0);
    for (int i = 0; i < f->recording()->race_count(); ++i) QVERIFY(f->recording()->race_point(i).length <= 128);
    QCOMPARE(f.messages.filter(QStringLiteral("goes on alone")).size(), 1);
    QCOMPARE(f.messages.filter(QStringLiteral("stopped")).size(), 0);
}

void SessionEngine::sampled_runs_repeat_across_switches() {
    SessionSettings settings = tiny_settings();
    settings.sampler = {1.5, 50, 0.95, 21};
    EngineFixture straight;
    QVERIFY(straight.apply(settings));
    QVERIFY(straight.run(16));
    EngineFixture f;
    QVERIFY(f.apply(settings));
    QVERIFY(f.run(8));
    settings.cache = *parse_cache_spec("growing");
    QVERIFY(f.apply(settings));
    QVERIFY(f.run(8));
    QCOMPARE(f.tokens(), straight.tokens());
    settings.sampler.seed = 22;
    QVERIFY(f.apply(settings));
    QVERIFY(f.run(16));
    QVERIFY(f.tokens() != straight.tokens());
}

void SessionEngine::device_weights_and_model_are_switched() {
    EngineFixture f;
    QVERIFY(f.apply(tiny_settings()));
    QVERIFY(f.run(5));
    const auto tokens = f.tokens();
    SessionSettings other = f->settings();
    other.backend = QStringLiteral("reference");
    QVERIFY(f.apply(other));
    QCOMPARE(f->recording()->facts().backend, std::string("reference"));
    QCOMPARE(f.tokens(), tokens);
    other.weights = WeightType::F16;
    QVERIFY(f.apply(other));
    QCOMPARE(f->recording()->facts().weights_type, std::string("f16"));
    QCOMPARE(f.tokens(), tokens);
    QVERIFY(f.run(1));
    other.model = QStringLiteral("gpt2");
    other.prompt = QStringLiteral("short");
    QVERIFY(f.apply(other));
    QCOMPARE(f->model()->config.family, Family::Gpt2);
    QCOMPARE(f->step_count(), 1);
    QVERIFY(f.run(3));
    QVERIFY2(f.messages.isEmpty(), qPrintable(f.messages.join(QLatin1Char('\n'))));
}

void SessionEngine::cells_are_inspected() {
    EngineFixture f;
    QVERIFY(f.apply(tiny_settings()));
    QVERIFY(f.run(2));
    const InspectedCell cell = f.inspect(2, 3);
    QVERIFY2(cell.available, qPrintable(cell.reason));
    QCOMPARE(cell.layer, 2);
    QCOMPARE(cell.position, 3);
    QCOMPARE(cell.values.k.size(), std::size_t(2 * 8));
    QCOMPARE(cell.values.v.size(), std::size_t(2 * 8));
    double square = 0;
    for (const float k : cell.values.k) square += static_cast<double>(k) * k;
    const double rms = std::sqrt(square / 16);
    QVERIFY(std::abs(rms - static_cast<double>(f->recording()->k_rms(3, 2))) < 1e-5 * rms + 1e-7);
    for (const auto& [layer, position] : {std::pair{0, 1000}, std::pair{0, -1}, std::pair{99, 0}}) {
        const InspectedCell none = f.inspect(layer, position);
        QVERIFY(!none.available && !none.reason.isEmpty());
    }
    SessionSettings other = f->settings();
    other.cache = *parse_cache_spec("recompute");
    QVERIFY(f.apply(other));
    const InspectedCell none = f.inspect(0, 0);
    QVERIFY(!none.available && !none.reason.isEmpty());
}

void SessionEngine::the_context_is_used_to_its_end() {
    EngineFixture f;
    SessionSettings settings = tiny_settings();
    settings.race = false;
    QVERIFY(f.apply(settings));
    f->run_to_end();
    QVERIFY(f.wait(SessionState::Ready));
    QCOMPARE(f->stop_reason(), QStringLiteral("context_full"));
    QCOMPARE(f->recording()->row_count(), 128);
    QVERIFY(f.messages.isEmpty());
}

void SessionEngine::a_recording_is_the_run() {
    EngineFixture f;
    QVERIFY(f.apply(tiny_settings()));
    QVERIFY(f.run(6));
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("run.dscope"));
    f->save_recording(path);
    QVERIFY(QTest::qWaitFor([&] { return !f->saving(); }, kPatience));
    const RecordingPtr live = f->recording();
    f->open_recording(path);
    QVERIFY(f.wait(SessionState::Replay));
    const RecordingPtr opened = f->recording();
    QCOMPARE(opened->row_count(), live->row_count());
    QCOMPARE(opened->step_count(), live->step_count());
    QCOMPARE(opened->race_count(), live->race_count());
    for (int row = 0; row < live->row_count(); ++row)
        QCOMPARE(attention_bits(*opened, row), attention_bits(*live, row));
    const SessionSettings shown = f->settings();
    QCOMPARE(shown.model, QString::fromStdString(live->facts().model_source));
    QCOMPARE(shown.sampler.seed, std::uint64_t{1});
    f->reset();
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(f.run(6));
    for (int row = 0; row < live->row_count(); ++row) QCOMPARE(f->recording()->row(row).token, live->row(row).token);
}

void SessionEngine::a_sweep_runs_on_the_loaded_model() {
    EngineFixture f;
    QVERIFY(f.apply(tiny_settings()));
    QVERIFY(f.run(2));
    SweepRequest request;
    request.lengths = {16, 32};
    request.caches = {*parse_cache_spec("recompute"), *parse_cache_spec("preallocated")};
    request.repeats = 2;
    f->start_sweep(request);
    QVERIFY(f.wait(SessionState::Ready));
    QVERIFY(f->sweep() != nullptr);
    QVERIFY(f->sweep()->rows.size() >= 4);
    QVERIFY(f.run(2));
    QVERIFY2(f.messages.isEmpty(), qPrintable(f.messages.join(QLatin1Char('\n'))));
}

void SessionEngine::closing_while_passes_run() {
    for (int moment = 0; moment < 10; ++moment) {
        EngineFixture f;
        SessionSettings settings = tiny_settings(moment % 2 == 0 ? "growing" : "recompute");
        f->apply(settings);
        if (moment > 1) QVERIFY(f.wait(SessionState::Ready));
        if (moment > 1) f->play();
        for (int i = 0; i < moment * 5; ++i) QCoreApplication::processEvents();
        if (moment == 7) f->reset();
    }
}

QTEST_GUILESS_MAIN(SessionEngine)
#include "tst_session_engine.moc"
