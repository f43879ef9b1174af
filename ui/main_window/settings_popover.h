// Everything of a run that is one click away: sampler, seed, formats, threads, capture, length, the form of the cache
// strategy.
#pragma once

#include <QFrame>

#include "ui/session/session_controller.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace decodescope {

class SettingsDesk;
class StrategyForm;

class SettingsPopover : public QFrame {
    Q_OBJECT
public:
    SettingsPopover(SessionController* session, SettingsDesk* desk, QWidget* parent);
    // Below the widget, within the window.
    void open_at(QWidget* anchor);
    // What the form says.
    SessionSettings edited() const;

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    QWidget* build_sampling();
    QWidget* build_run();
    QWidget* build_cache();
    void fill();
    void apply();
    KvFormat edited_format() const;
    void show_unsupported();

    SessionController* session_;
    SettingsDesk* desk_;
    QDoubleSpinBox *temperature_, *top_p_;
    QSpinBox *top_k_, *threads_, *new_tokens_, *group_, *residual_;
    QLineEdit* seed_;
    QComboBox *kv_k_, *kv_v_, *weights_;
    QCheckBox *capture_, *profile_, *stop_at_eos_, *parse_special_;
    StrategyForm* strategy_;
    QPushButton* apply_;
};

// Own text for the prompt.
class PromptPopover : public QFrame {
    Q_OBJECT
public:
    PromptPopover(SessionController* session, SettingsDesk* desk, QWidget* parent);
    void open_at(QWidget* anchor);
    // What is sent beside the typed text, and what is not done to it; empty where there is nothing to say.
    static QString sent_words(const Model* model);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void start();

    SessionController* session_;
    SettingsDesk* desk_;
    QPlainTextEdit* text_;
    QLabel* sent_;
    QPushButton* start_;
};

}  // namespace decodescope
