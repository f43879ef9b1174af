// Eviction by score when a pass fails, and with bugs planted between the session and the backend.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>

#include "tests/engine/decode/h2o_oracle.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

// ---- a pass that fails

TEST(H2oSessionFailure, CancelledAtEveryTile) {
    auto left_over = std::make_shared<std::atomic<std::int64_t>>(0);
    auto source = std::make_shared<std::stop_source>();
    CpuBackendOptions options;
    options.threads = 2;
    options.on_tile = [left_over, source](std::int64_t) {
        if (--*left_over == 0) source->request_stop();
    };
    const auto on_cpu = loaded(model_l3(), std::shared_ptr<Backend>(make_cpu_backend(options).value()));
    const auto config = session_config("h2o:budget=8,recent=3");
    const auto expected = feed_all(*session_of(on_cpu, config), text(0, 20), 5).logits;
    int cancelled = 0;
    for (std::int64_t tile = 1; tile < 40; ++tile) {
        const auto session = session_of(on_cpu, config);
        Fed fed = feed_all(*session, text(0, 12), 5);
        *source = std::stop_source();
        *left_over = tile;
        auto pass = session->feed(text(40, 1), source->get_token());
        *left_over = 0;
        if (pass.ok()) break;
        ++cancelled;
        ASSERT_EQ(pass.error().kind, ErrorKind::Cancelled);
        EXPECT_EQ(session->tokens().size(), 12u);
        feed_into(fed, *session, text(12, 8), 1);
        ASSERT_EQ(fed.logits, expected) << tile;
    }
    EXPECT_GT(cancelled, 5);
}

TEST(H2oSessionFailure, AllocationFailsAnywhere) {
    const auto config = session_config("h2o:budget=6,recent=2");
    const auto expected = feed_all(*session_of(loaded(model_l3()), config), text(0, 12), 4).logits;
    int failures = 0;
    for (std::int64_t at = 1; at < 60; ++at) {
        CpuBackendOptions options;
        options.threads = 1;
        options.fail_allocation = at;
        std::shared_ptr<Backend> backend = make_cpu_backend(options).value();
        auto on_cpu = load_model(model_l3(), backend, WeightType::AsInFile, {}, {});
        if (!on_cpu.ok()) continue;
        bool failed = false;
        auto session = DecodeSession::create(*on_cpu, config);
        if (!session.ok()) {
            failed = true;
            session = DecodeSession::create(*on_cpu, config);
            ASSERT_TRUE(session.ok());
        }
        Fed fed;
        for (std::int64_t done = 0; done < 12;) {
            const std::int64_t rows = std::min<std::int64_t>((*session)->max_pass_rows(), 4);
            auto pass = (*session)->feed(text(done, rows), {});
            if (!pass.ok()) {
                ASSERT_FALSE(failed);
                failed = true;
                EXPECT_EQ(pass.error().kind, ErrorKind::Memory);
                EXPECT_EQ((*session)->tokens().size(), static_cast<std::size_t>(done));
                continue;
            }
            keep(fed, *pass, 8);
            done += rows;
            failed = !(*session)->fork().ok() || failed;
        }
        EXPECT_EQ(fed.logits, expected) << at;
        failures += failed ? 1 : 0;
        session = make_error(ErrorKind::Argument, "gone");
        EXPECT_EQ(backend->memory().bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)], 0);
        EXPECT_EQ(backend->memory().bytes[static_cast<std::size_t>(MemoryPurpose::Activations)], 0);
        if (!failed) break;
    }
    EXPECT_GT(failures, 8);
}

TEST(H2oSessionFailure, TooLargeABudgetIsRefusedBeforeAnythingIsAllocated) {
    CpuBackendOptions options;
    options.memory_limit_bytes = 2'000'000;
    std::shared_ptr<Backend> backend = make_cpu_backend(options).value();
    const auto on_cpu = loaded(model_l3(), backend);
    SessionConfig config = session_config("h2o:budget=128,recent=3");
    const std::int64_t before = backend->memory().total_bytes();
    config.cache.parameters["budget"] = 128;
    ModelConfig large = tiny_llama_config();
    large.context = 100000;
    const auto huge = loaded(make_tiny_model(large), backend);
    auto session = DecodeSession::create(huge, session_config("h2o:budget=20000,recent=3"));
    ASSERT_FALSE(session.ok());
    EXPECT_EQ(session.error().kind, ErrorKind::Memory);
    EXPECT_THAT(session.error().message, HasSubstr(fmt::format("{}", 20000 * 3 * 2 * 2 * 8 * 4)));  // of all layers
    EXPECT_TRUE(DecodeSession::create(on_cpu, config).ok());
    EXPECT_GT(before, 0);
}

// ---- planted bugs: the comparison above must see them

double error_with(const std::function<void(StepInputs&)>& change) {
    H2oOracle oracle{12, 4, {}, {}, {}};
    const OracleResult expected = oracle.run(*model_l3(), long_text());
    Probed probed(model_l3());
    const auto session = session_of(probed.model, every_row("h2o:budget=12,recent=4"));
    probed.backend->on_run = change;
    return worst_error(feed_all(*session, text(0, 40), 8).logits, expected);
}

TEST(H2oPlantedBug, NoBugIsNotSeen) { EXPECT_LE(error_with([](StepInputs&) {}), kExact); }

TEST(H2oPlantedBug, AllLayersReadTheTableOfTheFirst) {
    auto views = std::make_shared<std::vector<KvView>>();
    auto sequence = std::make_shared<SequenceRows>();
    EXPECT_GT(error_with([views, sequence](StepInputs& inputs) {
                  *sequence = inputs.sequences.front();
                  views->assign(sequence->views.begin(), sequence->views.end());
                  for (KvView& view : *views) view.table = views->front().table;
                  sequence->views = *views;
                  inputs.sequences = {sequence.get(), 1};
              }),
              100 * kExact);
}

TEST(H2oPlantedBug, SumsOfTheNextLayer) {
    auto sums = std::make_shared<std::vector<float*>>();
    auto sequence = std::make_shared<SequenceRows>();
    EXPECT_GT(error_with([sums, sequence](StepInputs& inputs) {
                  *sequence = inputs.sequences.front();
                  sums->assign(sequence->weight_sums.begin(), sequence->weight_sums.end());
                  std::rotate(sums->begin(), sums->begin() + 1, sums->end());
                  sequence->weight_sums = *sums;
                  inputs.sequences = {sequence.get(), 1};
              }),
              100 * kExact);
}

}  // namespace
}  // namespace decodescope
