// The top line: what runs (model, device, cache, prompt) and the transport (start, back, play, step, end, speed, race).
#pragma once

#include <QWidget>

#include "ui/session/session_controller.h"

class QComboBox;
class QHBoxLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace decodescope {

class QuietBox;

struct RunChoice;
class SettingsDesk;
class SpeedSlider;
class ToggleSwitch;

class TransportBar : public QWidget {
    Q_OBJECT
public:
    TransportBar(SessionController* session, SettingsDesk* desk, QWidget* parent = nullptr);
    void apply_theme();
    QToolButton* menu_button() const { return menu_; }
    QPushButton* settings_button() const { return settings_; }
    QWidget* prompt_anchor() const;

Q_SIGNALS:
    void present_requested();
    void settings_requested();
    void own_text_requested();
    void other_model_requested();

protected:
    void resizeEvent(QResizeEvent* event) override;
    QSize minimumSizeHint() const override;

private:
    void fit_labels();
    void show_labels(bool short_ones);
    void show_play();
    QuietBox* add_choice(QHBoxLayout& row, const QString& title, const QString& help, int units);
    QPushButton* add_button(QHBoxLayout& row, const QString& text, const QString& name, const QString& help,
                            void (SessionController::*slot)());
    void build_transport(QHBoxLayout& row);
    void build_end(QHBoxLayout& row);
    void fill_models();
    void fill_devices();
    void fill_caches();
    void show_supported_caches();
    RunChoice choice_with(const std::string& strategy) const;
    void fill_prompts();
    void show_state();
    void show_moves();

    SessionController* session_;
    SettingsDesk* desk_;
    QComboBox *model_ = nullptr, *cache_ = nullptr, *prompt_ = nullptr;
    QuietBox* device_ = nullptr;
    QPushButton *start_ = nullptr, *back_ = nullptr, *play_ = nullptr, *step_ = nullptr, *end_ = nullptr,
                *present_ = nullptr;
    SpeedSlider* speed_ = nullptr;
    ToggleSwitch* race_ = nullptr;
    bool short_labels_ = false;  // signs instead of words, in a narrow window
    QPushButton* settings_ = nullptr;
    QToolButton* menu_ = nullptr;
    QLabel* speed_note_ = nullptr;
    std::vector<std::pair<QComboBox*, int>> widths_;
};

}  // namespace decodescope
