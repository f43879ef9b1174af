// Single keys are shortcuts of the window (Space plays, arrows step). A control that was reached with Tab and needs
// such a key itself gets it first.
#pragma once

#include <QObject>

namespace decodescope {

class KeyGuard : public QObject {
    Q_OBJECT
public:
    explicit KeyGuard(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;
};

}  // namespace decodescope
