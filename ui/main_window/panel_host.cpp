#include "ui/main_window/panel_host.h"

#include <QCoreApplication>
#include <QEvent>
#include <QFrame>
#include <QVBoxLayout>
#include <algorithm>
#include <ctime>

namespace decodescope {

namespace {

constexpr int kPeriodMillis = 33;
constexpr int kLongestPeriodMillis = 400;
// While tokens flood in, drawing them takes at most a tenth of this thread.
constexpr double kIdlePerBusy = 10;

double thread_millis() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace

PanelHost::PanelHost(SessionController* session, Selection* selection, DockArea* docks, QWidget* strips)
    : QObject(docks), session_(session), selection_(selection) {
    for (const PanelDescriptor& descriptor : panel_catalogue()) {
        Entry entry;
        entry.descriptor = descriptor;
        if (descriptor.area == Qt::TopDockWidgetArea) {
            auto* strip = new QFrame(strips);
            strip->setObjectName(QStringLiteral("panel-") + descriptor.id);
            auto* layout = new QVBoxLayout(strip);
            layout->setContentsMargins(0, 0, 0, 0);
            entry.panel = descriptor.create(context(), strip);
            layout->addWidget(entry.panel);
            strips->layout()->addWidget(strip);
            entry.strip = strip;
        } else {
            entry.panel = descriptor.create(context(), nullptr);
            entry.card = new DockCard(descriptor, entry.panel, docks);
            docks->add(descriptor, entry.card);
            connect(entry.card, &QDockWidget::visibilityChanged, this, [this] { schedule(); });
            connect(entry.card->header(), &CardHeader::alone_requested, this,
                    [this, id = descriptor.id] { Q_EMIT alone_requested(id); });
        }
        entry.panel->setAccessibleName(QCoreApplication::translate("panels", descriptor.title));
        entry.panel->setAccessibleDescription(QCoreApplication::translate("panels", descriptor.help));
        entry.panel->installEventFilter(this);
        connect(entry.panel, &Panel::export_requested, this, &PanelHost::export_requested);
        entries_.push_back(entry);
    }
    timer_.setSingleShot(true);
    timer_.setTimerType(Qt::PreciseTimer);
    connect(&timer_, &QTimer::timeout, this, &PanelHost::present_due);
    connect(session, &SessionController::recording_replaced, this,
            [this] { mark(NewRecording | NewSteps | ViewMoved); });
    connect(session, &SessionController::steps_arrived, this, [this] { mark(NewSteps); });
    connect(session, &SessionController::view_changed, this, [this] { mark(ViewMoved); });
    connect(session, &SessionController::state_changed, this, [this] { mark(StateChanged); });
    connect(session, &SessionController::settings_changed, this, [this] { mark(SettingsChanged); });
    connect(session, &SessionController::sweep_changed, this, [this] { mark(SweepChanged); });
    connect(selection, &Selection::changed, this, [this] { mark(SelectionMoved); });
    since_present_.start();
    schedule();
}

PanelContext PanelHost::context() const {
    PanelContext context;
    context.session = session_;
    context.selection = selection_;
    context.recording = session_->recording();
    context.step = session_->viewed_step();
    context.presentation = presentation_;
    return context;
}

const PanelHost::Entry* PanelHost::find(const QString& id) const {
    const auto at =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.descriptor.id == id; });
    return at == entries_.end() ? nullptr : &*at;
}

void PanelHost::mark(unsigned changes) {
    for (Entry& entry : entries_) entry.changes |= changes;
    flood_ = session_->state() == SessionState::Playing && (changes & ~(NewSteps | ViewMoved)) == 0;
    schedule(flood_);
}

// What a person does is shown within a frame; what merely streams in waits until the last drawing, painting included,
// has been paid for.
void PanelHost::schedule(bool flood) {
    double period = kPeriodMillis;
    if (flood)
        period = std::clamp<double>(kIdlePerBusy * std::max(cycle_cpu_millis_, thread_millis() - present_cpu_millis_),
                                    period, kLongestPeriodMillis);
    const int wait =
        static_cast<int>(std::clamp<double>(period - static_cast<double>(since_present_.elapsed()), 0, period));
    if (timer_.isActive() && timer_.remainingTime() <= wait) return;
    timer_.start(wait);
}

void PanelHost::present_now() {
    timer_.stop();
    present_dirty();
}

void PanelHost::begin_round() {
    since_present_.restart();
    // What a round costs is known only with its painting: the round before tells what this one will take.
    const double spent = thread_millis();
    cycle_cpu_millis_ = spent - present_cpu_millis_;
    present_cpu_millis_ = spent;
}

bool PanelHost::is_due(const Entry& entry) const {
    return entry.changes != 0 && (entry.card != nullptr ? entry.card->in_view() : entry.panel->isVisible());
}

void PanelHost::present(Entry& entry, const PanelContext& now) {
    const unsigned changes = std::exchange(entry.changes, 0U);
    entry.panel->present(now, changes);
    if (entry.card != nullptr) entry.card->update_header();
    ++presented_;
}

void PanelHost::present_dirty() {
    begin_round();
    next_ = 0;
    const PanelContext now = context();
    for (Entry& entry : entries_)
        if (is_due(entry)) present(entry, now);
}

// While tokens flood in, a round is one panel after the other, with whatever else waits in between: all of them drawn at
// once would hold up keys and mouse for as long as the whole window takes.
void PanelHost::present_due() {
    if (!flood_) return present_dirty();
    if (next_ == 0) begin_round();
    while (next_ < entries_.size() && !is_due(entries_[next_])) ++next_;
    if (next_ < entries_.size()) {
        present(entries_[next_++], context());
        timer_.start(0);
        return;
    }
    next_ = 0;
    // What came for panels that had had their turn.
    if (std::any_of(entries_.begin(), entries_.end(), [this](const Entry& entry) { return is_due(entry); }))
        schedule(true);
}

// A panel that comes into view catches up with what it missed.
bool PanelHost::eventFilter(QObject* object, QEvent* event) {
    if (event->type() == QEvent::Show || event->type() == QEvent::Resize) schedule();
    return QObject::eventFilter(object, event);
}

std::vector<ExportItem> PanelHost::exports() {
    std::vector<ExportItem> all;
    const PanelContext now = context();
    for (Entry& entry : entries_) {
        if (entry.changes != 0) entry.panel->present(now, std::exchange(entry.changes, 0U));
        for (ExportItem& item : entry.panel->exports()) all.push_back(std::move(item));
    }
    return all;
}

}  // namespace decodescope
