// What a person is asking for. Changes are made on the newest wish, not on what runs, so that two quick changes (a
// model, then a cache) do not lose the first one while it is still loading.
#pragma once

#include <QObject>
#include <functional>

#include "ui/session/session_controller.h"

namespace decodescope {

class SettingsDesk : public QObject {
    Q_OBJECT
public:
    explicit SettingsDesk(SessionController* session, QObject* parent = nullptr);
    const SessionSettings& wanted() const { return wanted_; }
    void change(const std::function<void(SessionSettings&)>& edit);
    void replace(const SessionSettings& settings) {
        change([&](SessionSettings& wanted) { wanted = settings; });
    }

private:
    SessionController* session_;
    SessionSettings wanted_;
    SessionState last_state_;
};

}  // namespace decodescope
