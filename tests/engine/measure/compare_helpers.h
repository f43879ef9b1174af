// Configurations from the text of the command line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/measure/compare.h"

namespace decodescope {

inline CompareConfig config(const std::string& text) {
    auto parsed = parse_compare_config(text, 1);
    EXPECT_TRUE(parsed.ok()) << parsed.error().text();
    return *parsed;
}

}  // namespace decodescope
