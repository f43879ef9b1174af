// Sessions on tiny models, and feeding them while everything is kept.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/decode/decode_session.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/oracle.h"
#include "tests/support/probe_backend.h"
#include "tests/support/tiny_models.h"

namespace decodescope {

constexpr double kExact = 1e-5;   // f32, relative to the largest logit
constexpr double kHalf = 2e-3;    // f16 KV, relative L2
constexpr double kBrain = 2e-2;   // bf16 KV, relative L2: eight bits of precision, three fewer than f16

// "reference", "cpu" (one thread: on a busy machine two wait for each other at every stage), "cpu2" (two threads).
inline std::unique_ptr<Backend> plain_backend(const std::string& id) {
    if (id == "reference") return make_reference_backend();
    CpuBackendOptions options;
    options.threads = id == "cpu2" ? 2 : 1;
    auto backend = make_cpu_backend(options);
    DS_CHECK(backend.ok());
    return std::move(*backend);
}

inline LoadedModelPtr loaded(ModelPtr model, std::shared_ptr<Backend> backend) {
    auto result = load_model(std::move(model), std::move(backend), WeightType::AsInFile, {}, {});
    if (!result.ok()) ADD_FAILURE() << result.error().text();
    DS_CHECK(result.ok());
    return std::move(*result);
}

inline LoadedModelPtr loaded(ModelPtr model, const std::string& backend = "cpu") {
    return loaded(std::move(model), plain_backend(backend));
}

// A model on a backend that can be watched and disturbed.
struct Probed {
    explicit Probed(ModelPtr model_in, const std::string& id = "cpu", bool opaque = false)
        : backend(std::make_shared<ProbeBackend>(plain_backend(id), opaque)),
          model(loaded(std::move(model_in), backend)) {}
    std::shared_ptr<ProbeBackend> backend;
    LoadedModelPtr model;
};

inline SessionConfig session_config(const std::string& cache, const std::string& kv = "f32", std::int64_t chunk = 0) {
    SessionConfig config;
    auto spec = parse_cache_spec(cache);
    auto format = parse_kv_format(kv);
    DS_CHECK(spec.ok() && format.ok());
    config.cache = *spec;
    config.kv = *format;
    config.prefill_chunk = chunk;
    return config;
}

inline std::unique_ptr<DecodeSession> session_of(LoadedModelPtr model, const SessionConfig& config) {
    auto session = DecodeSession::create(std::move(model), config);
    if (!session.ok()) ADD_FAILURE() << session.error().text();
    DS_CHECK(session.ok());
    return std::move(*session);
}

// What feeding gave, copied out of the passes.
struct Fed {
    std::vector<std::vector<float>> logits;  // of every row with all_logits, else of the last row of each pass
    // [rows][layers][heads][entries]; empty without capture
    std::vector<std::vector<std::vector<std::vector<float>>>> attention;
    std::vector<PassResult> passes;          // spans in them are no longer valid
};

inline void keep(Fed& fed, const PassResult& pass, std::int64_t heads) {
    const std::size_t width = pass.logits.size();
    if (pass.all_logits.empty()) fed.logits.emplace_back(pass.logits.begin(), pass.logits.end());
    for (std::size_t at = 0; at < pass.all_logits.size(); at += width) {
        fed.logits.emplace_back(pass.all_logits.begin() + static_cast<std::ptrdiff_t>(at),
                                pass.all_logits.begin() + static_cast<std::ptrdiff_t>(at + width));
    }
    for (std::int32_t r = 0; r < pass.rows && !pass.attention.empty(); ++r) {
        auto& row = fed.attention.emplace_back();
        for (const float* layer : pass.attention) {
            auto& maps = row.emplace_back();
            for (std::int64_t h = 0; h < heads; ++h) {
                const float* first = layer + (r * heads + h) * pass.attention_stride;
                maps.emplace_back(first, first + pass.row_entries[static_cast<std::size_t>(r)]);
            }
        }
    }
    fed.passes.push_back(pass);
}

inline void feed_into(Fed& fed, DecodeSession& session, std::span<const std::int32_t> tokens, std::int64_t chunk) {
    for (std::size_t done = 0; done < tokens.size();) {
        const auto rows = std::min(
            {tokens.size() - done, static_cast<std::size_t>(chunk), static_cast<std::size_t>(session.max_pass_rows())});
        auto pass = session.feed(tokens.subspan(done, rows), {});
        ASSERT_TRUE(pass.ok()) << pass.error().text();
        keep(fed, *pass, session.model().model->config.heads);
        done += rows;
    }
}

inline Fed feed_all(DecodeSession& session, std::span<const std::int32_t> tokens, std::int64_t chunk) {
    Fed fed;
    feed_into(fed, session, tokens, chunk);
    return fed;
}

// Largest error over rows [first, first + n) of the oracle, compared with the n rows of `logits`.
inline double worst_error(const std::vector<std::vector<float>>& logits, const OracleResult& oracle,
                          std::size_t first = 0) {
    double worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i)
        worst = std::max(worst, relative_error(logits[i], oracle.logits[first + i]));
    return worst;
}

inline double worst_l2(const std::vector<std::vector<float>>& logits, const OracleResult& oracle,
                       std::size_t first = 0) {
    double worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i)
        worst = std::max(worst, relative_l2(logits[i], oracle.logits[first + i]));
    return worst;
}

// All K and V bytes of a session, widened.
inline std::vector<float> all_cells(const DecodeSession& session) {
    std::vector<float> values;
    for (std::int32_t layer = 0; layer < session.model().model->config.layers; ++layer) {
        for (std::int32_t position = 0; position < static_cast<std::int32_t>(session.tokens().size()); ++position) {
            auto cell = session.cell(layer, position);
            EXPECT_TRUE(cell.ok());
            if (!cell.ok()) return values;
            values.insert(values.end(), cell->k.begin(), cell->k.end());
            values.insert(values.end(), cell->v.begin(), cell->v.end());
        }
    }
    return values;
}

// Of the last token, fed in passes of `chunk` rows.
inline std::vector<float> last_logits(DecodeSession& session, std::span<const std::int32_t> tokens,
                                      std::int64_t chunk) {
    return feed_all(session, tokens, chunk).logits.back();
}

}  // namespace decodescope
