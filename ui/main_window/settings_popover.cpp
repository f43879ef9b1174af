#include "ui/main_window/settings_popover.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpressionValidator>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/cache/kv_format.h"
#include "engine/cache/supported_pairs.h"
#include "engine/model/layer_kinds.h"
#include "engine/model/weight_type.h"
#include "kernels/api/usable_cores.h"
#include "ui/main_window/settings_desk.h"
#include "ui/viewmodels/engine_words.h"
#include "ui/widgets/decimal_box.h"
#include "ui/widgets/glossary.h"
#include "ui/widgets/strategy_form.h"
#include "ui/widgets/theme.h"

namespace decodescope {

namespace {

QDoubleSpinBox* decimal_box(QWidget* parent, double least, double most, double step) {
    auto* box = new DecimalBox(parent);
    box->setRange(least, most);
    box->setSingleStep(step);
    box->setDecimals(2);
    return box;
}

QString latin(std::string_view text) { return QString::fromLatin1(text.data(), static_cast<qsizetype>(text.size())); }

QSpinBox* whole_box(QWidget* parent, int least, int most, const QString& words_for_least) {
    auto* box = new QSpinBox(parent);
    box->setLocale(QLocale::c());
    box->setRange(least, most);
    box->setSpecialValueText(words_for_least);
    return box;
}

void name_row(QFormLayout* form, const QString& label, QWidget* field, const QString& term) {
    form->setHorizontalSpacing(theme().grid() * 2);
    form->addRow(label, field);
    field->setAccessibleName(QString(label).remove(QLatin1Char('&')));
    if (!term.isEmpty() && !glossary(term).isEmpty()) explain(field, term);
}

// Below the anchor, moved into the window when it would stick out.
void place(QFrame* popover, QWidget* anchor) {
    popover->adjustSize();
    const QWidget* window = anchor->window();
    QPoint at = anchor->mapToGlobal(QPoint(0, anchor->height() + 4));
    const QPoint corner =
        window->mapToGlobal(QPoint(window->width() - popover->width() - 8, window->height() - popover->height() - 8));
    at.setX(std::max(window->mapToGlobal(QPoint(8, 0)).x(), std::min(at.x(), corner.x())));
    at.setY(std::min(at.y(), std::max(corner.y(), window->mapToGlobal(QPoint(0, 8)).y())));
    popover->move(at);
    popover->show();
}

}  // namespace

SettingsPopover::SettingsPopover(SessionController* session, SettingsDesk* desk, QWidget* parent)
    : QFrame(parent, Qt::Popup), session_(session), desk_(desk) {
    setProperty("card", true);
    setAccessibleName(tr("Settings of the run"));
    auto* layout = new QVBoxLayout(this);
    auto* columns = new QHBoxLayout;
    auto* left = new QVBoxLayout;
    left->addWidget(build_sampling());
    left->addWidget(build_cache());
    left->addStretch(1);
    columns->addLayout(left);
    columns->addWidget(build_run());
    columns->setSpacing(theme().grid() * 2);
    layout->addLayout(columns);
    auto* buttons = new QHBoxLayout;
    auto* close = new QPushButton(tr("Close"), this);
    apply_ = new QPushButton(tr("Apply"), this);
    apply_->setProperty("accent", true);
    apply_->setDefault(true);
    buttons->addStretch(1);
    buttons->addWidget(close);
    buttons->addWidget(apply_);
    layout->addLayout(buttons);
    connect(close, &QPushButton::clicked, this, &QFrame::hide);
    connect(apply_, &QPushButton::clicked, this, &SettingsPopover::apply);
}

QWidget* SettingsPopover::build_sampling() {
    auto* box = new QGroupBox(tr("Sampling"), this);
    auto* form = new QFormLayout(box);
    temperature_ = decimal_box(box, 0, 5, 0.1);
    temperature_->setSpecialValueText(tr("0 (greedy)"));
    top_k_ = whole_box(box, 0, 1 << 20, tr("all"));
    top_p_ = decimal_box(box, 0.01, 1, 0.05);
    seed_ = new QLineEdit(box);
    seed_->setValidator(new QRegularExpressionValidator(QRegularExpression(QStringLiteral("[0-9]{1,20}")), seed_));
    name_row(form, tr("&Temperature"), temperature_, QStringLiteral("temperature"));
    name_row(form, tr("Top-&k"), top_k_, QStringLiteral("top-k"));
    name_row(form, tr("Top-&p"), top_p_, QStringLiteral("top-p"));
    name_row(form, tr("&Seed"), seed_, QStringLiteral("seed"));
    return box;
}

QWidget* SettingsPopover::build_cache() {
    auto* box = new QGroupBox(tr("Cache"), this);
    auto* layout = new QVBoxLayout(box);
    strategy_ = new StrategyForm(box);
    layout->addWidget(strategy_);
    auto* form = new QFormLayout;
    kv_k_ = new QComboBox(box);
    kv_v_ = new QComboBox(box);
    group_ = whole_box(box, kSmallestGroup, kLargestGroup, QString());
    residual_ = whole_box(box, 0, kLargestResidual, QString());
    group_->setToolTip(tr("Tokens that int8-kivi quantizes together, with scales for each channel of the keys."));
    residual_->setToolTip(tr("Newest tokens that int8-kivi keeps in full precision at least."));
    for (const KvTypeInfo& info : kKvTypes) {
        for (QComboBox* combo : {kv_k_, kv_v_}) {
            combo->addItem(latin(info.name));
            combo->setItemData(combo->count() - 1, translated(std::string(info.help)), Qt::ToolTipRole);
        }
    }
    name_row(form, tr("K stored as"), kv_k_, QString());
    name_row(form, tr("V stored as"), kv_v_, QString());
    name_row(form, tr("Group"), group_, QString());
    name_row(form, tr("Residual"), residual_, QString());
    layout->addLayout(form);
    for (QComboBox* combo : {kv_k_, kv_v_})
        connect(combo, &QComboBox::currentIndexChanged, this, &SettingsPopover::show_unsupported);
    connect(group_, &QSpinBox::valueChanged, this, &SettingsPopover::show_unsupported);
    connect(strategy_, &StrategyForm::changed, this, &SettingsPopover::show_unsupported);
    return box;
}

KvFormat SettingsPopover::edited_format() const {
    const auto type = [](const QComboBox* combo) -> const KvTypeInfo& {
        return kKvTypes[static_cast<std::size_t>(std::max(0, combo->currentIndex()))];
    };
    KvFormat format = kv_format_of(type(kv_k_), type(kv_v_));
    if (format.has_residual()) format.group = group_->value(), format.residual = residual_->value();
    return format;
}

// Types that the strategy cannot have are not offered, and say why; what is chosen and cannot be is not applied.
void SettingsPopover::show_unsupported() {
    const ModelPtr model = session_->model();
    RunChoice choice;
    if (model) choice.family = model->config.family, choice.local_layers = local_kind(model->config).layers > 0;
    if (const auto spec = complete_cache_spec(strategy_->spec()); spec.ok()) choice.cache = *spec;
    const std::string backend = desk_->wanted().backend.toStdString();
    choice.backend = backend;
    for (std::size_t i = 0; i < kKvTypes.size(); ++i) {
        choice.kv = kv_format_of(kKvTypes[i], kKvTypes[i]);
        if (choice.kv.has_residual()) choice.kv.group = group_->value();
        const UnsupportedPair* pair = find_unsupported(choice);
        const QString why = translated(std::string(pair != nullptr ? pair->reason : kKvTypes[i].help));
        for (QComboBox* combo : {kv_k_, kv_v_}) {
            combo->setItemData(static_cast<int>(i), pair != nullptr ? QVariant(0) : QVariant(), Qt::UserRole - 1);
            combo->setItemData(static_cast<int>(i), why, Qt::ToolTipRole);
        }
    }
    choice.kv = edited_format();
    const UnsupportedPair* pair = find_unsupported(choice);
    for (QSpinBox* spin : {group_, residual_}) spin->setEnabled(choice.kv.has_residual());
    apply_->setEnabled(pair == nullptr && session_->can(SessionAction::Configure) &&
                       session_->state() != SessionState::Replay);
    apply_->setToolTip(pair == nullptr ? QString() : translated(std::string(pair->reason)));
}

QWidget* SettingsPopover::build_run() {
    auto* box = new QGroupBox(tr("Run"), this);
    auto* form = new QFormLayout(box);
    new_tokens_ = whole_box(box, 0, 1 << 20, tr("until the context is full"));
    weights_ = new QComboBox(box);
    weights_->addItem(tr("as in the file"), static_cast<int>(WeightType::AsInFile));
    for (const std::string& name : weight_type_names())
        weights_->addItem(QString::fromStdString(name), static_cast<int>(parse_weight_type(name).value()));
    threads_ = whole_box(box, 0, usable_cores() * 2, tr("all"));
    stop_at_eos_ = new QCheckBox(tr("Stop at the end token"), box);
    parse_special_ = new QCheckBox(tr("Read special tokens in the prompt"), box);
    capture_ = new QCheckBox(tr("Capture attention"), box);
    capture_->setToolTip(
        tr("Keeps what every head reads. It costs a little time, so steps timed with it are marked in the charts."));
    profile_ = new QCheckBox(tr("Time every stage"), box);
    profile_->setToolTip(tr("Slow motion and the table of operations then say how long each stage took."));
    name_row(form, tr("&New tokens"), new_tokens_, QString());
    name_row(form, tr("&Weights"), weights_, QString());
    name_row(form, tr("T&hreads"), threads_, QString());
    for (QCheckBox* check : {capture_, profile_, stop_at_eos_, parse_special_}) form->addRow(check);
    return box;
}

void SettingsPopover::fill() {
    const SessionSettings& s = desk_->wanted();
    temperature_->setValue(s.sampler.temperature);
    top_k_->setValue(s.sampler.top_k);
    top_p_->setValue(s.sampler.top_p);
    seed_->setText(QString::number(s.sampler.seed));
    group_->setValue(s.kv.has_residual() ? s.kv.group : kDefaultGroup);
    residual_->setValue(s.kv.has_residual() ? s.kv.residual : kDefaultResidual);
    for (std::size_t i = 0; i < kKvTypes.size(); ++i) {
        const KvTypeInfo& info = kKvTypes[i];
        if (info.type == s.kv.k && info.grouped == s.kv.k_grouped) kv_k_->setCurrentIndex(static_cast<int>(i));
        if (info.type == s.kv.v && info.grouped == s.kv.v_grouped) kv_v_->setCurrentIndex(static_cast<int>(i));
    }
    weights_->setCurrentIndex(std::max(0, weights_->findData(static_cast<int>(s.weights))));
    threads_->setValue(s.threads);
    new_tokens_->setValue(s.new_tokens);
    capture_->setChecked(s.capture);
    profile_->setChecked(s.profile);
    stop_at_eos_->setChecked(s.stop_at_eos);
    parse_special_->setChecked(s.parse_special);
    strategy_->set_spec(s.cache);
    show_unsupported();
}

SessionSettings SettingsPopover::edited() const {
    SessionSettings s = desk_->wanted();
    s.sampler.temperature = temperature_->value();
    s.sampler.top_k = top_k_->value();
    s.sampler.top_p = top_p_->value();
    bool ok = false;
    if (const qulonglong seed = seed_->text().toULongLong(&ok); ok) s.sampler.seed = seed;
    s.kv = edited_format();
    s.weights = static_cast<WeightType>(weights_->currentData().toInt());
    s.threads = threads_->value();
    s.new_tokens = new_tokens_->value();
    s.capture = capture_->isChecked();
    s.profile = profile_->isChecked();
    s.stop_at_eos = stop_at_eos_->isChecked();
    s.parse_special = parse_special_->isChecked();
    s.cache = strategy_->spec();
    return s;
}

void SettingsPopover::open_at(QWidget* anchor) {
    fill();
    place(this, anchor);
    temperature_->setFocus();
}

void SettingsPopover::apply() {
    desk_->replace(edited());
    hide();
}

void SettingsPopover::keyPressEvent(QKeyEvent* event) {
    if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && apply_->isEnabled()) apply();
    else QFrame::keyPressEvent(event);
}

