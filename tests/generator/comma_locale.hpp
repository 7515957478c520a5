// A locale that writes 1.234,5: what an application may have set before it calls us.
#pragma once

#include <clocale>
#include <locale>
#include <string>

namespace msda::draw {

// Commas and grouped digits in C++ streams always, in the C library where such a locale is installed; both restored at
// the end of the scope.
class CommaLocale {
  public:
    CommaLocale() : before_(std::locale::global(std::locale(std::locale::classic(), new Comma))) {
        before_c_ = std::setlocale(LC_ALL, nullptr);
        for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
            if (std::setlocale(LC_ALL, name) != nullptr) break;
    }
    ~CommaLocale() {
        std::setlocale(LC_ALL, before_c_.c_str());
        std::locale::global(before_);
    }
    CommaLocale(const CommaLocale&) = delete;
    CommaLocale& operator=(const CommaLocale&) = delete;

  private:
    struct Comma : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };
    std::string before_c_;
    std::locale before_;
};

}  // namespace msda::draw
