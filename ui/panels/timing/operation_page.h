// Where the time of the viewed step goes: a table of its operations, the longest first.
#pragma once

#include "ui/panels/panel.h"
#include "ui/viewmodels/operation_model.h"

class QLabel;
class QTableWidget;

namespace decodescope {

class OperationPage : public QWidget {
    Q_OBJECT
public:
    explicit OperationPage(QWidget* parent = nullptr);
    void present(const PanelContext& context, unsigned changes);
    std::vector<ExportItem> exports(const PanelContext& context) const;

private:
    void show_rows();

    OperationTable shown_;
    RecordingPtr recording_;  // that it is of
    bool measured_ = false;   // with the machine's limits
    QTableWidget* table_ = nullptr;
    QLabel* note_ = nullptr;
};

}  // namespace decodescope
