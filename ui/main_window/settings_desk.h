// What a person is asking for. Changes are made on the newest wish, not on what runs, so that two quick changes (a
// model, then a cache) do not lose the first one while it is still loading.
#pragma once

#include <QObject>
#include <functional>
#include <map>
#include <string>

#include "ui/session/session_controller.h"

namespace decodescope {

class SettingsDesk : public QObject {
    Q_OBJECT
public:
    explicit SettingsDesk(SessionController* session, QObject* parent = nullptr);
    const SessionSettings& wanted() const { return wanted_; }
    // The strategy with the parameters that were last asked for with it; its defaults before that.
    CacheSpec cache_of(const std::string& id) const;
    void change(const std::function<void(SessionSettings&)>& edit);
    void replace(const SessionSettings& settings) {
        change([&](SessionSettings& wanted) { wanted = settings; });
    }

private:
    void take(const SessionSettings& settings);

    SessionController* session_;
    SessionSettings wanted_;
    std::map<std::string, CacheSpec> caches_;  // by strategy, as last asked for
    SessionState last_state_;
};

}  // namespace decodescope
