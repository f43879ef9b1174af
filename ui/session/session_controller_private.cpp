#include "ui/session/session_controller_private.h"

#include <QMetaObject>
#include <algorithm>

namespace decodescope {

SessionController::Private::Private(SessionController* controller, BackendRegistry backends,
                                    std::unique_ptr<EngineDriver> driver)
    : q(controller), registry(std::move(backends)), worker(new EngineWorker(std::move(driver), link)) {
    worker->moveToThread(&thread);
    thread.setObjectName(QStringLiteral("engine"));
    QObject::connect(&thread, &QThread::finished, worker, &QObject::deleteLater);
    QObject::connect(worker, &EngineWorker::run_replaced, q, [this](const RunNews& news) { on_news(news); });
    QObject::connect(worker, &EngineWorker::finished, q,
                     [this](quint64 number, const WorkOutcome& outcome) { on_finished(number, outcome); });
    QObject::connect(worker, &EngineWorker::said, q, &SessionController::message);
    QObject::connect(worker, &EngineWorker::inspected, q, [this](quint64 number, const InspectedCell& cell) {
        if (number == last_question) Q_EMIT q->cell_inspected(cell);
    });
    tick.setTimerType(Qt::PreciseTimer);
    tick.setInterval(kUpdateMillis);
    QObject::connect(&tick, &QTimer::timeout, q, [this] { on_tick(); });
    replay_timer.setTimerType(Qt::PreciseTimer);
    QObject::connect(&replay_timer, &QTimer::timeout, q, [this] { on_replay_tick(); });
    thread.start();
}

// The only place that waits for the engine's thread; every request under way has been asked to stop by then.
SessionController::Private::~Private() {
    for (Job& job : jobs) job.stop.request_stop();
    QObject::disconnect(worker, nullptr, q, nullptr);
    thread.quit();
    thread.wait();
}

SessionState SessionController::Private::state() const {
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job)
        if (job->kind != JobKind::Save) return job->state;
    if (replay) return SessionState::Replay;
    if (replay_timer.isActive()) return SessionState::Playing;
    return model != nullptr ? SessionState::Ready : SessionState::Empty;
}

ActionContext SessionController::Private::context() const {
    ActionContext context;
    context.has_steps = recording != nullptr && known_steps > 0;
    context.view_at_start = viewed <= 0;
    context.view_at_end = viewed >= last_step();
    context.finished = replay || run_finished;
    context.replaying = replay_timer.isActive();
    context.saving = saving();
    return context;
}

bool SessionController::Private::allowed(SessionAction action) {
    const QString reason = action_refusal(state(), action, context());
    if (!reason.isEmpty()) refuse(reason);
    return reason.isEmpty();
}

void SessionController::Private::refuse(const QString& sentence) {
    Q_EMIT q->message({SessionMessage::Kind::Warning, sentence, {}});
}

bool SessionController::Private::has_pages() const {
    const int steps = recording == nullptr ? 0 : recording->step_count();
    return steps > 0 && recording->step(steps - 1)->kv.page_tokens > 0;
}

void SessionController::Private::post_continue(GoOn how) {
    const int step = viewed;
    const bool was_playing = any_job(JobKind::Play);
    stop_jobs(true);
    replay_timer.stop();
    Job job;
    job.kind = JobKind::ContinueFrom;
    post(std::move(job), [step, how](EngineWorker& to, const Ticket& ticket) { to.continue_from(ticket, step, how); });
    if (was_playing) post_play(false);
}

// Emitted when the state or what can be done changes, not at every step of a playing run.
void SessionController::Private::notify_state() {
    unsigned actions = 0;
    for (int i = 0; i <= static_cast<int>(SessionAction::Inspect); ++i)
        if (q->can(static_cast<SessionAction>(i))) actions |= 1u << i;
    if (state() == told_state && actions == told_actions) return;
    told_state = state();
    told_actions = actions;
    Q_EMIT q->state_changed();
}

void SessionController::Private::post(Job job, std::function<void(EngineWorker&, const Ticket&)> work) {
    job.number = ++last_number;
    const Ticket ticket{job.number, job.stop.get_token()};
    jobs.push_back(std::move(job));
    QMetaObject::invokeMethod(
        worker, [to = worker, ticket, work = std::move(work)] { work(*to, ticket); }, Qt::QueuedConnection);
    if (!tick.isActive()) tick.start();
    notify_state();
}

void SessionController::Private::stop_jobs(bool superseded) {
    for (Job& job : jobs) {
        job.superseded = job.superseded || superseded;
        job.stop.request_stop();
        // Stopping takes one tile; meanwhile a new start may already be asked for.
        if (job.state == SessionState::Playing) job.state = SessionState::Stepping;
    }
}

bool SessionController::Private::any_job(JobKind kind) const {
    return std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) { return job.kind == kind; });
}

bool SessionController::Private::saving() const { return any_job(JobKind::Save); }

void SessionController::Private::refresh_steps(bool marked) {
    const int steps = recording != nullptr ? recording->step_count() : 0;
    if (steps == known_steps && !marked) return;
    known_steps = steps;
    // The view has moved before anybody is told: a button that asks in between would be switched on and off again.
    const bool moved = following && viewed != last_step();
    if (moved) viewed = last_step();
    Q_EMIT q->steps_arrived();
    if (moved) Q_EMIT q->view_changed();
}

void SessionController::Private::set_view(int step) {
    const int wanted = known_steps == 0 ? -1 : std::clamp(step, 0, last_step());
    following = wanted == last_step();
    if (wanted == viewed) return;
    viewed = wanted;
    Q_EMIT q->view_changed();
    notify_state();
}

