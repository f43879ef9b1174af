// Menus and shortcuts of the window.
#pragma once

#include <QObject>
#include <functional>

class QAction;
class QMenu;

namespace decodescope {

class MainWindow;

class WindowActions : public QObject {
    Q_OBJECT
public:
    explicit WindowActions(MainWindow* window);
    QMenu* menu() const { return menu_; }
    const QList<QAction*>& all() const { return all_; }

private:
    QAction* add(QMenu* menu, const QString& text, const QString& keys, const std::function<void()>& run);
    QAction* add_key(const QString& text, const QList<QKeySequence>& keys, const std::function<void()>& run);
    void build_file(QMenu* menu);
    void fill_recent();
    void build_run(QMenu* menu);
    void build_view(QMenu* menu);
    void build_panels(QMenu* menu);
    void build_looks(QMenu* menu);
    void build_help(QMenu* menu);
    void build_keys();
    void fill_branches();
    void show_state();

    MainWindow* window_;
    QMenu* menu_;
    QMenu* branches_ = nullptr;
    QList<QAction*> all_;
    QMenu* recent_ = nullptr;
    QAction *save_ = nullptr, *open_model_ = nullptr, *open_model_file_ = nullptr,
            *open_recording_ = nullptr, *export_ = nullptr;
    QAction *reset_ = nullptr, *continue_ = nullptr, *fork_ = nullptr, *cancel_ = nullptr, *present_ = nullptr;
};

}  // namespace decodescope
