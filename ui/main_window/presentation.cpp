#include "ui/main_window/presentation.h"

#include <QTimer>

#include "ui/main_window/main_window.h"
#include "ui/widgets/theme.h"

namespace decodescope {

Presentation::Presentation(MainWindow* window, QWidget* transport, QWidget* strips, QWidget* status)
    : QObject(window), window_(window), transport_(transport), strips_(strips), status_(status) {}

QStringList Presentation::panels() const {
    const QStringList& chosen = window_->preferences().presentation_panels;
    if (!chosen.isEmpty()) return chosen;
    QStringList proposed;
    for (const PanelDescriptor& descriptor : panel_catalogue())
        if (descriptor.in_presentation) proposed << descriptor.id;
    return proposed;
}

void Presentation::set_active(bool on) {
    if (on == active_) return;
    if (on) {
        remember();
        was_maximized_ = window_->isMaximized();
    }
    active_ = on;
    if (!on) alone_.clear();
    const double scale = window_->preferences().type_scale * (on ? kTypeScale : 1.0);
    apply_theme(Theme(theme().mode(), scale));
    window_->theme_changed();
    window_->host()->set_presentation(on);
    if (on) window_->showFullScreen();
    else if (was_maximized_) window_->showMaximized();
    else window_->showNormal();
    arrange();
    Q_EMIT changed();
}

void Presentation::set_alone(const QString& panel_id) {
    const QString wanted = panel_id == alone_ ? QString() : panel_id;
    if (wanted == alone_) return;
    remember();
    alone_ = wanted;
    arrange();
    Q_EMIT changed();
}

void Presentation::remember() {
    if (remembered_) return;
    layout_ = window_->docks()->layout_state();
    remembered_ = true;
}

void Presentation::restore() {
    if (!remembered_) return;
    remembered_ = false;
    window_->docks()->restore_layout(layout_);
    // The window gets its size back from the desktop some time later; until then the rows are those of a full screen.
    QTimer::singleShot(kSettleMillis, this, [this, before = window_->docks()->size()] {
        if (!remembered_ && window_->docks()->size() != before) window_->docks()->restore_layout(layout_);
    });
}

void Presentation::arrange() {
    transport_->setVisible(!active_);
    status_->setVisible(!active_);
    const bool everything = !active_ && alone_.isEmpty();
    if (everything) restore();
    const QStringList chosen = panels();
    const QStringList& closed = window_->preferences().strips_hidden;
    bool any_dock = false;
    for (const PanelHost::Entry& entry : window_->host()->entries()) {
        const QString& id = entry.descriptor.id;
        if (entry.strip != nullptr)
            entry.strip->setVisible(alone_.isEmpty() ? (active_ ? chosen.contains(id) : !closed.contains(id))
                                                     : id == alone_);
        if (entry.card == nullptr) continue;
        if (!everything) {
            const bool shown = alone_.isEmpty() ? chosen.contains(id) : id == alone_;
            if (shown && entry.card->isFloating()) entry.card->setFloating(false);
            entry.card->setVisible(shown);
        }
        any_dock = any_dock || !entry.card->isHidden();
    }
    window_->docks()->setVisible(any_dock);
    if (!everything) window_->docks()->arrange_sizes();
}

}  // namespace decodescope
