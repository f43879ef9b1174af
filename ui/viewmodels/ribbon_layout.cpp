#include "ui/viewmodels/ribbon_layout.h"

#include <algorithm>
#include <cmath>

namespace decodescope {

void RibbonLayout::clear() {
    width_ = 0;
    left_.clear();
    size_.clear();
    groups_.clear();
}

void RibbonLayout::append(double text_width, bool new_group) {
    if (!std::isfinite(text_width)) text_width = 0;
    const double chip = std::clamp(std::ceil(text_width) + 2 * metrics_.padding, metrics_.smallest, metrics_.largest);
    const bool starts = groups_.empty() || new_group;
    const double at = left_.empty() ? 0 : width_ + (starts ? metrics_.group_gap : metrics_.gap);
    if (starts) groups_.push_back({count(), count(), at, at});
    left_.push_back(at);
    size_.push_back(chip);
    width_ = at + chip;
    groups_.back().end = count();
    groups_.back().right = width_;
}

std::pair<int, int> RibbonLayout::visible(double from, double to) const {
    const auto end = std::lower_bound(left_.begin(), left_.end(), to);
    auto first = std::upper_bound(left_.begin(), left_.end(), from);
    if (first != left_.begin() && *std::prev(first) + size_[static_cast<std::size_t>(first - left_.begin() - 1)] > from)
        --first;
    const int a = static_cast<int>(first - left_.begin()), b = static_cast<int>(end - left_.begin());
    return {a, std::max(a, b)};
}

int RibbonLayout::hit(double x) const {
    const auto after = std::upper_bound(left_.begin(), left_.end(), x);
    if (after == left_.begin()) return -1;
    const int row = static_cast<int>(after - left_.begin()) - 1;
    return x < left(row) + chip_width(row) ? row : -1;
}

double RibbonLayout::largest_offset(double view_width) const { return std::max(0.0, width_ - view_width); }

double RibbonLayout::reveal(int row, double offset, double view_width) const {
    if (row < 0 || row >= count()) return std::clamp(offset, 0.0, largest_offset(view_width));
    const double margin = std::min(48.0, view_width / 4);
    const double most_left = left(row) + chip_width(row) + (row + 1 < count() ? margin : 0) - view_width;
    const double most_right = left(row) - (row > 0 ? margin : 0);
    if (offset < most_left) offset = most_left;
    if (offset > most_right) offset = most_right;
    return std::clamp(offset, 0.0, largest_offset(view_width));
}

}  // namespace decodescope
