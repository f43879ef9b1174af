#include "ui/main_window/message_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QTimer>
#include <QToolButton>

#include "ui/widgets/theme.h"
#include "ui/widgets/words_label.h"

namespace decodescope {

namespace {
constexpr int kSaidMillis = 8000;
constexpr int kLongestWord = 60;

// A path may be one word that is wider than the window: it may break after a slash, or anywhere when it has none.
QString breakable(const QString& text) {
    QString out;
    int word = 0;
    for (const QChar c : text) {
        out += c;
        word = c.isSpace() ? 0 : word + 1;
        if (word < kLongestWord || (c != QLatin1Char('/') && word < 2 * kLongestWord)) continue;
        out += QChar(0x200B);
        word = 0;
    }
    return out;
}

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), words_(new WordsLabel(this)) {
    setObjectName(QStringLiteral("message-bar"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(18, 6, 12, 6);
    words_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* close = new QToolButton(this);
    close->setText(QStringLiteral("✕"));
    close->setProperty("flat", true);
    close->setAccessibleName(tr("Close the message"));
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    row->addWidget(words_, 1);
    row->addWidget(close);
    hide();
}

void MessageBar::show_message(const SessionMessage& message) {
    kind_ = message.kind;
    const QString mark = kind_ == SessionMessage::Kind::Error     ? tr("Error: ")
                         : kind_ == SessionMessage::Kind::Warning ? tr("Note: ")
                                                                  : QString();
    said_ = mark + message.text + (message.hint.isEmpty() ? QString() : QLatin1Char(' ') + message.hint);
    words_->setText(breakable(said_));
    setAccessibleName(said_);
    show();
    update();
}

QString MessageBar::text() const { return isHidden() ? QString() : said_; }

void MessageBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Role role = kind_ == SessionMessage::Kind::Error     ? Role::Error
                      : kind_ == SessionMessage::Kind::Warning ? Role::Warning
                                                               : Role::Cached;
    painter.fillRect(rect(), theme().shade(role, 0.10F));
    painter.fillRect(QRect(0, 0, 4, height()), theme().color(role));
}

StatusLine::StatusLine(SessionController* session, QWidget* parent)
    : QFrame(parent),
      session_(session),
      facts_(new QLabel(this)),
      said_(new QLabel(this)),
      progress_(new QProgressBar(this)),
      cancel_(new QToolButton(this)),
      quiet_(new QTimer(this)) {
    setObjectName(QStringLiteral("status-line"));
    auto* row = new QHBoxLayout(this);
    facts_->setProperty("note", true);
    facts_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    facts_->setAccessibleName(tr("Facts of the run"));
    said_->setProperty("note", true);
    said_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    said_->setAccessibleName(tr("Messages"));
    progress_->setMaximumWidth(160);
    progress_->setTextVisible(false);
    progress_->hide();
    cancel_->setText(tr("Cancel"));
    cancel_->setProperty("flat", true);
    cancel_->hide();
    row->addWidget(facts_, 1);
    row->addWidget(said_);
    row->addWidget(progress_);
    row->addWidget(cancel_);
    quiet_->setSingleShot(true);
    connect(quiet_, &QTimer::timeout, this, [this] { said_->setText(tr("no message")); });
    connect(cancel_, &QToolButton::clicked, session_, &SessionController::cancel);
    connect(session_, &SessionController::progress, this, &StatusLine::show_progress);
    for (auto signal : {&SessionController::settings_changed, &SessionController::recording_replaced,
                        &SessionController::state_changed})
        connect(session_, signal, this, &StatusLine::show_facts);
    said_->setText(tr("no message"));
    apply_theme();
    show_facts();
}

void StatusLine::apply_theme() {
    const int grid = theme().grid();
    layout()->setContentsMargins(grid * 2, grid / 2, grid * 2, grid / 2);
}

void StatusLine::say(const QString& text) {
    said_->setText(text);
    quiet_->start(kSaidMillis);
}

QString StatusLine::facts() const { return facts_->text(); }

void StatusLine::show_facts() {
    const RecordingPtr recording = session_->recording();
    const QString dot = QStringLiteral(" · ");
    if (session_->state() != SessionState::Loading && session_->state() != SessionState::Measuring &&
        progress_->isVisible())
        show_progress(QString(), 1, 1);
    if (!recording) {
        facts_->setText(session_->state() == SessionState::Loading ? tr("opening the model") : tr("no run yet"));
        return;
    }
    const RunFacts& f = recording->facts();
    const auto text = [](const std::string& s) { return QString::fromStdString(s); };
    const QString isa =
        f.instruction_set.empty() ? QString() : text(f.instruction_set).toLower() + QStringLiteral(", ");
    QStringList parts;
    parts << QStringLiteral("%1 (%2%3)")
                 .arg(text(f.backend), isa, f.threads == 1 ? tr("1 thread") : tr("%1 threads").arg(f.threads));
    parts << tr("%1, %2 weights, %3 cache").arg(text(f.model_name), text(f.weights_type), text(f.kv_type));
    if (f.meaningless_text) parts << tr("seeded weights: the text means nothing");
    parts << (f.sampler.temperature <= 0 ? tr("greedy, seed %1").arg(f.sampler.seed)
                                         : tr("temperature %1, seed %2")
                                               .arg(QString::number(f.sampler.temperature, 'g', 3))
                                               .arg(f.sampler.seed));
    if (session_->state() == SessionState::Replay) parts << tr("recording of %1").arg(text(f.date));
    else parts << (session_->settings().capture ? tr("capture on: timings marked") : tr("capture off"));
    facts_->setText(parts.join(dot));
    facts_->setToolTip(QStringLiteral("%1\n%2 %3").arg(facts_->text(), text(f.cpu), text(f.date)));
}

void StatusLine::show_progress(const QString& what, qint64 done, qint64 total) {
    const bool over = total > 0 && done >= total;
    progress_->setVisible(!over);
    cancel_->setVisible(!over);
    cancel_->setEnabled(session_->can(SessionAction::CancelWork));
    if (over) {
        said_->setText(tr("no message"));
        return;
    }
    progress_->setMaximum(total > 0 ? 1000 : 0);
    if (total > 0) progress_->setValue(static_cast<int>(1000 * done / total));
    said_->setText(what);
}

}  // namespace decodescope