PromptPopover::PromptPopover(SessionController* session, SettingsDesk* desk, QWidget* parent)
    : QFrame(parent, Qt::Popup),
      session_(session),
      desk_(desk),
      text_(new QPlainTextEdit(this)),
      sent_(new QLabel(this)),
      start_(new QPushButton(tr("Start with this text"), this)) {
    setProperty("card", true);
    setAccessibleName(tr("Own text as the prompt"));
    auto* layout = new QVBoxLayout(this);
    text_->setAccessibleName(tr("Prompt"));
    text_->setPlaceholderText(tr("Text for the model to go on from. Ctrl+Enter starts."));
    text_->setTabChangesFocus(true);
    text_->setMinimumSize(theme().grid() * 52, theme().grid() * 16);
    text_->installEventFilter(this);
    start_->setProperty("accent", true);
    sent_->setProperty("note", true);
    sent_->setWordWrap(true);
    sent_->setAccessibleName(tr("What is sent to the model"));
    layout->addWidget(text_);
    layout->addWidget(sent_);
    layout->addWidget(start_, 0, Qt::AlignRight);
    connect(start_, &QPushButton::clicked, this, &PromptPopover::start);
    connect(text_, &QPlainTextEdit::textChanged, this,
            [this] { start_->setEnabled(!text_->toPlainText().isEmpty() && session_->can(SessionAction::Configure)); });
}

