// Sentences and titles that the engine gives in English, in the language of the window.
#pragma once

#include <QString>
#include <string>

#include "engine/measure/commentary.h"

namespace decodescope {

QString translated(const Sentence& sentence);
// A fixed text of the engine (title or explanation of a strategy, help of a parameter, purpose); unchanged when it has
// no translation.
QString translated(const std::string& engine_text);

}  // namespace decodescope
