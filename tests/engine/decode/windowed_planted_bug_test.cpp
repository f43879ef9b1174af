// The comparison of ring and sinks with their oracles must see known bugs: each is planted between the session and the
// backend.
#include "tests/engine/decode/window_oracle.h"

namespace decodescope {
namespace {

// Chunks of 9, then 5 single steps; or only two chunks, of which the second rolls the window over.
double error_with(const Window& window, const std::function<void(StepInputs&)>& change, bool two_chunks = false) {
    Probed probed(model_l3());
    const auto session = session_of(probed.model, every_row(window.spec));
    probed.backend->on_run = change;
    Fed fed = feed_all(*session, text(0, two_chunks ? 18 : 30), 9);
    if (!two_chunks) feed_into(fed, *session, text(30, 5), 1);
    return worst_error(fed.logits, oracle_of(window));
}

std::function<void(StepInputs&)> with_visibility(const std::function<void(RowVisibility&)>& change) {
    auto kept = std::make_shared<std::vector<RowVisibility>>();
    return [kept, change](StepInputs& inputs) {
        kept->assign(inputs.visibility.begin(), inputs.visibility.end());
        for (auto& row : *kept) change(row);
        inputs.visibility = *kept;
    };
}

TEST(WindowedPlantedBug, NoBugIsNotSeen) {
    for (const Window& window : {kRing, kSinks, kRebased})
        EXPECT_LE(error_with(window, with_visibility([](RowVisibility&) {})), kExact);
}

TEST(WindowedPlantedBug, WindowOffByOne) {
    for (const Window& window : {kRing, kSinks, kRebased}) {
        for (const int off : {-1, 1}) {
            EXPECT_GT(error_with(window, with_visibility([off](RowVisibility& row) {
                                     if (row.window_first > 0) row.window_first += off;
                                 })),
                      100 * kExact);
        }
    }
}

TEST(WindowedPlantedBug, SinksReadWithTheQueryOfTheWindow) {
    EXPECT_GT(error_with(kRebased, with_visibility([](RowVisibility& row) { row.sink_shift = 0; })), 100 * kExact);
    EXPECT_GT(error_with(kRebased, with_visibility([](RowVisibility& row) {
                             row.sink_shift = row.sink_shift > 0 ? row.sink_shift - 1 : 0;
                         })),
              100 * kExact);
}

TEST(WindowedPlantedBug, NewRowsWrittenOverOldOnesBeforeTheyAreRead) {
    auto views = std::make_shared<std::vector<KvView>>();
    auto pages = std::make_shared<std::vector<std::int32_t>>();
    auto sequence = std::make_shared<SequenceRows>();
    for (const Window& window : {kRing, kSinks}) {
        EXPECT_GT(error_with(window,
                             [&, views, pages, sequence](StepInputs& inputs) {
                                 *sequence = inputs.sequences.front();
                                 views->assign(sequence->views.begin(), sequence->views.end());
                                 const EntryTable table = views->front().table;
                                 if (table.staged_first == kNothingStaged) return;
                                 pages->clear();
                                 for (std::int32_t e = 0; e < table.count; ++e) {
                                     const std::int32_t p = entry_position(table, e);
                                     const auto s = static_cast<std::int32_t>(window.sinks);
                                     pages->push_back(p < s ? p : s + (p - s) % static_cast<int>(window.window));
                                 }
                                 for (auto& view : *views) {
                                     view.table.pages = pages->data();
                                     view.table.staged_first = kNothingStaged;
                                 }
                                 sequence->views = *views;
                                 inputs.sequences = {sequence.get(), 1};
                             },
                             true),  // what is settled afterwards was never written
                  100 * kExact);
    }
}

}  // namespace
}  // namespace decodescope
