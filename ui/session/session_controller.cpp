#include "ui/session/session_controller.h"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>
#include <cmath>
#include <utility>

#include "ui/session/session_controller_private.h"

namespace decodescope {

SessionController::SessionController(BackendRegistry registry, QString resource_folder, QObject* parent)
    : SessionController(registry, std::make_unique<EngineDriver>(registry, resource_folder.toStdString()), parent) {}

SessionController::SessionController(BackendRegistry registry, std::unique_ptr<EngineDriver> driver, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>(this, std::move(registry), std::move(driver))) {
    qRegisterMetaType<SessionMessage>();
    qRegisterMetaType<InspectedCell>();
}

SessionController::~SessionController() = default;

// ---- reading ----

SessionState SessionController::state() const { return d_->state(); }

bool SessionController::can(SessionAction action) const {
    if (action == SessionAction::Sweep && d_->model == nullptr) return false;
    if (action == SessionAction::ForkHere && !d_->has_pages()) return false;
    if (action == SessionAction::SwitchBranch && d_->branches.size() < 2) return false;
    return action_allowed(d_->state(), action, d_->context());
}

const SessionSettings& SessionController::settings() const { return d_->settings; }
ModelPtr SessionController::model() const { return d_->model; }
const BackendRegistry& SessionController::registry() const { return d_->registry; }

void SessionController::probe_backends() {
    if (std::exchange(d_->probed, true)) return;
    QThreadPool::globalInstance()->start([registry = d_->registry, self = QPointer<SessionController>(this)]() mutable {
        registry.probe();
        QMetaObject::invokeMethod(
            qApp,
            [self, registry = std::move(registry)] {
                if (!self) return;
                self->d_->registry = registry;
                Q_EMIT self->backends_probed();
            },
            Qt::QueuedConnection);
    });
}

RecordingPtr SessionController::recording() const { return d_->recording; }
int SessionController::step_count() const { return d_->known_steps; }
int SessionController::viewed_step() const { return d_->viewed; }
bool SessionController::following() const { return d_->following; }
bool SessionController::finished() const { return d_->replay || d_->run_finished; }
QString SessionController::stop_reason() const { return d_->stop_reason; }
double SessionController::tokens_per_second() const { return d_->link->tokens_per_second(); }
bool SessionController::playing() const { return d_->replay_timer.isActive() || d_->state() == SessionState::Playing; }
bool SessionController::saving() const { return d_->saving(); }
bool SessionController::race_enabled() const { return d_->settings.race; }
std::shared_ptr<const SweepResult> SessionController::sweep() const { return d_->sweep; }
std::shared_ptr<const CompareResult> SessionController::comparison() const { return d_->comparison; }
bool SessionController::comparing() const { return d_->any_job(Private::JobKind::Compare); }
const std::vector<SessionBranch>& SessionController::branches() const { return d_->branches; }
StepProgram SessionController::program() const { return d_->program != nullptr ? *d_->program : StepProgram{}; }

// ---- another run ----

void SessionController::apply(const SessionSettings& settings) {
    const bool other_model = settings.model != d_->settings.model || d_->model == nullptr;
    if (!d_->allowed(other_model ? SessionAction::Open : SessionAction::Configure)) return;
    const bool preparing = d_->any_job(Private::JobKind::Apply) || d_->any_job(Private::JobKind::Open) ||
                           d_->any_job(Private::JobKind::ContinueFrom);
    const bool same = d_->model != nullptr && d_->known_steps > 0 &&
                      settings_change(d_->settings, settings) == SettingsChange::Nothing;
    if (preparing || !same) {
        d_->request(settings, false);
        return;
    }
    d_->link->capture = settings.capture;
    d_->link->race = settings.race;
    if (d_->settings == settings) return;
    d_->settings = d_->live_settings = settings;
    Q_EMIT settings_changed();
}

void SessionController::reset() {
    if (!d_->allowed(SessionAction::Reset)) return;
    d_->request(d_->replay && d_->has_live_settings ? d_->live_settings : d_->settings, true);
}

void SessionController::continue_from_here() {
    if (d_->allowed(SessionAction::ContinueFromHere)) d_->post_continue(GoOn::InPlace);
}

void SessionController::fork_here() {
    if (!d_->allowed(SessionAction::ForkHere)) return;
    if (d_->has_pages()) return d_->post_continue(GoOn::InABranch);
    d_->refuse(tr("Only a cache with pages shares them between branches; choose a paged cache first."));
}

void SessionController::switch_branch(int number) {
    if (!d_->allowed(SessionAction::SwitchBranch)) return;
    if (d_->branches.size() < 2) return d_->refuse(tr("There is only this run; fork it to have branches."));
    d_->replay_timer.stop();
    Private::Job job;
    job.kind = Private::JobKind::ContinueFrom;
    d_->post(std::move(job), [number](EngineWorker& to, const Ticket& ticket) { to.switch_branch(ticket, number); });
}

void SessionController::open_recording(const QString& path) {
    if (!d_->allowed(SessionAction::OpenRecording)) return;
    d_->stop_jobs(true);
    d_->replay_timer.stop();
    Private::Job job;
    job.kind = Private::JobKind::Open;
    job.state = SessionState::Loading;
    d_->post(std::move(job), [path](EngineWorker& to, const Ticket& ticket) { to.open(ticket, path); });
}

// ---- the view ----

void SessionController::step_back() {
    if (!d_->allowed(SessionAction::StepBack)) return;
    d_->set_view(d_->viewed - 1);
}

void SessionController::view_step(int step) { d_->set_view(step); }

// ---- going on ----

void SessionController::step_forward() {
    if (!d_->allowed(SessionAction::StepForward)) return;
    if (d_->viewed < d_->last_step()) {
        d_->set_view(d_->viewed + 1);
        return;
    }
    // A key that repeats faster than the model steps must not build a queue: one under way and one waiting.
    int waiting = 0;
    for (const Private::Job& job : d_->jobs) waiting += job.kind == Private::JobKind::Step;
    if (waiting >= 2) return;
    Private::Job job;
    job.kind = Private::JobKind::Step;
    d_->post(std::move(job), [](EngineWorker& to, const Ticket& ticket) { to.step(ticket); });
}

void SessionController::play() {
    if (!d_->allowed(SessionAction::Play)) return;
    if (d_->viewed < d_->last_step())
        d_->start_replay();
    else
        d_->post_play(false);
}

void SessionController::pause() {
    if (!d_->allowed(SessionAction::Pause)) return;
    d_->replay_timer.stop();
    for (Private::Job& job : d_->jobs) {
        if (job.kind != Private::JobKind::Play) continue;
        job.stop.request_stop();
        job.state = SessionState::Stepping;  // until its last token is out; play can be asked for again at once
    }
    d_->notify_state();
}

void SessionController::toggle_play() {
    if (can(SessionAction::Pause))
        pause();
    else
        play();
}

void SessionController::run_to_end() {
    if (!d_->allowed(SessionAction::RunToEnd)) return;
    d_->replay_timer.stop();
    d_->set_view(d_->last_step());
    if (!d_->replay && !d_->run_finished) {
        for (Private::Job& job : d_->jobs)
            if (job.kind == Private::JobKind::Play) job.stop.request_stop();
        d_->post_play(true);
    }
    d_->notify_state();
}

void SessionController::cancel() {
    if (!d_->allowed(SessionAction::CancelWork)) return;
    d_->replay_timer.stop();
    d_->stop_jobs(false);
    d_->notify_state();
}

// ---- switches ----

void SessionController::set_tokens_per_second(double value) {
    if (!std::isfinite(value) || value < 0) return;
    d_->link->set_tokens_per_second(value);
    if (d_->replay_timer.isActive()) d_->start_replay();
}

void SessionController::set_race(bool on) {
    d_->link->race = on;
    if (d_->settings.race == on) return;
    d_->settings.race = d_->live_settings.race = on;
    Q_EMIT settings_changed();
}

void SessionController::set_capture(bool on) {
    d_->link->capture = on;
    if (d_->settings.capture == on) return;
    d_->settings.capture = d_->live_settings.capture = on;
    Q_EMIT settings_changed();
}

// ---- measurements, files, questions ----

void SessionController::start_sweep(const SweepRequest& request) {
    if (!d_->allowed(SessionAction::Sweep)) return;
    Private::Job job;
    job.kind = Private::JobKind::Sweep;
    job.state = SessionState::Measuring;
    d_->post(std::move(job), [request](EngineWorker& to, const Ticket& ticket) { to.sweep(ticket, request); });
}

void SessionController::start_compare(const CompareRequest& request) {
    if (!d_->allowed(SessionAction::Sweep)) return;
    Private::Job job;
    job.kind = Private::JobKind::Compare;
    job.state = SessionState::Measuring;
    d_->post(std::move(job), [request](EngineWorker& to, const Ticket& ticket) { to.compare(ticket, request); });
}

void SessionController::save_recording(const QString& path) {
    if (!d_->allowed(SessionAction::SaveRecording)) return;
    Private::Job job;
    job.kind = Private::JobKind::Save;
    job.path = path;
    d_->post(std::move(job), [recording = d_->recording, path](EngineWorker& to, const Ticket& ticket) {
        to.save(ticket, recording, path);
    });
}

void SessionController::inspect(int layer, int position) {
    const QString reason = action_refusal(d_->state(), SessionAction::Inspect, d_->context());
    const quint64 number = ++d_->last_question;
    if (!reason.isEmpty()) {
        Q_EMIT cell_inspected({layer, position, false, reason, {}});
        return;
    }
    if (!d_->link->ask({number, layer, position})) return;
    QMetaObject::invokeMethod(d_->worker, [to = d_->worker] { to->answer_question(); }, Qt::QueuedConnection);
}

}  // namespace decodescope
