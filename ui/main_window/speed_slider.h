// Speed of playing: from one token in two seconds to as fast as it goes, on a logarithmic scale.
#pragma once

#include <QSlider>

namespace decodescope {

class SpeedSlider : public QSlider {
    Q_OBJECT
public:
    explicit SpeedSlider(QWidget* parent = nullptr);
    double tokens_per_second() const;  // 0: as fast as it goes
    void set_tokens_per_second(double value);
    static QString words(double tokens_per_second);

Q_SIGNALS:
    void speed_changed(double tokens_per_second);

private:
    void show_words();
};

}  // namespace decodescope
