#include "ui/main_window/speed_slider.h"

#include <algorithm>
#include <cmath>

namespace decodescope {

namespace {
constexpr int kTop = 100;                         // the last notch has no limit
constexpr double kSlowest = 0.5, kFastest = 200;  // tokens per second of the first and the last but one notch
}  // namespace

SpeedSlider::SpeedSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent) {
    setRange(0, kTop);
    setSingleStep(4);
    setPageStep(12);
    setFocusPolicy(Qt::TabFocus);
    setAccessibleName(tr("Speed"));
    connect(this, &QSlider::valueChanged, this, [this] {
        show_words();
        Q_EMIT speed_changed(tokens_per_second());
    });
    show_words();
}

double SpeedSlider::tokens_per_second() const {
    if (value() == kTop) return 0;
    return kSlowest * std::pow(kFastest / kSlowest, static_cast<double>(value()) / (kTop - 1));
}

void SpeedSlider::set_tokens_per_second(double wanted) {
    const QSignalBlocker quiet(this);
    if (wanted <= 0) setValue(kTop);
    else
        setValue(std::clamp(
            static_cast<int>(std::lround((kTop - 1) * std::log(wanted / kSlowest) / std::log(kFastest / kSlowest))), 0,
            kTop - 1));
    show_words();
}

QString SpeedSlider::words(double speed) {
    if (speed <= 0) return tr("as fast as it goes");
    if (speed < 1) return tr("one token in %1 s").arg(QString::number(1 / speed, 'f', 1));
    return tr("%1 tokens a second").arg(QString::number(speed, 'f', speed < 10 ? 1 : 0));
}

void SpeedSlider::show_words() {
    const QString text = words(tokens_per_second());
    setToolTip(tr("Speed: %1").arg(text));
    setAccessibleDescription(text);
}

}  // namespace decodescope
