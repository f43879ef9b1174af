// A pass that is cancelled, runs out of memory or gives numbers that are none: nothing was fed, and the session goes on
// as if it had not happened.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <limits>

#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

const std::vector<const char*> kCaches = {"recompute", "growing", "preallocated", "preallocated:slab=true",
                                          "ring:window=5", "sinks:sinks=2,window=3,positions=rebased", "paged:page=4"};

// A stop source that is asked at the n-th tile.
struct TileStop {
    std::atomic<std::int64_t> tiles_left{0};
    std::stop_source source;
};

std::shared_ptr<Backend> stoppable_backend(const std::shared_ptr<TileStop>& stop) {
    CpuBackendOptions options;
    options.threads = 2;
    options.on_tile = [stop](std::int64_t) {
        if (--stop->tiles_left == 0) stop->source.request_stop();
    };
    auto backend = make_cpu_backend(options);
    DS_CHECK(backend.ok());
    return std::move(*backend);
}

TEST(SessionFailure, CancelledBeforeThePass) {
    const auto model = make_tiny_llama();
    const auto session = session_of(loaded(model), session_config("growing"));
    std::stop_source stop;
    stop.request_stop();
    auto pass = session->feed(random_tokens(3, 97, 1), stop.get_token());
    ASSERT_FALSE(pass.ok());
    EXPECT_EQ(pass.error().kind, ErrorKind::Cancelled);
    EXPECT_EQ(session->tokens().size(), 0u);
}

// A stop at every tile of a pass: nothing fed, and the run that follows is bit-identical to one that was never stopped.
TEST(SessionFailure, CancelledInsideThePass) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(20, 97, 2);
    for (const char* cache : kCaches) {
        SCOPED_TRACE(cache);
        auto stop = std::make_shared<TileStop>();
        const auto on_cpu = loaded(model, stoppable_backend(stop));
        const auto expected = feed_all(*session_of(on_cpu, session_config(cache)), tokens, 5).logits;
        int cancelled = 0;
        for (const std::int64_t tile : {1, 2, 3, 7, 20, 45}) {
            const auto session = session_of(on_cpu, session_config(cache));
            Fed fed;
            feed_into(fed, *session, std::span(tokens).first(10), 5);
            stop->source = std::stop_source();
            stop->tiles_left = tile;
            auto pass = session->feed(std::span(tokens).subspan(10, 4), stop->source.get_token());
            stop->tiles_left = 0;
            if (pass.ok()) continue;
            ++cancelled;
            ASSERT_EQ(pass.error().kind, ErrorKind::Cancelled);
            EXPECT_EQ(session->tokens().size(), 10u);
            EXPECT_EQ(session->kv_facts().tokens_seen, 10);
            EXPECT_LE(session->kv_facts().used_bytes, session->kv_facts().reserved_bytes);
            feed_into(fed, *session, std::span(tokens).subspan(10), 5);  // other rows than those that were cancelled
            EXPECT_EQ(fed.logits, expected);
        }
        EXPECT_GT(cancelled, 0);
    }
}

TEST(SessionFailure, AllocationFailsAtEveryPointOfAStep) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(20, 97, 3);
    for (const char* cache : {"growing", "recompute", "ring:window=7", "sinks:sinks=2,window=5"}) {
        const std::int64_t points = std::string(cache) == "growing" ? 3 : 1;  // one for each layer; scratch or staging
        const auto expected = feed_all(*session_of(loaded(model), session_config(cache)), tokens, 5).logits;
        for (std::int64_t at = 1; at <= points; ++at) {
            SCOPED_TRACE(fmt::format("{} {}", cache, at));
            Probed probed(model);
            const auto session = session_of(probed.model, session_config(cache));
            Fed fed;
            feed_into(fed, *session, std::span(tokens).first(5), 5);
            probed.backend->fail_allocation(at);
            auto pass = session->feed(std::span(tokens).subspan(5, 15), {});  // recompute needs more scratch for these
            ASSERT_FALSE(pass.ok());
            EXPECT_EQ(pass.error().kind, ErrorKind::Memory);
            EXPECT_EQ(session->tokens().size(), 5u);
            feed_into(fed, *session, std::span(tokens).subspan(5), 5);
            EXPECT_EQ(fed.logits, expected);
        }
    }
}

