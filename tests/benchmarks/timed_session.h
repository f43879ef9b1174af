// What the benchmarks share: a model on the CPU backend, a conversation of a given length, medians.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/decode/decode_session.h"
#include "engine/model/model.h"
#include "kernels/cpu/cpu_backend.h"

namespace decodescope::bench {

template <class T>
T value_or_exit(Result<T> result) {
    if (result.ok()) return std::move(*result);
    fmt::print(stderr, "{} {}\n", result.error().message, result.error().hint);
    std::exit(1);
}

inline LoadedModelPtr load(const std::string& spec, WeightType type, int threads) {
    const ModelPtr model = value_or_exit(open_model(spec, OpenOptions{}, {}, {}));
    CpuBackendOptions options;
    options.threads = threads;
    std::shared_ptr<Backend> backend = value_or_exit(make_cpu_backend(options));
    return value_or_exit(load_model(model, std::move(backend), type, {}, {}));
}

inline std::vector<std::int32_t> some_tokens(const LoadedModel& model, std::int64_t count) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < count; ++i)
        tokens.push_back(static_cast<std::int32_t>((i * 7919 + 13) % model.model->sampled_vocabulary));
    return tokens;
}

inline void feed_all(DecodeSession& session, std::span<const std::int32_t> tokens) {
    while (!tokens.empty()) {
        const auto rows =
            static_cast<std::size_t>(std::min<std::int64_t>(session.max_pass_rows(), std::ssize(tokens)));
        DS_CHECK(session.feed(tokens.first(rows), {}).ok());
        tokens = tokens.subspan(rows);
    }
}

// A conversation that has seen `length` tokens, with room for a few more; K and V in f16.
inline std::unique_ptr<DecodeSession> session_at(const LoadedModelPtr& model, std::int64_t length, bool capture,
                                                 bool profile = false) {
    SessionConfig config;
    config.cache = *parse_cache_spec("preallocated");
    config.kv = *parse_kv_format("f16");
    config.expected_tokens = std::min(length + 64, model->model->config.context);
    config.profile = profile;
    auto session = value_or_exit(DecodeSession::create(model, config));
    feed_all(*session, some_tokens(*model, length));
    session->set_capture(capture);
    return session;
}

inline double micros_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

// The next token of a conversation, which then forgets it: everything that a caller of feed() waits for.
inline double decode_micros(DecodeSession& session) {
    const std::int32_t token = 5;
    const auto length = std::ssize(session.tokens());
    const double micros = micros_of([&] { DS_CHECK(session.feed({&token, 1}, {}).ok()); });
    DS_CHECK(session.truncate(length).ok());
    return micros;
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

}  // namespace decodescope::bench
