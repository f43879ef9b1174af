#include "ui/session/state_table.h"

#include <QCoreApplication>

namespace decodescope {

namespace {

constexpr int kStates = 7, kActions = 16;
using enum ActionRule;

// Columns: Empty, Loading, Ready, Stepping, Playing, Measuring, Replay.
constexpr ActionRule kTable[kActions][kStates] = {
    /* Open             */ {Always, Always, Always, Always, Always, Never, Always},
    /* Configure        */ {Always, Always, Always, Always, Always, Never, Always},
    /* Reset            */ {Never, Never, Always, Always, Always, Never, Always},
    /* StepForward      */ {Never, LaterSteps, MoreSteps, MoreSteps, LaterSteps, LaterSteps, LaterSteps},
    /* StepBack         */ {Never, EarlierSteps, EarlierSteps, EarlierSteps, EarlierSteps, EarlierSteps, EarlierSteps},
    /* Play             */ {Never, Never, MoreSteps, MoreSteps, Never, Never, LaterIdle},
    /* Pause            */ {Never, Never, Never, Never, Always, Never, WhileReplaying},
    /* RunToEnd         */ {Never, Never, MoreSteps, MoreSteps, MoreSteps, Never, LaterSteps},
    /* ContinueFromHere */ {Never, Never, LaterSteps, Never, LaterSteps, Never, Never},
    /* ForkHere         */ {Never, Never, EarlierSteps, Never, Never, Never, Never},
    /* Sweep            */ {Never, Never, Always, Never, Never, Never, Never},
    /* CancelWork       */ {Never, Always, WhileSaving, Always, Always, Always, WhileSaving},
    /* SaveRecording    */ {Never, Never, WithSteps, Never, Never, Never, WithSteps},
    /* OpenRecording    */ {Always, Always, Always, Always, Always, Never, Always},
    /* SwitchBranch     */ {Never, Never, WithSteps, Never, Never, Never, Never},
    /* Inspect          */ {Never, Never, WithSteps, WithSteps, WithSteps, Never, Never},
};

bool rule_holds(ActionRule rule, const ActionContext& context) {
    switch (rule) {
        case Never: return false;
        case Always: return true;
        case WithSteps: return context.has_steps;
        case EarlierSteps: return context.has_steps && !context.view_at_start;
        case LaterSteps: return context.has_steps && !context.view_at_end;
        case MoreSteps: return context.has_steps && (!context.view_at_end || !context.finished);
        case WhileReplaying: return context.replaying;
        case LaterIdle: return context.has_steps && !context.view_at_end && !context.replaying;
        case WhileSaving: return context.saving;
    }
    return false;
}

// While a file is written the engine's thread is busy: only the view moves, and the writing can be cancelled.
bool waits_for_saving(SessionAction action) {
    switch (action) {
        case SessionAction::StepForward:
        case SessionAction::StepBack:
        case SessionAction::Pause:
        case SessionAction::CancelWork:
        case SessionAction::Inspect: return false;
        default: return true;
    }
}

struct StateTable {
    Q_DECLARE_TR_FUNCTIONS(decodescope::StateTable)
};

QString state_refusal(SessionState state) {
    switch (state) {
        case SessionState::Empty: return StateTable::tr("No model is loaded yet; choose one first.");
        case SessionState::Loading: return StateTable::tr("A model or a file is being opened; wait for it or cancel.");
        case SessionState::Ready: return StateTable::tr("Nothing is running.");
        case SessionState::Stepping: return StateTable::tr("A step is under way; wait for it or cancel.");
        case SessionState::Playing: return StateTable::tr("The run is playing; pause it first.");
        case SessionState::Measuring: return StateTable::tr("A measurement is running; wait for it or cancel.");
        case SessionState::Replay:
            return StateTable::tr("A recording is shown and there is no engine; reset to go back to a live run.");
    }
    return {};
}

}  // namespace

ActionRule action_rule(SessionState state, SessionAction action) {
    return kTable[static_cast<int>(action)][static_cast<int>(state)];
}

bool action_allowed(SessionState state, SessionAction action, const ActionContext& context) {
    if (context.saving && waits_for_saving(action)) return false;
    // Stepping into the unknown needs the engine, looking at what is there does not.
    if (context.saving && action == SessionAction::StepForward) return rule_holds(LaterSteps, context);
    return rule_holds(action_rule(state, action), context);
}

QString action_refusal(SessionState state, SessionAction action, const ActionContext& context) {
    if (action_allowed(state, action, context)) return {};
    if (context.saving && action != SessionAction::StepBack)
        return StateTable::tr("The recording is being saved; wait for it or cancel.");
    switch (action_rule(state, action)) {
        case WithSteps: return StateTable::tr("There is no run yet; choose a prompt first.");
        case EarlierSteps: return StateTable::tr("This is the first step; there is nothing before it.");
        case LaterSteps:
        case LaterIdle:
            if (state == SessionState::Playing && action == SessionAction::StepForward) return state_refusal(state);
            return context.replaying ? StateTable::tr("The recording is playing; pause it first.")
                                     : StateTable::tr("This is the newest step; there is nothing after it.");
        case MoreSteps:
            return context.has_steps ? StateTable::tr("The run has ended; reset it or go on from an earlier step.")
                                     : StateTable::tr("There is no run yet; choose a prompt first.");
        default: return state_refusal(state);
    }
}

}  // namespace decodescope
