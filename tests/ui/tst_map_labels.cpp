// UI-06: the labels along the attention map name the rows and columns that they stand at. Read from what is drawn, not
// from what was meant to be drawn.
#include <QImage>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QTest>

#include "tests/support/fake_run.h"
#include "ui/panels/attention/map_view.h"
#include "ui/viewmodels/token_text.h"

using namespace decodescope;

namespace {

struct Label {
    QString text;
    QPointF middle;
    bool turned;
};

// A paint device that keeps the texts and where they stand, and draws nothing.
class TextCatcher : public QPaintDevice {
public:
    explicit TextCatcher(const QSize& size) : size_(size) {}
    QPaintEngine* paintEngine() const override { return &engine_; }
    const std::vector<Label>& labels() const { return engine_.labels; }

protected:
    int metric(PaintDeviceMetric metric) const override {
        switch (metric) {
            case PdmWidth: return size_.width();
            case PdmHeight: return size_.height();
            case PdmNumColors: return 1 << 24;
            case PdmDepth: return 32;
            case PdmDpiX:
            case PdmDpiY:
            case PdmPhysicalDpiX:
            case PdmPhysicalDpiY: return 96;
            case PdmDevicePixelRatio: return 1;
            case PdmDevicePixelRatioScaled: return static_cast<int>(QPaintDevice::devicePixelRatioFScale());
            default: return 0;
        }
    }

private:
    class Engine : public QPaintEngine {
    public:
        Engine() : QPaintEngine(AllFeatures) {}
        bool begin(QPaintDevice*) override { return true; }
        bool end() override { return true; }
        Type type() const override { return User; }
        void updateState(const QPaintEngineState& state) override {
            if (state.state() & DirtyTransform) transform_ = state.transform();
        }
        void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
        void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override {}
        void drawPath(const QPainterPath&) override {}
        void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
        void drawTextItem(const QPointF& at, const QTextItem& item) override {
            labels.push_back({item.text(), transform_.map(at + QPointF(item.width() / 2, -item.ascent() / 3)),
                              transform_.isRotating()});
        }
        std::vector<Label> labels;

    private:
        QTransform transform_;
    };

    QSize size_;
    mutable Engine engine_;
};

std::vector<Label> named(const std::vector<Label>& labels, const QString& text) {
    std::vector<Label> found;
    for (const Label& label : labels)
        if (label.text == text) found.push_back(label);
    return found;
}

}  // namespace

class MapLabelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void golden_3x3() {
        FakeRunOptions options;
        options.prompt_tokens = 2;
        options.steps = 1;
        options.layers = options.heads = options.kv_heads = 1;
        const auto recording = make_fake_run(options);
        QCOMPARE(recording->row_count(), 3);
        Selection selection;
        PanelContext context;
        context.selection = &selection;
        context.recording = recording;
        context.step = recording->step_count() - 1;
        MapView view(&selection, nullptr);
        view.present(context, EverythingChanged);
        const QSize size(620, 420);
        TextCatcher catcher(size);
        QImage image(size, QImage::Format_RGB32);
        image.fill(Qt::white);
        for (QPaintDevice* device : {static_cast<QPaintDevice*>(&catcher), static_cast<QPaintDevice*>(&image)}) {
            QPainter painter(device);
            view.paint_whole(painter, QRectF(QPointF(0, 0), size));
        }
        // Each token is named twice: at its row, left of the map, and at its column, below the map.
        std::vector<Label> rows, columns;
        for (int row = 0; row < 3; ++row) {
            const QString text = token_label(recording->row_display(row), recording->row(row).special).text;
            const auto found = named(catcher.labels(), text);
            QVERIFY2(found.size() == 2, qPrintable(text + QStringLiteral(" %1 times").arg(found.size())));
            const bool first_is_row = found[0].middle.x() < found[1].middle.x();
            rows.push_back(found[first_is_row ? 0 : 1]);
            columns.push_back(found[first_is_row ? 1 : 0]);
        }
        const double cell = rows[1].middle.y() - rows[0].middle.y();
        QVERIFY2(cell > 10, "queries go down");
        QVERIFY2(std::abs(columns[1].middle.x() - columns[0].middle.x() - cell) < 1, "keys go right");
        QVERIFY(std::abs(rows[2].middle.y() - rows[1].middle.y() - cell) < 1);
        QVERIFY(std::abs(columns[2].middle.x() - columns[1].middle.x() - cell) < 1);
        for (const Label& row : rows) QVERIFY(row.middle.x() < columns[0].middle.x() - cell / 2);
        for (const Label& column : columns) QVERIFY(column.middle.y() > rows[2].middle.y() + cell / 2);
        // Where the lines of two labels cross lies the weight of that pair.
        AttentionPyramid pyramid;
        pyramid.select(recording, 0, 0);
        std::int64_t budget = std::int64_t{1} << 40;
        QVERIFY(pyramid.advance(budget));
        for (int row = 0; row < 3; ++row)
            for (int column = 0; column < 3; ++column) {
                // A quarter off the middle: the ring around the newest row is not in the way.
                const QPoint at(static_cast<int>(columns[static_cast<std::size_t>(column)].middle.x() - cell / 5),
                                static_cast<int>(rows[static_cast<std::size_t>(row)].middle.y()));
                const QRgb wanted = column > row ? theme().color(Role::Card).rgb()
                                                 : theme().attention(weight_of(pyramid.value(row, column)));
                QCOMPARE(QColor(image.pixel(at)), QColor(wanted));
            }
        // The axes are named on their own sides.
        const auto down = named(catcher.labels(), QStringLiteral("token being computed"));
        const auto across = named(catcher.labels(), QStringLiteral("reads from"));
        QCOMPARE(down.size(), std::size_t{1});
        QCOMPARE(across.size(), std::size_t{1});
        QVERIFY(down[0].turned && down[0].middle.x() < rows[0].middle.x());
        QVERIFY(!across[0].turned && across[0].middle.y() > columns[0].middle.y());
    }
};

QTEST_MAIN(MapLabelTest)
#include "tst_map_labels.moc"
