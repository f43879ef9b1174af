// The one selection that links every panel: step, layer, head, token position. Hover previews, click pins, Esc clears.
#pragma once

#include <QObject>

namespace decodescope {

struct SelectionPoint {
    int layer = 0;
    int head = 0;
    int position = -1;  // row of the recording; -1: none
    int query = -1;     // row whose attention is looked at; -1: the newest row of the viewed step
    bool operator==(const SelectionPoint&) const = default;
};

class Selection : public QObject {
    Q_OBJECT
public:
    explicit Selection(QObject* parent = nullptr) : QObject(parent) {}

    // What panels draw: the hovered point while there is one, else the pinned one.
    const SelectionPoint& effective() const { return hovering_ ? hovered_ : pinned_; }
    const SelectionPoint& pinned() const { return pinned_; }
    bool hovering() const { return hovering_; }
    bool position_pinned() const { return pinned_.position >= 0; }

    void hover(const SelectionPoint& point);
    void end_hover();
    void pin(const SelectionPoint& point);
    void set_layer_head(int layer, int head);  // pins both, keeps the position
    void clear();                              // Esc: position, query and hover; layer and head stay
    void clamp(int layers, int heads);         // after a change of model

Q_SIGNALS:
    void changed();

private:
    SelectionPoint pinned_, hovered_;
    bool hovering_ = false;
};

}  // namespace decodescope
