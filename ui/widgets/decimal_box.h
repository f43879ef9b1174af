// A box for decimal numbers that writes them with a point, whatever the system's locale, and reads a comma as a point:
// where decimals are written with a comma, the ignored key would turn 0,2 into 2.
#pragma once

#include <QDoubleSpinBox>

namespace decodescope {

class DecimalBox : public QDoubleSpinBox {
public:
    explicit DecimalBox(QWidget* parent) : QDoubleSpinBox(parent) { setLocale(QLocale::c()); }

    QValidator::State validate(QString& input, int& position) const override {
        input.replace(QLatin1Char(','), QLatin1Char('.'));
        return QDoubleSpinBox::validate(input, position);
    }
};

}  // namespace decodescope
