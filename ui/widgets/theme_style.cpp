// The style sheet of the whole application: words in capitals after an @ are replaced by values of the theme.
#include <QHash>
#include <QRegularExpression>

#include "ui/widgets/theme.h"

namespace decodescope {
namespace {

constexpr const char* kSurfaces = R"(
QWidget { color: @INK; font-size: @BODY; }
QMainWindow, QDialog, QMessageBox { background: @BACKGROUND; }
QMainWindow::separator { background: transparent; width: @GRID; height: @GRID; }
QMainWindow::separator:hover { background: @LINE; }
*[card="true"] { background: @CARD; border: 1px solid @LINE; border-radius: @RADIUS; }
QLabel { background: transparent; }
QLabel[quiet="true"] { color: @QUIET; }
QLabel[note="true"] { color: @QUIET; font-size: @NOTE; }
QLabel[title="true"] { font-weight: bold; }
QLabel[figure="true"] { font-weight: bold; font-size: @FIGURE; }
QDockWidget { font-weight: bold; }
QDockWidget::title { background: @BACKGROUND; padding: @HALF @GRID; text-align: left; }
QStatusBar { background: @CARD; border-top: 1px solid @LINE; color: @QUIET; font-size: @NOTE; }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: @QUIET; font-size: @NOTE; }
QToolBar { background: @CARD; border: none; border-bottom: 1px solid @LINE; spacing: @GRID; padding: @HALF @GRID; }
QToolTip { background: @ACCENT; color: @ONACCENT; border: 1px solid @ACCENT; padding: 4px 6px; font-size: @NOTE; }
QGroupBox { border: 1px solid @LINE; border-radius: @RADIUS; margin-top: @DOUBLE; padding: @GRID; }
QGroupBox::title { subcontrol-origin: margin; left: @GRID; padding: 0 4px; color: @QUIET; }
QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; }
QFrame[frameShape="4"], QFrame[frameShape="5"] { color: @LINE; }
)";

constexpr const char* kButtons = R"(
QPushButton, QToolButton { background: @CARD; border: 1px solid @LINE; border-radius: @RADIUS; padding: @PADV @PADH; min-height: @CONTROL; }
QToolButton { padding: @PADV @GRID; }
QPushButton:hover, QToolButton:hover { background: @HOVER; border-color: @QUIET; }
QPushButton:pressed, QToolButton:pressed { background: @LINE; }
QPushButton:focus, QToolButton:focus { border: 2px solid @FOCUS; padding: @PADVF @PADHF; }
QToolButton:focus { padding: @PADVF @GRIDF; }
QPushButton:disabled, QToolButton:disabled { color: @DISABLED; background: @BACKGROUND; }
*[accent="true"], QPushButton:checked, QToolButton:checked { background: @ACCENT; color: @ONACCENT; border-color: @ACCENT; }
*[accent="true"]:hover, QPushButton:checked:hover, QToolButton:checked:hover { background: @ACCENTHOVER; border-color: @ACCENTHOVER; }
*[accent="true"]:focus, QPushButton:checked:focus, QToolButton:checked:focus { border: 2px solid @FOCUSON; }
*[accent="true"]:disabled { background: @LINE; color: @DISABLED; border-color: @LINE; }
QPushButton[flat="true"], QToolButton[flat="true"] { background: transparent; border-color: transparent; }
QPushButton[flat="true"]:hover, QToolButton[flat="true"]:hover { background: @HOVER; }
QPushButton[flat="true"]:focus, QToolButton[flat="true"]:focus { border: 2px solid @FOCUS; }
QToolButton[small="true"], QPushButton[small="true"] { padding: 1px @GRID; font-size: @NOTE; min-height: @SMALL; }
QToolButton[small="true"]:focus, QPushButton[small="true"]:focus { padding: 0px @GRIDF; }
QToolButton::menu-indicator, QPushButton::menu-indicator { image: none; width: 0; }
QCheckBox:disabled, QRadioButton:disabled { color: @DISABLED; }
)";

