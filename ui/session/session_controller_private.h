// The inside of SessionController: jobs under way, what the GUI thread knows of the run, and the timers.
#pragma once

#include <QElapsedTimer>
#include <QThread>
#include <QTimer>
#include <deque>
#include <functional>
#include <utility>

#include "ui/session/engine_worker.h"
#include "ui/session/state_table.h"
#include "ui/session/worker_link.h"

namespace decodescope {

constexpr int kUpdateMillis = 34;  // at most 30 updates a second

struct SessionController::Private {
    enum class JobKind { Apply, Step, Play, ContinueFrom, Sweep, Compare, Save, Open };
    struct Job {
        quint64 number = 0;
        JobKind kind = JobKind::Step;
        SessionState state = SessionState::Stepping;
        std::stop_source stop;
        bool superseded = false;   // another request made it pointless: its end is not worth a message
        SessionSettings target;    // Apply
        QString path;              // Save
    };

    Private(SessionController* controller, BackendRegistry backends, std::unique_ptr<EngineDriver> driver);
    ~Private();

    // ---- session_controller_private.cpp ----
    SessionState state() const;
    ActionContext context() const;
    bool allowed(SessionAction action);  // says why not
    void notify_state();
    bool has_pages() const;         // the run that is shown has a cache with pages
    void post_continue(GoOn how);   // from the viewed step
    void refuse(const QString& sentence);
    void post(Job job, std::function<void(EngineWorker&, const Ticket&)> work);
    void stop_jobs(bool superseded);
    bool saving() const;
    bool any_job(JobKind kind) const;
    int last_step() const { return known_steps - 1; }
    void refresh_steps(bool marked);
    void set_view(int step);
    void start_replay();
    void stop_replay();
    void post_play(bool flat_out);
    void request(const SessionSettings& wanted, bool fresh);
    void on_tick();
    void on_replay_tick();
    void on_news(const RunNews& news);
    void on_finished(quint64 number, const WorkOutcome& outcome);
    void end_progress();
    void show_progress(const WorkProgress& progress);

    SessionController* q;
    BackendRegistry registry;
    bool probed = false;             // or being probed
    std::shared_ptr<WorkerLink> link = std::make_shared<WorkerLink>();
    QThread thread;
    EngineWorker* worker = nullptr;  // lives on `thread`, destroyed when it ends
    QTimer tick;                     // runs only while a job does
    QTimer replay_timer;             // runs only while the view moves by itself

    std::deque<Job> jobs;            // in the order in which the engine's thread takes them
    quint64 last_number = 0, last_question = 0;

    SessionSettings settings, live_settings;
    bool has_live_settings = false;
    RecordingPtr recording;
    ModelPtr model;
    std::shared_ptr<const StepProgram> program;
    std::shared_ptr<const SweepResult> sweep;
    std::shared_ptr<const CompareResult> comparison;
    std::vector<SessionBranch> branches;
    bool replay = false, run_finished = false;
    QString stop_reason;
    int known_steps = 0, viewed = -1;
    bool following = true;

    std::optional<WorkProgress> shown_progress;
    SessionState told_state = SessionState::Empty;
    unsigned told_actions = 0;
};

}  // namespace decodescope
