// Everything that can be exported is exported and read back (UI-09).
#include <sys/resource.h>

#include <QImage>
#include <QJsonDocument>
#include <QJsonObject>
#include <QXmlStreamReader>
#include <csignal>

#include "app/gui/window_run.h"
#include "tests/ui/window_fixture.h"
#include "ui/main_window/export_writer.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

QByteArray read(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

int csv_rows(const QByteArray& csv) {
    int rows = -1;  // the line of names
    for (const QByteArray& line : csv.split('\n')) rows += !line.isEmpty() && !line.startsWith('#');
    return rows;
}

}  // namespace

class ExportTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everything_is_read_back() {
        QTemporaryDir folder;
        WindowFixture f;
        FakeRunOptions options;
        options.steps = 30;
        QVERIFY(f.open_fake_run(options, folder));
        f.session()->view_step(30);
        const auto items = f.window()->host()->exports();
        QVERIFY(items.size() >= 5);
        const RunFacts& facts = f.session()->recording()->facts();
        for (const ExportItem& item : items) {
            const QString base = folder.filePath(item.id);
            if (item.paint) {
                for (double scale : {1.0, 1.25, 2.0}) {
                    ExportSize size;
                    size.pixels = QSize(801, 503);
                    size.scale = scale;
                    const Status written = write_export(item, facts, base + QStringLiteral(".png"), size);
                    QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());
                    const QImage image(base + QStringLiteral(".png"));
                    QCOMPARE(image.size(), size.pixels);
                    QVERIFY(image.text(QStringLiteral("Description")).contains(QString::fromStdString(facts.date)));
                    QSet<QRgb> colours;
                    for (int y = 0; y < image.height(); y += 3)
                        for (int x = 0; x < image.width(); x += 3) colours << image.pixel(x, y);
                    QVERIFY2(colours.size() > 3, qPrintable(item.id));
                }
                QVERIFY(write_export(item, facts, base + QStringLiteral(".svg"), {}).ok());
                check_svg(read(base + QStringLiteral(".svg")), item.id);
                ExportSize page;
                page.mm = QSizeF(123, 77);
                QVERIFY(write_export(item, facts, base + QStringLiteral(".pdf"), page).ok());
                check_pdf(read(base + QStringLiteral(".pdf")), page.mm);
            }
            if (item.csv) {
                QVERIFY(write_export(item, facts, base + QStringLiteral(".csv"), {}).ok());
                const QByteArray csv = read(base + QStringLiteral(".csv"));
                QVERIFY2(csv_rows(csv) > 0, qPrintable(item.id));
                QVERIFY2(csv.contains("# "), qPrintable(item.id));
            }
            if (item.json) {
                QVERIFY(write_export(item, facts, base + QStringLiteral(".json"), {}).ok());
                QJsonParseError error;
                QJsonDocument::fromJson(read(base + QStringLiteral(".json")), &error);
                QVERIFY2(error.error == QJsonParseError::NoError, qPrintable(item.id + error.errorString()));
            }
        }
    }

    // The rows of the file are the points that were measured, not those that were drawn.
    void rows_are_points() {
        QTemporaryDir folder;
        WindowFixture f;
        FakeRunOptions options;
        options.steps = 1500;
        options.layers = 1;
        options.capture = false;
        QVERIFY(f.open_fake_run(options, folder));
        for (const ExportItem& item : f.window()->host()->exports()) {
            if (item.id != QLatin1String("timing-per-token")) continue;
            int measured = 0;
            for (const QByteArray& line : QByteArray::fromStdString(item.csv()).split('\n'))
                measured += line.contains(",measured,");
            const auto recording = f.session()->recording();
            int expected = recording->race_count();
            for (int s = 0; s < recording->step_count(); ++s)
                expected += recording->step(s)->phase == Phase::Decode && !recording->step(s)->warm_up;
            QCOMPARE(measured, expected);
            return;
        }
        QFAIL("the chart of the timing panel can be exported");
    }

    void refusals_name_the_reason() {
        ExportItem item;
        item.title = QStringLiteral("A table");
        item.csv = [] { return std::string("a\n1\n"); };
        const Status no_picture = write_export(item, {}, QStringLiteral("x.png"), {});
        QVERIFY(!no_picture.ok());
        QVERIFY(no_picture.error().message.find("no picture") != std::string::npos);
        const Status no_format = write_export(item, {}, QStringLiteral("x.gif"), {});
        QVERIFY(!no_format.ok());
        QVERIFY(no_format.error().message.find(".gif") != std::string::npos);
        const Status no_folder = write_export(item, {}, QStringLiteral("/no/such/folder/x.csv"), {});
        QVERIFY(!no_folder.ok());
        QVERIFY(no_folder.error().message.find("/no/such/folder/x.csv") != std::string::npos);
        item.paint = [](QPainter&, const QRectF&) {};
        ExportSize huge;
        huge.pixels = QSize(1, 1 << 20);
        QVERIFY(!write_export(item, {}, QStringLiteral("x.png"), huge).ok());
    }

    // An export that fails leaves the older file as it was.
    void older_file_stays() {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("old.csv"));
        ExportItem item;
        item.csv = [] { return std::string("first\n"); };
        QVERIFY(write_export(item, {}, path, {}).ok());
        item.csv = [] { return std::string("second\n"); };
        // As on a full disk, for the superuser too.
        rlimit before{};
        QCOMPARE(::getrlimit(RLIMIT_FSIZE, &before), 0);
        const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
        const rlimit three_bytes{3, before.rlim_max};
        QCOMPARE(::setrlimit(RLIMIT_FSIZE, &three_bytes), 0);
        const bool written = write_export(item, {}, path, {}).ok();
        QCOMPARE(::setrlimit(RLIMIT_FSIZE, &before), 0);
        ::signal(SIGXFSZ, old_handler);
        QVERIFY(!written);
        QCOMPARE(read(path), QByteArray("first\n"));
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList{QStringLiteral("old.csv")});
    }

    void sweep_charts() {
        QTemporaryDir folder;
        SweepResult result;
        for (int length : {64, 128, 256})
            for (const char* cache : {"recompute", "preallocated"}) {
                SweepRow row;
                row.length = length;
                row.cache = cache;
                row.kv_type = "f32";
                row.phase = std::string(cache) == "recompute" ? "recompute" : "decode";
                row.median_ms = row.phase == "recompute" ? length * 0.1 : 0.5;
                row.min_ms = row.median_ms * 0.9;
                row.max_ms = row.median_ms * 1.2;
                result.rows.push_back(row);
            }
        OutputSet files, nowhere;
        Status written = write_sweep_charts(result, folder.path().toStdString(), "timing", files);
        QVERIFY(!QFile::exists(folder.filePath(QStringLiteral("timing.png"))));  // not before all are there
        if (written.ok()) written = files.commit();
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());
        QCOMPARE(QImage(folder.filePath(QStringLiteral("timing.png"))).size(), ExportSize{}.pixels);
        check_svg(read(folder.filePath(QStringLiteral("timing.svg"))), QStringLiteral("sweep"));
        check_pdf(read(folder.filePath(QStringLiteral("timing.pdf"))), ExportSize{}.mm);
        QVERIFY(!write_sweep_charts(result, "/no/such/folder", "timing", nowhere).ok());
    }

    void window_pictures_data() {
        QTest::addColumn<double>("scale");
        QTest::addColumn<QString>("theme");
        QTest::addColumn<QString>("panel");
        QTest::newRow("light") << 1.0 << "light"
                               << "";
        QTest::newRow("dark, 1.25") << 1.25 << "dark"
                                    << "";
        QTest::newRow("timing alone, 2") << 2.0 << "light"
                                         << "timing";
    }

    void window_pictures() {
        QFETCH(double, scale);
        QFETCH(QString, theme);
        QFETCH(QString, panel);
        QTemporaryDir folder;
        FakeRunOptions options;
        options.steps = 24;
        ShotRequest request;
        request.output = folder.filePath(QStringLiteral("w.png")).toStdString();
        request.width = 1281;
        request.height = 801;
        request.scale = scale;
        request.theme = theme.toStdString();
        request.panel = panel.toStdString();
        request.steps = 12;
        OutputSet files;
        Status drawn = write_window_picture(make_fake_run(options), request, files);
        if (drawn.ok()) drawn = files.commit();
        QVERIFY2(drawn.ok(), drawn.ok() ? "" : drawn.error().message.c_str());
        QCOMPARE(QImage(folder.filePath(QStringLiteral("w.png"))).size(),
                 QSize(static_cast<int>(std::lround(1281 * scale)), static_cast<int>(std::lround(801 * scale))));
        request.panel = "no-such-panel";
        QVERIFY(!write_window_picture(make_fake_run(options), request, files).ok());
    }

    // UI-10: a display that does not answer is a sentence, not the end of the program.
    void dead_displays() {
        const QByteArray platform = qgetenv("QT_QPA_PLATFORM"), x = qgetenv("DISPLAY"),
                         wayland = qgetenv("WAYLAND_DISPLAY");
        QVERIFY(display_answers().ok());  // offscreen needs none
        qunsetenv("QT_QPA_PLATFORM");
        qunsetenv("WAYLAND_DISPLAY");
        qunsetenv("DISPLAY");
        QVERIFY(display_answers().error().message.find("neither DISPLAY nor WAYLAND_DISPLAY") != std::string::npos);
        qputenv("DISPLAY", ":987");
        QVERIFY(display_answers().error().message.find(":987") != std::string::npos);
        qunsetenv("DISPLAY");
        qputenv("WAYLAND_DISPLAY", "/no/such/socket");
        QVERIFY(!display_answers().ok());
        qputenv("QT_QPA_PLATFORM", platform);
        x.isNull() ? qunsetenv("DISPLAY") : qputenv("DISPLAY", x);
        wayland.isNull() ? qunsetenv("WAYLAND_DISPLAY") : qputenv("WAYLAND_DISPLAY", wayland);
    }

