#include "ui/main_window/help_pages.h"

#include <QCoreApplication>
#include <QDialog>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "engine/measure/run_facts.h"
#include "ui/widgets/glossary.h"
#include "ui/widgets/theme.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(HelpPages)
};

QString glossary_html() {
    QString html;
    for (const QString& term : glossary_terms())
        html += QStringLiteral("<p><b>%1</b><br>%2</p>")
                    .arg(glossary_name(term).toHtmlEscaped(), glossary(term).toHtmlEscaped());
    return html;
}

QString keyboard_html() {
    const std::pair<QString, QString> keys[] = {
        {QStringLiteral("Space"), Text::tr("play or pause")},
        {QStringLiteral("← →"), Text::tr("one step back (the view only), one step on")},
        {QStringLiteral("Home, End"), Text::tr("to the first step, to the newest; End at the newest runs to the end")},
        {QStringLiteral("Esc"), Text::tr("clear what is pinned; leave the single panel; leave the presentation")},
        {QStringLiteral("F11"), Text::tr("presentation: large type, chosen panels")},
        {QStringLiteral("Page Up, Page Down"), Text::tr("step in the presentation (a clicker sends these)")},
        {QStringLiteral("Ctrl + − 0"), Text::tr("larger, smaller, normal type")},
        {QStringLiteral("Ctrl ,"), Text::tr("settings of the run")},
        {QStringLiteral("Ctrl O, Ctrl S, Ctrl E"), Text::tr("open a recording, save the run, export")},
        {QStringLiteral("Alt 1 … 9"), Text::tr("go to a panel")},
        {QStringLiteral("F10"), Text::tr("menu")},
        {QStringLiteral("Tab"), Text::tr("to the next control; what has the focus is outlined")},
    };
    QString html = QStringLiteral("<table cellspacing='0' cellpadding='4'>");
    for (const auto& [key, what] : keys)
        html += QStringLiteral("<tr><td><b>%1</b></td><td>%2</td></tr>").arg(key, what);
    return html + QStringLiteral("</table>");
}

QString about_html() {
    return QStringLiteral("<h3>Decodescope %1</h3><p>%2</p><p>%3</p><p>%4</p><p>%5</p>")
        .arg(QString::fromStdString(program_version()),
             Text::tr("Shows on real numbers why language models keep a KV cache: a real decoder writes token by "
                      "token, and every panel shows what it computed, kept, read and paid."),
             Text::tr("Free software under the GNU General Public License, version 3 or later, without any warranty. "
                      "The text of the licence comes with the program in the file LICENSE."),
             Text::tr("Made with Qt, QCustomPlot, Highway, fmt, nlohmann/json, CLI11, xxHash and PCRE2."),
             Text::tr("Build %1").arg(QString::fromStdString(program_commit())));
}

}  // namespace

QString help_html(HelpPage page) {
    switch (page) {
        case HelpPage::Glossary: return glossary_html();
        case HelpPage::Keyboard: return keyboard_html();
        case HelpPage::About: return about_html();
    }
    return {};
}

void show_help(HelpPage page, QWidget* parent) {
    auto* dialog = new QDialog(parent);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(page == HelpPage::Glossary   ? Text::tr("Glossary")
                           : page == HelpPage::Keyboard ? Text::tr("Keyboard")
                                                        : Text::tr("About Decodescope"));
    auto* layout = new QVBoxLayout(dialog);
    auto* browser = new QTextBrowser(dialog);
    browser->setHtml(help_html(page));
    browser->setAccessibleName(dialog->windowTitle());
    layout->addWidget(browser);
    dialog->resize(theme().grid() * 70, theme().grid() * 60);
    dialog->show();
}

}  // namespace decodescope