// The backend's own allocations, compile included, at every point of creation, forking and the first steps.
TEST(SessionFailure, AllocationFailsAnywhere) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(8, 97, 4);
    for (const char* cache : kCaches) {
        const auto expected = feed_all(*session_of(loaded(model), session_config(cache)), tokens, 4).logits;
        int failures = 0;
        for (std::int64_t at = 1; at < 60; ++at) {
            CpuBackendOptions options;
            options.threads = 1;
            options.fail_allocation = at;
            auto backend = make_cpu_backend(options);
            ASSERT_TRUE(backend.ok());
            std::shared_ptr<Backend> shared = std::move(*backend);
            auto on_cpu = load_model(model, shared, WeightType::AsInFile, {}, {});
            if (!on_cpu.ok()) continue;  // while the weights were loaded
            bool failed = false;
            auto session = DecodeSession::create(*on_cpu, session_config(cache));
            if (!session.ok()) {
                failed = true;
                EXPECT_EQ(session.error().kind, ErrorKind::Memory);
                session = DecodeSession::create(*on_cpu, session_config(cache));
                ASSERT_TRUE(session.ok());
            }
            Fed fed;
            for (std::size_t done = 0; done < tokens.size();) {
                auto pass = (*session)->feed(std::span(tokens).subspan(done, 4), {});
                if (!pass.ok()) {
                    ASSERT_FALSE(failed);
                    failed = true;
                    EXPECT_EQ(pass.error().kind, ErrorKind::Memory);
                    EXPECT_EQ((*session)->tokens().size(), done);
                    continue;
                }
                keep(fed, *pass, 8);
                done += 4;
                auto fork = (*session)->fork();
                failed = failed || !fork.ok();
            }
            EXPECT_EQ(fed.logits, expected) << cache << " " << at;
            failures += failed ? 1 : 0;
            session = make_error(ErrorKind::Argument, "gone");
            EXPECT_EQ(shared->memory().bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)], 0);
            EXPECT_EQ(shared->memory().bytes[static_cast<std::size_t>(MemoryPurpose::Activations)], 0);
            if (!failed) break;
        }
        EXPECT_GT(failures, 0) << cache;
    }
}

TEST(SessionFailure, TooLargeACacheIsRefusedWithBothNumbers) {
    CpuBackendOptions options;
    options.memory_limit_bytes = 64 << 20;
    auto backend = make_cpu_backend(options);
    ASSERT_TRUE(backend.ok());
    const auto on_cpu = loaded(make_tiny_llama(), std::shared_ptr<Backend>(std::move(*backend)));
    auto session = DecodeSession::create(on_cpu, session_config("preallocated:capacity=1000000"));
    ASSERT_FALSE(session.ok());
    EXPECT_EQ(session.error().kind, ErrorKind::Memory);
    EXPECT_THAT(session.error().message, HasSubstr(std::to_string(std::int64_t{1000000} * 3 * 2 * 2 * 8 * 4)));
    EXPECT_THAT(session.error().message, HasSubstr(std::to_string(64 << 20)));
    EXPECT_EQ(on_cpu->backend->memory().bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)], 0);
}

// SP-07: a logit that is no number feeds nothing.
TEST(SessionFailure, SP07_NonFiniteLogits) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(12, 97, 5);
    for (const char* cache : kCaches) {
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity()}) {
            SCOPED_TRACE(fmt::format("{} {}", cache, bad));
            Probed probed(model);
            const auto session = session_of(probed.model, session_config(cache));
            Fed fed;
            feed_into(fed, *session, std::span(tokens).first(4), 4);
            probed.backend->after_run = [bad](StepOutputs& outputs) -> Status {
                outputs.logits[17] = bad;
                return {};
            };
            auto pass = session->feed(std::span(tokens).subspan(4, 2), {});
            ASSERT_FALSE(pass.ok());
            EXPECT_EQ(pass.error().kind, ErrorKind::NonFinite);
            EXPECT_THAT(pass.error().message, HasSubstr("position 5"));
            EXPECT_THAT(pass.error().message, HasSubstr("17 of 97"));
            EXPECT_EQ(session->tokens().size(), 4u);
            probed.backend->after_run = {};
            feed_into(fed, *session, std::span(tokens).subspan(4), 4);
            EXPECT_EQ(fed.logits, feed_all(*session_of(loaded(model), session_config(cache)), tokens, 4).logits);
        }
    }
}

// A value that overflows when it is stored in 16 bits names its layer; in 32 bits the same model runs.
TEST(SessionFailure, OverflowInTheCacheNamesItsLayer) {
    TinyOptions options;
    options.edit = [](TinyTensors& tensors) {
        for (float& w : tensors.at("1.value")) w *= 1e6f;
    };
    const auto model = make_tiny_llama(options);
    const auto tokens = random_tokens(5, 97, 6);
    auto pass = session_of(loaded(model), session_config("growing", "f16"))->feed(tokens, {});
    ASSERT_FALSE(pass.ok());
    EXPECT_EQ(pass.error().kind, ErrorKind::NonFinite);
    EXPECT_THAT(pass.error().message, HasSubstr("layer 1"));
    EXPECT_TRUE(session_of(loaded(model), session_config("growing", "k=f16,v=f32"))->feed(tokens, {}).ok());
}

}  // namespace
}  // namespace decodescope
