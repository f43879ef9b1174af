// A dock that looks like a card: title, quiet subtitle, facts at the right, small buttons; below it the panel.
#pragma once

#include <QDockWidget>
#include <QLabel>

#include "ui/panels/panel.h"

namespace decodescope {

// The line at the top of a card. A double click asks for the panel alone in the window.
class CardHeader : public QWidget {
    Q_OBJECT
public:
    CardHeader(const QString& title, QWidget* tools, QWidget* parent);
    void set_texts(const QString& subtitle, const QString& facts);
    void apply_theme();
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void alone_requested();

protected:
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void fit();
    void fit_tools();

    QLabel *title_, *subtitle_, *facts_;
    QWidget* tools_;
    QString subtitle_text_, facts_text_;
};

class DockCard : public QDockWidget {
    Q_OBJECT
public:
    DockCard(const PanelDescriptor& descriptor, Panel* panel, QWidget* parent);
    Panel* panel() const { return panel_; }
    CardHeader* header() const { return header_; }
    void update_header();
    void apply_theme();
    // Seen by somebody: neither closed nor behind another tab.
    bool in_view() const { return isVisible() && !visibleRegion().isEmpty(); }

protected:
    void paintEvent(QPaintEvent*) override;

private:
    Panel* panel_;
    CardHeader* header_;
    QWidget* body_;
};

}  // namespace decodescope
