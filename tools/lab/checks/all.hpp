// The checks of each lab by name ("05/footprint"), one file a lab.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "tools/lab/checks.hpp"

namespace msda::lab {

using Checks = std::vector<std::pair<std::string_view, Check>>;

Checks checks_00();
Checks checks_01();
Checks checks_02();
Checks checks_03();
Checks checks_04();
Checks checks_05();
Checks checks_06();
Checks checks_07();
Checks checks_08();
Checks checks_09();
Checks checks_10();

}  // namespace msda::lab
