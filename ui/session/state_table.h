// Which action is possible in which state: one table, read by menus, shortcuts and by the controller itself.
#pragma once

#include <QString>

#include "ui/session/session_controller.h"

namespace decodescope {

// What the table asks beside the state.
struct ActionContext {
    bool has_steps = false;    // a run with at least its prefill is shown
    bool view_at_start = true; // nothing earlier to look at
    bool view_at_end = true;   // the newest step is looked at
    bool finished = false;     // nothing more can be generated
    bool replaying = false;    // the view moves by itself
    bool saving = false;       // the engine's thread writes a file
};

// Condition of one cell of the table.
enum class ActionRule {
    Never,
    Always,
    WithSteps,      // a run is shown
    EarlierSteps,   // the view can go back
    LaterSteps,     // the view is back
    MoreSteps,      // the view is back, or more can be generated
    WhileReplaying, // the view moves by itself
    LaterIdle,      // the view is back and does not move by itself
    WhileSaving,
};

ActionRule action_rule(SessionState state, SessionAction action);
bool action_allowed(SessionState state, SessionAction action, const ActionContext& context);
// Why it is not, one sentence; empty when it is.
QString action_refusal(SessionState state, SessionAction action, const ActionContext& context);

}  // namespace decodescope
