#include "ui/session/machine_speed.h"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>

namespace decodescope {

MachineSpeed::MachineSpeed(std::function<MachineCeiling()> measure, QObject* parent)
    : QObject(parent), measure_(std::move(measure)) {}

void MachineSpeed::ask() {
    if (known_ || asked_ || !measure_) return;
    asked_ = true;
    QThreadPool::globalInstance()->start([measure = measure_, self = QPointer<MachineSpeed>(this)] {
        const MachineCeiling ceiling = measure();
        QMetaObject::invokeMethod(
            qApp,
            [self, ceiling] {
                if (!self) return;
                self->known_ = ceiling;
                Q_EMIT self->measured();
            },
            Qt::QueuedConnection);
    });
}

std::function<double()> MachineSpeed::reader() const {
    if (known_) return [rate = known_->read_gb_s] { return 1e9 * rate; };
    if (!measure_) return {};
    return [measure = measure_] { return 1e9 * measure().read_gb_s; };
}

}  // namespace decodescope
