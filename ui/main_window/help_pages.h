// Pages of the help menu: glossary, keyboard, about.
#pragma once

#include <QString>

class QWidget;

namespace decodescope {

enum class HelpPage { Glossary, Keyboard, About };
QString help_html(HelpPage page);
void show_help(HelpPage page, QWidget* parent);

}  // namespace decodescope
