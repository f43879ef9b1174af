// A paint device that hands every drawing operation on to another painter. Two uses: a library that insists on making
// its own painter can draw through it into any painter; and text can be turned into outlines on the way, so that an
// exported SVG looks the same where its fonts are missing.
#pragma once

#include <QPaintDevice>
#include <QPainter>
#include <QSizeF>
#include <memory>

namespace decodescope {

class PaintRelay : public QPaintDevice {
public:
    enum class Text { AsText, AsOutlines };
    // Coordinates of what is drawn here are those of `target` as it is now, `size` is what the device says to be.
    PaintRelay(QPainter& target, const QSizeF& size, Text text);
    ~PaintRelay() override;

    QPaintEngine* paintEngine() const override;

protected:
    int metric(PaintDeviceMetric metric) const override;

private:
    class Engine;
    QPainter& target_;
    QSizeF size_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace decodescope
