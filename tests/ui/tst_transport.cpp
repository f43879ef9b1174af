// The line of choices above the window: what cannot be combined, and what can with another parameter.
#include <QComboBox>

#include "tests/ui/window_fixture.h"
#include "ui/main_window/main_window.h"
#include "ui/main_window/transport_bar.h"

using namespace decodescope;
using namespace decodescope::testing;

class TransportTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { fail_on_warnings(); }

    // Drivers are asked when the list of devices is opened for the first time, and only then; the choice stays.
    void devices_are_looked_for_when_the_list_opens() {
        int asked = 0;
        BackendEntry late{"late", "Late device", false, "It has not been looked for yet.", {}};
        late.probe = [&asked](const BackendEntry& entry) {
            ++asked;
            BackendEntry found = entry;
            found.available = true;
            found.reason.clear();
            return std::vector<BackendEntry>{found};
        };
        WindowFixture f(QStringLiteral("en"), {}, {late});
        QVERIFY(f.start());
        auto* device = f.window()->transport()->findChildren<QComboBox*>().at(1);
        const QString chosen = device->currentText();
        const auto enabled = [&] {
            const int at = device->findData(QStringLiteral("late"));
            return at >= 0 && (device->model()->flags(device->model()->index(at, 0)) & Qt::ItemIsEnabled) != 0;
        };
        QVERIFY(device->findData(QStringLiteral("late")) >= 0 && !enabled());
        QCOMPARE(asked, 0);
        for (int i = 0; i < 2; ++i) {
            device->showPopup();
            QVERIFY(f.wait(enabled));
            device->hidePopup();
        }
        QCOMPARE(asked, 1);
        QCOMPARE(device->currentText(), chosen);
    }

    // SW-11: judged by the parameters that were last asked for; a strategy that fits with another one is offered so.
    void SW11_caches_are_judged_by_their_parameters() {
        WindowFixture f;
        QVERIFY(f.start());
        QComboBox* cache = nullptr;
        for (QComboBox* box : f.window()->transport()->findChildren<QComboBox*>())
            if (box->accessibleName() == QLatin1String("Cache")) cache = box;
        QVERIFY(cache != nullptr);
        const auto offered = [&](const char* id) {
            const int index = cache->findData(QString::fromLatin1(id));
            return (cache->model()->flags(cache->model()->index(index, 0)) & Qt::ItemIsEnabled) != 0;
        };
        const auto tip = [&](const char* id) {
            return cache->itemData(cache->findData(QString::fromLatin1(id)), Qt::ToolTipRole).toString();
        };
        const auto choose = [&](const char* id, const char* spec) {
            cache->setCurrentIndex(cache->findData(QString::fromLatin1(id)));
            Q_EMIT cache->activated(cache->currentIndex());
            return f.wait([&] {
                return to_string(f.session()->settings().cache) == spec && f.session()->state() == SessionState::Ready;
            });
        };
        const auto apply = [&](const char* spec, const char* kv) {
            SessionSettings settings = f.session()->settings();
            settings.cache = *parse_cache_spec(spec);
            settings.kv = *parse_kv_format(kv);
            f.session()->apply(settings);
            return f.wait([&] {
                return f.session()->settings().kv == settings.kv && f.session()->state() == SessionState::Ready;
            });
        };
        for (const char* id : {"growing", "ring", "paged"}) QVERIFY(offered(id));
        QVERIFY(apply("preallocated", "int8-kivi"));
        QVERIFY(offered("growing") && offered("paged"));
        QVERIFY(!offered("ring") && !offered("h2o"));
        QVERIFY2(tip("paged").endsWith(QLatin1String("It is chosen as paged:page=32.")), qPrintable(tip("paged")));
        QVERIFY(tip("ring").contains(QLatin1String("int8-kivi")));
        QVERIFY(choose("paged", "paged:page=32"));
        // The parameters of a strategy are those that were asked for last.
        QVERIFY(apply("paged:page=128", "int8-kivi"));
        QVERIFY(choose("growing", "growing"));
        QVERIFY(!tip("paged").contains(QLatin1String("It is chosen as")));
        QVERIFY(choose("paged", "paged:page=128"));
        QVERIFY(apply("paged:page=4", "f32"));
        QVERIFY(apply("preallocated", "int8-kivi(group=64)"));
        QVERIFY2(tip("paged").endsWith(QLatin1String("It is chosen as paged:page=64.")), qPrintable(tip("paged")));
        QVERIFY(apply("preallocated", "int8-kivi(group=48)"));
        QVERIFY(!offered("paged"));
    }
};

QTEST_MAIN(TransportTest)
#include "tst_transport.moc"
