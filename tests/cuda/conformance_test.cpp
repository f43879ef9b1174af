// Every row of the conformance suite on the CUDA backend. Rows take turns with the schedules, so that each group runs
// under all of them; the small groups run whole under each.
#include "tests/support/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "kernels/cuda/kernels.h"
#include "tests/cuda/emulated_backend.h"

namespace decodescope {
namespace {

class CudaConformance : public EmulatedDevice, public testing::WithParamInterface<std::size_t> {};

TEST_P(CudaConformance, EqualsReference) {
    const conformance::Group& group = conformance::groups()[GetParam()];
    ASSERT_GT(group.rows.size(), 0u);
    const auto backend = make_emulated();
    ASSERT_NE(backend, nullptr);
    const std::size_t every = group.rows.size() > 2 * kEvery ? kEvery : 1;
    int rows = 0;
    for (std::size_t i = 0; i < group.rows.size(); i += every, ++rows) {
        simt::settings().schedule = kSchedules[i % 4];
        simt::settings().seed = i;
        EXPECT_EQ(conformance::check(*backend, group.rows[i], {cuda::kFewRows}), "")
            << group.rows[i].name << ", " << schedule_name(kSchedules[i % 4]);
    }
    RecordProperty("rows", rows);
}

std::vector<std::size_t> group_indices() {
    std::vector<std::size_t> indices(conformance::groups().size());
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
    return indices;
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaConformance, testing::ValuesIn(group_indices()), [](const auto& info) {
    std::string name = conformance::groups()[info.param].name;
    std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});

}  // namespace
}  // namespace decodescope
