#include "ui/main_window/settings_desk.h"

namespace decodescope {

SettingsDesk::SettingsDesk(SessionController* session, QObject* parent)
    : QObject(parent), session_(session), last_state_(session->state()) {
    take(session->settings());
    connect(session, &SessionController::settings_changed, this, [this] { take(session_->settings()); });
    connect(session, &SessionController::state_changed, this, [this] {
        // Loading that ended without new settings has failed: the wish is dropped with it.
        if (last_state_ == SessionState::Loading && session_->state() != SessionState::Loading)
            take(session_->settings());
        last_state_ = session_->state();
    });
}

void SettingsDesk::change(const std::function<void(SessionSettings&)>& edit) {
    SessionSettings next = wanted_;
    edit(next);
    take(next);
    session_->apply(next);
}

void SettingsDesk::take(const SessionSettings& settings) {
    wanted_ = settings;
    if (auto spec = complete_cache_spec(settings.cache); spec.ok()) caches_[spec->id] = std::move(*spec);
}

CacheSpec SettingsDesk::cache_of(const std::string& id) const {
    if (const auto found = caches_.find(id); found != caches_.end()) return found->second;
    return complete_cache_spec({id, {}}).value();
}

}  // namespace decodescope