QString PromptPopover::sent_words(const Model* model) {
    if (model == nullptr) return {};
    QStringList words;
    if (const auto bos = model->tokenizer->bos(); bos && model->tokenizer->adds_bos())
        words << tr("The tokenizer puts %1 before the text.").arg(QString::fromStdString(model->tokenizer->display(*bos)));
    if (model->config.chat_template)
        words << tr("The model has a chat template. It is not applied: the text is sent as it is typed here.");
    return words.join(QLatin1Char(' '));
}

void PromptPopover::open_at(QWidget* anchor) {
    text_->setPlainText(desk_->wanted().prompt);
    text_->selectAll();
    sent_->setText(sent_words(session_->model().get()));
    sent_->setVisible(!sent_->text().isEmpty());
    place(this, anchor);
    text_->setFocus();
}

void PromptPopover::start() {
    if (!start_->isEnabled()) return;
    hide();
    desk_->change([text = text_->toPlainText()](SessionSettings& s) {
        s.prompt = text;
        s.preset_id.clear();
    });
}

bool PromptPopover::eventFilter(QObject* object, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if ((key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) && (key->modifiers() & Qt::ControlModifier)) {
            start();
            return true;
        }
    }
    return QFrame::eventFilter(object, event);
}

}  // namespace decodescope
