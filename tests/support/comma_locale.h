// A locale with a decimal comma, as QApplication takes one from the environment (LD-10).
#pragma once

#include <locale>
#include <string>

namespace decodescope {

// Makes a locale of the C library current, and with it a C++ locale that writes 1.234,5; both are put back at the end.
// The C library's data lies where LOCPATH says: the build makes German and Turkish for the tests. Without it active()
// is false, and what the test would then say means nothing.
class CommaLocale {
public:
    explicit CommaLocale(const char* name = "de_DE.UTF-8");
    ~CommaLocale();
    CommaLocale(const CommaLocale&) = delete;
    CommaLocale& operator=(const CommaLocale&) = delete;

    bool active() const { return active_; }

private:
    std::locale before_;
    std::string name_before_;
    bool active_ = false;
};

// What a test says then.
inline constexpr const char* kNoCommaLocale = "no locale with a decimal comma: run the test through ctest";

}  // namespace decodescope
