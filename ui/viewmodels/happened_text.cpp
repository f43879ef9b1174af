#include "ui/viewmodels/happened_text.h"

#include <QCoreApplication>

#include "ui/viewmodels/engine_words.h"

namespace decodescope {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(HappenedText)
};

// The reserve is the memory panel's, the next token the bars'.
bool told_elsewhere(const std::string& id) { return id == "step.reserved" || id == "step.next"; }

}  // namespace

QString happened_subtitle(const StepFacts& step) {
    switch (step.phase) {
        case Phase::Prefill: return Text::tr("step %1, prefill").arg(step.index);
        case Phase::Decode: return Text::tr("step %1, decode").arg(step.index);
        case Phase::Refeed: return Text::tr("step %1, fed again").arg(step.index);
    }
    return {};
}

QStringList happened_sentences(const RunRecording& recording, int step) {
    QStringList lines;
    for (const Sentence& sentence : what_happened(recording, step))
        if (!told_elsewhere(sentence.id)) lines << translated(sentence);
    return lines;
}

}  // namespace decodescope
