// The window's side of the engine: a state machine on the GUI thread that posts numbered requests to the engine's
// thread and never waits for it. Everything a panel shows comes from here as immutable facts.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/backend/backend_registry.h"
#include "engine/decode/decode_session.h"
#include "engine/measure/sweep.h"
#include "engine/trace/run_recording.h"
#include "ui/session/session_settings.h"

namespace decodescope {

enum class SessionState {
    Empty,      // nothing loaded yet, or loading failed with nothing before it
    Loading,    // a model is being opened; the old run stays visible
    Ready,      // loaded and prefilled, or waiting for a prompt
    Stepping,   // one step was asked for and is under way
    Playing,    // steps until paused
    Measuring,  // a sweep or a comparison runs
    Replay,     // a recording from a file: no engine
};

enum class SessionAction {
    Open, Configure, Reset, StepForward, StepBack, Play, Pause, RunToEnd, ContinueFromHere, ForkHere,
    Sweep,  // and to compare
    CancelWork, SaveRecording, OpenRecording, SwitchBranch, Inspect,
};

// A run that was left for a fork of it, or the one that is shown.
struct SessionBranch {
    int number = 1;     // in the order in which they began
    int tokens = 0;     // that were fed when it was last left or made
    bool shown = false;
    QString ending;     // its last words
};

struct SessionMessage {
    enum class Kind { Info, Warning, Error } kind = Kind::Info;
    QString text;  // one sentence
    QString hint;
};

// K and V of one cached token in one layer, answered by inspect().
struct InspectedCell {
    int layer = 0, position = 0;
    bool available = false;
    QString reason;  // why not: evicted, no engine, recompute keeps nothing
    DecodeSession::CellValues values;
};

class EngineDriver;
struct CompareRequest;
struct CompareResult;

class SessionController : public QObject {
    Q_OBJECT
public:
    // The registry and resource folder are used on the engine's thread.
    SessionController(BackendRegistry registry, QString resource_folder, QObject* parent = nullptr);
    // With another way to the engine (tests); it is used and destroyed on the engine's thread.
    SessionController(BackendRegistry registry, std::unique_ptr<EngineDriver> driver, QObject* parent = nullptr);
    ~SessionController() override;  // asks the work to stop, quits the thread and waits

    SessionState state() const;
    bool can(SessionAction action) const;        // the state table; panels and menus enable by it
    const SessionSettings& settings() const;     // of the run that is shown
    ModelPtr model() const;                      // null in Replay and before the first load
    const BackendRegistry& registry() const;

    RecordingPtr recording() const;              // may be null
    int step_count() const;
    int viewed_step() const;                     // -1: nothing yet
    bool following() const;                      // the view is at the newest step
    bool finished() const;                       // nothing more can be generated
    QString stop_reason() const;
    double tokens_per_second() const;            // speed setting; 0 = as fast as it goes
    bool playing() const;                        // steps come (or, in Replay, the view moves) by themselves
    bool saving() const;                         // a recording is being written; state() stays Ready or Replay
    bool race_enabled() const;
    std::shared_ptr<const SweepResult> sweep() const;   // last one, complete or cancelled
    std::shared_ptr<const CompareResult> comparison() const;  // likewise
    bool comparing() const;                      // Measuring, and it is a comparison
    const std::vector<SessionBranch>& branches() const;  // by number, the one that is shown among them
    StepProgram program() const;                 // for slow motion; empty in Replay without a model

public Q_SLOTS:
    // Applies settings: loads another model, switches strategy (tokens are kept and fed again) or restarts with a new
    // prompt, as needed.
    void apply(const SessionSettings& settings);
    void reset();                    // same prompt, from the prefill
    void step_forward();             // replays while the view is back, generates at the end
    void step_back();                // moves the view only
    void view_step(int step);        // Home, End, scrubbing
    void play();
    void pause();
    void toggle_play();
    void run_to_end();
    void set_tokens_per_second(double value);
    void set_race(bool on);
    void set_capture(bool on);
    void continue_from_here();       // drops what comes after the viewed step and goes on from there
    // The same in a branch: the run so far keeps its rows beside it, shared with the branch where the text is the same.
    // Only with caches that have pages.
    void fork_here();
    void switch_branch(int number);  // the branch that is shown stays beside it, as it is
    void cancel();                   // whatever runs: stops within one token, keeps what is there
    // Asks the backends that were not asked yet, beside everything else; backends_probed() follows, once.
    void probe_backends();
    void start_sweep(const SweepRequest& request);
    void start_compare(const CompareRequest& request);  // on the prompt of the run, whatever the request holds
    void save_recording(const QString& path);
    void open_recording(const QString& path);
    void inspect(int layer, int position);

Q_SIGNALS:
    void state_changed();
    void recording_replaced();                   // another run: panels start anew
    void steps_arrived();  // rows, steps or race points were appended; coalesced to at most 30 a second
    void view_changed();
    void settings_changed();
    void backends_probed();                      // registry() now says of each whether it works
    void progress(const QString& what, qint64 done, qint64 total);  // total 0: unknown; done == total: finished
    void message(const SessionMessage& message);
    void cell_inspected(const InspectedCell& cell);
    void sweep_changed();                        // partial or final result
    void comparison_changed();
    void recording_saved(const QString& path);

private:
    struct Private;
    std::unique_ptr<Private> d_;
};

}  // namespace decodescope

Q_DECLARE_METATYPE(decodescope::SessionMessage)
Q_DECLARE_METATYPE(decodescope::InspectedCell)
