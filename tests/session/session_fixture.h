// A controller over the invented engine, with everything it says kept in lists.
#pragma once

#include <QSignalSpy>
#include <QTest>

#include "tests/session/fake_engine.h"
#include "ui/session/session_controller.h"

namespace decodescope::testing {

constexpr int kPatience = 60'000;  // milliseconds until a wait counts as hanging; nothing is asserted about time

struct SessionFixture {
    SessionFixture() {
        QObject::connect(controller.get(), &SessionController::message, controller.get(),
                         [this](const SessionMessage& message) { messages.append(message.text); });
    }
    std::shared_ptr<FakeControls> controls = std::make_shared<FakeControls>();
    std::unique_ptr<SessionController> controller =
        std::make_unique<SessionController>(BackendRegistry{}, std::make_unique<FakeDriver>(controls));
    QStringList messages;

    SessionController* operator->() { return controller.get(); }
    SessionSettings settings(const QString& prompt = QStringLiteral("hello")) const {
        SessionSettings settings;
        settings.prompt = prompt;
        settings.race = false;
        return settings;
    }
    bool wait(SessionState state) {
        return QTest::qWaitFor([&] { return controller->state() == state; }, kPatience);
    }
    // Loaded and prefilled.
    bool start(const SessionSettings& wanted) {
        controller->apply(wanted);
        return wait(SessionState::Ready);
    }
    bool start() { return start(settings()); }
    bool step(int count) {
        for (int i = 0; i < count; ++i) {
            controller->step_forward();
            if (!wait(SessionState::Ready)) return false;
        }
        return true;
    }
    std::vector<std::int32_t> tokens() const {
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < controller->recording()->row_count(); ++i)
            tokens.push_back(controller->recording()->row(i).token);
        return tokens;
    }
};

}  // namespace decodescope::testing
