#include "ui/main_window/dock_area.h"

#include <QChildEvent>
#include <QGuiApplication>
#include <QResizeEvent>
#include <QScreen>
#include <QTabBar>
#include <algorithm>
#include <array>

namespace decodescope {

namespace {

constexpr int kLayoutVersion = 1;
constexpr int kLeftShare = 57, kRightShare = 43;
constexpr std::array kColumns = {Qt::LeftDockWidgetArea, Qt::RightDockWidgetArea};

// A card that shares the room now. One that is shown alone or is on its way back is neither hidden nor in the layout.
bool is_laid_out(const QMainWindow& window, QDockWidget* card) {
    return !card->isHidden() && !card->isFloating() && window.dockWidgetArea(card) != Qt::NoDockWidgetArea;
}

}  // namespace

DockArea::DockArea(QWidget* parent) : QMainWindow(parent) {
    setWindowFlags(Qt::Widget);  // a main window inside the window: its constructor would make a window of it
    setDockOptions(AllowNestedDocks | AllowTabbedDocks | AnimatedDocks);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setContextMenuPolicy(Qt::NoContextMenu);
    apply_theme();
}

void DockArea::apply_theme() {
    const int grid = theme().grid();
    setContentsMargins(grid, grid, grid, grid);
    for (Entry& entry : entries_) entry.card->apply_theme();
}

void DockArea::add(const PanelDescriptor& descriptor, DockCard* card) {
    entries_.push_back({descriptor, card});
    addDockWidget(descriptor.area, card);
}

void DockArea::reset_layout() {
    for (Entry& entry : entries_) {
        entry.card->setFloating(false);
        removeDockWidget(entry.card);
    }
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.descriptor.order < b.descriptor.order; });
    for (Entry& entry : entries_) {
        if (entry.descriptor.open_at_first) {
            addDockWidget(entry.descriptor.area, entry.card, Qt::Vertical);
            entry.card->show();
            continue;
        }
        addDockWidget(entry.descriptor.area, entry.card);
        entry.card->hide();
    }
    put_closed_in_tabs();
    sizes_pending_ = true;
    if (isVisible()) arrange_sizes();
}

// A card that is closed at first shares the place of the largest card of its area, so that opening it moves nothing.
void DockArea::put_closed_in_tabs() {
    for (const Entry& entry : entries_) {
        if (entry.descriptor.open_at_first) continue;
        const Entry* host = nullptr;
        for (const Entry& other : entries_)
            if (other.descriptor.open_at_first && other.descriptor.area == entry.descriptor.area &&
                (host == nullptr || other.descriptor.stretch > host->descriptor.stretch))
                host = &other;
        if (host != nullptr) tabifyDockWidget(host->card, entry.card);
    }
}

void DockArea::arrange_sizes() {
    sizes_pending_ = false;
    QList<QDockWidget*> columns;
    QList<int> widths;
    for (const auto area : kColumns) {
        QList<QDockWidget*> cards;
        QList<int> heights;
        int total = 0;
        for (const Entry& entry : entries_)
            if (entry.descriptor.area == area && is_laid_out(*this, entry.card))
                total += entry.descriptor.stretch;
        for (const Entry& entry : entries_) {
            if (entry.descriptor.area != area || !is_laid_out(*this, entry.card)) continue;
            cards << entry.card;
            heights << height() * entry.descriptor.stretch / std::max(1, total);
        }
        if (cards.isEmpty()) continue;
        columns << cards.front();
        widths << width() * (area == Qt::LeftDockWidgetArea ? kLeftShare : kRightShare) / 100;
        resizeDocks(cards, heights, Qt::Vertical);
    }
    resizeDocks(columns, widths, Qt::Horizontal);
}

// Qt makes the bar of tabs when it needs one.
void DockArea::childEvent(QChildEvent* event) {
    QMainWindow::childEvent(event);
    if (auto* bar = event->polished() ? qobject_cast<QTabBar*>(event->child()) : nullptr; bar != nullptr)
        bar->setAccessibleName(tr("Panels that share a place"));
}

// The docks keep their shares of the window when it changes its size.
void DockArea::resizeEvent(QResizeEvent* event) {
    QList<QDockWidget*> cards;
    QList<int> widths, heights;
    const QSize before = event->oldSize(), now = event->size();
    const bool scale = !sizes_pending_ && before.width() > 0 && before.height() > 0 && isVisible();
    if (scale)
        for (const Entry& entry : entries_) {
            if (!is_laid_out(*this, entry.card)) continue;
            cards << entry.card;
            widths << entry.card->width() * now.width() / before.width();
            heights << entry.card->height() * now.height() / before.height();
        }
    QMainWindow::resizeEvent(event);
    if (!scale || cards.isEmpty()) return;
    resizeDocks(cards, widths, Qt::Horizontal);
    resizeDocks(cards, heights, Qt::Vertical);
}

void DockArea::showEvent(QShowEvent* event) {
    QMainWindow::showEvent(event);
    if (sizes_pending_) arrange_sizes();
}

QByteArray DockArea::layout_state() const { return saveState(kLayoutVersion); }

bool DockArea::restore_layout(const QByteArray& state) {
    const bool restored = !state.isEmpty() && restoreState(state, kLayoutVersion);
    if (!restored) {
        reset_layout();
        return false;
    }
    sizes_pending_ = false;
    repair();
    return true;
}

void DockArea::repair() {
    bool any = false;
    for (Entry& entry : entries_) {
        if (entry.card->isFloating()) {
            const QPoint corner = entry.card->geometry().topLeft() + QPoint(40, 10);
            if (QGuiApplication::screenAt(corner) == nullptr) entry.card->setFloating(false);
        }
        any = any || !entry.card->isHidden();
    }
    // A layout from a larger window may ask for more than there is.
    const QSize need = minimumSizeHint();
    const QWidget* window = this->window();
    if (!any || (window->isVisible() && (need.width() > width() || need.height() > height()))) reset_layout();
}

}  // namespace decodescope
