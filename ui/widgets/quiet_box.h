// A box to choose from that changes what runs only when it is asked to: neither the wheel nor an arrow key after a
// click does. What does not fit ends in an ellipsis instead of half a letter.
#pragma once

#include <QComboBox>

namespace decodescope {

class QuietBox : public QComboBox {
    Q_OBJECT
public:
    explicit QuietBox(QWidget* parent);
    void showPopup() override;

Q_SIGNALS:
    void opening();  // the list is about to be shown

protected:
    void wheelEvent(QWheelEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace decodescope
