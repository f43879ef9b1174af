// One short sentence for each term that the window uses; shown on hover.
#pragma once

#include <QString>
#include <QStringList>

class QWidget;

namespace decodescope {

// "kv-cache", "prefill", ...: the sentence in the language of the window; empty for an unknown term.
QString glossary(const QString& term);
// The term's name as the window writes it: "KV cache".
QString glossary_name(const QString& term);
QStringList glossary_terms();
// Tool tip "name: sentence" and the same for screen readers.
void explain(QWidget* widget, const QString& term);

}  // namespace decodescope
