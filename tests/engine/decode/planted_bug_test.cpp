// The comparison with the oracle must see known bugs. Each test plants one between the session and the backend, or in
// the oracle, and asks that the error is far beyond the tolerance; greedy tokens alone would often still agree.
#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

constexpr double kSeen = 100 * kExact;

// Feeds 6 tokens in chunks of `chunk`, then single steps, while `change` rewrites what the backend is given.
double error_with(const ModelPtr& model, std::int64_t chunk, const std::function<void(StepInputs&)>& change) {
    const auto tokens = random_tokens(18, model->config.vocabulary, 21);
    const auto oracle = run_oracle(*model, tokens);
    Probed probed(model);
    SessionConfig config = session_config("preallocated");
    config.all_logits = true;
    const auto session = session_of(probed.model, config);
    probed.backend->on_run = change;
    Fed fed = feed_all(*session, std::span(tokens).first(6), chunk);
    feed_into(fed, *session, std::span(tokens).subspan(6), 1);
    return worst_error(fed.logits, oracle);
}

// Rewrites the positions; the mask stays right.
std::function<void(StepInputs&)> with_positions(
    const std::function<std::int32_t(std::int32_t position, std::size_t row, std::size_t rows)>& change) {
    auto kept = std::make_shared<std::vector<std::int32_t>>();
    return [kept, change](StepInputs& inputs) {
        kept->assign(inputs.positions.begin(), inputs.positions.end());
        for (std::size_t r = 0; r < kept->size(); ++r) (*kept)[r] = change((*kept)[r], r, kept->size());
        inputs.positions = *kept;
    };
}

std::vector<ModelPtr> models() { return {make_tiny_llama(), make_tiny_gpt2()}; }

TEST(PlantedBug, NoBugIsNotSeen) {
    for (const auto& model : models()) {
        EXPECT_LE(error_with(model, 6, {}), kExact);
        EXPECT_LE(error_with(model, 2, with_positions([](std::int32_t p, std::size_t, std::size_t) { return p; })),
                  kExact);
    }
}

TEST(PlantedBug, PositionFrozenWhenOneTokenIsDecoded) {
    for (const auto& model : models()) {
        EXPECT_GT(error_with(model, 6, with_positions([](std::int32_t p, std::size_t, std::size_t rows) {
                                 return rows == 1 ? 0 : p;
                             })),
                  kSeen);
    }
}

TEST(PlantedBug, PositionOffByOneWhileDecoding) {
    for (const auto& model : models()) {
        EXPECT_GT(error_with(model, 6, with_positions([](std::int32_t p, std::size_t, std::size_t rows) {
                                 return rows == 1 ? p + 1 : p;
                             })),
                  kSeen);
    }
}

TEST(PlantedBug, ChunkStartsAtZeroAgain) {
    for (const auto& model : models()) {
        EXPECT_GT(error_with(model, 3, with_positions([](std::int32_t p, std::size_t r, std::size_t rows) {
                                 return rows == 1 ? p : static_cast<std::int32_t>(r);
                             })),
                  kSeen);
    }
}

TEST(PlantedBug, ChunkOffsetAddedTwice) {
    for (const auto& model : models()) {
        EXPECT_GT(
            error_with(model, 3, with_positions([](std::int32_t p, std::size_t r, std::size_t) {
                           return 2 * p - static_cast<std::int32_t>(r) > 30 ? p : 2 * p - static_cast<std::int32_t>(r);
                       })),
            kSeen);
    }
}

TEST(PlantedBug, MaskOneShort) {
    auto kept = std::make_shared<std::vector<RowVisibility>>();
    for (const auto& model : models()) {
        EXPECT_GT(error_with(model, 6,
                             [kept](StepInputs& inputs) {
                                 kept->assign(inputs.visibility.begin(), inputs.visibility.end());
                                 for (auto& row : *kept)
                                     row.window_first = row.position > 0 ? 1 : 0;  // the first token is forgotten
                                 inputs.visibility = *kept;
                             }),
                  kSeen);
    }
}

TEST(PlantedBug, LayersShareOneCache) {
    auto kept = std::make_shared<std::vector<KvView>>();
    auto sequence = std::make_shared<SequenceRows>();
    for (const auto& model : models()) {
        EXPECT_GT(error_with(model, 6,
                             [kept, sequence](StepInputs& inputs) {
                                 *sequence = inputs.sequences.front();
                                 kept->assign(sequence->views.size(), sequence->views.front());
                                 sequence->views = *kept;
                                 inputs.sequences = {sequence.get(), 1};
                             }),
                  kSeen);
    }
}

TEST(PlantedBug, QueryHeadsReadTheWrongKvHead) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(18, model->config.vocabulary, 21);
    OracleOptions interleaved;
    interleaved.kv_head_of = [](std::int64_t head) { return head % 2; };
    const auto wrong = run_oracle(*model, tokens, interleaved);
    SessionConfig config = session_config("growing");
    config.all_logits = true;
    const auto session = session_of(loaded(model), config);
    EXPECT_GT(worst_error(feed_all(*session, tokens, 5).logits, wrong), kSeen);
}

// A window of the wrong kind in the oracle is seen as well: the mask matters from the second layer on.
TEST(PlantedBug, OracleWithAnotherMaskDiffers) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(18, model->config.vocabulary, 21);
    OracleOptions window;
    window.visible = [](std::int64_t row, std::int64_t position) { return position <= row && position + 12 > row; };
    const auto wrong = run_oracle(*model, tokens, window);
    SessionConfig config = session_config("growing");
    config.all_logits = true;
    const auto session = session_of(loaded(model), config);
    const auto logits = feed_all(*session, tokens, 5).logits;
    EXPECT_LE(relative_error(logits[11], wrong.logits[11]), kExact);
    EXPECT_GT(relative_error(logits[12], wrong.logits[12]), kSeen);
}

}  // namespace
}  // namespace decodescope
