#include "ui/widgets/strategy_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>

#include "ui/viewmodels/engine_words.h"
#include "ui/widgets/theme.h"

namespace decodescope {

namespace {
constexpr std::int64_t kMost = std::numeric_limits<int>::max();
}

StrategyForm::StrategyForm(QWidget* parent) : QWidget(parent), form_(new QFormLayout), explanation_(new QLabel(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    explanation_->setProperty("note", true);
    explanation_->setWordWrap(true);
    layout->addWidget(explanation_);
    layout->addLayout(form_);
}

void StrategyForm::set_spec(const CacheSpec& spec) {
    const StrategyDescriptor* strategy = find_strategy(spec.id);
    if (strategy == nullptr) return;
    if (id_ != spec.id) build(*strategy);
    for (const Row& row : rows_)
        if (const auto value = spec.parameters.find(row.name); value != spec.parameters.end()) row.write(value->second);
}

CacheSpec StrategyForm::spec() const {
    CacheSpec spec;
    spec.id = id_;
    for (const Row& row : rows_) spec.parameters[row.name] = row.read();
    return spec;
}

void StrategyForm::build(const StrategyDescriptor& strategy) {
    id_ = strategy.id;
    while (form_->rowCount() > 0) form_->removeRow(0);
    rows_.clear();
    explanation_->setText(translated(strategy.explanation));
    explanation_->setFixedWidth(theme().grid() * 34);
    explanation_->setFixedHeight(explanation_->heightForWidth(theme().grid() * 34));
    for (const ParameterDescriptor& parameter : strategy.parameters) rows_.push_back(make_row(parameter));
}

StrategyForm::Row StrategyForm::make_row(const ParameterDescriptor& parameter) {
    QWidget* field = nullptr;
    Row row{parameter.name, {}, {}};
    if (parameter.type == ParameterType::Boolean) {
        auto* box = new QCheckBox(this);
        row.read = [box] { return std::int64_t{box->isChecked()}; };
        row.write = [box](std::int64_t value) { box->setChecked(value != 0); };
        connect(box, &QCheckBox::toggled, this, &StrategyForm::changed);
        field = box;
    } else if (parameter.type == ParameterType::Choice) {
        auto* box = new QComboBox(this);
        for (const std::string& choice : parameter.choices) box->addItem(QString::fromStdString(choice));
        row.read = [box] { return std::int64_t{box->currentIndex()}; };
        row.write = [box](std::int64_t value) { box->setCurrentIndex(static_cast<int>(value)); };
        connect(box, &QComboBox::currentIndexChanged, this, &StrategyForm::changed);
        field = box;
    } else {
        auto* box = new QSpinBox(this);
        box->setRange(static_cast<int>(std::max(-kMost, std::min(parameter.minimum, parameter.default_value))),
                      static_cast<int>(std::min(parameter.maximum, kMost)));
        if (parameter.default_value == 0 && box->minimum() <= 0) box->setSpecialValueText(tr("chosen from the run"));
        box->setGroupSeparatorShown(false);
        row.read = [box] { return std::int64_t{box->value()}; };
        row.write = [box](std::int64_t value) { box->setValue(static_cast<int>(std::min(value, kMost))); };
        connect(box, &QSpinBox::valueChanged, this, &StrategyForm::changed);
        field = box;
    }
    row.write(parameter.default_value);
    field->setToolTip(translated(parameter.help));
    field->setAccessibleName(QString::fromStdString(parameter.name));
    field->setAccessibleDescription(translated(parameter.help));
    form_->addRow(QString::fromStdString(parameter.name), field);
    return row;
}

}  // namespace decodescope
