// The what-if page of the memory panel: choose a model and a format, read what every strategy would take.
#pragma once

#include <QWidget>
#include <memory>

#include "ui/panels/panel.h"
#include "ui/viewmodels/what_if_model.h"

class QComboBox;
class QTableWidget;

namespace decodescope {

class WordsLabel;

class WhatIfPage : public QWidget {
    Q_OBJECT
public:
    explicit WhatIfPage(QWidget* parent = nullptr);
    void present(const PanelContext& context, unsigned changes);
    bool ready() const { return slots_ != nullptr; }
    ExportTable table() const;  // the chosen model in all formats; only when ready

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fill_models();
    void ask();   // has the slots computed, on another thread
    void take(std::shared_ptr<const WhatIfSlots> slots, const CacheSpec& chosen);
    void show_cells();
    void fit_words();
    KvModelShape shape() const;
    KvFormat format() const;

    PanelContext context_;
    QComboBox *model_ = nullptr, *format_ = nullptr;
    QTableWidget* table_ = nullptr;
    WordsLabel* words_ = nullptr;
    std::vector<KvModelShape> shapes_;  // the loaded model first
    QString wanted_model_;              // that was chosen; empty: the loaded one
    std::shared_ptr<const WhatIfSlots> slots_;
    CacheSpec chosen_;       // that slots_ were computed for
    bool asked_ = false;
    std::int64_t memory_bytes_ = 0;
};

}  // namespace decodescope
