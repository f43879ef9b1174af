// A session over the real engine with small random models.
#pragma once

#include <QSignalSpy>
#include <QTest>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/session/session_fixture.h"
#include "tests/support/tiny_models.h"

namespace decodescope::testing {

// Opens small models by name; everything else is the real thing.
class TinyDriver final : public EngineDriver {
public:
    TinyDriver() : EngineDriver({}, {}) {}
    Result<LoadedModelPtr> load(const LoadRequest& request, const LoadedModelPtr&, const ProgressFn& progress,
                                std::stop_token stop) override {
        ModelPtr model = request.model == "gpt2" ? make_tiny_gpt2() : make_tiny_llama();
        std::shared_ptr<Backend> backend;
        if (request.backend.id == "reference") {
            backend = make_reference_backend();
        } else {
            CpuBackendOptions options;
            options.threads = 2;
            auto made = make_cpu_backend(options);
            if (!made.ok()) return made.error();
            backend = std::move(made).value();
        }
        return load_model(std::move(model), std::move(backend), request.weights, progress, stop);
    }
};

struct EngineFixture {
    std::unique_ptr<SessionController> controller =
        std::make_unique<SessionController>(BackendRegistry{}, std::make_unique<TinyDriver>());
    QStringList messages;
    EngineFixture() {
        QObject::connect(controller.get(), &SessionController::message, controller.get(),
                         [this](const SessionMessage& message) { messages.append(message.text); });
    }
    SessionController* operator->() { return controller.get(); }
    bool wait(SessionState state) {
        return QTest::qWaitFor([&] { return controller->state() == state; }, kPatience);
    }
    bool apply(const SessionSettings& settings) {
        controller->apply(settings);
        return wait(SessionState::Ready);
    }
    bool run(int new_steps) {
        for (int i = 0; i < new_steps; ++i) {
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
    QString text() const {
        std::string text;
        for (int i = 0; i < controller->recording()->row_count(); ++i) text += controller->recording()->row_text(i);
        return QString::fromStdString(text);
    }
    InspectedCell inspect(int layer, int position) {
        QSignalSpy answers(controller.get(), &SessionController::cell_inspected);
        controller->inspect(layer, position);
        if (!QTest::qWaitFor([&] { return answers.count() > 0; }, kPatience)) return {};
        return answers.first().first().value<InspectedCell>();
    }
};

inline SessionSettings tiny_settings(const char* cache = "preallocated") {
    SessionSettings settings;
    settings.model = QStringLiteral("llama");
    settings.prompt = QStringLiteral("the key is in the box");
    settings.cache = *parse_cache_spec(cache);
    return settings;
}

}  // namespace decodescope::testing
