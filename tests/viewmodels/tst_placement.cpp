// The cache map without a screen: what lies where, how it is laid out, hit tests, bands, words.
#include <QTest>
#include <cmath>

#include "tests/support/fake_run.h"
#include "ui/viewmodels/format.h"
#include "ui/viewmodels/placement_text.h"

using namespace decodescope;

namespace {

FakeRunOptions run_of(const char* cache, int steps = 12) {
    FakeRunOptions options;
    options.cache = cache;
    options.steps = steps;
    options.window = options.cache == "ring" ? 16 : 0;
    options.page = 8;
    options.shared_pages = 1;
    options.capture = false;
    return options;
}

struct Fixture {
    explicit Fixture(const FakeRunOptions& options, int step = -1) : recording(make_fake_run(options)) {
        at(step < 0 ? recording->step_count() - 1 : step);
    }
    void at(int step) {
        tokens.update(recording.get());
        story.update(recording.get());
        track.update(recording.get(), step);
        view = viewed_step(recording.get(), step);
    }
    void arrange(double width = 700, PlacementOptions options = {}) {
        layout.arrange(track, static_cast<int>(view.facts->kv.tokens_seen), QRectF(60, 20, width, 30),
                       QRectF(60, 150, width, 30), options);
    }
    QString box(const PlacementHit& hit) {
        return placement_facts({*recording, view, tokens, track}, hit).join(QLatin1Char('\n'));
    }
    std::shared_ptr<RunRecording> recording;
    ViewedStep view;
    TokenTrack tokens;
    CacheStory story;
    PlacementTrack track;
    PlacementLayout layout;
};

}  // namespace

class TestPlacement : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void any_order_of_steps_gives_the_same_state();
    void what_was_written();
    void not_captured_is_not_empty();
    void columns_of_all_sizes_data();
    void columns_of_all_sizes();
    void hit_test_finds_what_is_drawn();
    void bands_join_what_belongs_together();
    void zoomed_in();
    void words_of_a_page();
    void words_of_a_ring();
    void words_where_layers_differ();
    void table_has_every_slot();
    void groups_of_a_format();
    void degenerate();
};

void TestPlacement::any_order_of_steps_gives_the_same_state() {
    for (const char* cache : {"preallocated", "growing", "ring", "paged"}) {
        Fixture walked(run_of(cache, 40), 0), jumped(run_of(cache, 40), 0);
        for (int step = 0; step <= 40; ++step) {
            walked.at(step);
            jumped.at(40 - step);
            jumped.at(step);
            QCOMPARE(walked.track.state().rows, jumped.track.state().rows);
            QCOMPARE(walked.track.state().pages, jumped.track.state().pages);
            for (int position = 0; position < static_cast<int>(walked.view.facts->kv.tokens_seen); ++position) {
                const bool gone = walked.recording->evicted_at(position, step).has_value();
                QCOMPARE(walked.track.slot_of(position).has_value(), !gone);
                if (!gone) QCOMPARE(walked.track.position_in(*walked.track.slot_of(position)), position);
            }
            QCOMPARE(walked.track.rows_in(0, static_cast<int>(walked.track.state().slots)),
                     static_cast<int>(walked.view.facts->kv.tokens_stored));
        }
        walked.track.update(nullptr, 0);
        QVERIFY(!walked.track.state().known);
    }
}

void TestPlacement::what_was_written() {
    Fixture f(run_of("paged"), 0);
    QCOMPARE(f.track.written().front().position, 0);  // the prefill wrote all there is
    f.at(5);
    QCOMPARE(f.track.written().size(), std::size_t{1});
    QCOMPARE(f.track.written()[0], (RowRun{24, 5 * 8, 1}));
    QVERIFY(f.track.page_changed(5));
    QVERIFY(!f.track.page_changed(1));
}

void TestPlacement::not_captured_is_not_empty() {
    FakeRunOptions options = run_of("paged");
    options.placed = false;
    Fixture f(options);
    f.arrange();
    QVERIFY(!f.track.state().known);
    QVERIFY(f.layout.memory().empty());
    QVERIFY(!f.layout.hit(QPointF(100, 160)));
    QVERIFY(placement_sentence(f.track, f.view, f.story).contains(QStringLiteral("not captured")));
    QVERIFY(f.box({}).isEmpty());
    QVERIFY(placement_table(*f.recording, 3).rows.empty());
}

