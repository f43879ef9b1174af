// The comparison in the window: closed at first, its form, progress and cancel, results and exports.
#include <QComboBox>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTableWidget>
#include <QToolButton>

#include "tests/ui/window_fixture.h"
#include "ui/main_window/export_writer.h"
#include "ui/panels/compare/compare_form.h"
#include "ui/widgets/comparison_figure.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

struct CompareFixture : WindowFixture {
    using WindowFixture::WindowFixture;

    Panel* panel() { return window()->host()->find(QStringLiteral("compare"))->panel; }
    CompareForm* form() { return panel()->findChild<CompareForm*>(); }
    std::vector<ConfigRow*> rows() {
        std::vector<ConfigRow*> shown;
        for (ConfigRow* row : form()->findChildren<ConfigRow*>())
            if (!row->isHidden()) shown.push_back(row);
        return shown;
    }
    QPushButton* button(const QString& text) {
        for (QPushButton* one : form()->findChildren<QPushButton*>())
            if (one->text() == text) return one;
        return nullptr;
    }
    bool open() {
        window()->set_panel_shown(QStringLiteral("compare"), true);
        return start() && wait([this] {
            window()->host()->present_now();
            return button(QStringLiteral("Start")) != nullptr && button(QStringLiteral("Start"))->isEnabled();
        });
    }
    bool finish() {
        const bool done = wait([this] {
            return session()->comparison() != nullptr && session()->state() == SessionState::Ready;
        });
        window()->host()->present_now();
        return done;
    }
};

}  // namespace

class CompareTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { fail_on_warnings(); }

    void closed_until_it_is_asked_for() {
        CompareFixture f;
        QVERIFY(!f.window()->panel_shown(QStringLiteral("compare")));
        QVERIFY(f.window()->panel_shown(QStringLiteral("attention")));
        f.window()->set_panel_shown(QStringLiteral("compare"), true);
        QTRY_VERIFY(f.window()->host()->find(QStringLiteral("compare"))->card->in_view());
        QVERIFY(f.window()->panel_shown(QStringLiteral("attention")));  // behind it, as a tab
        f.window()->reset_layout();
        QVERIFY(!f.window()->panel_shown(QStringLiteral("compare")));
        QTRY_VERIFY(f.window()->host()->find(QStringLiteral("attention"))->card->in_view());
    }

    void form_says_up_to_four() {
        CompareFixture f;
        QVERIFY(f.open());
        QCOMPARE(f.rows().size(), std::size_t{3});
        auto wanted = f.form()->request();
        QVERIFY(wanted.ok());
        QCOMPARE(config_names(wanted->configs), config_names(growth_configs()));
        f.button(QStringLiteral("Add"))->click();
        QCOMPARE(f.rows().size(), std::size_t{4});
        QVERIFY(!f.button(QStringLiteral("Add"))->isEnabled());
        CompareChoice choice = f.rows().back()->choice();
        choice.cache = *parse_cache_spec("ring:window=8");
        choice.k = QStringLiteral("bf16");
        choice.v = QStringLiteral("f16");
        choice.weights = QStringLiteral("f16");
        f.rows().back()->set_choice(choice);
        wanted = f.form()->request();
        QVERIFY(wanted.ok());
        QCOMPARE(to_string(wanted->configs[3]), "cache=ring:window=8;kv=k=bf16,v=f16;weights=f16;backend=cpu");
        for (QToolButton* remove : f.rows().front()->findChildren<QToolButton*>())
            if (remove->text() == QStringLiteral("✕")) remove->click();
        QCOMPARE(f.rows().size(), std::size_t{3});
        QVERIFY(f.button(QStringLiteral("Add"))->isEnabled());
        f.button(QStringLiteral("Growing / preallocated / paged"))->click();
        QCOMPARE(f.rows().size(), std::size_t{3});
        for (ConfigRow* row : f.rows())
            for (QComboBox* box : row->findChildren<QComboBox*>()) QVERIFY(!box->accessibleName().isEmpty());
    }

    void results_beside_each_other() {
        CompareFixture f;
        QVERIFY(f.open());
        QVERIFY(f.panel()->exports().empty());
        f.form()->findChild<QSpinBox*>()->setValue(6);
        f.button(QStringLiteral("Start"))->click();
        QVERIFY(f.finish());
        auto* table = f.panel()->findChild<QTableWidget*>();
        QVERIFY(table->isVisibleTo(f.panel()));
        QCOMPARE(table->columnCount(), 4);
        QCOMPARE(table->horizontalHeaderItem(2)->text(), QStringLiteral("2  preallocated"));
        bool claim = false, marked = false;
        for (QLabel* label : f.panel()->findChildren<QLabel*>()) {
            claim = claim || label->text().contains(QLatin1String("50.0 % less time"));
            marked = marked || label->text().contains(QLatin1String("<u>a</u>"));
        }
        QVERIFY(claim);
        QVERIFY(marked);
        QVERIFY(f.panel()->facts_line().contains(QLatin1String("3 configurations")));
        QTemporaryDir folder;
        const auto items = f.panel()->exports();
        QCOMPARE(items.size(), std::size_t{1});
        QCOMPARE(items[0].id, QStringLiteral("compare"));
        for (const char* suffix : {"png", "svg", "pdf", "csv", "json"}) {
            const QString path = folder.filePath(QStringLiteral("c.") + QLatin1String(suffix));
            const Status written = write_export(items[0], f.session()->recording()->facts(), path, ExportSize{});
            QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());
        }
        QFile csv(folder.filePath(QStringLiteral("c.csv")));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QVERIFY(csv.readAll().contains("\n3,paged,"));
    }

    // UI-02, UI-03: while it runs nothing else can be started, the form is closed, and a cancel keeps what there is.
    void cancel_keeps_what_there_is() {
        CompareFixture f;
        QVERIFY(f.open());
        f.controls->sweep.close();
        f.button(QStringLiteral("Start"))->click();
        QVERIFY(f.wait([&] { return f.controls->sweep.arrived() > 0; }));
        f.window()->host()->present_now();
        QCOMPARE(f.session()->state(), SessionState::Measuring);
        QVERIFY(f.session()->comparing());
        QVERIFY(!f.session()->can(SessionAction::StepForward));
        QVERIFY(!f.rows().front()->isEnabled());
        QVERIFY(f.form()->findChild<QProgressBar*>()->isVisibleTo(f.form()));
        QVERIFY(f.button(QStringLiteral("Cancel")) != nullptr);
        f.button(QStringLiteral("Cancel"))->click();
        QVERIFY(f.wait([&] { return f.session()->state() == SessionState::Ready; }));
        QVERIFY(f.session()->comparison() == nullptr);  // not a single pass was made
        f.window()->host()->present_now();
        QVERIFY(f.rows().front()->isEnabled());
        f.controls->sweep.open();
        f.button(QStringLiteral("Start"))->click();
        QVERIFY(f.finish());
        QVERIFY(!f.session()->comparison()->cancelled);
        // A later one that is cancelled at once leaves this one in place.
        const auto before = f.session()->comparison();
        f.controls->sweep.close();
        f.session()->start_compare(*f.form()->request());
        f.session()->cancel();
        QVERIFY(f.wait([&] { return f.session()->state() == SessionState::Ready; }));
        QCOMPARE(f.session()->comparison(), before);
    }

    void closing_while_it_runs() {
        CompareFixture f;
        QVERIFY(f.open());
        f.controls->sweep.close();
        f.button(QStringLiteral("Start"))->click();
        QVERIFY(f.wait([&] { return f.controls->sweep.arrived() > 0; }));
        f.window()->close();
        f.shell.reset();
    }

    void figure_fits_every_width() {
        CompareFixture f;
        QVERIFY(f.open());
        f.session()->start_compare(*f.form()->request());
        QVERIFY(f.finish());
        const CompareResult& result = *f.session()->comparison();
        double before = 1e9;
        for (int width : {120, 300, 500, 800, 1400}) {
            const double height = comparison_height(width, result);
            QVERIFY(height > 0 && height <= before);
            before = height;
            QImage image(width, static_cast<int>(height), QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            paint_comparison(painter, QRectF(0, 0, width, height), result);
            painter.end();
            QVERIFY(image != [&] {
                QImage white(image.size(), image.format());
                white.fill(Qt::white);
                return white;
            }());
        }
    }
};

QTEST_MAIN(CompareTest)
#include "tst_compare.moc"
