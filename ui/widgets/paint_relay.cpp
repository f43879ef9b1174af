#include "ui/widgets/paint_relay.h"

#include <QImage>
#include <QPaintEngine>
#include <QPainterPath>
#include <QPixmap>
#include <cmath>

namespace decodescope {

class PaintRelay::Engine : public QPaintEngine {
public:
    Engine(QPainter& target, Text text) : QPaintEngine(AllFeatures), target_(target), text_(text) {}

    bool begin(QPaintDevice*) override {
        target_.save();
        base_ = target_.transform();
        clip_ = target_.hasClipping() ? target_.clipPath() : QPainterPath();
        return true;
    }
    bool end() override {
        target_.restore();
        return true;
    }
    Type type() const override { return User; }

    void updateState(const QPaintEngineState& state) override {
        const DirtyFlags dirty = state.state();
        if (dirty & DirtyTransform) target_.setTransform(state.transform() * base_);
        if (dirty & DirtyPen) target_.setPen(state.pen());
        if (dirty & DirtyBrush) target_.setBrush(state.brush());
        if (dirty & DirtyBrushOrigin) target_.setBrushOrigin(state.brushOrigin());
        if (dirty & DirtyFont) target_.setFont(state.font());
        if (dirty & DirtyBackground) target_.setBackground(state.backgroundBrush());
        if (dirty & DirtyBackgroundMode) target_.setBackgroundMode(state.backgroundMode());
        if (dirty & DirtyHints) {
            target_.setRenderHints(target_.renderHints(), false);
            target_.setRenderHints(state.renderHints(), true);
        }
        if (dirty & DirtyCompositionMode) target_.setCompositionMode(state.compositionMode());
        if (dirty & DirtyOpacity) target_.setOpacity(state.opacity());
        if (dirty & (DirtyClipPath | DirtyClipRegion | DirtyClipEnabled)) update_clip();
    }

    void drawRects(const QRectF* rects, int count) override { target_.drawRects(rects, count); }
    void drawRects(const QRect* rects, int count) override { target_.drawRects(rects, count); }
    void drawLines(const QLineF* lines, int count) override { target_.drawLines(lines, count); }
    void drawLines(const QLine* lines, int count) override { target_.drawLines(lines, count); }
    void drawEllipse(const QRectF& rect) override { target_.drawEllipse(rect); }
    void drawEllipse(const QRect& rect) override { target_.drawEllipse(rect); }
    void drawPath(const QPainterPath& path) override { target_.drawPath(path); }
    void drawPoints(const QPointF* points, int count) override { target_.drawPoints(points, count); }
    void drawPoints(const QPoint* points, int count) override { target_.drawPoints(points, count); }
    void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
        if (mode == PolylineMode) target_.drawPolyline(points, count);
        else target_.drawPolygon(points, count, mode == WindingMode ? Qt::WindingFill : Qt::OddEvenFill);
    }
    void drawPolygon(const QPoint* points, int count, PolygonDrawMode mode) override {
        if (mode == PolylineMode) target_.drawPolyline(points, count);
        else target_.drawPolygon(points, count, mode == WindingMode ? Qt::WindingFill : Qt::OddEvenFill);
    }
    void drawPixmap(const QRectF& to, const QPixmap& pixmap, const QRectF& from) override {
        target_.drawPixmap(to, pixmap, from);
    }
    void drawTiledPixmap(const QRectF& to, const QPixmap& pixmap, const QPointF& at) override {
        target_.drawTiledPixmap(to, pixmap, at);
    }
    void drawImage(const QRectF& to, const QImage& image, const QRectF& from, Qt::ImageConversionFlags flags) override {
        target_.drawImage(to, image, from, flags);
    }
    void drawTextItem(const QPointF& at, const QTextItem& item) override {
        // The base class fills the outlines of the glyphs, which come back here as a path.
        if (text_ == Text::AsOutlines) QPaintEngine::drawTextItem(at, item);
        else target_.drawTextItem(at, item);
    }

private:
    void update_clip() {
        const QTransform now = target_.transform();
        target_.setTransform(base_);
        if (clip_.isEmpty()) target_.setClipping(false);
        else target_.setClipPath(clip_);
        if (painter()->hasClipping()) {  // a state without any clip counts as enabled too
            // The painter's clip path is in logical coordinates of its present transform.
            target_.setTransform(now);
            const QPainterPath path = painter()->clipPath();
            target_.setClipPath(path, clip_.isEmpty() ? Qt::ReplaceClip : Qt::IntersectClip);
        }
        target_.setTransform(now);
    }

    QPainter& target_;
    Text text_;
    QTransform base_;
    QPainterPath clip_;
};

PaintRelay::PaintRelay(QPainter& target, const QSizeF& size, Text text)
    : target_(target), size_(size), engine_(std::make_unique<Engine>(target, text)) {}

PaintRelay::~PaintRelay() = default;

QPaintEngine* PaintRelay::paintEngine() const { return engine_.get(); }

int PaintRelay::metric(PaintDeviceMetric metric) const {
    constexpr double kDotsPerInch = 96.0;  // text is laid out in pixels; the target's transform gives it its size
    switch (metric) {
        case PdmWidth: return static_cast<int>(std::ceil(size_.width()));
        case PdmHeight: return static_cast<int>(std::ceil(size_.height()));
        case PdmWidthMM: return static_cast<int>(std::lround(size_.width() * 25.4 / kDotsPerInch));
        case PdmHeightMM: return static_cast<int>(std::lround(size_.height() * 25.4 / kDotsPerInch));
        case PdmNumColors: return 1 << 24;
        case PdmDepth: return 32;
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY: return static_cast<int>(kDotsPerInch);
        case PdmDevicePixelRatio: return 1;
        case PdmDevicePixelRatioScaled: return static_cast<int>(QPaintDevice::devicePixelRatioFScale());
        default: return 0;
    }
}

}  // namespace decodescope
