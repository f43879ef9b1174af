// UI-01: closing the window while something is on its way. In this process over the invented engine; and in a process
// of its own over the real one, as a person does it: the exit code is 0 and nothing is said on stderr.
#include <QApplication>
#include <QDir>
#include <QImage>
#include <QProcess>
#include <QTimer>

#include "app/cli/commands.h"
#include "tests/ui/window_fixture.h"
#include "ui/main_window/export_dialog.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

constexpr const char* kChild = "--open-play-close";

// The child: opens the window on the bundled model, plays, and closes it after so many steps; -1: at once, while the
// model loads. With a path the run is saved on the way out.
int play_and_close(int argc, char** argv) {
    QApplication application(argc, argv);
    ShellOptions options;
    options.registry = make_backend_registry();
    options.resource_folder = QStringLiteral(DECODESCOPE_SOURCE_DIR "/resources");
    options.preferences.language = QStringLiteral("en");
    options.stored_preferences = false;
    Shell shell(std::move(options));
    shell.window()->show();
    OpeningRequest opening;
    opening.settings.threads = 2;
    opening.tokens_per_second = 0;
    const int steps = QByteArray(argv[2]).toInt();
    const QString save_to = argc > 3 ? QString::fromLocal8Bit(argv[3]) : QString();
    SessionController& session = *shell.session();
    const auto close_when_there = [&] {
        if (session.step_count() < steps || !shell.window()->isVisible()) return;
        if (!save_to.isEmpty()) session.save_recording(save_to);
        shell.window()->close();
    };
    QObject::connect(&session, &SessionController::steps_arrived, shell.window(), close_when_there);
    shell.open(opening);
    if (steps < 0) QTimer::singleShot(0, shell.window(), &QWidget::close);
    QTimer::singleShot(kPatience, &application, [] { QCoreApplication::exit(3); });
    return QApplication::exec();
}

}  // namespace

class ClosingTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { fail_on_warnings(); }

    void while_something_waits_data() {
        QTest::addColumn<QString>("what");
        for (const char* what : {"load", "pass", "save"}) QTest::newRow(what) << what;
    }

    // The engine stands in the middle of it when the window closes.
    void while_something_waits() {
        QFETCH(QString, what);
        QTemporaryDir folder;
        std::shared_ptr<FakeControls> controls;
        {
            WindowFixture f;
            controls = f.controls;
            Gate& gate = what == QLatin1String("load")   ? controls->load
                         : what == QLatin1String("pass") ? controls->pass
                                                         : controls->save;
            if (what == QLatin1String("save")) QVERIFY(f.start());
            gate.close();
            if (what == QLatin1String("save")) {
                f.session()->save_recording(folder.filePath(QStringLiteral("run.dscope")));
            } else {
                OpeningRequest opening;
                opening.settings.prompt = QStringLiteral("hello");
                f.shell->open(opening);
            }
            QVERIFY(f.wait([&] { return gate.arrived() > 0; }));
            f.window()->close();
        }
        QCOMPARE(controls->live_models.load(), 0);
        // A file that is there is a whole one.
        if (const QString path = folder.filePath(QStringLiteral("run.dscope")); QFile::exists(path))
            QVERIFY(load_recording(path.toStdString(), {}, {}).ok());
    }

    // Closed while a picture is being drawn, with the run going on behind it.
    void while_an_export_is_drawn() {
        QTemporaryDir folder;
        std::shared_ptr<FakeControls> controls;
        {
            WindowFixture f;
            controls = f.controls;
            controls->context = 4096;
            QVERIFY(f.start());
            f.session()->play();
            QVERIFY(f.wait([&] { return f.session()->step_count() > 3; }));
            const auto items = f.window()->host()->exports();
            QVERIFY(!items.empty());
            int drawn = 0;
            for (ExportItem item : items) {
                if (!item.paint) continue;
                item.paint = [&, paint = item.paint](QPainter& painter, const QRectF& area) {
                    f.window()->close();
                    QCoreApplication::processEvents();
                    paint(painter, area);
                    ++drawn;
                };
                const QString path = folder.filePath(item.id + QStringLiteral(".png"));
                QVERIFY(f.window()->export_item(item, path, {}));
                QVERIFY(!QImage(path).isNull());
            }
            QVERIFY(drawn > 0);
        }
        QCOMPARE(controls->live_models.load(), 0);
    }

    // Closed while the export dialog asks.
    void while_the_export_dialog_is_open() {
        WindowFixture f;
        QVERIFY(f.start());
        bool asked = false;
        QTimer look;
        connect(&look, &QTimer::timeout, this, [&] {
            auto* dialog = f.window()->findChild<ExportDialog*>();
            if (dialog == nullptr || !dialog->isVisible()) return;
            look.stop();
            asked = true;
            f.window()->close();
            dialog->reject();
        });
        look.start(5);
        f.window()->choose_export(QString());
        QVERIFY(asked);
        QVERIFY(!f.window()->isVisible());
    }

    void in_a_process_of_its_own_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("while the model loads") << QStringList{QStringLiteral("-1")};
        QTest::newRow("after the prompt") << QStringList{QStringLiteral("1")};
        QTest::newRow("while it plays") << QStringList{QStringLiteral("9")};
        QTest::newRow("while it saves") << QStringList{QStringLiteral("5"), QDir::temp().filePath(QStringLiteral(
            "decodescope-closing-%1.dscope").arg(QCoreApplication::applicationPid()))};
    }

    void in_a_process_of_its_own() {
        QFETCH(QStringList, arguments);
        QProcess child;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
        child.setProcessEnvironment(environment);
        child.start(QCoreApplication::applicationFilePath(), QStringList{QLatin1String(kChild)} + arguments);
        QVERIFY(child.waitForFinished(2 * kPatience));
        if (arguments.size() > 1) QFile::remove(arguments[1]);
        QByteArrayList said;
        for (const QByteArray& line : child.readAllStandardError().split('\n'))
            if (!line.isEmpty() && !line.startsWith("This plugin does not") && !line.startsWith("QStandardPaths: "))
                said << line;
        QCOMPARE(said.join('\n'), QByteArray());
        QCOMPARE(child.exitStatus(), QProcess::NormalExit);
        QCOMPARE(child.exitCode(), 0);
    }
};

int main(int argc, char** argv) {
    if (argc > 2 && QByteArray(argv[1]) == kChild) return play_and_close(argc, argv);
    QApplication application(argc, argv);
    ClosingTest test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_closing.moc"
