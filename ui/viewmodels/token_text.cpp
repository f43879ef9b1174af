#include "ui/viewmodels/token_text.h"

#include <QCoreApplication>

namespace decodescope {
namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(TokenText)
};

QString visible_spaces(QString text) {
    text.replace(QLatin1String("\\n"), QStringLiteral("⏎")).replace(QLatin1Char('\n'), QStringLiteral("⏎"));
    text.replace(QLatin1String("\\r"), QStringLiteral("↵")).replace(QLatin1Char('\r'), QStringLiteral("↵"));
    text.replace(QLatin1String("\\t"), QStringLiteral("⇥")).replace(QLatin1Char('\t'), QStringLiteral("⇥"));
    return text;
}

bool is_bytes(const std::string& display) { return display.size() >= 4 && display[0] == '\\' && display[1] == 'x'; }

TokenLabel byte_label(const std::string& display) {
    TokenLabel label;
    label.kind = TokenKind::Bytes;
    const QString hex =
        QString::fromStdString(display).remove(QLatin1Char('\\')).replace(QLatin1Char('x'), QLatin1Char(' ')).trimmed();
    label.text = QStringLiteral("⟨") + hex + QStringLiteral("⟩");
    label.spoken = Words::tr("part of a character: bytes %1").arg(hex);
    return label;
}

}  // namespace

TokenLabel token_label(const std::string& display, bool special) {
    if (!special && is_bytes(display)) return byte_label(display);
    TokenLabel label;
    const QString raw = QString::fromStdString(display);
    if (special) {
        label.kind = TokenKind::Special;
        label.text = raw.isEmpty() ? QStringLiteral("⟨special⟩") : raw;
        if (label.text.startsWith(QLatin1String("<|")) && label.text.endsWith(QLatin1String("|>")))
            label.text = QStringLiteral("⟨") + label.text.mid(2, label.text.size() - 4) + QStringLiteral("⟩");
        label.spoken = Words::tr("special token %1").arg(label.text);
        return label;
    }
    const QString text = visible_spaces(raw);
    const QString word = text.trimmed();
    if (text.isEmpty()) {
        label.text = QStringLiteral("∅");
        label.spoken = Words::tr("a token without text");
    } else if (word.isEmpty()) {
        label.kind = TokenKind::Space;
        label.text = text.size() > 3 ? QStringLiteral("␣×%1").arg(text.size()) : QString(text.size(), QChar(0x2423));
        label.spoken = text.size() == 1 ? Words::tr("a space") : Words::tr("%1 spaces").arg(text.size());
    } else {
        label.text = word;
        if (word == QStringLiteral("⏎")) label.kind = TokenKind::Space;
        label.spoken = word == QStringLiteral("⏎") ? Words::tr("a line break") : QStringLiteral("“%1”").arg(word);
    }
    return label;
}

}  // namespace decodescope
