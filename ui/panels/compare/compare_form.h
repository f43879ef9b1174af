// The form of a comparison: up to four rows of choices, presets, how many tokens, start and cancel, progress.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/panels/compare/config_row.h"
#include "ui/session/session_controller.h"

class QHBoxLayout;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QToolButton;
class QVBoxLayout;

namespace decodescope {

class CompareForm : public QWidget {
    Q_OBJECT
public:
    explicit CompareForm(SessionController* session, QWidget* parent = nullptr);
    // What the form says; the sentence that is wrong with it when it cannot be used.
    Result<CompareRequest> request() const;
    void set_configs(const std::vector<CompareConfig>& configs);
    void use_growth_preset();  // growing, preallocated and paged, all else as the run has it
    void show_state();

Q_SIGNALS:
    void said(const QString& sentence);  // a note to show below

private:
    void build_controls();
    QPushButton* add_button(QHBoxLayout& row, const QString& text, const QString& help);
    void add_row(const CompareChoice& choice);
    void number_rows();
    void start_or_cancel();
    void on_progress(const QString& what, qint64 done, qint64 total);

    SessionController* session_;
    QVBoxLayout* rows_layout_;
    std::vector<ConfigRow*> rows_;
    QWidget* choices_ = nullptr;  // what cannot be changed while it measures
    QPushButton *add_ = nullptr, *preset_ = nullptr, *start_ = nullptr;
    QSpinBox* tokens_ = nullptr;
    QProgressBar* progress_ = nullptr;
};

}  // namespace decodescope
