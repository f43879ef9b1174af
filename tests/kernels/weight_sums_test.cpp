// Sums of attention weights and visibility of layers, on every instruction set: for few rows, blocks of rows and long
// caches, with and without capture.
#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/weight_sums_case.h"

namespace decodescope {
namespace {

using test::StepCase;
using test::WeightSumsCase;

WeightSumsCase case_on(const std::string& id, int threads = 2) {
    if (id == "reference") return WeightSumsCase(make_reference_backend());
    CpuBackendOptions options;
    options.threads = threads;
    options.instruction_set = id;
    return WeightSumsCase(std::move(make_cpu_backend(options).value()));
}

std::vector<std::string> backends() {
    std::vector<std::string> ids = cpu_instruction_sets();
    ids.push_back("reference");
    return ids;
}

class WeightSums : public testing::TestWithParam<std::string> {};

// 1 and 3 rows go row by row, 5 and 40 as blocks; 600 and 1100 entries are two and three ranges.
TEST_P(WeightSums, AreTheCapturedWeightsAddedUp) {
    WeightSumsCase on = case_on(GetParam());
    const std::pair<int, int> cases[] = {{0, 1}, {20, 1}, {7, 3}, {0, 5}, {11, 40}, {600, 2}, {1100, 1}, {600, 9}};
    for (const auto& [before, rows] : cases) {
        on.expect_captured_weights_added_up(before, rows, 1e-6);
        if (GetParam() == "reference") continue;
        WeightSumsCase alone = case_on(GetParam(), 1);
        EXPECT_EQ(alone.run(before, rows, false).layers, on.run(before, rows, false).layers) << before << " + " << rows;
    }
}

TEST_P(WeightSums, EveryLayerSeesWhatItMay) { case_on(GetParam()).expect_every_layer_sees_what_it_may(); }

TEST_P(WeightSums, WrongSizesAreRefused) {
    WeightSumsCase on = case_on(GetParam());
    const auto cache = on.cache(7);
    const auto views = cache->views(1);
    const StepCase rows = StepCase::causal({1}, 0);
    std::vector<float> room(8);
    float* const pointers[] = {room.data()};
    SequenceRows sequence{0, 1, views};
    sequence.weight_sums = pointers;
    EXPECT_EQ(test::run_step(on.backend(), on.step(), rows, {sequence}).status.error().kind, ErrorKind::Argument);
    const RowVisibility* const nothing[] = {rows.visibility.data(), nullptr};
    sequence.weight_sums = {};
    sequence.layer_visibility = nothing;
    EXPECT_EQ(test::run_step(on.backend(), on.step(), rows, {sequence}).status.error().kind, ErrorKind::Argument);
}

INSTANTIATE_TEST_SUITE_P(Kernels, WeightSums, testing::ValuesIn(backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace decodescope
