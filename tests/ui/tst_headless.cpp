// UI-10: the program without a display and without QT_QPA_PLATFORM: it draws all the same, and what it writes can be
// read.
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>
#include <cmath>

#include "engine/trace/recording_file.h"

using namespace decodescope;

namespace {

constexpr int kPatience = 240'000;  // until the program counts as hanging; nothing is asserted about time

QByteArray read(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

// "" or what the program said.
QString run(const QStringList& arguments) {
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(QLatin1String(name));
    environment.insert(QStringLiteral("DECODESCOPE_RESOURCES"), QStringLiteral(DECODESCOPE_SOURCE_DIR "/resources"));
    program.setProcessEnvironment(environment);
    program.start(QStringLiteral(DECODESCOPE_PROGRAM), arguments);
    if (!program.waitForFinished(kPatience)) return QStringLiteral("does not end");
    if (program.exitStatus() == QProcess::NormalExit && program.exitCode() == 0) return {};
    return QStringLiteral("exit code %1: ").arg(program.exitCode()) +
           QString::fromUtf8(program.readAllStandardError());
}

// Lines of a CSV without its comments, as fields. No field of these files is quoted.
QList<QByteArrayList> csv_lines(const QByteArray& csv) {
    QList<QByteArrayList> lines;
    for (const QByteArray& line : csv.split('\n'))
        if (!line.isEmpty() && !line.startsWith('#')) lines << line.split(',');
    return lines;
}

}  // namespace

class HeadlessTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        QVERIFY(folder_.isValid());
        // A tiny model: the files are the same as for the bundled one, and they are there in a second.
        QCOMPARE(run({QStringLiteral("demo"), QStringLiteral("-o"), folder_.path(), QStringLiteral("-m"),
                      QStringLiteral(DECODESCOPE_SOURCE_DIR "/tests/fixtures/l3")}),
                 QString());
    }

    void demo_writes_pictures_that_can_be_read() {
        QVERIFY(!QImage(path("timing.png")).isNull());
        const QImage window(path("window.png"));
        QCOMPARE(window.size(), QSize(1440, 900));
        QSet<QRgb> colours;
        for (int y = 0; y < window.height(); y += 7)
            for (int x = 0; x < window.width(); x += 7) colours << window.pixel(x, y);
        QVERIFY(colours.size() > 20);
        QXmlStreamReader svg(read(path("timing.svg")));
        int shapes = 0;
        while (!svg.atEnd()) shapes += svg.readNext() == QXmlStreamReader::StartElement && svg.name() == u"path";
        QVERIFY2(!svg.hasError(), qPrintable(svg.errorString()));
        QVERIFY(shapes > 10);
        const QByteArray pdf = read(path("timing.pdf"));
        QVERIFY(pdf.startsWith("%PDF-"));
        QVERIFY(pdf.trimmed().endsWith("%%EOF"));
        // The offset at the end leads to the table of objects, so nothing was cut off or added.
        const qsizetype start = pdf.lastIndexOf("startxref");
        QVERIFY(start > 0);
        const qsizetype table = pdf.mid(start + 9, 20).trimmed().split('\n').first().trimmed().toLongLong();
        QVERIFY(table > 0 && pdf.mid(table, 4) == "xref");
    }

    void demo_writes_data_that_agrees() {
        const QList<QByteArrayList> csv = csv_lines(read(path("timing.csv")));
        QJsonParseError error;
        const QJsonObject json = QJsonDocument::fromJson(read(path("timing.json")), &error).object();
        QVERIFY2(error.error == QJsonParseError::NoError, qPrintable(error.errorString()));
        const QJsonArray rows = json["rows"].toArray();
        QVERIFY(rows.size() >= 6);
        QCOMPARE(csv.size(), rows.size() + 1);
        for (qsizetype r = 0; r < rows.size(); ++r) {
            const QJsonObject row = rows[r].toObject();
            QCOMPARE(csv[r + 1].size(), csv[0].size());
            for (qsizetype c = 0; c < csv[0].size(); ++c) {
                const QJsonValue value = row[QString::fromUtf8(csv[0][c])];
                const QByteArray field = csv[r + 1][c];
                if (value.isString()) {
                    QCOMPARE(QString::fromUtf8(field), value.toString());
                } else if (value.isNull()) {
                    QCOMPARE(field, QByteArray());
                } else {
                    QVERIFY2(value.isDouble(), csv[0][c].constData());
                    bool ok = false;
                    const double number = field.toDouble(&ok);
                    QVERIFY2(ok, field.constData());
                    QVERIFY2(std::abs(number - value.toDouble()) <= 6e-5 + 1e-9 * std::abs(number), field.constData());
                }
            }
        }
        QVERIFY(json["run"].isObject());
        const QJsonObject run = QJsonDocument::fromJson(read(path("run.json")), &error).object();
        QVERIFY2(error.error == QJsonParseError::NoError, qPrintable(error.errorString()));
        QVERIFY(!run["steps"].toArray().isEmpty());
        const auto recording = load_recording(path("run.dscope").toStdString(), {}, {});
        QVERIFY(recording.ok());
        QCOMPARE(static_cast<int>(run["steps"].toArray().size()), (*recording)->step_count());
    }

    void shot_has_the_size_that_was_asked_for_data() {
        QTest::addColumn<QString>("size");
        QTest::addColumn<QString>("scale");
        QTest::addColumn<QSize>("pixels");
        QTest::newRow("2") << "801x503" << "2" << QSize(1602, 1006);
        QTest::newRow("1.25") << "640x400" << "1.25" << QSize(800, 500);
    }

    void shot_has_the_size_that_was_asked_for() {
        QFETCH(QString, size);
        QFETCH(QString, scale);
        QFETCH(QSize, pixels);
        const QString file = path("shot.png");
        QCOMPARE(run({QStringLiteral("shot"), QStringLiteral("-o"), file, QStringLiteral("--size"), size,
                      QStringLiteral("--scale"), scale, QStringLiteral("--steps"), QStringLiteral("2")}),
                 QString());
        QCOMPARE(QImage(file).size(), pixels);
    }

private:
    QString path(const char* name) const { return folder_.filePath(QLatin1String(name)); }
    QTemporaryDir folder_;
};

QTEST_GUILESS_MAIN(HeadlessTest)
#include "tst_headless.moc"
