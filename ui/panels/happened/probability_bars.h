// Next-token probabilities as bars, the chosen one ringed. As many as fit, most likely first; the chosen one is never
// left out.
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

namespace decodescope {

struct ProbabilityBar {
    QString token;
    double probability = 0;
    bool chosen = false;
};

class ProbabilityBars : public QWidget {
    Q_OBJECT
public:
    explicit ProbabilityBars(QWidget* parent = nullptr);
    void set_bars(std::vector<ProbabilityBar> bars, const QString& empty_text);
    // Draws the bars into a rectangle, for the screen and for export.
    static void paint(QPainter& painter, const QRectF& area, const std::vector<ProbabilityBar>& bars);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    std::vector<ProbabilityBar> bars_;
    QString empty_text_;
};

}  // namespace decodescope
