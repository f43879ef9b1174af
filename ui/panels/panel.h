// A panel draws facts that it is given and changes nothing but the selection. Panels never include panels.
#pragma once

#include <QWidget>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ui/session/machine_speed.h"
#include "ui/session/selection.h"
#include "ui/session/session_controller.h"
#include "ui/widgets/theme.h"

namespace decodescope {

// What differs from the last present(); panels may do less when little changed.
enum PanelChange : unsigned {
    NewRecording = 1u << 0, NewSteps = 1u << 1, ViewMoved = 1u << 2, SelectionMoved = 1u << 3,
    ThemeChanged = 1u << 4, StateChanged = 1u << 5, SettingsChanged = 1u << 6, SweepChanged = 1u << 7,
    ComparisonChanged = 1u << 8,
    EverythingChanged = ~0u,
};

struct PanelContext {
    SessionController* session = nullptr;
    Selection* selection = nullptr;
    RecordingPtr recording;  // may be null
    int step = -1;           // viewed step, -1: none
    bool presentation = false;
    MachineSpeed* machine = nullptr;  // what this machine can do; may be null
};

// One thing that can be exported: a picture drawn at any size, and its data.
struct ExportItem {
    QString id, title;                                             // "timing-per-token", "Time per token"
    std::function<void(QPainter&, const QRectF& area)> paint;      // may be empty: data only
    std::function<std::string()> csv, json;                        // may be empty: picture only
    QSizeF preferred_mm{160, 100};
    std::shared_ptr<const RunFacts> facts = nullptr;  // what it was measured with; null: the run that is shown
};

class Panel : public QWidget {
    Q_OBJECT
public:
    explicit Panel(const PanelContext& context, QWidget* parent = nullptr) : QWidget(parent), context_(context) {}
    // Called on the GUI thread, at most 30 times a second, only while visible. `changes` are the changes since the last
    // call.
    virtual void present(const PanelContext& context, unsigned changes) = 0;
    virtual std::vector<ExportItem> exports() { return {}; }

    // The card around the panel draws the title; beside it, quiet: what the panel shows ("layers down, positions
    // right"), at the right end one line of facts ("21 of 64 slots · 63.0 KiB used [measured]") and small buttons.
    virtual QString subtitle() const { return {}; }
    virtual QString facts_line() const { return {}; }
    virtual QWidget* header_tools() { return nullptr; }  // made once, owned by the card afterwards

Q_SIGNALS:
    void header_changed();  // subtitle or facts line differ now
    void export_requested(const QString& export_id);

protected:
    PanelContext context_;
};

struct PanelDescriptor {
    QString id;          // "cache": settings, --panel
    const char* title;   // QT_TRANSLATE_NOOP("panels", "KV cache")
    const char* help;    // one sentence for menus and accessibility
    Qt::DockWidgetArea area = Qt::LeftDockWidgetArea;
    int order = 0;       // top to bottom within the area
    int stretch = 1;     // share of the height
    bool in_presentation = true;  // shown in presentation by default
    // Share of the GUI thread that it may always take while tokens stream in; what it costs then decides how often it
    // is drawn.
    double stream_share = 0.008;
    Panel* (*create)(const PanelContext& context, QWidget* parent) = nullptr;
    bool open_at_first = true;  // false: closed until it is asked for; then a tab in front of its neighbours
};

// One line per panel in catalogue.cpp.
const std::vector<PanelDescriptor>& panel_catalogue();

}  // namespace decodescope
