// Opening a model of one's own: what it would need is said before anything is loaded, and nothing is loaded unasked.
#include <QDialogButtonBox>
#include <QDropEvent>
#include <QFile>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QTemporaryDir>
#include <QThreadPool>

#include "tests/ui/window_fixture.h"
#include "ui/main_window/model_offer.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

QString bundled_folder() {
    return QString::fromStdString(find_resources()) + QStringLiteral("/model/bundled");
}

QString text_of(const std::vector<ModelOfferLine>& lines, const QString& name) {
    for (const ModelOfferLine& line : lines)
        if (line.name == name) return line.text;
    return {};
}

ModelConfig gpt2_small() {
    ModelConfig c;
    c.family = Family::Gpt2;
    c.layers = c.heads = c.kv_heads = 12;
    c.hidden = 768, c.head_dim = 64, c.feed_forward = 3072, c.vocabulary = 50257, c.context = 1024;
    c.file_type = ElementType::F16;
    return c;
}

ModelOffer* offer_of(WindowFixture& f) {
    auto* offer = f.window()->findChild<ModelOffer*>();
    return offer != nullptr && f.wait([&] { return offer->ready(); }) ? offer : nullptr;
}

void drop(QWidget* on, const QString& path) {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(on, &enter);
    if (!enter.isAccepted()) return;
    QDropEvent event(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(on, &event);
}

}  // namespace

class ModelOfferTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { fail_on_warnings(); }

    // MA-01: 2 * 12 layers * 12 heads * 64 * 2 bytes = 36,864 a token in f16.
    void lines_follow_from_the_shapes() {
        ModelOfferRequest request;
        request.kv = *parse_kv_format("f16");
        request.available_bytes = std::int64_t{1} << 30;
        const auto lines = model_offer_lines(gpt2_small(), request, 20e9);
        QVERIFY(text_of(lines, QStringLiteral("KV cache")).startsWith(QStringLiteral("36.0 KiB")));
        QVERIFY(text_of(lines, QStringLiteral("KV cache")).contains(QStringLiteral("36.0 MiB")));
        QCOMPARE(text_of(lines, QStringLiteral("Parameters")), QStringLiteral("124,439,808"));
        QVERIFY(text_of(lines, QStringLiteral("Weights in memory")).startsWith(QStringLiteral("238 MiB in f16")));
        QVERIFY(text_of(lines, QStringLiteral("Memory")).startsWith(QStringLiteral("fits: ")));
        QVERIFY(text_of(lines, QStringLiteral("Expected")).contains(QStringLiteral("12.5 ms")));
        QVERIFY(text_of(lines, QStringLiteral("Expected")).contains(QStringLiteral("[derived]")));
        ModelConfig widened = gpt2_small();
        widened.stored_as = "Q4_K", widened.widened_bytes = 7 << 20, widened.window = 512;
        QVERIFY(text_of(model_offer_lines(widened, request, 0), QStringLiteral("Weights in memory"))
                    .contains(QStringLiteral("7.0 MiB made of the file's Q4_K")));
        QVERIFY(text_of(model_offer_lines(widened, request, 0), QStringLiteral("Attention"))
                    .startsWith(QStringLiteral("12 of 12 layers attend to the last 512")));
        widened.stored_as.clear();  // rows that are only put in another order
        QVERIFY(text_of(model_offer_lines(widened, request, 0), QStringLiteral("Weights in memory"))
                    .contains(QStringLiteral("7.0 MiB made of the file's f16")));
        request.available_bytes = 260 << 20;
        QVERIFY(text_of(model_offer_lines(gpt2_small(), request, 0), QStringLiteral("Memory"))
                    .startsWith(QStringLiteral("fits with a shorter text")));
        request.available_bytes = 100 << 20;
        QVERIFY(text_of(model_offer_lines(gpt2_small(), request, 0), QStringLiteral("Memory"))
                    .startsWith(QStringLiteral("does not fit")));
        QVERIFY(text_of(model_offer_lines(gpt2_small(), request, 0), QStringLiteral("Expected")).isEmpty());
    }

    void a_dropped_folder_is_offered_and_loaded_when_accepted() {
        WindowFixture f;
        QVERIFY(f.start());
        const QString before = f.session()->settings().model;
        drop(f.window(), bundled_folder());
        ModelOffer* offer = offer_of(f);
        QVERIFY(offer != nullptr);
        QCOMPARE(f.session()->settings().model, before);
        offer->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->click();
        QVERIFY(f.wait([&] { return f.session()->settings().model == bundled_folder(); }));
    }

    void refused_with_a_sentence_and_nothing_changes() {
        WindowFixture f;
        QVERIFY(f.start());
        QTemporaryDir folder;
        QFile config(folder.filePath(QStringLiteral("config.json")));
        QVERIFY(config.open(QIODevice::WriteOnly));
        config.write("{\"model_type\": \"something_else\"}");
        config.close();
        const QString before = f.session()->settings().model;
        drop(f.window(), config.fileName());
        ModelOffer* offer = offer_of(f);
        QVERIFY(offer != nullptr);
        QVERIFY(offer->findChild<QLabel*>()->text().contains(QStringLiteral("something_else")));
        QVERIFY(offer->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->isHidden());
        offer->reject();
        QCOMPARE(f.session()->settings().model, before);
        QTemporaryDir empty;
        drop(f.window(), empty.path());  // no model: not taken
        QVERIFY(f.wait([&] { return f.window()->findChild<ModelOffer*>() == nullptr; }));
    }

    void closing_while_it_reads() {
        WindowFixture f;
        MachineSpeed machine([] {
            QThread::msleep(50);
            return MachineCeiling{1, 1};
        });
        f.window()->set_machine(&machine);
        f.window()->offer_model(bundled_folder());
        f.window()->findChild<ModelOffer*>()->reject();
        QVERIFY(f.wait([&] { return f.window()->findChild<ModelOffer*>() == nullptr; }));
        QThreadPool::globalInstance()->waitForDone();
        QCoreApplication::processEvents();
    }

    void recent_models_are_kept_newest_first() {
        QTemporaryDir folder;
        PreferenceStore store(
            std::make_unique<QSettings>(folder.filePath(QStringLiteral("s.ini")), QSettings::IniFormat));
        for (const char* name : {"a", "b", "c", "d", "e", "b", "f"}) store.save_recent_model(QString::fromUtf8(name));
        QCOMPARE(store.recent_models(), (QStringList{QStringLiteral("f"), QStringLiteral("b"), QStringLiteral("e"),
                                                     QStringLiteral("d"), QStringLiteral("c")}));
        QVERIFY(PreferenceStore().recent_models().isEmpty());
    }
};

QTEST_MAIN(ModelOfferTest)
#include "tst_model_offer.moc"
