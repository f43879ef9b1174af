#include <cstdint>

#include "tests/support/parse_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    decodescope::parse_config_input({reinterpret_cast<const std::byte*>(data), size});
    return 0;
}
