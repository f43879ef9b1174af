// Makes the panels, keeps what has changed for each of them, and presents those that are in view, at most 30 times a
// second.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <vector>

#include "ui/main_window/dock_area.h"

namespace decodescope {

class PanelHost : public QObject {
    Q_OBJECT
public:
    struct Entry {
        PanelDescriptor descriptor;
        Panel* panel = nullptr;
        DockCard* card = nullptr;  // null: the strip above the docks
        QWidget* strip = nullptr;  // null: a dock
        unsigned changes = EverythingChanged;
        QWidget* frame() const { return card != nullptr ? static_cast<QWidget*>(card) : strip; }
    };

    PanelHost(SessionController* session, Selection* selection, DockArea* docks, QWidget* strips);

    const std::vector<Entry>& entries() const { return entries_; }
    const Entry* find(const QString& id) const;
    void mark(unsigned changes);  // every panel
    void present_now();           // without waiting for the timer: pictures, tests
    void set_presentation(bool on) {
        presentation_ = on;
        mark(StateChanged);
    }
    std::vector<ExportItem> exports();
    // Calls of present() so far, over all panels.
    qint64 presented() const { return presented_; }

Q_SIGNALS:
    void export_requested(const QString& export_id);
    void alone_requested(const QString& panel_id);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    PanelContext context() const;
    void schedule(bool flood = false);
    void begin_round();
    bool is_due(const Entry& entry) const;  // changed and in view
    void present(Entry& entry, const PanelContext& now);
    void present_dirty();
    void present_due();

    SessionController* session_;
    Selection* selection_;
    std::vector<Entry> entries_;
    QTimer timer_;
    QElapsedTimer since_present_;
    double present_cpu_millis_ = 0;  // processor time of this thread when the last round began
    double cycle_cpu_millis_ = 0;    // of this thread, from the round before to the last one
    bool flood_ = false;             // all that changed since the last mark() is that tokens came
    std::size_t next_ = 0;           // the panel whose turn it is in a round of a flood
    bool presentation_ = false;
    qint64 presented_ = 0;
};

}  // namespace decodescope