void TestPlacement::columns_of_all_sizes_data() {
    QTest::addColumn<QString>("cache");
    QTest::addColumn<int>("page");
    QTest::addColumn<int>("tokens");
    QTest::addColumn<double>("width");
    for (const int page : {1, 2, 16, 256})
        for (const int tokens : {21, 300, 2048})
            QTest::addRow("paged %d, %d", page, tokens) << "paged" << page << tokens << 700.0;
    for (const char* cache : {"preallocated", "growing", "ring"})
        for (const double width : {90.0, 700.0, 3000.0})
            QTest::addRow("%s %g", cache, width) << cache << 1 << 700 << width;
}

void TestPlacement::columns_of_all_sizes() {
    QFETCH(QString, cache);
    QFETCH(int, page);
    QFETCH(int, tokens);
    QFETCH(double, width);
    FakeRunOptions options = run_of(qPrintable(cache), 4);
    options.prompt_tokens = tokens - 4;
    options.page = page;
    options.race = options.profile = false;
    Fixture f(options);
    f.arrange(width);
    const auto& cells = f.layout.memory();
    QVERIFY(!cells.empty());
    QCOMPARE(cells.front().first, 0);
    QCOMPARE(cells.back().end, static_cast<int>(f.track.state().slots));
    int rows = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        rows += cells[i].rows;
        QVERIFY(cells[i].width > 0.5);
        if (i > 0) QCOMPARE(cells[i].first, cells[i - 1].end);
        if (cells[i].page >= 0) QCOMPARE(cells[i].first, cells[i].page * page);
        QVERIFY(f.layout.page_rect(cells[i]).right() <= 60 + width + 1);
    }
    QCOMPARE(rows, static_cast<int>(f.view.facts->kv.tokens_stored));
    QVERIFY2(cells.size() <= static_cast<std::size_t>(width / 2) + 1, "what is drawn is bounded by the width");
    QVERIFY(f.layout.positions().size() <= static_cast<std::size_t>(width / 2) + 1);
}

void TestPlacement::hit_test_finds_what_is_drawn() {
    for (const char* cache : {"preallocated", "ring", "paged"}) {
        Fixture f(run_of(cache, 30));
        f.arrange();
        const int slot_count = static_cast<int>(f.track.state().slots);
        for (int slot = 0; slot < slot_count; ++slot) {
            const auto hit = f.layout.hit(QPointF(f.layout.slot_x(slot + 0.5), 160));
            QVERIFY(hit && hit->in_memory);
            QCOMPARE(hit->slot, slot);
            QCOMPARE(hit->page, f.track.state().page_tokens > 0 ? slot / 8 : -1);
            QCOMPARE(hit->position, f.track.position_in(slot).value_or(-1));
        }
        for (int position = 0; position < 50; ++position) {
            const auto span = f.layout.position_span(position);
            QVERIFY(span);
            const auto hit = f.layout.hit(QPointF(span->first + span->second / 2, 30));
            QVERIFY(hit && !hit->in_memory);
            QCOMPARE(hit->position, position);
            QCOMPARE(hit->slot, f.track.slot_of(position).value_or(-1));
        }
        QVERIFY(!f.layout.hit(QPointF(f.layout.slot_x(slot_count) + 2, 160)));
        QVERIFY(!f.layout.hit(QPointF(100, 100)));
    }
}

void TestPlacement::bands_join_what_belongs_together() {
    Fixture f(run_of("paged", 30));
    f.arrange();
    const auto bands = f.layout.bands(64);
    QCOMPARE(bands.size(), std::size_t{7});  // 50 tokens, 8 to a page
    for (const PlacementBand& band : bands) {
        QCOMPARE(band.slot_left, f.layout.slot_x(band.run.slot));
        QCOMPARE(band.position_left, f.layout.position_span(band.run.position)->first);
        QCOMPARE(f.track.slot_of(band.run.position), band.run.slot);
    }
    QVERIFY(f.layout.bands(3).empty());
    Fixture ring(run_of("ring", 30));  // the newest 16 of 50: two runs
    ring.arrange();
    QCOMPARE(ring.layout.bands(64).size(), std::size_t{2});
    FakeRunOptions many = run_of("paged", 4);
    many.prompt_tokens = 2044;
    many.page = 1;
    many.shared_pages = 2048;  // in order: one run, however many pages
    Fixture whole(many);
    whole.arrange();
    QCOMPARE(whole.layout.bands(64).size(), std::size_t{1});
}

