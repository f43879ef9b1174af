#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backend/backend_registry.h"
#include "kernels/reference/reference_backend.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

TEST(BackendRegistry, CreatesOrSaysWhyNot) {
    BackendRegistry registry;
    std::string asked;
    BackendEntry reference{"reference", "Reference", true, "", {}};
    reference.create = [&](const BackendRequest& request) -> Result<std::shared_ptr<Backend>> {
        asked = request.id;
        return std::shared_ptr<Backend>(make_reference_backend());
    };
    registry.add(reference);
    registry.add({"cuda", "CUDA", false, "no NVIDIA driver was found.", {}});
    BackendRequest request;
    request.id = "reference";
    EXPECT_TRUE(registry.create(request).ok());
    EXPECT_EQ(asked, "reference");
    request.id = "cuda:1";
    auto cuda = registry.create(request);
    ASSERT_FALSE(cuda.ok());
    EXPECT_EQ(cuda.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(cuda.error().message, HasSubstr("no NVIDIA driver was found."));
    request.id = "vulkan";
    auto unknown = registry.create(request);
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().kind, ErrorKind::Argument);
    EXPECT_THAT(unknown.error().text(), HasSubstr("\"vulkan\""));
    EXPECT_THAT(unknown.error().text(), HasSubstr("reference, cuda"));
    EXPECT_FALSE(BackendRegistry().create(request).ok());
}

}  // namespace
}  // namespace decodescope
