// What this machine can do at most, measured once, when somebody first wants to know.
#pragma once

#include <QObject>
#include <functional>
#include <memory>
#include <optional>

#include "engine/measure/op_profile.h"

namespace decodescope {

class MachineSpeed : public QObject {
    Q_OBJECT
public:
    // `measure` takes some 100 ms and is called by other threads; empty: nothing is known, ever.
    explicit MachineSpeed(std::function<MachineCeiling()> measure, QObject* parent = nullptr);

    std::optional<MachineCeiling> known() const { return known_; }
    bool can_measure() const { return measure_ != nullptr; }
    void ask();  // measured() follows, unless it is known or on its way; not while the engine works: both would suffer
    // Read bandwidth in bytes per second, for another thread to call; it may measure. Empty where nothing can.
    std::function<double()> reader() const;

Q_SIGNALS:
    void measured();

private:
    std::function<MachineCeiling()> measure_;
    std::optional<MachineCeiling> known_;
    bool asked_ = false;
};

}  // namespace decodescope
