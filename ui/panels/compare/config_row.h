// One configuration of the form: cache with its parameters, K, V, weights, device.
#pragma once

#include <QFrame>

#include "engine/backend/backend_registry.h"
#include "ui/viewmodels/compare_model.h"

class QComboBox;
class QLabel;
class QToolButton;

namespace decodescope {

class StrategyForm;

class ConfigRow : public QWidget {
    Q_OBJECT
public:
    ConfigRow(const BackendRegistry& registry, QWidget* parent);
    void set_number(int number, bool removable);
    void set_choice(const CompareChoice& choice);
    CompareChoice choice() const;

Q_SIGNALS:
    void remove_requested();

protected:
    bool eventFilter(QObject* object, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QComboBox* add_box(const QString& name, const QString& help, int units);
    void fill(const BackendRegistry& registry);
    void choose_cache();
    void open_parameters();
    void show_parameters();
    void fit_parameters();

    QLabel* number_;
    QComboBox *cache_, *k_, *v_, *weights_, *backend_;
    QToolButton *parameters_, *remove_;
    QString parameters_text_;  // the button shows as much of it as fits
    QFrame* popover_;
    StrategyForm* form_;
};

}  // namespace decodescope
