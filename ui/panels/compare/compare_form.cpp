#include "ui/panels/compare/compare_form.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/widgets/theme.h"

namespace decodescope {

CompareForm::CompareForm(SessionController* session, QWidget* parent) : QWidget(parent), session_(session) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme().grid() / 2);
    choices_ = new QWidget(this);
    rows_layout_ = new QVBoxLayout(choices_);
    rows_layout_->setContentsMargins(0, 0, 0, 0);
    rows_layout_->setSpacing(theme().grid() / 2);
    layout->addWidget(choices_);
    build_controls();
    use_growth_preset();
    connect(session_, &SessionController::progress, this, &CompareForm::on_progress);
}

QPushButton* CompareForm::add_button(QHBoxLayout& row, const QString& text, const QString& help) {
    auto* button = new QPushButton(text, this);
    button->setToolTip(help);
    button->setFocusPolicy(Qt::TabFocus);
    row.addWidget(button);
    return button;
}

void CompareForm::build_controls() {
    auto* row = new QHBoxLayout;
    add_ = add_button(*row, tr("Add"), tr("One more configuration, up to four"));
    preset_ = add_button(*row, tr("Growing / preallocated / paged"),
                         tr("Copies, peak and time per step of the three ways to hold every token"));
    row->addStretch(1);
    progress_ = new QProgressBar(this);
    progress_->setTextVisible(false);
    progress_->setAccessibleName(tr("Progress of the comparison"));
    progress_->hide();
    row->addWidget(progress_, 2);
    tokens_ = new QSpinBox(this);
    tokens_->setLocale(QLocale::c());
    tokens_->setRange(1, 1 << 16);
    tokens_->setValue(64);
    tokens_->setSuffix(tr(" new tokens"));
    tokens_->setAccessibleName(tr("New tokens of the comparison"));
    row->addWidget(tokens_);
    start_ = add_button(*row, tr("Start"), tr("Run all of them on the prompt of the run, step by step in turn"));
    start_->setProperty("accent", true);
    static_cast<QVBoxLayout*>(layout())->addLayout(row);
    connect(add_, &QPushButton::clicked, this, [this] {
        if (rows_.size() < kMostConfigs) add_row(rows_.back()->choice());
    });
    connect(preset_, &QPushButton::clicked, this, &CompareForm::use_growth_preset);
    connect(start_, &QPushButton::clicked, this, &CompareForm::start_or_cancel);
}

void CompareForm::set_configs(const std::vector<CompareConfig>& configs) {
    for (ConfigRow* row : rows_) {
        row->hide();
        row->deleteLater();  // its own button may have asked for it
    }
    rows_.clear();
    for (const CompareConfig& config : configs) add_row(choice_of(config));
}

void CompareForm::use_growth_preset() {
    CompareConfig others;
    others.kv = session_->settings().kv;
    others.weights = session_->settings().weights;
    others.backend = session_->settings().backend.toStdString();
    set_configs(growth_configs(others));
}

void CompareForm::add_row(const CompareChoice& choice) {
    auto* row = new ConfigRow(session_->registry(), choices_);
    row->set_choice(choice);
    rows_layout_->addWidget(row);
    row->show();  // a layout shows what is added later only with the next event
    rows_.push_back(row);
    connect(row, &ConfigRow::remove_requested, this, [this, row] {
        if (rows_.size() < 2) return;
        std::erase(rows_, row);
        row->hide();
        row->deleteLater();
        number_rows();
    });
    number_rows();
}

void CompareForm::number_rows() {
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i]->set_number(static_cast<int>(i) + 1, rows_.size() > 1);
    add_->setEnabled(rows_.size() < kMostConfigs);
}

Result<CompareRequest> CompareForm::request() const {
    std::vector<CompareChoice> choices;
    for (const ConfigRow* row : rows_) choices.push_back(row->choice());
    auto configs = configs_of(choices);
    if (!configs.ok()) return configs.error();
    CompareRequest request;
    request.configs = std::move(*configs);
    request.new_tokens = tokens_->value();
    request.stop_at_eos = session_->settings().stop_at_eos;
    request.sampler = session_->settings().sampler;
    return request;
}

void CompareForm::start_or_cancel() {
    if (session_->comparing()) {
        session_->cancel();
        return;
    }
    const auto wanted = request();
    if (!wanted.ok()) {
        Q_EMIT said(QString::fromStdString(wanted.error().text()));
        return;
    }
    session_->start_compare(*wanted);
}

void CompareForm::on_progress(const QString& what, qint64 done, qint64 total) {
    if (!session_->comparing()) return;
    progress_->setMaximum(static_cast<int>(total));
    progress_->setValue(static_cast<int>(done));
    progress_->setToolTip(what);
    Q_EMIT said(what);
}

void CompareForm::show_state() {
    const bool comparing = session_->comparing();
    start_->setText(comparing ? tr("Cancel") : tr("Start"));
    start_->setEnabled(comparing ? session_->can(SessionAction::CancelWork)
                                 : session_->can(SessionAction::Sweep) && session_->step_count() > 0);
    progress_->setVisible(comparing);
    for (QWidget* widget : {choices_, static_cast<QWidget*>(preset_), static_cast<QWidget*>(tokens_)})
        widget->setEnabled(!comparing);
    add_->setEnabled(!comparing && rows_.size() < kMostConfigs);
}

}  // namespace decodescope
