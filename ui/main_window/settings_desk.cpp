#include "ui/main_window/settings_desk.h"

namespace decodescope {

SettingsDesk::SettingsDesk(SessionController* session, QObject* parent)
    : QObject(parent), session_(session), wanted_(session->settings()), last_state_(session->state()) {
    connect(session, &SessionController::settings_changed, this, [this] { wanted_ = session_->settings(); });
    connect(session, &SessionController::state_changed, this, [this] {
        // Loading that ended without new settings has failed: the wish is dropped with it.
        if (last_state_ == SessionState::Loading && session_->state() != SessionState::Loading)
            wanted_ = session_->settings();
        last_state_ = session_->state();
    });
}

void SettingsDesk::change(const std::function<void(SessionSettings&)>& edit) {
    SessionSettings next = wanted_;
    edit(next);
    wanted_ = next;
    session_->apply(next);
}

}  // namespace decodescope
