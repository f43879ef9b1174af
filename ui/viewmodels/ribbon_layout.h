// Chips of tokens in one row: where each lies, which are visible, which one is under the pointer. Appending costs
// O(new).
#pragma once

#include <utility>
#include <vector>

namespace decodescope {

struct RibbonGroup {
    int first = 0, end = 0;  // rows
    double left = 0, right = 0;
};

class RibbonLayout {
public:
    struct Metrics {
        double gap = 5, group_gap = 16, padding = 9, smallest = 16, largest = 160;
    };
    explicit RibbonLayout(Metrics metrics) : metrics_(metrics) {}
    RibbonLayout() = default;

    void clear();
    // new_group: a wider gap before it, as between prefill and decode.
    void append(double text_width, bool new_group);
    int count() const { return static_cast<int>(left_.size()); }
    double width() const { return width_; }
    double left(int row) const { return left_[static_cast<std::size_t>(row)]; }
    double chip_width(int row) const { return size_[static_cast<std::size_t>(row)]; }
    const std::vector<RibbonGroup>& groups() const { return groups_; }

    // Rows that touch [from, to): first and one past the last. Found by bisection.
    std::pair<int, int> visible(double from, double to) const;
    int hit(double x) const;  // -1: between chips or outside
    // The scroll offset nearest to `offset` that shows the row in a view of this width, with some of its neighbours.
    double reveal(int row, double offset, double view_width) const;
    double largest_offset(double view_width) const;

private:
    Metrics metrics_;
    double width_ = 0;
    std::vector<double> left_, size_;
    std::vector<RibbonGroup> groups_;
};

}  // namespace decodescope
