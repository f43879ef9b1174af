// A switch: round knob in a rounded track, on to the right.
#pragma once

#include <QAbstractButton>

namespace decodescope {

class ToggleSwitch : public QAbstractButton {
    Q_OBJECT
public:
    explicit ToggleSwitch(const QString& text, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;
};

}  // namespace decodescope
