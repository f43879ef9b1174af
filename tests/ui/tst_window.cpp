// The window: transport, keys, presentation, layout, language, closing at any moment.
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QToolButton>
#include <QRandomGenerator>
#include <QSpinBox>

#include "tests/ui/window_fixture.h"
#include "ui/main_window/transport_bar.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

QPushButton* button(QWidget* window, const QString& name) {
    for (QPushButton* one : window->findChildren<QPushButton*>())
        if (one->accessibleName() == name) return one;
    return nullptr;
}

int cards_in_view(MainWindow* window) {
    int count = 0;
    for (const auto& entry : window->host()->entries()) count += !entry.frame()->isHidden();
    return count;
}

}  // namespace

class WindowTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { fail_on_warnings(); }

    void start_step_back_play_reset() {
        WindowFixture f;
        QVERIFY(!button(f.window(), QStringLiteral("Step"))->isEnabled());
        QVERIFY(f.start());
        QCOMPARE(f.session()->viewed_step(), 0);
        QVERIFY(!button(f.window(), QStringLiteral("Step back"))->isEnabled());
        f.key(Qt::Key_Right);
        QVERIFY(f.wait([&] { return f.session()->step_count() == 2 && f.session()->state() == SessionState::Ready; }));
        f.key(Qt::Key_Left);
        QCOMPARE(f.session()->viewed_step(), 0);
        f.key(Qt::Key_Right);
        QCOMPARE(f.session()->viewed_step(), 1);
        QCOMPARE(f.session()->step_count(), 2);  // shown again, not generated
        f.key(Qt::Key_Space);
        QVERIFY(f.wait([&] { return f.session()->step_count() > 6; }));
        f.key(Qt::Key_Space);
        QVERIFY(f.wait([&] { return f.session()->state() == SessionState::Ready; }));
        f.key(Qt::Key_Home);
        QCOMPARE(f.session()->viewed_step(), 0);
        f.key(Qt::Key_End);
        QCOMPARE(f.session()->viewed_step(), f.session()->step_count() - 1);
        f.session()->reset();
        QVERIFY(f.wait([&] { return f.session()->step_count() == 1 && f.session()->state() == SessionState::Ready; }));
    }

    void switching_while_running() {
        WindowFixture f;
        QVERIFY(f.start());
        f.controls->context = 4096;
        f.session()->play();
        QVERIFY(f.wait([&] { return f.session()->step_count() > 3; }));
        SessionSettings other = f.session()->settings();
        other.cache = *parse_cache_spec("growing");
        f.session()->apply(other);
        QVERIFY(f.wait([&] { return f.session()->settings().cache.id == "growing" && f.session()->step_count() > 0; }));
        other = f.session()->settings();
        other.model = QStringLiteral("another");
        f.session()->apply(other);
        QVERIFY(f.wait([&] {
            return f.session()->settings().model == QLatin1String("another") && f.session()->step_count() > 0;
        }));
    }

    // A cache chosen while a model is still loading does not bring the old model back.
    void two_quick_changes_keep_both() {
        WindowFixture f;
        QVERIFY(f.start());
        f.controls->load.close();
        auto boxes = f.window()->transport()->findChildren<QComboBox*>();
        QComboBox* cache = nullptr;
        for (QComboBox* box : boxes)
            if (box->accessibleName() == QLatin1String("Cache")) cache = box;
        QVERIFY(cache != nullptr);
        SessionSettings other = f.session()->settings();
        other.model = QStringLiteral("slow");
        f.session()->apply(other);
        QVERIFY(f.wait([&] { return f.controls->load.arrived() > 1; }));
        f.controls->load.open();
        QVERIFY(f.wait([&] { return f.session()->settings().model == QLatin1String("slow"); }));
        QVERIFY(f.wait([&] { return f.session()->state() == SessionState::Ready; }));
        cache->setCurrentIndex(cache->findData(QStringLiteral("growing")));
        Q_EMIT cache->activated(cache->currentIndex());
        QVERIFY(f.wait([&] { return f.session()->settings().cache.id == "growing"; }));
        QCOMPARE(f.session()->settings().model, QStringLiteral("slow"));
    }

    // UI-01: closing while something runs, at any moment, ends the engine's thread and leaves no model behind.
    void closing_at_random_moments() {
        QRandomGenerator random(7);
        for (int round = 0; round < 20; ++round) {
            std::shared_ptr<FakeControls> controls;
            {
                WindowFixture f;
                controls = f.controls;
                controls->context = 100000;
                OpeningRequest opening;
                opening.settings.prompt = QStringLiteral("hello");
                opening.tokens_per_second = 0;
                f.shell->open(opening);
                QTest::qWait(static_cast<int>(random.bounded(30)));
                f.window()->close();
                if (round % 2 == 0) QTest::qWait(1);
            }
            QCOMPARE(controls->live_models.load(), 0);
        }
    }

    // While a model loads slowly the window goes on: events are handled, and a cancel is taken.
    void slow_load_does_not_block() {
        WindowFixture f;
        f.controls->load.close();
        int beats = 0;
        QTimer heart;
        connect(&heart, &QTimer::timeout, this, [&] { ++beats; });
        heart.start(5);
        OpeningRequest opening;
        opening.settings.prompt = QStringLiteral("hello");
        f.shell->open(opening);
        QVERIFY(f.wait([&] { return f.controls->load.arrived() > 0 && beats > 10; }));
        QCOMPARE(f.session()->state(), SessionState::Loading);
        QVERIFY(f.session()->can(SessionAction::CancelWork));
        f.session()->cancel();
        QVERIFY(f.wait([&] { return f.session()->state() != SessionState::Loading; }));
    }

    // A flood of tokens does not become a flood of repaints.
    void presents_are_coalesced() {
        WindowFixture f;
        QVERIFY(f.start());
        SessionSettings longer = f.session()->settings();
        longer.new_tokens = 0;
        f.controls->context = 6000;
        longer.model = QStringLiteral("long");
        longer.prompt = QStringLiteral("again");
        longer.race = false;
        f.session()->apply(longer);
        QVERIFY(f.wait([&] {
            return f.session()->settings().model == QLatin1String("long") &&
                   f.session()->state() == SessionState::Ready;
        }));
        QElapsedTimer clock;
        clock.start();
        const qint64 before = f.window()->host()->presented();
        f.session()->run_to_end();
        QVERIFY(f.wait([&] { return f.session()->finished() && f.session()->state() == SessionState::Ready; }));
        QVERIFY(f.session()->step_count() > 5000);
        const qint64 rounds = clock.elapsed() / 33 + 3;
        const qint64 panels = static_cast<qint64>(f.window()->host()->entries().size());
        QVERIFY2(f.window()->host()->presented() - before <= rounds * panels,
                 qPrintable(QString::number(f.window()->host()->presented() - before)));
    }

    // The pointer moves far more often than the screen is drawn: a thousand changes at once are one round of
    // presenting.
    void changes_at_once_are_one_round() {
        WindowFixture f;
        QVERIFY(f.start());
        QTest::qWait(100);
        const qint64 before = f.window()->host()->presented();
        SelectionPoint point;
        for (int i = 0; i < 1000; ++i) {
            point.position = i % 5;
            f.shell->selection()->hover(point);
        }
        QCOMPARE(f.window()->host()->presented(), before);
        QVERIFY(f.wait([&] { return f.window()->host()->presented() > before; }));
        QVERIFY(f.window()->host()->presented() - before <= static_cast<qint64>(f.window()->host()->entries().size()));
    }

    // Every strategy at 1k to 1M tokens, for the loaded model and for published ones.
    void what_if_fills_its_table() {
        WindowFixture f;
        QVERIFY(f.start());
        const PanelHost::Entry* memory = f.window()->host()->find(QStringLiteral("memory"));
        for (QToolButton* button : memory->card->findChildren<QToolButton*>())
            if (button->text() == QLatin1String("what if")) button->click();
        auto* table = memory->panel->findChild<QTableWidget*>();
        QVERIFY(f.wait([&] { return table->isVisible() && table->rowCount() > 4; }));
        QCOMPARE(table->columnCount(), 6);
        auto* shape = memory->panel->findChildren<QComboBox*>().front();
        QCOMPARE(shape->currentIndex(), 0);  // the loaded model, until another one is chosen
        QVERIFY(shape->currentText() != QLatin1String("GPT-2 124M"));
        shape->setCurrentText(QStringLiteral("Llama-3-8B"));
        Q_EMIT shape->activated(shape->currentIndex());
        const auto cell = [&](const QString& row, int column) {
            for (int r = 0; r < table->rowCount(); ++r)
                if (table->verticalHeaderItem(r)->text() == row) return table->item(r, column)->text();
            return QString();
        };
        QCOMPARE(cell(QStringLiteral("preallocated"), 0), QStringLiteral("128 MiB"));
        QCOMPARE(cell(QStringLiteral("paged"), 5), QStringLiteral("128 GiB"));
        QCOMPARE(cell(QStringLiteral("ring:window=1024"), 5), QStringLiteral("128 MiB"));
        bool exported = false;
        for (const ExportItem& item : f.window()->host()->exports()) exported |= item.id == QLatin1String("what-if");
        QVERIFY(exported);
    }

    void presentation_toggles() {
        WindowFixture f;
        QVERIFY(f.start());
        const int all = cards_in_view(f.window());
        const int type = theme().body().pixelSize();
        f.key(Qt::Key_F11);
        QVERIFY(f.window()->presentation()->active());
        QVERIFY(f.window()->isFullScreen());
        QVERIFY(cards_in_view(f.window()) < all);
        QVERIFY(!f.window()->transport()->isVisible());
        QVERIFY(theme().body().pixelSize() > type * 1.5);
        f.key(Qt::Key_PageDown);
        QVERIFY(f.wait([&] { return f.session()->step_count() == 2; }));
        f.key(Qt::Key_PageUp);
        QCOMPARE(f.session()->viewed_step(), 0);
        f.window()->say({SessionMessage::Kind::Info, QStringLiteral("nothing pops up"), {}});
        QVERIFY(f.window()->message_bar()->isHidden());
        f.key(Qt::Key_Escape);
        QVERIFY(!f.window()->presentation()->active());
        QCOMPARE(cards_in_view(f.window()), all);
        QCOMPARE(theme().body().pixelSize(), type);
    }

    void one_panel_alone() {
        WindowFixture f;
        QVERIFY(f.start());
        const int all = cards_in_view(f.window());
        const PanelHost::Entry* timing = f.window()->host()->find(QStringLiteral("timing"));
        QTest::mouseDClick(timing->card->header(), Qt::LeftButton, Qt::NoModifier, QPoint(4, 4));
        QCOMPARE(f.window()->presentation()->alone(), QStringLiteral("timing"));
        QCOMPARE(cards_in_view(f.window()), 1);
        f.key(Qt::Key_Escape);
        QCOMPARE(cards_in_view(f.window()), all);
    }

    void escape_clears_the_pin_first() {
        WindowFixture f;
        QVERIFY(f.start());
        f.window()->presentation()->set_alone(QStringLiteral("cache"));
        SelectionPoint point;
        point.position = 1;
        f.shell->selection()->pin(point);
        f.key(Qt::Key_Escape);
        QVERIFY(!f.shell->selection()->position_pinned());
        QCOMPARE(f.window()->presentation()->alone(), QStringLiteral("cache"));
    }

    void layout_is_kept_and_reset() {
        QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("settings.ini"));
        {
            WindowFixture f(QStringLiteral("en"), file);
            f.window()->set_panel_shown(QStringLiteral("memory"), false);
            f.window()->close();
        }
        WindowFixture f(QStringLiteral("en"), file);
        QVERIFY(!f.window()->panel_shown(QStringLiteral("memory")));
        QVERIFY(f.window()->panel_shown(QStringLiteral("timing")));
        f.window()->reset_layout();
        QVERIFY(f.window()->panel_shown(QStringLiteral("memory")));
    }

    void damaged_layout_is_repaired() {
        QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("settings.ini"));
        {
            QSettings settings(file, QSettings::IniFormat);
            settings.setValue(QStringLiteral("layout"), QByteArray("no layout at all"));
            settings.setValue(QStringLiteral("type_scale"), QStringLiteral("nan"));
            settings.setValue(QStringLiteral("geometry"), QByteArray("nonsense"));
        }
        WindowFixture f(QStringLiteral("en"), file);
        const auto& panels = panel_catalogue();
        QCOMPARE(cards_in_view(f.window()),
                 static_cast<int>(std::count_if(panels.begin(), panels.end(),
                                                [](const PanelDescriptor& one) { return one.open_at_first; })));
        QCOMPARE(theme().body().pixelSize(), 13);
    }

    void all_closed_comes_back() {
        QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("settings.ini"));
        {
            WindowFixture f(QStringLiteral("en"), file);
            for (const PanelDescriptor& panel : panel_catalogue()) f.window()->set_panel_shown(panel.id, false);
            f.window()->close();
        }
        WindowFixture f(QStringLiteral("en"), file);
        QVERIFY(cards_in_view(f.window()) >= 5);
    }

    void language_switches_while_it_runs() {
        WindowFixture f;
        QVERIFY(f.start());
        QPointer<MainWindow> before = f.window();
        const QString english = f.window()->transport()->findChildren<QComboBox*>().front()->accessibleName();
        Preferences chinese = f.window()->preferences();
        chinese.language = QStringLiteral("zh_CN");
        f.window()->change_preferences(chinese);
        QVERIFY(f.wait([&] { return f.shell->language() == QLatin1String("zh_CN") && before.isNull(); }));
        QVERIFY(f.window()->isVisible());
        QVERIFY(f.window()->transport()->findChildren<QComboBox*>().front()->accessibleName() != english);
        QCOMPARE(f.session()->step_count(), 1);
        f.key(Qt::Key_Right);
        QVERIFY(f.wait([&] { return f.session()->step_count() == 2; }));
    }

    void keys_belong_to_the_control_with_focus() {
        WindowFixture f;
        QVERIFY(f.start());
        f.window()->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(f.window()));
        for (QComboBox* box : f.window()->transport()->findChildren<QComboBox*>())
            QVERIFY((box->focusPolicy() & Qt::ClickFocus) == 0);
        QPushButton* step = button(f.window(), QStringLiteral("Step"));
        step->setFocus(Qt::TabFocusReason);
        QVERIFY(step->hasFocus());
        QTest::keyClick(step, Qt::Key_Space);
        QVERIFY(f.wait([&] { return f.session()->step_count() == 2 && f.session()->state() == SessionState::Ready; }));
        QTest::qWait(20);
        QCOMPARE(f.session()->step_count(), 2);  // the button was pressed; nothing plays
    }

    void every_control_has_a_name() {
        WindowFixture f;
        QVERIFY(f.start());
        for (QWidget* widget : f.window()->findChildren<QWidget*>()) {
            if (!widget->isVisible() || widget->focusPolicy() == Qt::NoFocus) continue;
            const auto* labelled = qobject_cast<QAbstractButton*>(widget);
            const auto* text = qobject_cast<QLabel*>(widget);  // selectable text names itself
            const bool inner = widget->objectName().startsWith(QLatin1String("qt_")) ||
                               widget->parentWidget()->inherits("QAbstractItemView") ||
                               widget->parentWidget()->inherits("QAbstractSpinBox");
            const bool named =
                !widget->accessibleName().isEmpty() || (labelled != nullptr && !labelled->text().isEmpty()) ||
                (text != nullptr && !text->text().isEmpty()) || inner || widget->inherits("QAbstractScrollArea");
            QVERIFY2(named, qPrintable(QStringLiteral("%1 in %2")
                                           .arg(QLatin1String(widget->metaObject()->className()),
                                                QLatin1String(widget->parentWidget()->metaObject()->className()))));
        }
    }

    // A projector of 1024x768 shows all of it, and nothing that is said or drawn later makes the window larger.
    void fits_a_small_screen() {
        for (const QString& language : {QStringLiteral("en"), QStringLiteral("zh_CN")}) {
            WindowFixture f(language);
            f.window()->resize(960, 640);
            QVERIFY(f.start());
            f.window()->say({SessionMessage::Kind::Error, QString(200, QLatin1Char('x')), {}});
            for (int i = 0; i < 12; ++i) {
                f.key(Qt::Key_Right);
                QVERIFY(f.wait([&] { return f.session()->step_count() == i + 2; }));
            }
            for (QToolButton* button : f.window()->findChildren<QToolButton*>())
                if (button->isCheckable() && button->isVisible()) button->click();
            QCoreApplication::processEvents();
            QCOMPARE(f.window()->size(), QSize(960, 640));
            const QSize least = f.window()->minimumSizeHint();
            QVERIFY2(least.width() <= 960 && least.height() <= 640,
                     qPrintable(QStringLiteral("%1x%2").arg(least.width()).arg(least.height())));
        }
    }

    // Which preset a recording was made with is not in it: its prompt is neither a preset nor the user's own text.
    void a_recording_has_its_own_prompt() {
        QTemporaryDir folder;
        WindowFixture f;
        QVERIFY(f.start());
        const auto prompt = [&] { return f.window()->transport()->findChildren<QComboBox*>().back()->currentText(); };
        const SessionSettings before = f.session()->settings();
        QCOMPARE(prompt(), QStringLiteral("Own text…"));
        QVERIFY(f.open_fake_run({}, folder));
        QCOMPARE(prompt(), QStringLiteral("As recorded"));
        f.session()->apply(before);
        QVERIFY(f.wait([&] { return f.session()->state() == SessionState::Ready; }));
        QCOMPARE(prompt(), QStringLiteral("Own text…"));
    }

    void errors_stay_in_the_window() {
        WindowFixture f;
        QVERIFY(f.start());
        f.session()->open_recording(QStringLiteral("/no/such/file.dscope"));
        QVERIFY(f.wait([&] { return !f.window()->message_bar()->isHidden(); }));
        QVERIFY(f.window()->message_bar()->text().contains(QStringLiteral("/no/such/file.dscope")));
        QVERIFY(QApplication::activeModalWidget() == nullptr);
        f.key(Qt::Key_Escape);
        QVERIFY(f.window()->message_bar()->isHidden());
        f.key(Qt::Key_Right);
        QVERIFY(f.wait([&] { return f.session()->step_count() == 2; }));
    }
};

QTEST_MAIN(WindowTest)
#include "tst_window.moc"
