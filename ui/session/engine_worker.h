// Everything that happens on the engine's thread. Requests arrive as numbered tickets in the order in which they were
// posted, each in one try/catch; answers leave as signals with the same number.
#pragma once

#include <QObject>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "ui/session/live_run.h"
#include "ui/session/session_controller.h"

namespace decodescope {

struct Ticket {
    quint64 number = 0;
    std::stop_token stop;
};

constexpr std::size_t kMostBranches = 8;  // each keeps its recording and, of its rows, what it shares with nobody

// Another run is shown from now on.
struct RunNews {
    RecordingPtr recording;                      // null: a model without a run, waiting for a prompt
    ModelPtr model;                              // null: a recording from a file
    std::shared_ptr<const StepProgram> program;  // null with the model
    SessionSettings settings;
    bool replay = false;
    std::vector<SessionBranch> branches;         // by number, with the one that is shown
};

struct WorkOutcome {
    bool ok = false, cancelled = false;
    bool finished = false;             // of the run: nothing more can be generated
    QString stop_reason;
    std::optional<SessionMessage> message;
    std::shared_ptr<const SweepResult> sweep;
    std::shared_ptr<const CompareResult> comparison;
};

class EngineWorker : public QObject {
    Q_OBJECT
public:
    EngineWorker(std::unique_ptr<EngineDriver> driver, std::shared_ptr<WorkerLink> link);
    ~EngineWorker() override;

    // fresh: from the prefill even when nothing differs.
    void apply(const Ticket& ticket, const SessionSettings& wanted, bool fresh);
    void step(const Ticket& ticket);
    void play(const Ticket& ticket, bool flat_out);
    void continue_from(const Ticket& ticket, std::int32_t step, GoOn how);
    void switch_branch(const Ticket& ticket, int number);
    void sweep(const Ticket& ticket, const SweepRequest& request);
    void compare(const Ticket& ticket, const CompareRequest& request);
    void save(const Ticket& ticket, RecordingPtr recording, const QString& path);
    void open(const Ticket& ticket, const QString& path);
    void answer_question();

Q_SIGNALS:
    void run_replaced(const decodescope::RunNews& news);
    void finished(quint64 number, const decodescope::WorkOutcome& outcome);
    void said(const decodescope::SessionMessage& message);
    void inspected(quint64 number, const decodescope::InspectedCell& cell);

private:
    void guarded(const Ticket& ticket, const std::function<Status(WorkOutcome&)>& work);
    Status do_apply(const Ticket& ticket, const SessionSettings& wanted, bool fresh);
    Result<LoadedModelPtr> load(const Ticket& ticket, const SessionSettings& wanted);
    bool needs_load(const SessionSettings& wanted) const;
    Status do_play(const Ticket& ticket, bool flat_out);
    Status step_once(const Ticket& ticket, bool flat_out);
    void race(const Ticket& ticket, bool flat_out);
    void tell_alone(std::int64_t context);
    bool make_lane();
    void tell_stride(int stride, double expected_micros);
    void adopt(LiveRunPtr run);
    void leave_in_a_branch();
    void forget_branches();
    std::vector<SessionBranch> branches() const;
    void announce_model(const SessionSettings& settings);
    void say(SessionMessage::Kind kind, const QString& text, const QString& hint = {});
    ProgressFn progress(WorkKind kind);

    std::unique_ptr<EngineDriver> driver_;
    std::shared_ptr<WorkerLink> link_;
    RunMaker maker_;
    LoadedModelPtr loaded_;
    SessionSettings loaded_for_;  // the settings that loaded_ was made for
    LiveRunPtr run_;
    std::map<int, LiveRunPtr> parked_;  // the other branches, by number
    int branch_ = 1, last_branch_ = 1;  // the one that runs; the newest
    bool replay_ = false;
};

}  // namespace decodescope
