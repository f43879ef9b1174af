#include "tests/support/comma_locale.h"

#include <clocale>

namespace decodescope {
namespace {

class CommaPoint : public std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

}  // namespace

CommaLocale::CommaLocale(const char* name) : name_before_(std::setlocale(LC_ALL, nullptr)) {
    before_ = std::locale::global(std::locale(std::locale(), new CommaPoint));
    active_ = std::setlocale(LC_ALL, name) != nullptr && std::localeconv()->decimal_point == std::string(",");
}

CommaLocale::~CommaLocale() {
    std::locale::global(before_);
    std::setlocale(LC_ALL, name_before_.c_str());
}

}  // namespace decodescope
