// Every row of the conformance suite on every instruction set of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "kernels/cpu/cpu_backend.h"
#include "tests/support/conformance.h"

namespace decodescope {
namespace {

class Conformance : public testing::TestWithParam<std::tuple<std::size_t, std::string>> {};

TEST_P(Conformance, EqualsReference) {
    const auto& [index, instruction_set] = GetParam();
    const conformance::Group& group = conformance::groups()[index];
    EXPECT_GT(group.rows.size(), 0u);
    CpuBackendOptions options;
    options.threads = 2;
    options.instruction_set = instruction_set;
    auto backend = make_cpu_backend(options);
    ASSERT_TRUE(backend.ok()) << backend.error().text();
    EXPECT_EQ((*backend)->info().instruction_set, instruction_set);
    for (const std::string& failure : conformance::run_group(**backend, group)) ADD_FAILURE() << failure;
}

std::vector<std::size_t> group_indices() {
    std::vector<std::size_t> indices(conformance::groups().size());
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
    return indices;
}

std::string test_name(const testing::TestParamInfo<Conformance::ParamType>& info) {
    std::string name = conformance::groups()[std::get<0>(info.param)].name + "_" + std::get<1>(info.param);
    std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Conformance,
                         testing::Combine(testing::ValuesIn(group_indices()),
                                          testing::ValuesIn(cpu_instruction_sets())),
                         test_name);

}  // namespace
}  // namespace decodescope
