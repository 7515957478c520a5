// A Runtime with static storage duration, made before main and destroyed after it: static_runtime idle|cpu. Exits 0
// unless the driver or the compiler was opened without need.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "msda/msda.hpp"

namespace {

// Made first, destroyed last: looks at what the process has mapped once everything else is gone.
struct Witness {
    ~Witness() {
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            if (line.find("libcuda.so") != std::string::npos || line.find("libnvrtc") != std::string::npos) {
                std::fprintf(stderr, "opened: %s\n", line.c_str());
                ::_exit(1);
            }
    }
};

const Witness witness;
msda::Runtime runtime{msda::Options{}};

void run_on_cpu() {
    msda::Problem problem;
    problem.queries = 2;
    problem.heads = 1;
    problem.head_dim = 4;
    problem.levels = {{3, 3}};
    const msda::Operator op = runtime.prepare(problem, msda::Device::cpu());
    const std::vector<float> value(9 * 4, 1.0f);
    const std::vector<float> locations(2 * 4 * 2, 0.5f);
    const std::vector<float> weights(2 * 4, 0.25f);
    std::vector<float> output(2 * 4);
    msda::Tensors tensors;
    tensors.value = value.data();
    tensors.locations = locations.data();
    tensors.weights = weights.data();
    tensors.output = output.data();
    op.launch(tensors);
    if (output[0] != 1.0f) ::_exit(2);
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 2 && std::strcmp(arguments[1], "cpu") == 0) run_on_cpu();
    return 0;
}
