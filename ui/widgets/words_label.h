// Sentences that wrap and change with every step. A QLabel lays its text out anew for each question that its layout
// asks; this one asks for no width of its own and remembers the height that it was told last.
#pragma once

#include <QLabel>

namespace decodescope {

class WordsLabel : public QLabel {
public:
    explicit WordsLabel(QWidget* parent = nullptr) : QLabel(parent) { setWordWrap(true); }

    QSize sizeHint() const override { return {width() > 0 ? width() : 200, heightForWidth(width())}; }
    QSize minimumSizeHint() const override { return {40, fontMetrics().height()}; }
    int heightForWidth(int width) const override {
        if (width != for_width_ || text() != for_text_ || font() != for_font_) {
            for_width_ = width;
            for_text_ = text();
            for_font_ = font();
            height_ = QLabel::heightForWidth(width);
        }
        return height_;
    }

private:
    mutable int for_width_ = -1, height_ = 0;
    mutable QString for_text_;
    mutable QFont for_font_;
};

}  // namespace decodescope
