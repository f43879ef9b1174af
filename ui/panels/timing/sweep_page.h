// The sweep: lengths, caches and repeats to choose, progress and cancel of its own, the chart and the table.
#pragma once

#include <QWidget>

#include "ui/panels/panel.h"
#include "ui/widgets/chart_view.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTableWidget;
class QVBoxLayout;

namespace decodescope {

class SweepPage : public QWidget {
    Q_OBJECT
public:
    explicit SweepPage(SessionController* session, QWidget* parent = nullptr);
    void present(unsigned changes, bool log_axes);
    std::vector<ExportItem> exports();

    // What the form says; the sentence that is wrong with it when it cannot be used.
    Result<SweepRequest> request() const;

private:
    void build_form(QVBoxLayout& layout);
    bool measuring() const;
    void show_state();
    void show_result(bool log_axes);
    void fit_columns(const QStringList& titles);
    void start_or_cancel();
    void on_progress(const QString& what, qint64 done, qint64 total);

    SessionController* session_;
    QLineEdit* lengths_ = nullptr;
    std::vector<std::pair<std::string, QCheckBox*>> caches_;
    QSpinBox* repeats_ = nullptr;
    QPushButton* start_ = nullptr;
    QProgressBar* progress_ = nullptr;
    QLabel* note_ = nullptr;
    ChartView* chart_ = nullptr;
    QTableWidget* table_ = nullptr;
};

// "64, 128 256" -> lengths, ascending, each once; numbers are parsed without a locale.
Result<std::vector<std::int64_t>> parse_lengths(const QString& text, std::int64_t context);

}  // namespace decodescope
