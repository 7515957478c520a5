#include "tools/lab/checks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "msda/error.hpp"
#include "tools/lab/checks/all.hpp"

namespace msda::lab {

Check find_check(std::string_view name) {
    static const std::map<std::string_view, Check> all = [] {
        std::map<std::string_view, Check> checks;
        for (const Checks& lab : {checks_00(), checks_01(), checks_02(), checks_03(), checks_04(), checks_05(),
                                  checks_06(), checks_07(), checks_08(), checks_09(), checks_10()})
            for (const auto& [check_name, check] : lab) checks.emplace(check_name, check);
        return checks;
    }();
    const auto found = all.find(name);
    if (found == all.end()) throw Error(Code::bad_file, fmt::format("labs: there is no check {}", name));
    return found->second;
}

void require(bool holds, const std::string& otherwise) {
    if (!holds) throw Failed(otherwise);
}

std::string number_text(double number) { return std::isnan(number) ? "nan" : fmt::format("{:.9g}", number); }

void expect_near(const std::string& what, double got, double expected, double tolerance) {
    const bool same = std::isnan(expected) ? std::isnan(got) : got == expected;
    if (!same && !(std::fabs(got - expected) <= tolerance))
        throw Failed(fmt::format("{}: expected {}, got {}", what, number_text(expected), number_text(got)));
}

}  // namespace msda::lab
