// Models from files over the real engine: loading tells how far it is, can be stopped at any of its reports, and the
// running model stays until the other one is ready.
#include <QTest>
#include <nlohmann/json.hpp>

#include "kernels/cpu/cpu_backend.h"
#include "tests/session/session_fixture.h"
#include "tests/support/fixtures.h"
#include "tests/support/gguf_model.h"
#include "tests/support/tiny_models.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

ModelConfig file_config() {
    ModelConfig config = tiny_llama_config();
    config.hidden = config.feed_forward = 256;  // a whole block of the large types
    config.layers = 2, config.heads = 8, config.kv_heads = 2, config.head_dim = 32;
    return config;
}

// The same numbers as a folder of two shards, and as GGUF files whose matrices are plain, quantized in the kernels, or
// widened.
class Files {
public:
    Files() {
        const auto tensors = random_tensors(file_config(), 3);
        auto json = nlohmann::json::parse(read_fixture("l3/config.json"));
        json["hidden_size"] = json["intermediate_size"] = 256;
        json["num_hidden_layers"] = 2, json["head_dim"] = 32;
        folder_.write("config.json", json.dump());
        folder_.copy_fixture("l3", "tokenizer.json");
        std::vector<FileTensor> shards[2];
        nlohmann::json map;
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            shards[i % 2].push_back(tensors[i]);
            map[tensors[i].name] = i % 2 == 0 ? "model-1.safetensors" : "model-2.safetensors";
        }
        folder_.write("model-1.safetensors", safetensors_bytes(shards[0]));
        folder_.write("model-2.safetensors", safetensors_bytes(shards[1]));
        folder_.write("model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
        for (const char* type : {"F32", "Q8_0", "Q5_K"})
            gguf_.write(std::string(type) + ".gguf", gguf_of(file_config(), tensors, type).bytes());
    }
    std::vector<std::string> all() const {
        return {folder_.path(), gguf_.file("F32.gguf"), gguf_.file("Q8_0.gguf"), gguf_.file("Q5_K.gguf")};
    }

private:
    TemporaryFolder folder_, gguf_;
};

BackendRegistry cpu_registry() {
    BackendRegistry registry;
    registry.add({"cpu", "CPU", true, "", [](const BackendRequest&) -> Result<std::shared_ptr<Backend>> {
                      CpuBackendOptions options;
                      options.threads = 2;
                      auto made = make_cpu_backend(options);
                      if (!made.ok()) return made.error();
                      return std::shared_ptr<Backend>(std::move(*made));
                  }});
    return registry;
}

SessionSettings settings_of(const std::string& model) {
    SessionSettings settings;
    settings.model = QString::fromStdString(model);
    settings.prompt = QStringLiteral("thekeyisinthebox");  // every character has a token in both vocabularies
    settings.new_tokens = 8;
    return settings;
}

}  // namespace

class Loading : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void every_file_reports_and_can_be_stopped();
    void the_running_model_stays_until_the_other_is_ready();
};

void Loading::every_file_reports_and_can_be_stopped() {
    const Files files;
    const BackendRegistry registry = cpu_registry();
    for (const std::string& file : files.all()) {
        EngineDriver driver(registry, {});
        EngineDriver::LoadRequest request;
        request.model = file;
        request.backend.id = "cpu";
        std::vector<std::pair<std::int64_t, std::int64_t>> reports;
        const auto report = [&](std::int64_t done, std::int64_t total) { reports.emplace_back(done, total); };
        const auto loaded = driver.load(request, nullptr, report, {});
        QVERIFY2(loaded.ok(), loaded.ok() ? "" : loaded.error().text().c_str());
        QVERIFY2(reports.size() >= 2, qPrintable(QStringLiteral("%1 reports").arg(reports.size())));
        for (const auto& [done, total] : reports) QVERIFY(done >= 0 && done <= total && total > 0);
        QCOMPARE(reports.back().first, reports.back().second);
        // Stopped at a report, the first ones and one in the middle: nothing is loaded, and nothing is wrong.
        for (const std::size_t at : {std::size_t{1}, std::size_t{2}, reports.size() / 2}) {
            std::stop_source stop;
            std::size_t count = 0;
            const auto stop_there = [&](std::int64_t done, std::int64_t total) {
                if (++count == at && done < total) stop.request_stop();
            };
            const auto stopped = driver.load(request, nullptr, stop_there, stop.get_token());
            if (!stop.stop_requested()) continue;  // the last report of all: done is done
            QVERIFY(!stopped.ok());
            QCOMPARE(stopped.error().kind, ErrorKind::Cancelled);
        }
        std::stop_source at_once;
        at_once.request_stop();
        const auto never = driver.load(request, nullptr, report, at_once.get_token());
        QVERIFY(!never.ok() && never.error().kind == ErrorKind::Cancelled);
    }
}

void Loading::the_running_model_stays_until_the_other_is_ready() {
    const Files files;
    auto controller = std::make_unique<SessionController>(cpu_registry(), QString());
    const auto wait = [&](SessionState state) {
        return QTest::qWaitFor([&] { return controller->state() == state; }, kPatience);
    };
    const std::vector<std::string> all = files.all();
    controller->apply(settings_of(all[0]));
    QVERIFY(wait(SessionState::Ready));
    QVERIFY(controller->recording() != nullptr);
    for (std::size_t i = 1; i < all.size(); ++i) {
        const RecordingPtr before = controller->recording();
        const ModelPtr model = controller->model();
        controller->apply(settings_of(all[i]));
        QCOMPARE(controller->state(), SessionState::Loading);
        QCOMPARE(controller->recording(), before);
        QCOMPARE(controller->model(), model);
        QVERIFY(wait(SessionState::Ready));
        QVERIFY(controller->recording() != before);
        QCOMPARE(controller->model()->source, all[i]);
    }
    // What cannot be opened leaves the run as it was, and it goes on.
    const RecordingPtr before = controller->recording();
    controller->apply(settings_of(all[0] + "/no-such-model"));
    QVERIFY(QTest::qWaitFor([&] { return controller->state() == SessionState::Ready; }, kPatience));
    QCOMPARE(controller->recording(), before);
    const int steps = controller->step_count();
    controller->step_forward();
    QVERIFY(QTest::qWaitFor([&] { return controller->step_count() == steps + 1; }, kPatience));
}

QTEST_GUILESS_MAIN(Loading)
#include "tst_loading.moc"
