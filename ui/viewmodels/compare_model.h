// What the form of a comparison offers, and its result as rows of a table, sentences and marked text.
#pragma once

#include <QColor>
#include <QString>
#include <QStringList>
#include <vector>

#include "engine/measure/compare.h"

namespace decodescope {

// What a row of the form says, as text that the command line would take, too.
struct CompareChoice {
    CacheSpec cache;
    QString k = QStringLiteral("f32"), v = QStringLiteral("f32");
    QString weights;  // empty: as in the file
    QString backend = QStringLiteral("cpu");
};

QStringList kv_type_choices();  // of K and of V, as --kv-type knows them
CompareChoice choice_of(const CompareConfig& config);
// Errors name the configuration by its number.
Result<std::vector<CompareConfig>> configs_of(const std::vector<CompareChoice>& choices);

struct CompareTableRow {
    QString title, help;  // "ms per step" and what it means
    QStringList values;   // [configurations]
};
std::vector<CompareTableRow> compare_rows(const CompareResult& result);
QStringList compare_sentences(const CompareResult& result);  // in the language of the window

// The text of a configuration as rich text: what comes after the first different token in `mark`, that token
// underlined.
QString marked_text(const CompareLane& lane, const QColor& mark);

}  // namespace decodescope
