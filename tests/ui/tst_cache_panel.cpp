// The cache panel's two pages in the real window: the map is reached by keyboard, follows the steps, and draws every
// strategy. With DECODESCOPE_PICTURES=folder the pictures are kept.
#include <QToolButton>

#include "tests/ui/window_fixture.h"
#include "ui/main_window/main_window.h"
#include "ui/main_window/panel_host.h"
#include "ui/panels/cache/placement_map.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

QToolButton* button(QWidget* window, const QString& text) {
    for (QToolButton* one : window->findChildren<QToolButton*>())
        if (one->text() == text && one->property("small").toBool()) return one;
    return nullptr;
}

int colors_in(const QImage& image, const QRect& rect) {
    QSet<QRgb> found;
    for (int y = rect.top(); y < rect.bottom(); ++y)
        for (int x = rect.left(); x < rect.right(); ++x)
            if (image.rect().contains(x, y)) found.insert(image.pixel(x, y));
    return static_cast<int>(found.size());
}

}  // namespace

class CachePanelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { fail_on_warnings(); }

    void map_of_every_strategy_data() {
        QTest::addColumn<QString>("cache");
        QTest::addColumn<int>("page");
        QTest::addColumn<int>("steps");
        for (const int page : {1, 16, 256})
            for (const int steps : {40, 2000}) QTest::addRow("paged-%d-%d", page, steps) << "paged" << page << steps;
        for (const char* cache : {"ring", "growing", "preallocated"})
            for (const int steps : {20, 300}) QTest::addRow("%s-%d", cache, steps) << cache << 1 << steps;
    }

    void map_of_every_strategy() {
        QFETCH(QString, cache);
        QFETCH(int, page);
        QFETCH(int, steps);
        WindowFixture f;
        QTemporaryDir folder;
        FakeRunOptions options;
        options.cache = cache.toStdString();
        options.page = page;
        options.prompt_tokens = steps > 100 ? steps - 40 : 20;
        options.steps = std::min(steps, 40);
        options.shared_pages = 2;
        options.window = cache == QStringLiteral("ring") ? 24 : 0;
        options.capture = options.profile = options.race = false;
        QVERIFY(f.open_fake_run(options, folder));
        f.session()->view_step(15);
        auto* map = f.window()->findChild<PlacementMap*>();
        QVERIFY(map != nullptr && !map->isVisible());
        QToolButton* to_map = button(f.window(), QStringLiteral("map"));
        QVERIFY(to_map != nullptr);
        to_map->setFocus(Qt::TabFocusReason);
        QTest::keyClick(to_map, Qt::Key_Space);
        QVERIFY(map->isVisible());
        QVERIFY(f.wait([&] { return map->track().state().known; }));
        f.session()->view_step(f.session()->step_count() - 1);
        QVERIFY(f.wait([&] { return map->view().facts && map->view().facts->index == f.session()->step_count() - 1; }));
        map->setFocus(Qt::TabFocusReason);
        for (const Qt::Key key : {Qt::Key_Left, Qt::Key_Up, Qt::Key_Plus, Qt::Key_Plus, Qt::Key_Minus, Qt::Key_0})
            QTest::keyClick(map, key);
        const auto tells = [map] { return map->accessibleDescription().contains(QStringLiteral("Position")); };
        QVERIFY(f.wait(tells));
        const QImage image = map->grab().toImage();
        const QRectF memory = map->layout_now().memory_area();
        const double scale = image.devicePixelRatio();
        const QRect drawn(QPointF(memory.topLeft() * scale).toPoint(), (memory.size() * scale).toSize());
        QVERIFY2(colors_in(image, drawn) >= 3, "owners, empty slots and rings are drawn");
        if (const QString keep = qEnvironmentVariable("DECODESCOPE_PICTURES"); !keep.isEmpty())
            f.window()->grab().save(keep + QStringLiteral("/map-%1.png").arg(QTest::currentDataTag()));
        QTest::keyClick(map, Qt::Key_Escape);
        QVERIFY(f.wait([&] { return !tells(); }));
        QToolButton* to_layers = button(f.window(), QStringLiteral("layers"));
        to_layers->click();
        QVERIFY(!map->isVisible());
    }

    void pointing_shows_the_facts_and_rings_the_others() {
        WindowFixture f;
        QTemporaryDir folder;
        FakeRunOptions options;
        options.cache = "paged";
        options.page = 8;
        QVERIFY(f.open_fake_run(options, folder));
        f.session()->view_step(8);
        button(f.window(), QStringLiteral("map"))->click();
        auto* map = f.window()->findChild<PlacementMap*>();
        QVERIFY(f.wait([&] { return map->view().facts && map->view().facts->index == 8; }));
        const QImage before = map->grab().toImage();
        const PlacementLayout& layout = map->layout_now();
        const QPoint at(static_cast<int>(layout.slot_x(2.5)), layout.memory_area().center().toPoint().y());
        QTest::mouseMove(map, at);
        QTest::mouseMove(map, at + QPoint(1, 0));
        QVERIFY(f.wait([&] { return map->grab().toImage() != before; }));
        QTest::mouseClick(map, Qt::LeftButton, Qt::NoModifier, at);
        QVERIFY(f.wait([&] { return map->accessibleDescription().contains(QStringLiteral("page 0, place 2")); }));
    }

    void a_recording_without_it_says_so() {
        WindowFixture f;
        QTemporaryDir folder;
        FakeRunOptions options;
        options.placed = false;
        QVERIFY(f.open_fake_run(options, folder));
        button(f.window(), QStringLiteral("map"))->click();
        auto* map = f.window()->findChild<PlacementMap*>();
        QVERIFY(map->isVisible());
        QVERIFY(!map->track().state().known);
        const QImage image = map->grab().toImage();
        QVERIFY2(colors_in(image, image.rect()) > 3, "a sentence, not a blank rectangle");
    }
};

QTEST_MAIN(CachePanelTest)
#include "tst_cache_panel.moc"