void TestPlacement::zoomed_in() {
    FakeRunOptions run = run_of("paged", 4);
    run.prompt_tokens = 1000;
    Fixture f(run);
    PlacementOptions options;
    options.slot_width = 20;
    options.first_slot = 101.5;
    f.arrange(700, options);
    QCOMPARE(f.layout.slot_width(), 20.0);
    QVERIFY(f.layout.slots_apart());
    QCOMPARE(f.layout.hit(QPointF(60, 160))->slot, 101);
    QVERIFY(!f.layout.slot_in_view(100) && f.layout.slot_in_view(101) && f.layout.slot_in_view(136));
    for (const PlacementBand& band : f.layout.bands(1000)) {
        QVERIFY(band.slot_left >= 60 - 1e-9 && band.slot_right <= 760 + 1e-9);
        QVERIFY(band.run.slot >= 101 && band.run.slot + band.run.count <= 137);
    }
    options.first_slot = 1e9;
    f.arrange(700, options);
    QCOMPARE(f.layout.memory().back().end, static_cast<int>(f.track.state().slots));
}

void TestPlacement::words_of_a_page() {
    Fixture f(run_of("paged", 7));  // 27 tokens: page 0 shared, three of its own, the last one with 3
    f.arrange();
    const std::int64_t slot = 2 * 4 * 2 * 8 * 4;  // K and V, layers, KV heads, head size, f32
    QCOMPARE(slot_bytes(f.track.state(), f.view.facts->kv), static_cast<double>(slot));
    QCOMPARE(wasted_slots(f.track.state(), f.view.facts->kv), std::int64_t{5});
    const QString shared = f.box(*f.layout.hit(QPointF(f.layout.slot_x(2.5), 160)));
    QVERIFY2(shared.contains(QStringLiteral("Page 0 · slots 0 to 7")), qPrintable(shared));
    QVERIFY(shared.contains(QStringLiteral("owned by conversations 1, 2; this one is 1")));
    QVERIFY(shared.contains(QStringLiteral("8 of 8 tokens: positions 0 to 7")));
    const QString last = f.box(*f.layout.hit(QPointF(f.layout.slot_x(5 * 8 + 0.5), 160)));
    QVERIFY2(last.contains(QStringLiteral("3 of 8 tokens: positions 24 to 26 · ") + format_bytes(8 * slot)),
             qPrintable(last));
    QVERIFY(last.contains(QStringLiteral("5 slots empty, ") + format_bytes(5 * slot)));
    QVERIFY(last.contains(QStringLiteral("[derived]")) && last.contains(QStringLiteral("reclaimed")));
    QVERIFY(last.contains(QStringLiteral("the next token goes to slot 43")));
    const QString other = f.box(*f.layout.hit(QPointF(f.layout.slot_x(2 * 8 + 0.5), 160)));
    QVERIFY2(other.contains(QStringLiteral("owned by conversation 2, not by this one")), qPrintable(other));
    QVERIFY(!other.contains(QStringLiteral("0 of 8")));
    PlacementHit place;
    place.position = 25;
    place.slot = 41;
    place.page = 5;
    QVERIFY(f.box(place).contains(QStringLiteral("lies in slot 41: page 5, place 1")));
    const QString sentence = placement_sentence(f.track, f.view, f.story);
    QVERIFY2(sentence.contains(QStringLiteral("4 pages for 27 tokens, 1 shared [measured]")), qPrintable(sentence));
    QVERIFY(sentence.contains(QStringLiteral("5 empty, ") + format_bytes(5 * slot)));
    QVERIFY(memory_words(f.track.state(), 4).contains(QStringLiteral("one allocation for each of 4 layers")));
}

void TestPlacement::words_of_a_ring() {
    Fixture f(run_of("ring", 10));  // 30 tokens, the newest 16 kept
    f.arrange();
    const QString sentence = placement_sentence(f.track, f.view, f.story);
    QVERIFY2(sentence.contains(QStringLiteral("the next token goes to slot 14, over position 14")),
             qPrintable(sentence));
    PlacementHit gone;
    gone.position = 5;
    QVERIFY(f.box(gone).contains(QStringLiteral("evicted in step 2")));
    const QString slot = f.box(*f.layout.hit(QPointF(f.layout.slot_x(0.5), 160)));
    QVERIFY2(slot.contains(QStringLiteral("Slot 0 · holds position 16")), qPrintable(slot));
    Fixture grown(run_of("growing", 3));
    QVERIFY(placement_sentence(grown.track, grown.view, grown.story).contains(QStringLiteral("copied")));
}

