// Backends in libraries of their own: none is touched unless it is asked for, and each failure is one sentence.
#include "app/cli/backend_module.h"

#include <gmock/gmock.h>

#include <cstdio>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string output_of(const std::string& command) {
    std::string text;
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return text;
    char piece[4096];
    for (std::size_t read; (read = std::fread(piece, 1, sizeof piece, pipe)) > 0;) text.append(piece, read);
    pclose(pipe);
    return text;
}

TEST(BackendModule, WhatCannotBeOpenedIsASentence) {
    const TemporaryFolder folder;
    folder.write("text.so", "not a library");
    for (const std::string& path : {folder.file("absent.so"), folder.file("text.so")}) {
        auto module = open_backend_module(path);
        ASSERT_FALSE(module.ok());
        EXPECT_EQ(module.error().kind, ErrorKind::Unsupported);
        EXPECT_THAT(module.error().message, HasSubstr(path));
    }
    auto other = open_backend_module("libc.so.6");
    ASSERT_FALSE(other.ok());
    EXPECT_THAT(other.error().message, HasSubstr("not a backend of this version"));
}

TEST(BackendModule, AMissingLibraryIsSaidWhenAskedFor) {
    BackendRegistry registry;
    registry.add(module_entry("warp", "Warp drive", "libdecodescope_warp.so", "There is no warp drive."));
    EXPECT_FALSE(registry.entries()[0].available);
    BackendRequest request;
    request.id = "warp";
    auto backend = registry.create(request);
    ASSERT_FALSE(backend.ok());
    EXPECT_EQ(backend.error().text(),
              "The backend \"warp\" does not work here: There is no warp drive. Use --backend cpu.");
    registry.probe();
    ASSERT_EQ(registry.entries().size(), 1u);
    EXPECT_EQ(registry.entries()[0].reason, "There is no warp drive.");
    EXPECT_FALSE(registry.entries()[0].probe);
    EXPECT_FALSE(registry.create(request).ok());
}

// CU-01: the program needs no file of NVIDIA's to start, and CU-02: nothing of CUDA is opened for the CPU.
TEST(BackendModule, CU01_CU02_TheProgramLinksAndOpensNothingOfCuda) {
    const std::string program = DECODESCOPE_PROGRAM;
    EXPECT_THAT(output_of("ldd '" + program + "'"), AllOf(HasSubstr("libc.so"), Not(HasSubstr("libcuda")),
                                                          Not(HasSubstr("cublas")), Not(HasSubstr("nvidia"))));
    const std::string opened =
        output_of("LD_DEBUG=files '" + program + "' generate --tokens 5,6 -n 1 --json");
    EXPECT_THAT(opened, AllOf(HasSubstr("libc.so"), Not(HasSubstr("decodescope_cuda")), Not(HasSubstr("libcuda"))));
}

TEST(BackendModule, EveryUnusableBackendHasOneSentence) {
    BackendRegistry registry = make_backend_registry();
    registry.probe();
    for (const BackendEntry& entry : registry.entries()) {
        if (entry.available) continue;
        EXPECT_FALSE(entry.reason.empty()) << entry.id;
        EXPECT_EQ(entry.reason.back(), '.') << entry.reason;
    }
}

#if DECODESCOPE_EMULATION  // else tests/cuda/absent names what is not built
TEST(BackendModule, TheEmulatedDeviceGeneratesWhatTheCpuDoes) {
    ASSERT_FALSE(find_module_file("libdecodescope_cuda_emulated.so").empty());
    const std::string program = std::string("'") + DECODESCOPE_PROGRAM + "' generate --tokens 5,6 -n 2 --json --backend ";
    const auto cpu = nlohmann::json::parse(output_of(program + "cpu"), nullptr, false);
    const auto emulated = nlohmann::json::parse(output_of(program + "cuda-emulated"), nullptr, false);
    ASSERT_TRUE(cpu.is_object() && emulated.is_object());
    EXPECT_EQ(emulated["tokens"], cpu["tokens"]);
    EXPECT_EQ(emulated["backend"], "cuda-emulated");
}
#endif

}  // namespace
}  // namespace decodescope