private:
    static void check_svg(const QByteArray& svg, const QString& id) {
        QXmlStreamReader reader(svg);
        int paths = 0, texts = 0;
        while (!reader.atEnd()) {
            if (reader.readNext() != QXmlStreamReader::StartElement) continue;
            paths += reader.name() == QLatin1String("path");
            texts += reader.name() == QLatin1String("text");
        }
        QVERIFY2(!reader.hasError(), qPrintable(id + reader.errorString()));
        QCOMPARE(texts, 0);
        QVERIFY2(paths > 10, qPrintable(id));
    }

    static void check_pdf(const QByteArray& pdf, const QSizeF& mm) {
        QVERIFY(pdf.startsWith("%PDF-"));
        const qsizetype at = pdf.indexOf("/MediaBox [");
        QVERIFY(at > 0);
        const QList<QByteArray> box = pdf.mid(at + 11, pdf.indexOf(']', at) - at - 11).simplified().split(' ');
        QCOMPARE(box.size(), 4);
        QVERIFY(std::abs(box[2].toDouble() / 72 * 25.4 - mm.width()) < 0.5);
        QVERIFY(std::abs(box[3].toDouble() / 72 * 25.4 - mm.height()) < 0.5);
    }
};

QTEST_MAIN(ExportTest)
#include "tst_export.moc"
