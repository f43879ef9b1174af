// Makes the panels, keeps what has changed for each of them, and presents those that are in view, at most 30 times a
// second each.
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
        // Of clock_millis(), while tokens stream in: when it was drawn, and when it has paid for that.
        double drawn_millis = 0, paid_millis = 0;
        QWidget* frame() const { return card != nullptr ? static_cast<QWidget*>(card) : strip; }
    };

    PanelHost(SessionController* session, Selection* selection, DockArea* docks, QWidget* strips);

    const std::vector<Entry>& entries() const { return entries_; }
    const Entry* find(const QString& id) const;
    void mark(unsigned changes);  // every panel
    void present_now();           // without waiting for the timer: pictures, tests
    // Outlives the panels. Panels see it and are presented again when it has measured.
    void set_machine(MachineSpeed* machine);
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
    double clock_millis() const;
    double turn_of(const Entry& entry) const;
    void earn();
    void schedule(bool stream = false);
    bool is_due(const Entry& entry) const;  // changed and in view
    void present(Entry& entry, const PanelContext& now);
    void present_dirty();
    void present_due();

    SessionController* session_;
    Selection* selection_;
    std::vector<Entry> entries_;
    QTimer timer_;
    QElapsedTimer since_present_;
    QElapsedTimer clock_;
    bool streaming_ = false;     // all that changed since the last mark() is that tokens came
    Entry* painted_ = nullptr;   // presented in the last turn, its cost not known yet
    double painted_from_ = 0;    // processor time of this thread when that began
    double credit_millis_ = 0, credited_millis_ = 0;  // left to spend on drawing; as of that time of clock_millis()
    bool presentation_ = false;
    MachineSpeed* machine_ = nullptr;
    qint64 presented_ = 0;
};

}  // namespace decodescope
