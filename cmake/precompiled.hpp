// What most sources include, precompiled where MSDA_PRECOMPILE is on. Every source still includes what it uses.
#pragma once

#include "cmake/fmt_once.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
