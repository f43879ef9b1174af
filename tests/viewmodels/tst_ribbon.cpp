// The token ribbon: where chips lie, and texts that make every token visible.
#include <QtTest>

#include "tests/support/fake_run.h"
#include "ui/viewmodels/ribbon_layout.h"
#include "ui/viewmodels/token_text.h"
#include "ui/viewmodels/viewed_step.h"

using namespace decodescope;

class TestRibbon : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void chips_follow_each_other();
    void hits();
    void visible_part_only();
    void reveal_keeps_the_newest_in_view();
    void degenerate();
    void texts_data();
    void texts();
    void viewed_rows();
    void positions_fed_again();
};

static RibbonLayout make(int prompt, int generated) {
    RibbonLayout layout{RibbonLayout::Metrics{}};
    for (int i = 0; i < prompt + generated; ++i) layout.append(10 + i % 37, i == prompt);
    return layout;
}

void TestRibbon::chips_follow_each_other() {
    const RibbonLayout layout = make(14, 7);
    QCOMPARE(layout.count(), 21);
    QCOMPARE(layout.groups().size(), std::size_t{2});
    QCOMPARE(layout.groups()[0].end, 14);
    QCOMPARE(layout.groups()[1].first, 14);
    for (int row = 1; row < 21; ++row)
        QCOMPARE(layout.left(row), layout.left(row - 1) + layout.chip_width(row - 1) + (row == 14 ? 16 : 5));
    QCOMPARE(layout.width(), layout.left(20) + layout.chip_width(20));
}

void TestRibbon::hits() {
    const RibbonLayout layout = make(14, 7);
    for (int row = 0; row < layout.count(); ++row) {
        QCOMPARE(layout.hit(layout.left(row) + layout.chip_width(row) / 2), row);
        QCOMPARE(layout.hit(layout.left(row) + layout.chip_width(row) + 1), -1);
    }
    QCOMPARE(layout.hit(-1), -1);
    QCOMPARE(layout.hit(1e9), -1);
}

void TestRibbon::visible_part_only() {
    const RibbonLayout layout = make(20, 2028);
    int most = 0;
    for (double offset = 0; offset < layout.width(); offset += 611) {
        const auto [first, end] = layout.visible(offset, offset + 1200);
        most = std::max(most, end - first);
        for (int row = 0; row < layout.count(); ++row) {
            const bool touches = layout.left(row) < offset + 1200 && layout.left(row) + layout.chip_width(row) > offset;
            QCOMPARE(row >= first && row < end, touches);
        }
    }
    QVERIFY(most < 80);
}

void TestRibbon::reveal_keeps_the_newest_in_view() {
    const RibbonLayout layout = make(20, 100);
    const double offset = layout.reveal(119, 0, 500);
    QVERIFY(layout.left(119) >= offset && layout.left(119) + layout.chip_width(119) <= offset + 500 + 1e-9);
    QCOMPARE(offset, layout.largest_offset(500));
    const double back = layout.reveal(40, offset, 500);
    QVERIFY(back <= layout.left(40) && layout.left(40) + layout.chip_width(40) <= back + 500);
    QCOMPARE(layout.reveal(0, offset, 500), 0.0);
    QCOMPARE(layout.reveal(40, back, 500), back);  // already in view: nothing moves
    QCOMPARE(layout.reveal(-1, 1e9, 500), layout.largest_offset(500));
    QCOMPARE(layout.reveal(5, 0, 1e6), 0.0);
}

void TestRibbon::degenerate() {
    RibbonLayout layout{RibbonLayout::Metrics{}};
    QCOMPARE(layout.hit(0), -1);
    QCOMPARE(layout.visible(0, 100), (std::pair{0, 0}));
    QCOMPARE(layout.reveal(0, 0, 100), 0.0);
    layout.append(std::numeric_limits<double>::quiet_NaN(), false);
    layout.append(1e9, false);
    QVERIFY(layout.width() < 400);
    layout.clear();
    QCOMPARE(layout.count(), 0);
    QCOMPARE(layout.width(), 0.0);
}

void TestRibbon::texts_data() {
    QTest::addColumn<QByteArray>("display");
    QTest::addColumn<bool>("special");
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("kind");
    const auto row = [](const char* name, const char* display, bool special, const char* text, TokenKind kind) {
        QTest::newRow(name) << QByteArray(display) << special << QString::fromUtf8(text) << static_cast<int>(kind);
    };
    row("word", "blue", false, "blue", TokenKind::Text);
    row("word after a space", " blue", false, "blue", TokenKind::Text);
    row("chinese", "蓝", false, "蓝", TokenKind::Text);
    row("space", " ", false, "␣", TokenKind::Space);
    row("three spaces", "   ", false, "␣␣␣", TokenKind::Space);
    row("many spaces", "      ", false, "␣×6", TokenKind::Space);
    row("line break", "\n", false, "⏎", TokenKind::Space);
    row("escaped line break", "\\n", false, "⏎", TokenKind::Space);
    row("tab", "\t", false, "⇥", TokenKind::Text);
    row("special", "<|endoftext|>", true, "⟨endoftext⟩", TokenKind::Special);
    row("other special", "<s>", true, "<s>", TokenKind::Special);
    row("written like a special one", "<|endoftext|>", false, "<|endoftext|>", TokenKind::Text);
    row("bytes", "\\xF0\\x9F", false, "⟨F0 9F⟩", TokenKind::Bytes);
    row("empty", "", false, "∅", TokenKind::Text);
    row("empty special", "", true, "⟨special⟩", TokenKind::Special);
}

void TestRibbon::texts() {
    QFETCH(QByteArray, display);
    QFETCH(bool, special);
    QFETCH(QString, text);
    QFETCH(int, kind);
    const TokenLabel label = token_label(display.toStdString(), special);
    QCOMPARE(label.text, text);
    QCOMPARE(static_cast<int>(label.kind), kind);
    QVERIFY(!label.spoken.isEmpty());
}

void TestRibbon::viewed_rows() {
    FakeRunOptions options;
    options.steps = 3;
    options.prompt_tokens = 5;
    const auto recording = make_fake_run(options);
    QCOMPARE(viewed_step(recording.get(), 0).row_limit, 5);
    QCOMPARE(viewed_step(recording.get(), 0).first_new, 0);
    QCOMPARE(viewed_step(recording.get(), 2).row_limit, 7);
    QCOMPARE(viewed_step(recording.get(), 2).newest_row(), 6);
    QCOMPARE(viewed_step(recording.get(), -1).row_limit, 0);
    QCOMPARE(viewed_step(recording.get(), 99).row_limit, 0);
    QCOMPARE(viewed_step(nullptr, 0).newest_row(), -1);
}

void TestRibbon::positions_fed_again() {
    RunFacts facts;
    facts.config.layers = 1;
    RunRecording recording(facts, {});
    const float rms = 1;
    for (const int position : {0, 1, 2, 1, 2, 3}) {
        RunRecording::NewRow row;
        row.row.position = position;
        recording.append_row(row, std::span(&rms, 1), std::span(&rms, 1), {}, 0, {});
    }
    TokenTrack track;
    QCOMPARE(track.update(&recording), 0);
    QCOMPARE(track.positions(), 4);
    QCOMPARE(track.row_of(1), 3);
    QCOMPARE(track.row_of(3), 5);
    QCOMPARE(track.position_of(4), 2);
    QCOMPARE(track.row_of(9), -1);
    QCOMPARE(track.update(&recording), 6);
    track.update(nullptr);
    QCOMPARE(track.rows(), 0);
}

QTEST_APPLESS_MAIN(TestRibbon)
#include "tst_ribbon.moc"