// Scores decide in every layer apart, and the map is of one: it says which, and takes no other's losses for its own.
void TestPlacement::words_where_layers_differ() {
    RunFacts facts = fake_run_facts(run_of("h2o"));
    facts.cache_spec = "h2o:budget=4,recent=2";
    const auto recording = std::make_shared<RunRecording>(std::move(facts), RecordingLimits{});
    for (std::int32_t position = 0; position < 5; ++position) {
        RunRecording::NewRow row;
        row.row = {position, position, position < 4 ? 0 : 1, Phase::Prefill, false, false};
        recording->append_row(row, {}, {}, {}, position + 1, {});
        if (position < 3) continue;
        StepFacts step;
        step.index = recording->step_count();
        step.kv.tokens_seen = position + 1;
        step.kv.tokens_stored = step.kv.capacity_tokens = 4;
        step.placement.known = step.placement.whole = true;
        step.placement.slots = 4;
        step.placement.rows = {{0, 0, 4}};
        if (position == 4) {
            step.placement.rows = {{0, 0, 1}, {2, 2, 2}, {4, 1, 1}};
            for (std::int32_t layer = 0; layer < 4; ++layer) step.evicted.push_back({layer == 0 ? 1 : 0, layer, 0.5f});
        }
        recording->append_step(std::move(step));
    }
    ViewedStep view = viewed_step(recording.get(), 1);
    TokenTrack tokens;
    CacheStory story;
    PlacementTrack track;
    tokens.update(recording.get());
    story.update(recording.get());
    track.update(recording.get(), 1);
    const QString sentence = placement_sentence(track, view, story);
    QVERIFY2(sentence.startsWith(QStringLiteral("layer 0 of 4: each layer keeps tokens of its own · 4 of 5 tokens")),
             qPrintable(sentence));
    const auto box = [&](int position, int slot) {
        PlacementHit hit;
        hit.position = position;
        hit.slot = slot;
        return placement_facts({*recording, view, tokens, track}, hit).join(QLatin1Char('\n'));
    };
    QVERIFY2(box(1, -1).contains(QStringLiteral("evicted in step 1")), qPrintable(box(1, -1)));
    QVERIFY2(box(0, 0).contains(QStringLiteral("lies in slot 0")), qPrintable(box(0, 0)));
    Fixture ring(run_of("ring"));
    QVERIFY(!placement_sentence(ring.track, ring.view, ring.story).contains(QStringLiteral("layer 0")));
}

void TestPlacement::table_has_every_slot() {
    Fixture f(run_of("paged", 7));
    const ExportTable table = placement_table(*f.recording, 7);
    QCOMPARE(static_cast<std::int64_t>(table.rows.size()), f.track.state().slots);
    QCOMPARE(table.rows[0].size(), table.columns.size());
    QCOMPARE(std::get<std::string>(table.rows[0][2]), std::string("shared"));
    QCOMPARE(std::get<std::int64_t>(table.rows[41][4]), std::int64_t{25});
    QVERIFY(std::holds_alternative<std::monostate>(table.rows[44][4]));
}

void TestPlacement::groups_of_a_format() {
    QVERIFY(!format_marks("f32", 40) && !format_marks("k=f16,v=int8", 40) && !format_marks("int8-kivi", 0));
    for (int tokens = 1; tokens < 200; ++tokens) {
        const auto marks = format_marks("k=int8-kivi(group=8,residual=16),v=f16", tokens);
        QVERIFY(marks && marks->group == 8);
        QCOMPARE(marks->residual_first % 8, 0);
        const int newest = tokens - marks->residual_first;
        QVERIFY(tokens < 24 ? newest == tokens : newest >= 16 && newest < 24);
        QCOMPARE(format_marks("int8-kivi", tokens)->residual_first, tokens < 64 ? 0 : (tokens - 32) / 32 * 32);
    }
}

void TestPlacement::degenerate() {
    Fixture f(run_of("paged", 3));
    f.arrange(0);
    f.arrange(3);
    f.layout.arrange(PlacementTrack(), 0, QRectF(), QRectF(), {});
    QVERIFY(!f.layout.hit(QPointF(0, 0)));
    QVERIFY(f.layout.memory().empty());
}

QTEST_APPLESS_MAIN(TestPlacement)
#include "tst_placement.moc"