constexpr const char* kFields = R"(
QComboBox, QLineEdit, QAbstractSpinBox, QPlainTextEdit, QTextEdit, QTextBrowser {
    background: @CARD; border: 1px solid @LINE; border-radius: @RADIUS; padding: @PADV @GRID;
    selection-background-color: @ACCENT; selection-color: @ONACCENT; }
QComboBox, QLineEdit, QAbstractSpinBox { min-height: @CONTROL; }
QComboBox:hover, QLineEdit:hover, QAbstractSpinBox:hover { border-color: @QUIET; }
QComboBox:focus, QLineEdit:focus, QAbstractSpinBox:focus, QPlainTextEdit:focus, QTextEdit:focus, QTextBrowser:focus {
    border: 2px solid @FOCUS; padding: @PADVF @GRIDF; }
QComboBox:disabled, QLineEdit:disabled, QAbstractSpinBox:disabled, QPlainTextEdit:disabled { color: @DISABLED; background: @BACKGROUND; }
QComboBox::drop-down { border: none; width: @DOUBLE; subcontrol-position: center right; }
QComboBox::down-arrow { image: none; width: 0; height: 0; border-left: 4px solid @CARD; border-right: 4px solid @CARD;
    border-top: 5px solid @QUIET; margin-right: @GRID; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: none; background: transparent; width: @DOUBLE; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: @HOVER; }
QAbstractSpinBox::up-arrow { image: none; width: 0; height: 0; border-left: 3px solid @CARD; border-right: 3px solid @CARD;
    border-bottom: 4px solid @QUIET; }
QAbstractSpinBox::down-arrow { image: none; width: 0; height: 0; border-left: 3px solid @CARD; border-right: 3px solid @CARD;
    border-top: 4px solid @QUIET; }
QComboBox QAbstractItemView { background: @CARD; border: 1px solid @LINE; selection-background-color: @ACCENT;
    selection-color: @ONACCENT; outline: none; padding: 2px; }
QAbstractItemView { background: @CARD; border: 1px solid @LINE; border-radius: @RADIUS; selection-background-color: @ACCENT;
    selection-color: @ONACCENT; }
QAbstractItemView:focus { border: 2px solid @FOCUS; }
QHeaderView::section { background: @BACKGROUND; color: @QUIET; border: none; border-bottom: 1px solid @LINE; padding: 4px @GRID; }
QTableView[dense="true"], QTableView[dense="true"] QHeaderView { border: none; border-radius: 0; }
QTableView[dense="true"] QHeaderView::section { padding: 0 @GRID; }
QTableCornerButton::section { background: @BACKGROUND; border: none; border-bottom: 1px solid @LINE; }
QSlider { background: transparent; min-height: @DOUBLE; border: 2px solid transparent; border-radius: 4px; }
QSlider:focus { border-color: @FOCUS; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: @LINE; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: @QUIET; }
QSlider::handle:horizontal { width: @HANDLE; height: @HANDLE; margin: @HANDLEUP 0; border-radius: @HANDLER; background: @ACCENT; }
QSlider::handle:horizontal:disabled { background: @DISABLED; }
QProgressBar { background: @RESERVED; border: none; border-radius: 3px; min-height: 6px; max-height: 6px; text-align: center; }
QProgressBar::chunk { background: @CACHED; border-radius: 3px; }
)";

