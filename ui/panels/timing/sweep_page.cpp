#include "ui/panels/timing/sweep_page.h"

#include <QCheckBox>
#include <QHeaderView>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <map>

#include "ui/viewmodels/engine_words.h"
#include "ui/widgets/sweep_chart.h"

namespace decodescope {

Result<std::vector<std::int64_t>> parse_lengths(const QString& text, std::int64_t context) {
    static const QRegularExpression separators(QStringLiteral("[,;\\s]+"));
    std::vector<std::int64_t> lengths;
    for (const QString& part : text.split(separators, Qt::SkipEmptyParts)) {
        bool ok = false;
        const qlonglong value = part.toLongLong(&ok);  // QString::toLongLong uses the C locale
        if (!ok || value < 2)
            return make_error(ErrorKind::Argument,
                              SweepPage::tr("\"%1\" is no length: whole numbers from 2 on.").arg(part).toStdString());
        if (context > 0 && value > context)
            return make_error(ErrorKind::Argument,
                              SweepPage::tr("Length %1 does not fit the model's context of %2 tokens.")
                                  .arg(value)
                                  .arg(context)
                                  .toStdString());
        lengths.push_back(value);
    }
    if (lengths.empty())
        return make_error(ErrorKind::Argument,
                          SweepPage::tr("Name at least one length, for example 64, 128, 256.").toStdString());
    std::sort(lengths.begin(), lengths.end());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    return lengths;
}

SweepPage::SweepPage(SessionController* session, QWidget* parent) : QWidget(parent), session_(session) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    build_form(*layout);
    chart_ = new ChartView(this);
    chart_->setAccessibleName(tr("Sweep: time per token against length"));
    table_ = new QTableWidget(this);
    table_->setAccessibleName(tr("Sweep: table of medians and speed-ups"));
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table_->setShowGrid(false);
    table_->verticalHeader()->hide();
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setProperty("small", true);
    table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->horizontalHeader()->setMinimumSectionSize(16);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    table_->setFrameShape(QFrame::NoFrame);
    note_ = new QLabel(this);
    note_->setProperty("note", true);
    note_->setWordWrap(true);
    auto* row = new QHBoxLayout;
    row->addWidget(chart_, 1);
    row->addWidget(table_, 1);
    layout->addLayout(row, 1);
    layout->addWidget(note_);
    connect(session_, &SessionController::progress, this, &SweepPage::on_progress);
}

void SweepPage::build_form(QVBoxLayout& layout) {
    auto* form = new QHBoxLayout;
    auto* label = new QLabel(tr("&Lengths"), this);
    lengths_ = new QLineEdit(QStringLiteral("64, 128, 256, 384, 512, 768"), this);
    lengths_->setAccessibleName(tr("Lengths to measure, in tokens"));
    label->setBuddy(lengths_);
    form->addWidget(label);
    form->addWidget(lengths_, 1);
    repeats_ = new QSpinBox(this);
    repeats_->setRange(1, 99);
    repeats_->setValue(5);
    repeats_->setSuffix(tr(" repeats"));
    repeats_->setAccessibleName(tr("Repeats of each measurement"));
    form->addWidget(repeats_);
    start_ = new QPushButton(tr("Start"), this);
    connect(start_, &QPushButton::clicked, this, &SweepPage::start_or_cancel);
    form->addWidget(start_);
    layout.addLayout(form);
    auto* choices = new QHBoxLayout;
    for (const StrategyDescriptor& strategy : strategy_catalogue()) {
        auto* box = new QCheckBox(QString::fromStdString(strategy.id), this);
        box->setToolTip(translated(strategy.explanation));
        box->setChecked(strategy.id == "recompute" || strategy.id == "preallocated");
        caches_.emplace_back(strategy.id, box);
        choices->addWidget(box);
    }
    progress_ = new QProgressBar(this);
    progress_->setTextVisible(false);
    progress_->setAccessibleName(tr("Progress of the sweep"));
    progress_->hide();
    choices->addStretch(1);
    choices->addWidget(progress_, 2);
    layout.addLayout(choices);
}

Result<SweepRequest> SweepPage::request() const {
    const ModelPtr model = session_->model();
    auto lengths = parse_lengths(lengths_->text(), model ? model->config.context : 0);
    if (!lengths) return lengths.error();
    SweepRequest request;
    request.lengths = std::move(*lengths);
    for (const auto& [id, box] : caches_) {
        if (!box->isChecked()) continue;
        auto spec = parse_cache_spec(id);
        if (!spec) return spec.error();
        request.caches.push_back(std::move(*spec));
    }
    if (request.caches.empty())
        return make_error(ErrorKind::Argument, tr("Choose at least one cache to measure.").toStdString());
    request.kv_formats = {session_->settings().kv};
    request.repeats = repeats_->value();
    request.seed = session_->settings().sampler.seed;
    return request;
}

void SweepPage::start_or_cancel() {
    if (measuring()) {
        session_->cancel();
        return;
    }
    const auto wanted = request();
    if (!wanted) {
        note_->setText(QString::fromStdString(wanted.error().text()));
        return;
    }
    session_->start_sweep(*wanted);
}

