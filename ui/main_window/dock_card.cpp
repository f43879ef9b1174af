#include "ui/main_window/dock_card.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QMouseEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QVBoxLayout>
#include <algorithm>

namespace decodescope {
namespace {

// The first clauses of `text` that fit: a shorter sentence says more than one that is cut in a word.
QString clauses_that_fit(QString text, const QFontMetrics& metrics, int room) {
    static const QRegularExpression last_clause(QStringLiteral("\\s*[;；][^;；]*$"));
    while (metrics.horizontalAdvance(text) > room) {
        const qsizetype end = text.indexOf(last_clause);
        if (end < 0) return {};
        text.truncate(end);
    }
    return text;
}

constexpr int kLargestGrid = 12;  // beyond it small screens would have no room for the panels of a presentation

}  // namespace

CardHeader::CardHeader(const QString& title, QWidget* tools, QWidget* parent)
    : QWidget(parent),
      title_(new QLabel(title, this)),
      subtitle_(new QLabel(this)),
      facts_(new QLabel(this)),
      tools_(tools) {
    auto* row = new QHBoxLayout(this);
    title_->setProperty("title", true);
    subtitle_->setProperty("note", true);
    facts_->setProperty("note", true);
    title_->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    subtitle_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    facts_->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);
    facts_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    row->addWidget(title_);
    row->addWidget(subtitle_, 1);
    row->addWidget(facts_);
    if (tools_ != nullptr) row->addWidget(tools_);
    apply_theme();
}

void CardHeader::apply_theme() {
    const int grid = theme().grid();
    layout()->setContentsMargins(grid * 14 / 8, grid, grid * 12 / 8, grid / 2);
    static_cast<QHBoxLayout*>(layout())->setSpacing(grid * 12 / 8);
    fit();
}

QSize CardHeader::minimumSizeHint() const { return {theme().grid() * 16, theme().grid() * 4}; }

void CardHeader::set_texts(const QString& subtitle, const QString& facts) {
    fit_tools();
    if (subtitle == subtitle_text_ && facts == facts_text_) return;
    subtitle_text_ = subtitle;
    facts_text_ = facts;
    facts_->setText(facts);
    fit();
}

// Tools that can be reached elsewhere ("givesWay") are shown where they fit whole: a squeezed button says nothing.
void CardHeader::fit_tools() {
    if (tools_ == nullptr) return;
    const int others = title_->sizeHint().width() + theme().grid() * 7;  // margins and spaces of the row
    for (QWidget* tool : tools_->findChildren<QWidget*>()) {
        if (!tool->property("givesWay").toBool()) continue;
        const int own = tool->sizeHint().width() + theme().grid() / 2;
        const int need = others + tools_->sizeHint().width() + (tool->isHidden() ? own : 0);
        tool->setHidden(need > width() || tool->property("away").toBool());
    }
}

// The subtitle gives way first, clause by clause; the facts stay.
void CardHeader::fit() {
    fit_tools();
    const QFontMetrics metrics(theme().note());
    const int tools = tools_ != nullptr ? tools_->sizeHint().width() : 0;
    const int fixed = title_->sizeHint().width() + tools + theme().grid() * 8;
    facts_->setVisible(!facts_text_.isEmpty() && fixed + metrics.horizontalAdvance(facts_text_) < width());
    const int room = width() - fixed - (facts_->isHidden() ? 0 : metrics.horizontalAdvance(facts_text_));
    subtitle_->setText(clauses_that_fit(subtitle_text_, metrics, room));
    subtitle_->setToolTip(subtitle_text_);
}

void CardHeader::resizeEvent(QResizeEvent*) { fit(); }

void CardHeader::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) Q_EMIT alone_requested();
}

DockCard::DockCard(const PanelDescriptor& descriptor, Panel* panel, QWidget* parent)
    : QDockWidget(QCoreApplication::translate("panels", descriptor.title), parent), panel_(panel) {
    setObjectName(QStringLiteral("panel-") + descriptor.id);
    setAllowedAreas(Qt::AllDockWidgetAreas);
    setAccessibleName(windowTitle());
    setAccessibleDescription(QCoreApplication::translate("panels", descriptor.help));
    header_ = new CardHeader(windowTitle(), panel->header_tools(), this);
    header_->setToolTip(QCoreApplication::translate("panels", descriptor.help));
    setTitleBarWidget(header_);
    body_ = new QWidget(this);
    auto* layout = new QVBoxLayout(body_);
    layout->addWidget(panel);
    setWidget(body_);
    apply_theme();
    connect(panel, &Panel::header_changed, this, &DockCard::update_header);
    update_header();
}

void DockCard::apply_theme() {
    const int grid = theme().grid();
    body_->layout()->setContentsMargins(grid * 14 / 8, 0, grid * 14 / 8, grid * 10 / 8);
    // What a panel says that it needs may change while it runs; it must not push the window out of the screen.
    panel_->setMinimumSize(std::min(grid, kLargestGrid) * 26, std::min(grid, kLargestGrid) * 10);
    header_->apply_theme();
    update();
}

void DockCard::update_header() { header_->set_texts(panel_->subtitle(), panel_->facts_line()); }

void DockCard::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(rect(), theme().color(Role::Background));
    painter.setPen(QPen(theme().color(Role::Line), 1));
    painter.setBrush(theme().color(Role::Card));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
}

}  // namespace decodescope