constexpr const char* kLists = R"(
QMenuBar { background: @CARD; border-bottom: 1px solid @LINE; }
QMenuBar::item { background: transparent; padding: 4px @GRID; }
QMenuBar::item:selected { background: @HOVER; border-radius: 4px; }
QMenu { background: @CARD; border: 1px solid @LINE; padding: 4px; }
QMenu::item { padding: 5px @TRIPLE 5px @TRIPLE; border-radius: 4px; background: transparent; }
QMenu::item:selected { background: @ACCENT; color: @ONACCENT; }
QMenu::item:disabled { color: @DISABLED; }
QMenu::separator { height: 1px; background: @LINE; margin: 4px @GRID; }
QTabWidget::pane { border: none; border-top: 1px solid @LINE; }
QTabBar { qproperty-drawBase: 0; background: transparent; }
QTabBar::tab { background: transparent; color: @QUIET; padding: @PADV @PADH; border: none; border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: @INK; border-bottom: 2px solid @ACCENT; }
QTabBar::tab:hover { color: @INK; }
QTabBar::tab:focus { border-bottom: 2px solid @FOCUS; }
QScrollBar { background: transparent; border: none; margin: 0; }
QScrollBar:horizontal { height: 10px; }
QScrollBar:vertical { width: 10px; }
QScrollBar::handle { background: @LINE; border-radius: 3px; margin: 2px; }
QScrollBar::handle:hover { background: @QUIET; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
)";

QString px(double value) { return QString::number(qRound(value)) + QStringLiteral("px"); }

QHash<QString, QString> values_of(const Theme& t) {
    const double s = t.type_scale();
    const bool light = t.mode() == Theme::Mode::Light;
    const auto name = [&](Role role) { return t.color(role).name(); };
    return {
        {"BACKGROUND", name(Role::Background)},
        {"CARD", name(Role::Card)},
        {"LINE", name(Role::Line)},
        {"INK", name(Role::Ink)},
        {"QUIET", name(Role::QuietInk)},
        {"ACCENT", name(Role::Accent)},
        {"ONACCENT", t.ink_on(Role::Accent).name()},
        {"RESERVED", name(Role::Reserved)},
        {"CACHED", name(Role::Cached)},
        {"FOCUS", t.focus().name()},
        {"FOCUSON", light ? QStringLiteral("#8fa2ff") : QStringLiteral("#3f49b8")},
        {"HOVER", light ? QStringLiteral("#eef1f5") : QStringLiteral("#242c37")},
        {"ACCENTHOVER", light ? QStringLiteral("#34404f") : QStringLiteral("#ffffff")},
        {"DISABLED", t.palette().color(QPalette::Disabled, QPalette::Text).name()},
        {"BODY", px(13 * s)},
        {"NOTE", px(11 * s)},
        {"FIGURE", px(16 * s)},
        {"GRID", px(8 * s)},
        {"GRIDF", px(8 * s - 1)},
        {"HALF", px(4 * s)},
        {"HALFTEXT", px(6 * s)},
        {"DOUBLE", px(16 * s)},
        {"TRIPLE", px(24 * s)},
        {"PADV", px(4 * s)},
        {"PADVF", px(4 * s - 1)},
        {"PADH", px(12 * s)},
        {"PADHF", px(12 * s - 1)},
        {"RADIUS", px(6)},
        {"CONTROL", px(18 * s)},
        {"SMALL", px(18 * s)},
        {"HANDLE", px(14 * s)},
        {"HANDLER", px(qRound(14 * s) / 2)},
        {"HANDLEUP", px(-qRound((14 * s - 4) / 2.0))},
    };
}

}  // namespace

QString Theme::style_sheet() const {
    const QString text = QString::fromLatin1(kSurfaces) + QString::fromLatin1(kButtons) + QString::fromLatin1(kFields) +
                         QString::fromLatin1(kLists);
    const QHash<QString, QString> values = values_of(*this);
    static const QRegularExpression word(QStringLiteral("@([A-Z]+)"));
    QString result;
    qsizetype end = 0;
    for (auto it = word.globalMatch(text); it.hasNext();) {
        const auto match = it.next();
        result += QStringView(text).mid(end, match.capturedStart() - end);
        const auto value = values.find(match.captured(1));
        Q_ASSERT_X(value != values.end(), "style sheet", qPrintable(match.captured(1)));
        if (value != values.end()) result += *value;
        end = match.capturedEnd();
    }
    result += QStringView(text).mid(end);
    return result;
}

}  // namespace decodescope