void SessionController::Private::start_replay() {
    const double speed = link->tokens_per_second();
    replay_timer.start(speed > 0 ? std::max(kUpdateMillis, static_cast<int>(1000.0 / speed)) : kUpdateMillis);
    notify_state();
}

void SessionController::Private::stop_replay() {
    if (!replay_timer.isActive()) return;
    replay_timer.stop();
    notify_state();
}

void SessionController::Private::on_replay_tick() {
    set_view(viewed + 1);
    if (viewed < last_step()) return;
    replay_timer.stop();
    if (!replay && !run_finished) post_play(false);
    notify_state();
}

void SessionController::Private::post_play(bool flat_out) {
    Job job;
    job.kind = JobKind::Play;
    job.state = SessionState::Playing;
    post(std::move(job), [flat_out](EngineWorker& to, const Ticket& ticket) { to.play(ticket, flat_out); });
}

void SessionController::Private::request(const SessionSettings& wanted, bool fresh) {
    // What is loaded when this request is taken: the newest request before it, else the run that is shown.
    const SessionSettings* before = model != nullptr ? &settings : nullptr;
    for (const Job& job : jobs)
        if (job.kind == JobKind::Apply) before = &job.target;
    const auto change = before != nullptr ? settings_change(*before, wanted) : SettingsChange::LoadOther;
    const bool loads = change == SettingsChange::Load || change == SettingsChange::LoadOther;
    link->capture = wanted.capture;
    link->race = wanted.race;
    stop_jobs(true);
    replay_timer.stop();
    Job job;
    job.kind = JobKind::Apply;
    job.state = loads || any_job(JobKind::Apply) ? SessionState::Loading : SessionState::Stepping;
    job.target = wanted;
    post(std::move(job), [wanted, fresh](EngineWorker& to, const Ticket& ticket) { to.apply(ticket, wanted, fresh); });
}

void SessionController::Private::on_tick() {
    if (const auto progress = link->take_progress()) show_progress(*progress);
    if (auto partial = link->take_sweep()) {
        sweep = std::move(partial);
        Q_EMIT q->sweep_changed();
    }
    if (link->take_mark()) {
        refresh_steps(true);
        notify_state();
    }
    if (jobs.empty()) tick.stop();
}

void SessionController::Private::on_news(const RunNews& news) {
    recording = news.recording;
    model = news.model;
    program = news.program;
    replay = news.replay;
    settings = news.settings;
    branches = news.branches;
    settings.capture = link->capture;  // may have been switched while the run was made
    settings.race = link->race;
    if (!replay) {
        live_settings = settings;
        has_live_settings = true;
    }
    run_finished = false;
    known_steps = recording != nullptr ? recording->step_count() : 0;
    stop_reason = known_steps > 0 ? QString::fromStdString(recording->step(last_step())->stop_reason) : QString();
    viewed = replay && known_steps > 0 ? 0 : last_step();
    following = viewed == last_step();
    link->take_mark();
    Q_EMIT q->settings_changed();
    Q_EMIT q->recording_replaced();
    Q_EMIT q->view_changed();
    notify_state();
}

void SessionController::Private::on_finished(quint64 number, const WorkOutcome& outcome) {
    const auto found = std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) { return job.number == number; });
    if (found == jobs.end()) return;
    const Job job = std::move(*found);
    jobs.erase(found);
    if (!replay) {
        run_finished = outcome.finished;
        stop_reason = outcome.stop_reason;
    }
    refresh_steps(link->take_mark());
    end_progress();
    if (outcome.sweep != nullptr) {
        link->take_sweep();
        sweep = outcome.sweep;
        Q_EMIT q->sweep_changed();
    }
    if (outcome.comparison != nullptr) {
        comparison = outcome.comparison;
        Q_EMIT q->comparison_changed();
    }
    if (jobs.empty()) tick.stop();
    if (job.kind == JobKind::Apply && !outcome.ok && !job.superseded)
        Q_EMIT q->settings_changed();  // menus go back to what is shown
    notify_state();
    if (job.kind == JobKind::Save && outcome.ok) Q_EMIT q->recording_saved(job.path);
    if (outcome.message.has_value()) {
        Q_EMIT q->message(*outcome.message);
    } else if (outcome.cancelled && !job.superseded && job.kind != JobKind::Play && job.kind != JobKind::Step) {
        Q_EMIT q->message(
            {SessionMessage::Kind::Info, SessionController::tr("Cancelled; what was there before is kept."), {}});
    }
}

void SessionController::Private::show_progress(const WorkProgress& progress) {
    shown_progress = progress;
    QString what;
    switch (progress.kind) {
        case WorkKind::Load: what = SessionController::tr("Loading the model"); break;
        case WorkKind::Prefill: what = SessionController::tr("Prefill of the prompt"); break;
        case WorkKind::Refeed: what = SessionController::tr("Feeding the tokens again"); break;
        case WorkKind::Save: what = SessionController::tr("Saving the recording"); break;
        case WorkKind::Open: what = SessionController::tr("Opening the recording"); break;
        case WorkKind::Sweep:
            what = SessionController::tr("Sweep: %1").arg(QString::fromStdString(progress.what));
            break;
        case WorkKind::Compare:
            what = SessionController::tr("Compare: %1").arg(QString::fromStdString(progress.what));
            break;
    }
    Q_EMIT q->progress(what, progress.done, progress.total);
}

// Whatever was shown is shown as finished, however the work ended, so that no bar stays half-full.
void SessionController::Private::end_progress() {
    link->take_progress();
    if (!shown_progress.has_value()) return;
    WorkProgress last = *shown_progress;
    last.total = std::max<std::int64_t>(1, last.total);
    last.done = last.total;
    show_progress(last);
    shown_progress.reset();
}

}  // namespace decodescope