void SweepPage::on_progress(const QString& what, qint64 done, qint64 total) {
    if (!measuring()) return;
    progress_->setMaximum(static_cast<int>(total));
    progress_->setValue(static_cast<int>(done));
    note_->setText(what);
}

bool SweepPage::measuring() const {
    return session_->state() == SessionState::Measuring && !session_->comparing();
}

void SweepPage::show_state() {
    start_->setText(measuring() ? tr("Cancel") : tr("Start"));
    start_->setEnabled(session_->can(measuring() ? SessionAction::CancelWork : SessionAction::Sweep));
    progress_->setVisible(measuring());
}

void SweepPage::present(unsigned changes, bool log_axes) {
    if (changes & (StateChanged | SettingsChanged)) show_state();
    show_result(log_axes);
    if (changes & ThemeChanged) chart_->theme_changed();
}

void SweepPage::show_result(bool log_axes) {
    const auto result = session_->sweep();
    chart_->set_spec(sweep_chart(result ? *result : SweepResult(), log_axes));
    if (!result) return;
    std::vector<std::int64_t> lengths;
    std::vector<std::string> lanes;
    std::map<std::pair<std::int64_t, std::string>, const SweepRow*> cells;
    for (const SweepRow& row : result->rows) {
        if (row.phase == "prefill") continue;
        const std::string lane = row.cache;
        if (std::find(lengths.begin(), lengths.end(), row.length) == lengths.end()) lengths.push_back(row.length);
        if (std::find(lanes.begin(), lanes.end(), lane) == lanes.end()) lanes.push_back(lane);
        cells[{row.length, lane}] = &row;
    }
    std::sort(lengths.begin(), lengths.end());
    table_->clear();
    table_->setRowCount(static_cast<int>(lengths.size()));
    table_->setColumnCount(static_cast<int>(lanes.size()) + 2);
    QStringList titles{tr("length")};
    for (const auto& lane : lanes) titles << QString::fromStdString(lane);
    titles << tr("speed-up");
    table_->setHorizontalHeaderLabels(titles);
    const auto put = [&](int row, int column, const QString& text) {
        auto* item = new QTableWidgetItem(text);
        item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        table_->setItem(row, column, item);
    };
    const auto number = [](double value) { return QString::number(value, 'g', 3); };
    for (int r = 0; r < table_->rowCount(); ++r) {
        const std::int64_t length = lengths[static_cast<std::size_t>(r)];
        put(r, 0, QString::number(length));
        for (std::size_t c = 0; c < lanes.size(); ++c)
            if (const auto cell = cells.find({length, lanes[c]}); cell != cells.end())
                put(r, static_cast<int>(c) + 1, number(cell->second->median_ms));
        for (const SpeedUp& speedup : result->speedup) {
            if (speedup.length != length) continue;
            const QString spread =
                QStringLiteral("%1x (%2–%3)").arg(number(speedup.value), number(speedup.low), number(speedup.high));
            const int last = table_->columnCount() - 1;
            put(r, last, width() < theme().grid() * 90 ? number(speedup.value) + QLatin1Char('x') : spread);
            table_->item(r, last)->setToolTip(spread);
        }
    }
    table_->verticalHeader()->setDefaultSectionSize(QFontMetrics(theme().note()).height() + 6);
    fit_columns(titles);
    if (!measuring()) {
        QStringList lines = sweep_verdict_lines(*result);
        constexpr int kMostVerdicts = 3;  // the rest by hovering
        note_->setToolTip(lines.size() > kMostVerdicts ? lines.join(QStringLiteral("\n")) : QString());
        if (lines.size() > kMostVerdicts) {
            const auto more = lines.size() - kMostVerdicts;
            lines = lines.mid(0, kMostVerdicts);
            lines.last() += tr(" (%1 more: point here)").arg(more);
        }
        lines += sweep_fit_lines(*result);
        if (result->cancelled) lines.prepend(tr("Cancelled: what was measured before is shown."));
        note_->setText(lines.join(QStringLiteral("\n")));
    }
}

// As wide as its words and no wider: four columns have to fit beside the chart.
void SweepPage::fit_columns(const QStringList& titles) {
    const QFontMetrics metrics(theme().note());
    int total = theme().grid() * 2;  // the scroll bar
    for (int c = 0; c < table_->columnCount(); ++c) {
        int width = metrics.horizontalAdvance(titles[c]);
        for (int r = 0; r < table_->rowCount(); ++r)
            if (const QTableWidgetItem* item = table_->item(r, c); item != nullptr)
                width = std::max(width, metrics.horizontalAdvance(item->text()));
        table_->setColumnWidth(c, width + theme().grid() * 2);
        total += table_->columnWidth(c);
    }
    table_->setMinimumWidth(std::min(total, this->width() * 3 / 5));
}

std::vector<ExportItem> SweepPage::exports() {
    const auto result = session_->sweep();
    if (!result || result->rows.empty()) return {};
    ExportItem item;
    item.id = QStringLiteral("timing-sweep");
    item.title = tr("Sweep: time per token against length");
    item.paint = [chart = chart_](QPainter& painter, const QRectF& area) { chart->paint(painter, area); };
    item.csv = [result] { return sweep_csv(*result); };
    item.json = [result] { return sweep_json(*result); };
    return {item};
}

}  // namespace decodescope
