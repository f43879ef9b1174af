// Draws a model card: the diagram of the model from the embedding down to the head, beside it the parts by their
// parameters, the layers by their kind, and the arithmetic of the cache. Where the view is narrow, one below the other.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/viewmodels/model_card.h"

namespace decodescope {

class ModelView : public QWidget {
    Q_OBJECT
public:
    explicit ModelView(QWidget* parent = nullptr);
    void set_card(const ModelCard& card);
    const ModelCard& card() const { return card_; }
    // Lays the card out in a width; returns the height that it takes.
    double height_for(double width) const;
    void paint_card(QPainter& painter, const QRectF& area) const;
    QSize sizeHint() const override { return {560, 480}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent*) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Spot {
        QRectF rect;
        QString term;
    };
    // One walk places and, where there is a painter, draws; both see the same rectangles.
    struct Pen {
        QPainter* painter = nullptr;
        std::vector<Spot>* spots = nullptr;
        double left = 0, top = 0, width = 0;
    };

    double box(Pen pen, const CardBox& box) const;                         // each returns the height it takes
    double box_text(Pen pen, const CardBox& box) const;
    double cells(Pen pen, const std::vector<CardCell>& cells) const;
    double boxes(Pen pen, const std::vector<CardBox>& boxes, double gap) const;
    double layer(Pen pen) const;
    double branch(Pen pen, const std::vector<CardBox>& boxes) const;
    double diagram(Pen pen) const;
    double facts(Pen pen) const;
    double part_bars(Pen pen) const;
    double layer_strip(Pen pen) const;
    double words(Pen pen, const QString& text, const QFont& font, const QColor& color) const;
    double heading(Pen pen, const QString& text, const QString& term) const;
    double whole(Pen pen) const;
    void arrow(const Pen& pen, double x, double from, double to) const;
    void plus(const Pen& pen, const QPointF& middle) const;

    ModelCard card_;
};

}  // namespace decodescope
