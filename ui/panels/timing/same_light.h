// The "same answer?" light: a shape as well as a colour for each state, with its meaning as accessible name.
#pragma once

#include <QWidget>

#include "ui/viewmodels/timing_model.h"

namespace decodescope {

class SameLight : public QWidget {
    Q_OBJECT
public:
    explicit SameLight(QWidget* parent = nullptr);
    void set_state(SameAnswer state);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    SameAnswer state_ = SameAnswer::Unknown;
};

}  // namespace decodescope
