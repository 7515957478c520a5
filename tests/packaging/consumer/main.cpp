// Runs a forward on the CPU and catches the library's exception: what crosses the border of a shared library.
#include <cstdio>
#include <string>
#include <vector>

#include "msda/msda.hpp"

namespace {

bool forward_is_right() {
    const msda::Problem problem{.queries = 2, .heads = 1, .head_dim = 4, .levels = {{2, 2}}, .points = {1}};
    const std::vector<float> value(16, 3.0f), locations(4, 0.5f), weights = {1.0f, 0.5f};
    std::vector<float> output(8, -1.0f);
    const msda::Operator forward = msda::Runtime::shared().prepare(problem, msda::Device::cpu());
    forward.launch(
        {.value = value.data(), .locations = locations.data(), .weights = weights.data(), .output = output.data()});
    return output == std::vector<float>{3, 3, 3, 3, 1.5f, 1.5f, 1.5f, 1.5f};
}

bool error_is_caught() {
    try {
        msda::normalise(msda::Problem{.queries = 2, .levels = {{-1, 2}}});
    } catch (const msda::Error& error) {
        return error.code() == msda::Code::invalid_problem && !std::string(error.what()).empty();
    }
    return false;
}

}  // namespace

int main() {
    if (!forward_is_right() || !error_is_caught()) return 1;
    std::printf("msda %s\n", msda::version());
    return 0;
}
