// Messages inside the window: one bar for what went wrong, with its hint, until it is closed or another one comes.
#pragma once

#include <QFrame>

#include "ui/session/session_controller.h"

class QLabel;
class QProgressBar;
class QTimer;
class QToolButton;

namespace decodescope {

class MessageBar : public QFrame {
    Q_OBJECT
public:
    explicit MessageBar(QWidget* parent = nullptr);
    void show_message(const SessionMessage& message);
    QString text() const;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    QLabel* words_;
    QString said_;
    SessionMessage::Kind kind_ = SessionMessage::Kind::Info;
};

// The quiet line at the bottom: run facts at the left, what is being done or was said last at the right.
class StatusLine : public QFrame {
    Q_OBJECT
public:
    StatusLine(SessionController* session, QWidget* parent = nullptr);
    void say(const QString& text);  // for a few seconds
    void apply_theme();
    QString facts() const;

private:
    void show_facts();
    void show_progress(const QString& what, qint64 done, qint64 total);

    SessionController* session_;
    QLabel *facts_, *said_;
    QProgressBar* progress_;
    QToolButton* cancel_;
    QTimer* quiet_;
};

}  // namespace decodescope
