// Presentation and "one panel alone": what is hidden, how large the type is, and the way back.
#pragma once

#include <QObject>
#include <QStringList>

namespace decodescope {

class MainWindow;

class Presentation : public QObject {
    Q_OBJECT
public:
    static constexpr double kTypeScale = 1.6;
    static constexpr int kSettleMillis = 250;

    Presentation(MainWindow* window, QWidget* transport, QWidget* strips, QWidget* status);
    bool active() const { return active_; }
    const QString& alone() const { return alone_; }

    void set_active(bool on);
    void set_alone(const QString& panel_id);  // empty: back to all
    // The panels that are shown: those that the person chose, else those of the catalogue.
    QStringList panels() const;

Q_SIGNALS:
    void changed();

private:
    void arrange();
    void remember();
    void restore();

    MainWindow* window_;
    QWidget *transport_, *strips_, *status_;
    bool active_ = false, remembered_ = false, was_maximized_ = false;
    QString alone_;
    QByteArray layout_;
};

}  // namespace decodescope
