// Where the docks live: arrangement of first sight, saving, restoring and repairing a layout.
#pragma once

#include <QMainWindow>
#include <vector>

#include "ui/main_window/dock_card.h"

namespace decodescope {

class DockArea : public QMainWindow {
    Q_OBJECT
public:
    explicit DockArea(QWidget* parent = nullptr);
    void add(const PanelDescriptor& descriptor, DockCard* card);

    // Everything open and in its place of first sight.
    void reset_layout();
    QByteArray layout_state() const;
    // Restores what layout_state() gave. What does not fit here is repaired: a card off every screen is docked again,
    // and without any card in view the layout of first sight comes back. False: it was not usable at all.
    bool restore_layout(const QByteArray& state);
    void apply_theme();
    // The cards in view share the room as the catalogue proposes.
    void arrange_sizes();

protected:
    void resizeEvent(QResizeEvent* event) override;
    void childEvent(QChildEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    struct Entry {
        PanelDescriptor descriptor;
        DockCard* card;
    };
    void repair();
    void put_closed_in_tabs();

    std::vector<Entry> entries_;
    bool sizes_pending_ = true;
};

}  // namespace decodescope
