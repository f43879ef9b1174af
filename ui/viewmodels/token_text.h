// Token texts as chips and axis labels show them.
#pragma once

#include <QString>
#include <string>

namespace decodescope {

enum class TokenKind { Text, Space, Special, Bytes };

struct TokenLabel {
    QString text;   // never empty, white space as a visible mark
    TokenKind kind = TokenKind::Text;
    // For hover boxes and screen readers: "“ blue”", "a line break", "part of a character: bytes F0 9F".
    QString spoken;
};

// `display` as Tokenizer::display writes it: special tokens as written, incomplete bytes as \xF0\x9F, control
// characters escaped.
TokenLabel token_label(const std::string& display, bool special);

}  // namespace decodescope
