// Colours that no other value has, so that a pixel tells what it stands for.
#pragma once

#include <array>

#include "ui/viewmodels/heatmap_image.h"

namespace decodescope::testing {

constexpr QRgb kOutsideColor = 0xFF010203, kNotCapturedColor = 0xFF040506, kEvictedColor = 0xFF070809;

inline std::array<QRgb, 256> grey_scale() {
    std::array<QRgb, 256> scale{};
    for (int i = 0; i < 256; ++i) scale[static_cast<std::size_t>(i)] = qRgb(i, 255 - i, i / 2);
    return scale;
}

inline HeatmapPalette palette(float threshold = 0) {
    return HeatmapPalette(grey_scale(), kOutsideColor, kNotCapturedColor, kEvictedColor, threshold);
}

}  // namespace decodescope::testing
