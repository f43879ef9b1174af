#include "ui/main_window/panel_host.h"

#include <QCoreApplication>
#include <QEvent>
#include <QFrame>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "ui/widgets/thread_clock.h"

namespace decodescope {

namespace {

constexpr int kPeriodMillis = 33;
constexpr int kLongestPeriodMillis = 1500;  // of a panel, however dear
// While tokens stream in, all panels together take this share of the thread; what was not used is kept for one drawing.
constexpr double kStreamShare = 0.05, kMostCreditMillis = 40;

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
    connect(session, &SessionController::comparison_changed, this, [this] { mark(ComparisonChanged); });
    connect(selection, &Selection::changed, this, [this] { mark(SelectionMoved); });
    since_present_.start();
    clock_.start();
    schedule();
}

void PanelHost::set_machine(MachineSpeed* machine) {
    machine_ = machine;
    connect(machine, &MachineSpeed::measured, this, [this] { mark(SettingsChanged); });
}

PanelContext PanelHost::context() const {
    PanelContext context;
    context.session = session_;
    context.selection = selection_;
    context.recording = session_->recording();
    context.step = session_->viewed_step();
    context.presentation = presentation_;
    context.machine = machine_;
    return context;
}

const PanelHost::Entry* PanelHost::find(const QString& id) const {
    const auto at =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.descriptor.id == id; });
    return at == entries_.end() ? nullptr : &*at;
}

void PanelHost::mark(unsigned changes) {
    for (Entry& entry : entries_) entry.changes |= changes;
    streaming_ = session_->state() == SessionState::Playing && (changes & ~(NewSteps | ViewMoved)) == 0;
    schedule(streaming_);
}

// What a person does is shown within a frame; what merely streams in waits until each panel has paid for its last
// drawing, painting included.
void PanelHost::schedule(bool stream) {
    double wait = kPeriodMillis - static_cast<double>(since_present_.elapsed());
    if (stream) {
        earn();
        wait = kLongestPeriodMillis;
        for (const Entry& entry : entries_)
            if (is_due(entry)) wait = std::min(wait, turn_of(entry) - credited_millis_);
    }
    const int millis = static_cast<int>(std::ceil(std::clamp<double>(wait, 0, kLongestPeriodMillis)));
    if (timer_.isActive() && timer_.remainingTime() <= millis) return;
    timer_.start(millis);
}

void PanelHost::earn() {
    const double now = clock_millis();
    credit_millis_ = std::min(kMostCreditMillis, credit_millis_ + kStreamShare * (now - credited_millis_));
    credited_millis_ = now;
}

// While tokens stream in: when the panel has paid for its last drawing, or when all of them together have and something
// is left, as at a slow pace; never sooner than a thirtieth of a second after its last one.
double PanelHost::turn_of(const Entry& entry) const {
    const double all_paid = credited_millis_ + std::max(0.0, -credit_millis_) / kStreamShare;
    return std::max(entry.drawn_millis + kPeriodMillis, std::min(entry.paid_millis, all_paid));
}

void PanelHost::present_now() {
    timer_.stop();
    present_dirty();
}

double PanelHost::clock_millis() const { return 1e-6 * static_cast<double>(clock_.nsecsElapsed()); }

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
    painted_ = nullptr;
    since_present_.restart();
    const PanelContext now = context();
    for (Entry& entry : entries_)
        if (is_due(entry)) present(entry, now);
}

// While tokens stream in, one panel is drawn at a time, with whatever else waits in between: all of them at once would
// hold up keys and mouse for as long as the whole window takes. The timer comes after the painting, so that what the
// panel cost is known then; the dearer it was, the longer its next turn is away.
void PanelHost::present_due() {
    if (!streaming_) return present_dirty();
    earn();
    if (painted_ != nullptr) {
        const double spent = thread_millis() - painted_from_;
        credit_millis_ -= spent;
        painted_->paid_millis =
            credited_millis_ + std::min<double>(spent / painted_->descriptor.stream_share, kLongestPeriodMillis);
        painted_ = nullptr;
    }
    Entry* first = nullptr;
    for (Entry& entry : entries_)
        if (is_due(entry) && turn_of(entry) <= credited_millis_ &&
            (first == nullptr || entry.paid_millis < first->paid_millis))
            first = &entry;
    if (first == nullptr) {
        if (std::any_of(entries_.begin(), entries_.end(), [this](const Entry& entry) { return is_due(entry); }))
            schedule(true);
        return;
    }
    painted_ = first;
    painted_from_ = thread_millis();
    first->drawn_millis = credited_millis_;
    present(*first, context());
    timer_.start(0);
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
