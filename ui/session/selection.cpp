#include "ui/session/selection.h"

#include <algorithm>

namespace decodescope {

void Selection::hover(const SelectionPoint& point) {
    if (hovering_ && hovered_ == point) return;
    hovering_ = true;
    hovered_ = point;
    Q_EMIT changed();
}

void Selection::end_hover() {
    if (!hovering_) return;
    hovering_ = false;
    hovered_ = pinned_;
    Q_EMIT changed();
}

void Selection::pin(const SelectionPoint& point) {
    if (pinned_ == point && (!hovering_ || hovered_ == point)) return;
    pinned_ = point;
    if (hovering_) hovered_ = point;  // the pointer is where the click was
    Q_EMIT changed();
}

void Selection::set_layer_head(int layer, int head) {
    SelectionPoint point = pinned_;
    point.layer = layer;
    point.head = head;
    pin(point);
}

void Selection::clear() {
    SelectionPoint point = pinned_;
    point.position = -1;
    point.query = -1;
    if (pinned_ == point && !hovering_) return;
    pinned_ = hovered_ = point;
    hovering_ = false;
    Q_EMIT changed();
}

void Selection::clamp(int layers, int heads) {
    const auto within = [&](SelectionPoint& point) {
        point.layer = std::clamp(point.layer, 0, std::max(0, layers - 1));
        point.head = std::clamp(point.head, 0, std::max(0, heads - 1));
    };
    const SelectionPoint before = effective();
    const SelectionPoint pinned_before = pinned_;
    within(pinned_);
    within(hovered_);
    if (effective() != before || pinned_ != pinned_before) Q_EMIT changed();
}

}  // namespace decodescope
